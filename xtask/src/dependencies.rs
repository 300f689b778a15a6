//! The part of cargo-deny that takes no time: licences, sources and duplicates, by the rules in `deny.toml`.
//!
//! cargo-deny takes minutes to compile, so it cannot be part of every run of the tests; this can.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::deny_file::DenyFile;
use crate::dependency_tree::{self, Locked, Package, PackageId, Packages, parse_lock};
use crate::spdx;

/// The dependencies of the workspace and the rules for them.
pub(crate) struct Inputs {
    pub(crate) rules: DenyFile,
    pub(crate) packages: Packages,
    pub(crate) lock: BTreeMap<PackageId, Locked>,
}

impl Inputs {
    /// `edges` and `selection` choose the packages, as in `cargo tree`.
    pub(crate) fn read(
        cargo: &mut Command,
        workspace: &Path,
        edges: &str,
        selection: &str,
    ) -> Result<Self, String> {
        let read = |name: &str| {
            let path = workspace.join(name);
            let text = std::fs::read_to_string(&path);
            text.map_err(|error| format!("cannot read {}: {error}", path.display()))
        };
        Ok(Self {
            rules: DenyFile::parse(&read("deny.toml")?),
            packages: dependency_tree::read(cargo, edges, selection)?,
            lock: parse_lock(&read("Cargo.lock")?),
        })
    }
}

/// Checks all dependencies of the workspace, those of the tests included. The error lists every violation.
pub(crate) fn check(cargo: &mut Command, workspace: &Path) -> Result<(), String> {
    let inputs = Inputs::read(cargo, workspace, "normal,build,dev", "--workspace")?;
    let Inputs {
        rules,
        packages,
        lock,
    } = &inputs;
    let violations = [
        licenses(rules, packages),
        sources(rules, packages, lock, &workspace.to_string_lossy()),
        duplicates(rules, packages),
    ]
    .concat();
    if violations.is_empty() {
        return Ok(());
    }
    Err(format!(
        "deny.toml does not allow:\n  {}",
        violations.join("\n  ")
    ))
}

/// The licence of a package: from its manifest, or from the rules if it has none.
pub(crate) fn license(rules: &DenyFile, id: &PackageId, stated: &str) -> String {
    let clarified = rules.clarified.iter().find(|(name, _)| *name == id.name);
    match clarified.filter(|_| stated.is_empty()) {
        Some((_, expression)) => expression.clone(),
        None => spdx::normalize(stated),
    }
}

fn licenses(rules: &DenyFile, packages: &Packages) -> Vec<String> {
    let is_denied = |id: &PackageId, expression: &str| {
        let is_excepted = |name: &str| {
            let mut exceptions = rules.exceptions.iter();
            exceptions.any(|(package, license)| *package == id.name && license == name)
        };
        let is_allowed =
            |name: &str| rules.allowed.iter().any(|own| own == name) || is_excepted(name);
        !spdx::is_satisfied(expression, &is_allowed)
    };
    let violation = |(id, package): (&PackageId, &Package)| {
        let expression = license(rules, id, &package.license);
        is_denied(id, &expression).then(|| {
            let stated = Some(expression.as_str()).filter(|text| !text.is_empty());
            let stated = stated.unwrap_or("none");
            format!(
                "{} {}: its licence is not allowed: {stated}",
                id.name, id.version
            )
        })
    };
    packages.iter().filter_map(violation).collect()
}

fn sources(
    rules: &DenyFile,
    packages: &Packages,
    lock: &BTreeMap<PackageId, Locked>,
    workspace: &str,
) -> Vec<String> {
    let mut violations = Vec::new();
    for (id, locked) in lock {
        let registry = locked.source.strip_prefix("registry+");
        let is_listed = |url: &str| rules.registries.iter().any(|known| known == url);
        let problem = if locked.source.is_empty() {
            let folder = packages.get(id).and_then(|found| found.folder.as_deref());
            let is_ours = folder.is_some_and(|folder| folder.starts_with(workspace));
            (!is_ours).then(|| "it is not in the workspace".to_owned())
        } else if !registry.is_some_and(is_listed) {
            Some(format!("its source is not allowed: {}", locked.source))
        } else if locked.checksum.len() != 64 {
            Some("Cargo.lock has no sha256 of it".to_owned())
        } else {
            None
        };
        violations.extend(problem.map(|text| format!("{} {}: {text}", id.name, id.version)));
    }
    violations
}

fn duplicates(rules: &DenyFile, packages: &Packages) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for id in packages.keys() {
        versions.entry(&id.name).or_default().push(&id.version);
    }
    let mut found = BTreeSet::new();
    for (name, mut all) in versions {
        all.sort_by_key(|version| numbers(version));
        all.pop();
        found.extend(all.iter().map(|version| format!("{name}@{version}")));
    }
    let listed: BTreeSet<String> = rules.duplicates.iter().cloned().collect();
    let new = found
        .difference(&listed)
        .map(|entry| format!("{entry}: a second version that deny.toml does not list"));
    let stale = listed
        .difference(&found)
        .map(|entry| format!("{entry}: listed in deny.toml, but no longer a second version"));
    new.chain(stale).collect()
}

fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    let numbers = release.split('.');
    numbers.map(|number| number.parse().unwrap_or(0)).collect()
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
