use super::*;

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(left, right): &(&str, &str)| ((*left).to_owned(), (*right).to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn the_workspaces_file_is_understood() {
    let text = include_str!("../../deny.toml");
    let file = DenyFile::parse(text);
    assert!(file.allowed.contains(&"MIT".to_owned()) && file.allowed.contains(&"Zlib".to_owned()));
    assert_eq!(
        file.exceptions,
        pairs(&[
            ("webdriver", "MPL-2.0"),
            ("webpki-root-certs", "CDLA-Permissive-2.0")
        ])
    );
    assert_eq!(file.clarified, pairs(&[("apalis-postgres", "MIT")]));
    assert_eq!(
        file.registries,
        ["https://github.com/rust-lang/crates.io-index"]
    );
    // Nothing is skipped, and every duplicate has a reason.
    let reasons = text.matches("reason = \"").count();
    assert_eq!(file.duplicates.len(), reasons);
    assert!(file.duplicates.iter().all(|entry| entry.contains('@')));
}

#[test]
fn other_sections_and_comments_are_ignored() {
    let text = "[advisories]\nallow = [\n\"GPL-3.0\"\n]\n[licenses]\n# \"X\"\nallow = [\n  \"MIT\", # not \"Y\"\n]\n";
    let expected = DenyFile {
        allowed: vec!["MIT".to_owned()],
        ..DenyFile::default()
    };
    assert_eq!(DenyFile::parse(text), expected);
}
