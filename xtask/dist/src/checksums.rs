//! `SHA256SUMS`, in the format of `sha256sum`, so that `sha256sum --check SHA256SUMS` verifies it.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

pub(crate) const CHECKSUMS: &str = "SHA256SUMS";

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Of all `names` in `folder`, in alphabetical order.
pub(crate) fn write(folder: &Path, names: &[String]) -> Result<(), String> {
    let mut names: Vec<&String> = names.iter().collect();
    names.sort();
    let mut sums = String::new();
    for name in names {
        let path = folder.join(name);
        let content = std::fs::read(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let _ = writeln!(sums, "{}  {name}", hex(&Sha256::digest(&content)));
    }
    let path = folder.join(CHECKSUMS);
    std::fs::write(&path, sums).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
