use super::*;

/// P-01
#[test]
fn p01_the_built_in_cast_has_the_designs_temperatures_and_models() {
    let cast = Cast::load(&Data::built_in(), "dialectic").unwrap();
    let found: Vec<_> = cast
        .seats
        .iter()
        .map(|seat| {
            (
                seat.name.as_str(),
                seat.temperature,
                seat.prefers.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("proposer", 0.7, Some("qwen3:32b")),
            ("skeptic", 0.8, Some("llama3.3:70b")),
            ("synthesizer", 0.5, Some("qwen3:32b")),
            ("judge", 0.0, None),
        ]
    );
}

#[test]
fn an_unknown_cast_or_seat_names_the_nearest() {
    let data = Data::built_in();
    let error = Cast::load(&data, "dialectics").unwrap_err().to_string();
    assert!(error.contains("did you mean 'dialectic'"), "{error}");
    let cast = Cast::load(&data, "dialectic").unwrap();
    let error = cast.seat("sceptic").unwrap_err().to_string();
    assert!(error.contains("did you mean 'skeptic'"), "{error}");
}

/// C-02: mutated built-in files are either read, or rejected with a line that exists.
mod damaged {
    use proptest::prelude::*;

    use super::*;
    use crate::data::Origin;

    fn built_in() -> Vec<String> {
        let casts = Data::built_in().all(DataKind::Casts).unwrap();
        casts.into_values().map(|text| text.content).collect()
    }

    proptest! {
        #[test]
        fn c02_any_cast_file_is_read_or_rejected(
            which in any::<prop::sample::Index>(),
            cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..12_usize, "[\\[\\]=\"'{}a-z0-9.\n,-]{0,8}|-1|1e999|nan|true"), 1..4),
        ) {
            let texts = built_in();
            let mut content: Vec<char> = texts[which.index(texts.len())].chars().collect();
            for (at, length, with) in cuts {
                let at = at.index(content.len() + 1);
                let end = (at + length).min(content.len());
                content.splice(at..end, with.chars());
            }
            let content: String = content.into_iter().collect();
            let lines = content.lines().count().max(1);
            let text = Text { name: "mine.toml".into(), origin: Origin::File("casts/mine.toml".into()), content };
            if let Err(DataError::Broken { line, .. }) = Cast::of(&text) {
                prop_assert!((1..=lines + 1).contains(&line), "line {line} of {lines}");
            }
        }
    }
}

fn broken(content: &str) -> String {
    let text = Text {
        name: "mine.toml".into(),
        origin: crate::data::Origin::File("casts/mine.toml".into()),
        content: content.into(),
    };
    let checked = Cast::of(&text).and_then(|cast| cast.check_name(&text));
    checked.unwrap_err().to_string()
}

/// C-02: the line of the key, not of the seat.
#[test]
fn c02_an_invalid_value_is_reported_at_its_line() {
    let cast = |name: &str, temperature: &str, persona: &str| {
        format!(
            "name = \"{name}\"\nprotocol = \"dialectic\"\nsummary = \"x\"\n\n[[seats]]\nname = \"skeptic\"\ntitle = \"S\"\n\
             tier = \"fast\"\ntemperature = {temperature}\nmax_output_tokens = 9\npersona = \"{persona}\"\n\n[[seats]]\n\
             name = \"judge\"\ntitle = \"J\"\ntier = \"fast\"\ntemperature = 0\nmax_output_tokens = 9\npersona = \"p\"\n"
        )
    };
    for (content, expected) in [
        (
            cast("mine", "9", "p"),
            "casts/mine.toml:9: the temperature of 'skeptic' must be from 0 to 2, not 9",
        ),
        (
            cast("mine", "1", " "),
            "casts/mine.toml:11: the persona of 'skeptic' is empty",
        ),
        (
            cast("other", "1", "p"),
            "casts/mine.toml:1: the name 'other' differs from the name of the file, 'mine'",
        ),
        (
            cast("mine", "\"hot\"", "p"),
            "casts/mine.toml:9: invalid type: string \"hot\", expected a number",
        ),
    ] {
        assert_eq!(broken(&content), expected);
    }
}
