use super::*;
use crate::data::Origin;

fn text(content: &str) -> Text {
    Text {
        name: "mine.toml".into(),
        origin: Origin::File("modes/mine.toml".into()),
        content: content.into(),
    }
}

/// M-01, M-02: the seven modes with their speaking order and settings.
#[test]
fn m01_there_are_seven_modes() {
    use {SpeakingOrder::*, Stances::Assigned, Visibility::*};

    let data = Data::built_in();
    let modes: Vec<_> = Mode::names(&data)
        .unwrap()
        .iter()
        .map(|name| Mode::load(&data, name).unwrap())
        .collect();
    let table: Vec<_> = modes
        .iter()
        .map(|mode| {
            (
                mode.name.as_str(),
                mode.order,
                mode.visibility,
                mode.stances,
            )
        })
        .collect();
    assert_eq!(
        table,
        [
            ("adversarial", Sequence, Named, Stances::None),
            ("collaborative", Parallel, Named, Stances::None),
            ("delphi", Parallel, Anonymous, Stances::None),
            ("devils-advocate", Sequence, Named, Assigned),
            ("expert-panel", Parallel, Named, Stances::None),
            ("red-team-blue-team", RedThenBlue, Named, Stances::None),
            ("socratic", Sequence, Named, Stances::None),
        ]
    );
    // M-01: the sections of the first and later rounds differ in every mode.
    for mode in &modes {
        assert_ne!(mode.structure.first, mode.structure.later, "{}", mode.name);
    }
    // M-09: modes that require mitigations, and modes that trigger the second safety tier.
    let required: Vec<_> = modes
        .iter()
        .filter(|mode| mode.mitigations == Mitigations::Required)
        .map(|mode| mode.name.as_str())
        .collect();
    assert_eq!(required, ["adversarial", "red-team-blue-team"]);
    let watched: Vec<_> = modes
        .iter()
        .filter(|mode| mode.caution == Caution::Watched)
        .map(|mode| mode.name.as_str())
        .collect();
    assert_eq!(
        watched,
        ["adversarial", "devils-advocate", "red-team-blue-team"]
    );
}

/// M-01, C-02: an invalid file is reported with file, line and what was expected.
#[test]
fn m01_a_broken_mode_file_says_where_and_why() {
    let cases = [
        (
            SKELETON.replace("order = \"parallel\"", "order = \"chaos\""),
            "modes/mine.toml:3: ",
        ),
        (
            SKELETON.replace("order = \"parallel\"", "order = \"red-then-blue\""),
            "missing [variants.red]",
        ),
        (
            SKELETON.replace(
                "order = \"parallel\"",
                "order = \"parallel\"\nstances = \"assigned\"",
            ),
            "modes/mine.toml:4: only the mode 'devils-advocate' supports",
        ),
        (
            SKELETON.replace("name = \"collaborative\"", "name = \"My Mode\""),
            "modes/mine.toml:1: invalid mode name 'My Mode'",
        ),
        (
            SKELETON.replace(
                "identity = \"You are a synthesizer on a panel that builds one answer together.\"",
                "identity = \" \"",
            ),
            "modes/mine.toml:6: 'identity' is empty",
        ),
        (
            format!("{SKELETON}\n[variants.red]\nrole = \"x\"\n"),
            "unused [variants.red]",
        ),
        (SKELETON.replace("mission", "misson"), "misson"),
    ];
    for (content, expected) in cases {
        let error = Mode::parse(&text(&content)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// C-02, M-01: the user's folder adds modes and replaces built-in ones.
#[test]
fn m01_the_users_own_mode_works_like_a_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("modes")).unwrap();
    let own = SKELETON.replace("name = \"collaborative\"", "name = \"mine\"");
    std::fs::write(folder.path().join("modes/mine.toml"), own).unwrap();
    let data = Data::with_folder(folder.path().to_owned());
    assert_eq!(Mode::load(&data, "mine").unwrap().name, "mine");
    assert_eq!(Mode::names(&data).unwrap().len(), 8);
    let error = Mode::load(&data, "delfi").unwrap_err().to_string();
    assert_eq!(error, "unknown mode 'delfi'; did you mean 'delphi'?");
}

/// C-02: a randomly damaged built-in file is read, or refused with file and line.
mod damaged {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn c02_any_mode_file_is_read_or_refused(
            which in any::<prop::sample::Index>(),
            cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, "[\\[\\]=\"'{}a-z0-9.\n,-]{0,8}|-1|1e999|nan|true"), 1..4),
        ) {
            let files = Data::built_in().all(DataKind::Modes).unwrap();
            let texts: Vec<String> = files.into_values().map(|text| text.content).collect();
            let mut content: Vec<char> = texts[which.index(texts.len())].chars().collect();
            for (at, length, with) in cuts {
                let at = at.index(content.len() + 1);
                let end = (at + length).min(content.len());
                content.splice(at..end, with.chars());
            }
            let content: String = content.into_iter().collect();
            let lines = content.lines().count().max(1);
            if let Err(DataError::Broken { line, .. }) = Mode::parse(&text(&content)) {
                prop_assert!((1..=lines + 1).contains(&line), "line {line} of {lines}");
            }
        }
    }
}
