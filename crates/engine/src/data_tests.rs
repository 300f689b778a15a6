use super::*;
use crate::cast::Cast;

/// C-02: a user's file replaces the built-in one of the same name and extends the list.
#[test]
fn c02_the_users_folder_overrides_built_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let casts = folder.path().join("casts");
    fs::create_dir_all(&casts).unwrap();
    fs::write(casts.join("mine.toml"), "broken").unwrap();
    let data = Data::with_folder(folder.path().to_owned());
    let names: Vec<_> = data.all(DataKind::Casts).unwrap().into_keys().collect();
    assert!(names.contains(&"dialectic.toml".to_owned()), "{names:?}");
    assert!(names.contains(&"mine.toml".to_owned()), "{names:?}");
    let mine = data.one(DataKind::Casts, "mine.toml").unwrap().unwrap();
    assert_eq!(mine.origin, Origin::File(casts.join("mine.toml")));
}

/// C-02: an invalid file is reported with file, line and what was expected.
#[test]
fn c02_a_broken_file_is_reported_with_file_and_line() {
    let text = Text {
        name: "mine.toml".into(),
        origin: Origin::File("casts/mine.toml".into()),
        content: "name = \"mine\"\nprotocol = \"dialectic\"\nsummary = \"x\"\nseatz = 3\n".into(),
    };
    let error = text.parse::<Cast>().unwrap_err().to_string();
    assert!(error.starts_with("casts/mine.toml:4: "), "{error}");
    assert!(
        error.ends_with("unknown key 'seatz'; did you mean 'seats'?"),
        "{error}"
    );
}

#[test]
fn a_misspelt_name_gets_a_suggestion() {
    let error = DataError::Unknown {
        what: "cast",
        name: "dialektic".into(),
        known: vec!["dialectic".into(), "themis".into()],
    };
    assert_eq!(
        error.to_string(),
        "unknown cast 'dialektic'; did you mean 'dialectic'?"
    );
}

/// C-02: several folders are read; the last one takes precedence.
#[test]
fn c02_a_later_folder_takes_precedence() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for (folder, content, name) in [
        (&folders[0], "first", "a.toml"),
        (&folders[1], "second", "a.toml"),
        (&folders[0], "only", "b.toml"),
    ] {
        let casts = folder.path().join("casts");
        fs::create_dir_all(&casts).unwrap();
        fs::write(casts.join(name), content).unwrap();
    }
    let data = Data::with_folders(
        folders
            .iter()
            .map(|folder| folder.path().to_owned())
            .collect(),
    );
    let all = data.all(DataKind::Casts).unwrap();
    for (name, expected) in [("a.toml", "second"), ("b.toml", "only")] {
        assert_eq!(all[name].content, expected);
        let one = data.one(DataKind::Casts, name).unwrap().unwrap();
        assert_eq!(one.content, expected);
    }
}

#[test]
fn parser_errors_are_in_plain_words() {
    for (message, plain) in [
        (
            "invalid type: string \"x\", expected f64",
            "invalid type: string \"x\", expected a number",
        ),
        (
            "invalid type: floating point `1.5`, expected u32",
            "invalid type: floating point '1.5', expected a whole number",
        ),
        ("missing field `title`", "missing key 'title'"),
        (
            "unknown field `temprature`, expected one of `name`, `temperature`",
            "unknown key 'temprature'; did you mean 'temperature'?",
        ),
        (
            "unknown variant `slow`, expected `deliberate` or `fast`",
            "unknown value 'slow'; known: deliberate, fast",
        ),
    ] {
        assert_eq!(plain_message(message), plain);
    }
}
