//! The software bill of materials: everything that a build of the program contains, as CycloneDX 1.5 JSON.
//!
//! Deterministic: the same `Cargo.lock` gives the same bytes on every machine. It has a time only if `SOURCE_DATE_EPOCH` is
//! set, and no serial number, which would have to be random. C and C++ code (SQLite, llama.cpp, mimalloc, ring) is part of
//! the crate that contains it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::dependency_tree::{Locked, Package, PackageId, Packages};

/// `license` returns the SPDX expression of a package from what its manifest states; `time` is in seconds since 1970.
pub(crate) fn document(
    packages: &Packages,
    lock: &BTreeMap<PackageId, Locked>,
    license: &dyn Fn(&PackageId, &str) -> String,
    time: Option<u64>,
) -> Result<String, String> {
    let (program, package) = packages
        .iter()
        .find(|(id, _)| id.name == "roundtable")
        .ok_or("cargo tree does not list roundtable")?;
    let component = |id: &PackageId, package: &Package, kind: &str| {
        let license = license(id, &package.license);
        component(id, kind, &license, package, lock.get(id))
    };
    let timestamp = time.map_or_else(String::new, |time| {
        format!("    \"timestamp\": {},\n", string(&rfc3339(time)))
    });
    let components: Vec<String> = packages
        .iter()
        .filter(|(id, _)| *id != program)
        .map(|(id, package)| format!("    {}", component(id, package, "library")))
        .collect();
    let dependencies: Vec<String> = packages
        .iter()
        .map(|(id, package)| {
            let refs: Vec<String> = package
                .dependencies
                .iter()
                .map(|id| string(&purl(id)))
                .collect();
            format!(
                "    {{\"ref\": {}, \"dependsOn\": [{}]}}",
                string(&purl(id)),
                refs.join(", ")
            )
        })
        .collect();
    Ok(format!(
        "{{\n  \"$schema\": \"http://cyclonedx.org/schema/bom-1.5.schema.json\",\n  \"bomFormat\": \"CycloneDX\",\n  \
         \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \"metadata\": {{\n{timestamp}    \"component\": {}\n  }},\n  \
         \"components\": [\n{}\n  ],\n  \"dependencies\": [\n{}\n  ]\n}}\n",
        component(program, package, "application"),
        components.join(",\n"),
        dependencies.join(",\n"),
    ))
}

fn component(
    id: &PackageId,
    kind: &str,
    license: &str,
    package: &Package,
    locked: Option<&Locked>,
) -> String {
    let purl = string(&purl(id));
    let mut text = format!(
        "{{\"type\": {}, \"bom-ref\": {purl}, \"name\": {}, \"version\": {}",
        string(kind),
        string(&id.name),
        string(&id.version)
    );
    let checksum = locked.map_or("", |locked| &locked.checksum);
    // Writing to a string cannot fail.
    if !checksum.is_empty() {
        let _ = write!(
            text,
            ", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": {}}}]",
            string(checksum)
        );
    }
    if !license.is_empty() {
        let _ = write!(
            text,
            ", \"licenses\": [{{\"expression\": {}}}]",
            string(license)
        );
    }
    let _ = write!(text, ", \"purl\": {purl}");
    if !package.repository.is_empty() {
        let _ = write!(
            text,
            ", \"externalReferences\": [{{\"type\": \"vcs\", \"url\": {}}}]",
            string(&package.repository)
        );
    }
    text + "}"
}

/// The package URL. A `+` in a version is written in percent encoding, as a space would otherwise be read.
fn purl(id: &PackageId) -> String {
    format!("pkg:cargo/{}@{}", id.name, id.version.replace('+', "%2B"))
}

/// A JSON string.
fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Writing to a string cannot fail.
            c if c.is_control() => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// `2026-01-31T23:59:59Z`. The date by Howard Hinnant's `civil_from_days`, for years from 1970.
fn rfc3339(time: u64) -> String {
    let (days, seconds) = (time / 86_400, time % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
#[path = "sbom_tests.rs"]
mod tests;
