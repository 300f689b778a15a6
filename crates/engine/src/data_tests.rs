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

/// C-02: a name leads to a file of its folder only.
#[test]
fn c02_a_name_cannot_lead_out_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let casts = folder.path().join("casts");
    fs::create_dir_all(&casts).unwrap();
    let outside = folder.path().join("outside");
    fs::write(folder.path().join("outside.toml"), "secret = 1").unwrap();
    fs::write(casts.join("a_1-b.toml"), "inside").unwrap();
    let data = Data::with_folder(folder.path().to_owned());
    let longest = "a".repeat(64);
    fs::write(casts.join(format!("{longest}.toml")), "inside").unwrap();
    for name in ["a_1-b", &longest] {
        let found = data.named(DataKind::Casts, "cast", name).unwrap();
        assert_eq!(found.content, "inside");
    }
    let too_long = "a".repeat(65);
    for name in [
        "../outside",
        outside.to_str().unwrap(),
        "x/../../outside",
        ".",
        "..",
        "",
        "-a",
        "_a",
        "A",
        "a.b",
        "a\\b",
        "a\0",
        "C:a",
        "\u{202e}a",
        &too_long,
    ] {
        for kind in DataKind::ALL {
            let error = data.named(kind, "file", name).unwrap_err();
            assert!(
                matches!(error, DataError::InvalidName { .. }),
                "{name}: {error}"
            );
            assert_eq!(data.one(kind, &format!("{name}.toml")), Ok(None), "{name}");
            assert_eq!(data.one(kind, name), Ok(None), "{name}");
        }
    }
    let error = data.named(DataKind::Casts, "cast", "../x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid cast '../x': a name has 1 to 64 lowercase letters, digits, '-' and '_'"
    );
    let long = data.named(DataKind::Casts, "cast", &"a".repeat(1_000_000));
    assert!(long.unwrap_err().to_string().len() < 300);
}

#[test]
fn c02_every_built_in_file_can_be_found_by_its_name() {
    let data = Data::built_in();
    for kind in DataKind::ALL {
        for name in data.all(kind).unwrap().keys() {
            assert!(data.one(kind, name).unwrap().is_some(), "{name}");
        }
    }
}

/// Files are read up to a limit; anything but a regular file is refused before it is opened.
#[test]
fn only_regular_files_of_a_limited_size_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.toml");
    fs::write(&file, "12345").unwrap();
    assert_eq!(read_regular(&file, 5).unwrap(), b"12345");
    let error = read_regular(&file, 4).unwrap_err();
    assert_eq!(error.to_string(), "it is larger than 4 bytes");
    let error = read_regular(folder.path(), 4).unwrap_err();
    assert_eq!(error.to_string(), "it is a folder");
    let missing = read_regular(&folder.path().join("b"), 4).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [Path::new("/dev/zero"), &pipe] {
        let error = Text::read(path).unwrap_err().to_string();
        assert!(
            error.ends_with("it is a device or a pipe, not a file"),
            "{error}"
        );
    }
}

/// Comparing takes time in proportion to both lengths.
#[test]
fn a_very_long_word_is_compared_with_nothing() {
    assert_eq!(closest("modess", ["modes"].into_iter()), Some("modes"));
    let long = "m".repeat(201);
    assert_eq!(closest(&long, [long.as_str()].into_iter()), None);
    let short = "m".repeat(200);
    assert_eq!(
        closest(&short, [short.as_str()].into_iter()),
        Some(short.as_str())
    );
}
