//! `docs/requirements.md` and `docs/security-review.md` name tests; each of them exists.

use std::collections::HashSet;
use std::path::Path;

/// The names of all test functions below a folder.
fn collect_tests(folder: &Path, names: &mut HashSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_tests(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let functions = text.lines().filter_map(|line| {
                let (_, rest) = line.split_once("fn ")?;
                rest.split_once('(').map(|(name, _)| name.to_owned())
            });
            names.extend(functions);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn known_tests() -> HashSet<String> {
    let mut known = HashSet::new();
    for folder in ["crates", "src", "tests", "xtask"] {
        collect_tests(&root().join(folder), &mut known);
    }
    known
}

/// The points of the security review and their tests.
#[test]
fn every_test_named_in_the_security_review_exists() {
    let known = known_tests();
    let document = std::fs::read_to_string(root().join("docs/security-review.md")).unwrap();
    let rows = document.lines().filter(|line| line.starts_with("| "));
    let named: Vec<&str> = rows
        .filter_map(|row| row.split(" | ").nth(2))
        .flat_map(|text| text.split('`'))
        .filter(|word| word.matches('_').count() >= 3)
        .collect();
    assert!(named.len() > 100, "{named:?}");
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !known.contains(**name))
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}

#[test]
fn every_test_named_in_the_requirements_exists() {
    let known = known_tests();
    let root = root();
    let document = std::fs::read_to_string(root.join("docs/requirements.md")).unwrap();
    let rows = document.lines().filter(|line| line.starts_with("| "));
    // Of the rows with a third column.
    let shown = rows.filter_map(|row| row.split(" | ").nth(2));
    let named: Vec<&str> = shown
        .flat_map(|text| text.split('`'))
        .filter(|word| {
            let prefix = word.split('_').next().unwrap_or_default();
            prefix.len() == 3 && prefix[1..].parse::<u8>().is_ok()
        })
        .collect();
    assert!(named.len() > 100, "{named:?}");
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !known.contains(**name))
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:?}");
}
