//! The packages of the workspace, with licences and edges, from `cargo tree` and `Cargo.lock`.
//!
//! Both are text that is easy to read without a JSON parser, which would be a dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Name and version. Ordered by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PackageId {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Package {
    /// As the manifest states it; empty if it does not.
    pub(crate) license: String,
    pub(crate) repository: String,
    /// The folder of a package that is not from a registry.
    pub(crate) folder: Option<String>,
    pub(crate) dependencies: BTreeSet<PackageId>,
}

pub(crate) type Packages = BTreeMap<PackageId, Package>;

/// The arguments of `cargo tree`, after which the caller adds its selection of packages and edges. For all platforms, so
/// that the result is the same on all of them.
const ARGUMENTS: &str = "tree --locked --target all --prefix depth --format {p}\t{l}\t{r} --edges";

/// Runs `cargo tree` with these edges (`normal,build`) on a selection of packages (`--workspace`).
pub(crate) fn read(cargo: &mut Command, edges: &str, selection: &str) -> Result<Packages, String> {
    let arguments = ARGUMENTS.split(' ').chain([edges]);
    let output = cargo
        .args(arguments.chain(selection.split(' ')))
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo tree failed: {error}"));
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(text: &str) -> Result<Packages, String> {
    let mut packages = Packages::new();
    let mut path: Vec<PackageId> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (depth, id, package) =
            parse_line(line).ok_or_else(|| format!("unexpected output of cargo tree: {line}"))?;
        path.truncate(depth);
        if let Some(parent) = path.last() {
            let parent = packages.entry(parent.clone()).or_default();
            parent.dependencies.insert(id.clone());
        }
        path.push(id.clone());
        // A package that was listed before is listed again without its dependencies.
        packages.entry(id).or_insert(package);
    }
    Ok(packages)
}

/// `2NAME vVERSION (proc-macro) (FOLDER)⇥LICENCE⇥REPOSITORY (*)`
fn parse_line(line: &str) -> Option<(usize, PackageId, Package)> {
    let line = line.strip_suffix(" (*)").unwrap_or(line);
    let name_at = line.find(|c: char| !c.is_ascii_digit())?;
    let depth = line[..name_at].parse().ok()?;
    let mut columns = line[name_at..].split('\t');
    let mut words = columns.next()?.splitn(3, ' ');
    let id = PackageId {
        name: words.next()?.to_owned(),
        version: words.next()?.strip_prefix('v')?.to_owned(),
    };
    let rest = words.next().unwrap_or_default();
    let rest = rest.strip_prefix("(proc-macro)").unwrap_or(rest).trim();
    let folder = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let package = Package {
        folder: folder.map(str::to_owned),
        license: columns.next()?.to_owned(),
        repository: columns.next()?.to_owned(),
        dependencies: BTreeSet::new(),
    };
    Some((depth, id, package))
}

/// A package of `Cargo.lock`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Locked {
    /// Empty for the workspace's own packages.
    pub(crate) source: String,
    /// The sha256 of the package file.
    pub(crate) checksum: String,
}

pub(crate) fn parse_lock(text: &str) -> BTreeMap<PackageId, Locked> {
    let tables = text.split("[[package]]").skip(1);
    let package = |table: &str| {
        let value = |key: &str| {
            let line = table.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
        };
        let id = PackageId {
            name: value("name")?,
            version: value("version")?,
        };
        let locked = Locked {
            source: value("source").unwrap_or_default(),
            checksum: value("checksum").unwrap_or_default(),
        };
        Some((id, locked))
    };
    tables.filter_map(package).collect()
}

#[cfg(test)]
#[path = "dependency_tree_tests.rs"]
mod tests;
