//! `cargo xtask dist`: the files that accompany a release.

use std::path::Path;
use std::process::Command;

use crate::cargo::Cargo;
use crate::dependencies::{self, Inputs};
use crate::sbom;

const SBOM: &str = "roundtable.cdx.json";
const CHECKSUMS: &str = "SHA256SUMS";

/// Writes the software bill of materials and the checksums of all files into `folder`.
pub(crate) fn write(cargo: &Cargo, folder: &Path) -> Result<(), String> {
    let error = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(error)?;
    std::fs::write(folder.join(SBOM), bill_of_materials(cargo)?).map_err(error)?;
    let sums = checksums(folder, &[SBOM])?;
    std::fs::write(folder.join(CHECKSUMS), sums).map_err(error)
}

/// Of what is linked into the program and of what its build scripts use; not of what only tests use.
fn bill_of_materials(cargo: &Cargo) -> Result<String, String> {
    let inputs = Inputs::read(
        &mut cargo.in_workspace(),
        cargo.workspace(),
        "normal,build",
        "--package roundtable",
    )?;
    let license = |id: &_, stated: &str| dependencies::license(&inputs.rules, id, stated);
    sbom::document(&inputs.packages, &inputs.lock, &license, source_date()?)
}

/// Seconds since 1970, if reproducible builds set them.
fn source_date() -> Result<Option<u64>, String> {
    let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") else {
        return Ok(None);
    };
    let seconds = text.trim().parse();
    seconds
        .map(Some)
        .map_err(|_| format!("invalid SOURCE_DATE_EPOCH '{text}': expected seconds since 1970"))
}

/// In the format of `sha256sum`, so that `sha256sum --check SHA256SUMS` verifies them.
fn checksums(folder: &Path, names: &[&str]) -> Result<Vec<u8>, String> {
    const PROGRAMS: [&[&str]; 2] = [&["sha256sum"], &["shasum", "-a", "256"]];
    for words in PROGRAMS {
        let output = Command::new(words[0])
            .args(&words[1..])
            .args(names)
            .current_dir(folder)
            .output();
        if let Ok(output) = output
            && output.status.success()
        {
            return Ok(output.stdout);
        }
    }
    Err("cannot compute checksums: neither sha256sum nor shasum runs".to_owned())
}
