use super::*;

const TIERS: [(&str, &str); 2] = [
    ("tiers.deliberate", "openai:large"),
    ("tiers.fast", "openai:small"),
];

fn prepare(path: &Path) -> Edit {
    Edit::prepare(path, &TIERS, &Environment::default()).unwrap()
}

#[test]
fn a_new_file_gets_a_heading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/roundtable.toml");
    let edit = prepare(&path).with_heading("# Mine.\n");
    assert!(edit.is_new());
    let text = "# Mine.\n\n[tiers]\ndeliberate = \"openai:large\"\nfast = \"openai:small\"\n";
    assert_eq!(edit.difference(), (vec![], text.lines().collect()));
    assert!(!path.exists());
    edit.write().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert!(prepare(&path).with_heading("# Again.\n").is_empty());
}

#[test]
fn comments_and_other_settings_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roundtable.toml");
    let before =
        "# Ours\n[tiers]\ndeliberate = \"ollama:a\" # good\n\n[limits]\nmax_cost = 1 # USD\n";
    std::fs::write(&path, before).unwrap();
    let edit = prepare(&path);
    assert_eq!(
        edit.difference(),
        (
            vec!["deliberate = \"ollama:a\" # good"],
            vec![
                "deliberate = \"openai:large\" # good",
                "fast = \"openai:small\""
            ]
        )
    );
    edit.write().unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "# Ours\n[tiers]\ndeliberate = \"openai:large\" # good\nfast = \"openai:small\"\n\n[limits]\nmax_cost = 1 # USD\n"
    );
}

#[test]
fn additions_alone_remove_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roundtable.toml");
    std::fs::write(&path, "[limits]\nmax_cost = 1\n").unwrap();
    let edit = prepare(&path);
    let (removed, added) = edit.difference();
    assert_eq!(removed, Vec::<&str>::new());
    assert_eq!(added.len(), 4, "{added:?}");
}

#[test]
fn a_file_that_changed_in_the_meantime_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roundtable.toml");
    let edit = prepare(&path);
    std::fs::write(&path, "[limits]\nmax_cost = 1\n").unwrap();
    let error = edit.write().unwrap_err().to_string();
    assert!(error.contains("has changed in the meantime"), "{error}");
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "[limits]\nmax_cost = 1\n"
    );
}

#[test]
fn an_invalid_change_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("roundtable.toml");
    let settings = [("tiers.deliberate", "nowhere:x")];
    let refused = Edit::prepare(&path, &settings, &Environment::default());
    assert!(matches!(refused, Err(ConfigError::Faulty { .. })));
}
