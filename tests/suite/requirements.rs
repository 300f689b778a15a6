//! `docs/requirements.md`, `docs/acceptance.md` and `docs/security-review.md` say of every row which tests show it, or why there is
//! none; the tests exist.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

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

/// The rows of a document that begin with an id: the id, and the last of the three columns.
fn rows(document: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("docs").join(document)).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, first, _, shown, _] = cells.as_slice() else {
            return None;
        };
        let id = first.split([' ', ',']).next()?;
        let is_id = id.ends_with(|c: char| c.is_ascii_digit() || c == 'b');
        is_id.then(|| (id.to_owned(), (*shown).to_owned()))
    });
    rows.collect()
}

/// The tests that a text names: words with at least three underscores.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let words = text.split('`').skip(1).step_by(2);
    words.filter(move |word| word.chars().all(is_name) && word.matches('_').count() >= 3)
}

#[test]
fn every_test_named_in_the_documents_exists() {
    let mut known = HashSet::new();
    for folder in ["crates", "src", "tests", "xtask"] {
        collect_tests(&root().join(folder), &mut known);
    }
    for (document, at_least) in [
        ("requirements.md", 200),
        ("acceptance.md", 150),
        ("security-review.md", 100),
    ] {
        let rows = rows(document);
        let names: Vec<&str> = rows.iter().flat_map(|(_, shown)| named(shown)).collect();
        assert!(names.len() > at_least, "{document}: {}", names.len());
        let missing: Vec<&&str> = names
            .iter()
            .filter(|name| !known.contains(**name))
            .collect();
        assert!(missing.is_empty(), "{document}: no such tests: {missing:?}");
    }
}

/// A row without a test says why.
#[test]
fn every_row_has_a_test_or_a_reason() {
    for (document, reasons) in [
        ("requirements.md", ["not built yet"].as_slice()),
        ("acceptance.md", &["Deliberate: "]),
    ] {
        let rows = rows(document);
        assert!(rows.len() > 100, "{document}: {}", rows.len());
        let empty: Vec<&String> = rows
            .iter()
            .filter(|(_, shown)| named(shown).next().is_none())
            .filter(|(_, shown)| !reasons.iter().any(|reason| shown.contains(reason)))
            .map(|(id, _)| id)
            .collect();
        assert!(empty.is_empty(), "{document}: {empty:?}");
    }
}
