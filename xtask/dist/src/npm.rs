//! npm packages: a tar archive with `package.json`. `bin` is the program itself, so that Node.js is needed to install it but not
//! to run it.

use serde_json::json;

use crate::entry::Entry;
use crate::tarball::tar_gz;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Npm<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// As Node.js calls it.
    pub(crate) cpu: &'a str,
    pub(crate) summary: &'a str,
}

/// `program` is the path of the command among `files`.
pub(crate) fn package(
    npm: Npm,
    program: &str,
    files: &[Entry],
    date: u64,
) -> Result<Vec<u8>, String> {
    let about = json!({
        "name": npm.name,
        "version": npm.version,
        "description": npm.summary,
        "license": "MIT OR Apache-2.0",
        // One command only: `npx NAME` runs it, although it has another name.
        "bin": { "roundtable": program },
        "os": ["linux"],
        "cpu": [npm.cpu],
    });
    let mut entries = vec![Entry::text("package/package.json", format!("{about:#}\n"))];
    entries.extend(files.iter().map(|file| Entry {
        path: format!("package/{}", file.path),
        ..file.clone()
    }));
    tar_gz(&entries, date)
}

#[cfg(test)]
#[path = "npm_tests.rs"]
mod tests;
