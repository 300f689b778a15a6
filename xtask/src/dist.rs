//! `cargo xtask dist`: the files of a release.
//!
//! Builds the static programs, writes the texts that accompany them, and runs the package `xtask-dist`, which makes the packages.

use std::path::{Path, PathBuf};

use crate::arguments::DistOptions;
use crate::cargo::{Cargo, cargo_home};
use crate::dependencies::{self, Inputs};
use crate::probe::first_line;
use crate::static_build::Variant;
use crate::{log, notices, sbom};

const SBOM: &str = "roundtable.cdx.json";
const NOTICES: &str = "THIRD-PARTY-LICENSES.txt";

/// Makes all files of a release in `folder`; with `--check`, installs and runs each of them.
pub(crate) fn run(cargo: &Cargo, folder: &Path, options: &DistOptions) -> Result<(), String> {
    if !cfg!(target_os = "linux") {
        return Err("the packages are for Linux, and are built on Linux".to_owned());
    }
    log(&format!(
        "building for {}; other architectures are built on machines of their own",
        std::env::consts::ARCH
    ));
    let error = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(error)?;
    if let Some(variant) = options.only {
        let program = build(cargo, variant, &options.profile)?;
        let copied = std::fs::copy(program, folder.join("roundtable"));
        return copied.map(|_| ()).map_err(error);
    }
    // The licence texts are in the packages, also in those of other platforms, which a build does not unpack.
    let mut fetch = cargo.step("sources of the dependencies", "fetch --locked");
    finish(fetch.run(), "cannot fetch the dependencies")?;
    let inputs = Inputs::read(
        &mut cargo.in_workspace(),
        cargo.workspace(),
        // Crates that are linked into the program and those of its build scripts; not those that only tests use.
        "normal,build",
        "--package roundtable",
    )?;
    std::fs::write(folder.join(SBOM), bill_of_materials(&inputs)?).map_err(error)?;
    std::fs::write(folder.join(NOTICES), license_texts(&inputs)?).map_err(error)?;
    let full = build(cargo, Variant::Full, &options.profile)?;
    let slim = build(cargo, Variant::Slim, &options.profile)?;
    pack(cargo, folder, &full, &slim)?;
    if options.check {
        check(cargo, folder)?;
    }
    Ok(())
}

/// Builds a variant and returns a copy of the program: the next build overwrites it.
fn build(cargo: &Cargo, variant: Variant, profile: &str) -> Result<PathBuf, String> {
    let target = variant.target();
    let note = target
        .note
        .map_or_else(String::new, |note| format!(", because {note}"));
    log(&format!("{}: {}{note}", variant.name(), target.triple));
    if !variant.build(cargo, &target, profile)?.run() {
        return Err("the build failed".to_owned());
    }
    let folder = cargo.target_folder().join("static").join(variant.name());
    let copy = folder.join("roundtable");
    let built = target.binary(&cargo.target_folder(), profile);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::copy(&built, &copy))
        .map_err(|error| format!("cannot copy {}: {error}", built.display()))?;
    Ok(copy)
}

fn pack(cargo: &Cargo, folder: &Path, full: &Path, slim: &Path) -> Result<(), String> {
    let date = release_date(cargo.workspace())?.to_string();
    let mut packing = cargo
        .step("packages", PACKAGER)
        .args(&["pack".into(), "--folder".into(), folder.into()])
        .args(&["--workspace".into(), cargo.workspace().into()])
        .args(&["--version".into(), env!("CARGO_PKG_VERSION").into()])
        .args(&["--date".into(), date.into()])
        .args(&["--full".into(), full.into(), "--slim".into(), slim.into()]);
    for prefix in [
        cargo.workspace().to_owned(),
        cargo.target_folder(),
        cargo_home(),
    ] {
        packing = packing.args(&["--forbid".into(), prefix.into()]);
    }
    finish(packing.run(), "packing failed")
}

fn check(cargo: &Cargo, folder: &Path) -> Result<(), String> {
    let mut check = cargo
        .step("installing and running every package", PACKAGER)
        .args(&["check".into(), "--folder".into(), folder.into()])
        .args(&["--version".into(), env!("CARGO_PKG_VERSION").into()]);
    finish(check.run(), "the check failed")
}

/// Optimised: it compresses the programs several times.
const PACKAGER: &str = "run --quiet --profile quick --package xtask-dist --";

fn finish(succeeded: bool, error: &str) -> Result<(), String> {
    succeeded.then_some(()).ok_or_else(|| error.to_owned())
}

fn bill_of_materials(inputs: &Inputs) -> Result<String, String> {
    let license = |id: &_, stated: &str| dependencies::license(&inputs.rules, id, stated);
    sbom::document(&inputs.packages, &inputs.lock, &license, source_date()?)
}

fn license_texts(inputs: &Inputs) -> Result<String, String> {
    let foreign = inputs
        .packages
        .iter()
        .filter(|(_, package)| package.folder.is_none());
    let packages: Vec<_> = foreign
        .map(|(id, package)| {
            (
                id,
                dependencies::license(&inputs.rules, id, &package.license),
            )
        })
        .collect();
    notices::document(&packages, &cargo_home().join("registry"))
}

/// `SOURCE_DATE_EPOCH`, or the time of the last commit, or that of the oldest file a zip archive can have.
fn release_date(workspace: &Path) -> Result<u64, String> {
    const START_OF_1980: u64 = 315_532_800;
    if let Some(date) = source_date()? {
        return Ok(date);
    }
    let folder = workspace.to_string_lossy();
    let committed = first_line("git", &["-C", &folder, "log", "-1", "--format=%ct"]);
    Ok(committed
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(START_OF_1980))
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
