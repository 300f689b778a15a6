use super::*;

#[test]
fn the_script_names_version_and_address() {
    let script = script("1.2.3", "https://example.org/releases/").unwrap();
    assert!(script.contains("${ROUNDTABLE_VERSION:-1.2.3}"), "{script}");
    assert!(
        script.contains("${ROUNDTABLE_BASE_URL:-https://example.org/releases}"),
        "{script}"
    );
    assert!(
        !script.contains('@'),
        "every placeholder is filled: {script}"
    );
}

#[test]
fn an_address_that_would_be_code_is_refused() {
    for address in ["https://$(id)", "https://`id`", "\"", "'", "a\nb"] {
        assert!(script("1.2.3", address).is_err(), "{address}");
    }
}
