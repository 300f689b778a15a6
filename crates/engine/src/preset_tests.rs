use super::*;
use crate::data::Origin;

fn parsed(content: &str) -> Result<Preset, String> {
    let text = Text {
        name: "mine.toml".into(),
        origin: Origin::File("mine.toml".into()),
        content: content.into(),
    };
    Preset::parse(&text).map_err(|error| error.to_string())
}

/// B-13: every part of a debate that a preset sets.
#[test]
fn b13_a_preset_names_protocol_cast_models_rules_and_budget() {
    let preset = parsed(
        "name = 'mine'\nsummary = 's'\nprotocol = 'ask'\ncast = 'c'\nmodel = 'a:b'\non_disconnect = 'finish'\n\
         [seats]\nskeptic = 'c:d'\n[rules]\nmax_rounds = 2\n[budget]\nmax_cost = 0.5\nmax_seconds = 60\nmax_tokens = 9",
    )
    .unwrap();
    assert_eq!(preset.protocol().unwrap().name(), "dialectic");
    assert_eq!(preset.on_disconnect, OnDisconnect::Finish);
    assert_eq!(preset.rules["max_rounds"], 2);
    assert_eq!(preset.seats["skeptic"], "c:d");
    // The name of the protocol works as well.
    let preset = parsed("name = 'mine'\nsummary = 's'\nprotocol = 'dialectic'").unwrap();
    assert_eq!(preset.protocol().unwrap().command(), "ask");
    assert_eq!(preset.on_disconnect, OnDisconnect::Stop);
}

#[test]
fn b13_a_broken_preset_is_an_error_with_its_line() {
    for (content, expected) in [
        (
            "name = 'other'\nsummary = 's'\nprotocol = 'ask'",
            "mine.toml:1: the name 'other' must be that of the file",
        ),
        (
            "name = 'mine'\nsummary = 's'\nprotocol = 'pannel'",
            "mine.toml:3: unknown protocol 'pannel'; did you mean 'panel'?",
        ),
        (
            "name = 'mine'\nsummary = 's'\nprotocol = 'ask'\n[budget]\nmax_cost = -1.0",
            "mine.toml:5: invalid max_cost -1",
        ),
        (
            "name = 'mine'\nsummary = 's'\nprotocol = 'ask'\n[budget]\nmax_seconds = 0.0",
            "mine.toml:5: invalid max_seconds 0",
        ),
        (
            "name = 'mine'\nsummary = 's'\nprotocol = 'ask'\non_disconect = 'finish'",
            "mine.toml:4: unknown key 'on_disconect'; did you mean 'on_disconnect'?",
        ),
        (
            "name = 'mine'\nsummary = ' '\nprotocol = 'ask'",
            "mine.toml:2: the summary is empty",
        ),
    ] {
        let error = parsed(content).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn b13_the_built_in_presets_are_valid() {
    let data = Data::built_in();
    let names = data.names(DataKind::Presets).unwrap();
    assert!(names.contains(&"second-opinion".to_owned()));
    for name in names {
        Preset::load(&data, &name).unwrap();
    }
}
