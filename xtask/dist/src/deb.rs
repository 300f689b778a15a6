//! Debian packages: an `ar` archive of two compressed tar archives (deb(5)).

use std::fmt::Write as _;

use md5::{Digest as _, Md5};

use crate::checksums::hex;
use crate::entry::Entry;
use crate::tarball::tar_gz;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Control<'a> {
    pub(crate) package: &'a str,
    /// As Debian writes it.
    pub(crate) version: &'a str,
    pub(crate) architecture: &'a str,
    pub(crate) summary: &'a str,
    pub(crate) description: &'a str,
}

/// `files` have paths relative to the root folder.
pub(crate) fn package(control: Control, files: &[Entry], date: u64) -> Result<Vec<u8>, String> {
    let about = [
        Entry::text("./control", control_file(control, files)),
        Entry::text("./md5sums", md5sums(files)),
    ];
    let rooted: Vec<Entry> = files
        .iter()
        .map(|file| Entry {
            path: format!("./{}", file.path),
            ..file.clone()
        })
        .collect();
    let mut archive = b"!<arch>\n".to_vec();
    append(&mut archive, "debian-binary", b"2.0\n", date);
    append(&mut archive, "control.tar.gz", &tar_gz(&about, date)?, date);
    append(&mut archive, "data.tar.gz", &tar_gz(&rooted, date)?, date);
    Ok(archive)
}

fn control_file(control: Control, files: &[Entry]) -> String {
    let Control {
        package,
        version,
        architecture,
        summary,
        description,
    } = control;
    let kibibytes: usize = files
        .iter()
        .map(|file| file.content.len().div_ceil(1024))
        .sum();
    let description = description.replace('\n', "\n ");
    // The program is static, so it depends on nothing. Calls to hosted models need root certificates.
    format!(
        "Package: {package}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: Roundtable contributors\n\
         Installed-Size: {kibibytes}\nRecommends: ca-certificates\nSection: utils\nPriority: optional\n\
         Description: {summary}\n {description}\n"
    )
}

fn md5sums(files: &[Entry]) -> String {
    let mut lines: Vec<String> = files
        .iter()
        .map(|file| format!("{}  {}\n", hex(&Md5::digest(&file.content)), file.path))
        .collect();
    lines.sort_by(|a, b| a[34..].cmp(&b[34..]));
    lines.concat()
}

fn append(archive: &mut Vec<u8>, name: &str, content: &[u8], date: u64) {
    let mut header = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        header,
        "{name:<16}{date:<12}{:<6}{:<6}{:<8}{:<10}`",
        0,
        0,
        "100644",
        content.len()
    );
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(content);
    if content.len() % 2 == 1 {
        archive.push(b'\n');
    }
}

#[cfg(test)]
#[path = "deb_tests.rs"]
mod tests;
