use crate::cast::{Cast, Tier};
use crate::data::{Data, DataError};

fn built_in(name: &str) -> Cast {
    Cast::load(&Data::built_in(), name).unwrap()
}

/// T-01: councils, judges, weights and tiers are those of the design.
#[test]
fn t01_themis_matches_the_design() {
    let panel = built_in("themis").panel.unwrap();
    let councils: Vec<_> = panel
        .councils
        .iter()
        .map(|council| {
            let judges: Vec<_> = council
                .judges
                .iter()
                .map(|judge| judge.seat.as_str())
                .collect();
            (council.name.as_str(), judges)
        })
        .collect();
    assert_eq!(
        councils,
        [
            (
                "content",
                vec!["hook", "emotion", "production", "authenticity"]
            ),
            ("market", vec!["trend", "subject", "audience"]),
        ]
    );
    assert_eq!(
        panel
            .judges()
            .filter(|(_, judge)| judge.is_scored())
            .count(),
        6
    );
    let weights: Vec<_> = panel
        .dimensions
        .iter()
        .filter_map(|dimension| Some((dimension.name.as_str(), dimension.weight?)))
        .collect();
    assert_eq!(
        weights,
        [
            ("hook_effectiveness", 25.0),
            ("emotional_resonance", 20.0),
            ("production_quality", 15.0),
            ("trend_alignment", 20.0),
            ("shareability", 20.0),
        ]
    );
    let tiers: Vec<_> = panel.tiers.all().iter().map(|tier| tier.from).collect();
    assert_eq!(tiers, [0, 21, 41, 61, 81]);
    assert!(
        panel
            .judges()
            .all(|(_, judge)| !judge.sub_scores.is_empty())
    );
}

/// T-09, T-10, T-11: only critic and orchestrator are on the deliberate tier, and no seat is in fast mode.
#[test]
fn t11_in_fast_mode_every_seat_is_on_the_fast_tier() {
    for name in ["themis", "rfc", "essay"] {
        let cast = built_in(name);
        let deliberate: Vec<_> = cast
            .seats
            .iter()
            .filter(|seat| seat.tier == Tier::Deliberate)
            .map(|seat| seat.name.as_str())
            .collect();
        assert_eq!(deliberate, ["critic", "orchestrator"], "{name}");
        assert!(
            cast.on_the_fast_tier()
                .seats
                .iter()
                .all(|seat| seat.tier == Tier::Fast)
        );
    }
}

/// The error for a cast file with one replacement, as `LINE: MESSAGE`.
fn rejected(from: &str, to: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let themis = include_str!("../../casts/themis.toml");
    assert!(themis.contains(from), "nothing to replace: {from}");
    std::fs::write(&file, themis.replacen(from, to, 1)).unwrap();
    match Cast::load_file(&file) {
        Ok(_) => panic!("'{to}' was accepted"),
        Err(DataError::Broken { line, message, .. }) => format!("{line}: {message}"),
        Err(error) => panic!("{error}"),
    }
}

fn line_of(text: &str) -> usize {
    let lines = include_str!("../../casts/themis.toml").lines();
    let found = lines.enumerate().filter(|(_, line)| line.contains(text));
    found.last().unwrap().0 + 1
}

/// T-01, C-02
#[test]
fn t01_a_council_without_judges_and_duplicate_judges_are_rejected() {
    let error = rejected("seat = \"emotion\"", "seat = \"hook\"");
    let line = line_of("seat = \"emotion\"");
    assert!(
        error.contains(&format!("{line}: two judges are named 'hook'")),
        "{error}"
    );
    let error = rejected(
        "lead = \"market-lead\"",
        "lead = \"market-lead\"\njudges = []\n\n[[panel.councils]]\nname = \"other\"\ntitle = \"x\"\nconcern = \"x\"\nlead = \"critic\"",
    );
    assert!(
        error.contains("the council 'market' needs at least one judge"),
        "{error}"
    );
}

/// C-02: rules that types cannot express are checked, with the line.
#[test]
fn c02_every_rule_of_a_panel_is_checked() {
    for (from, to, expected) in [
        (
            "lead = \"content-lead\"",
            "lead = \"nobody\"",
            "unknown seat 'nobody': add a [[seats]] table for it",
        ),
        (
            "name = \"market\"",
            "name = \"content\"",
            "two councils are named 'content'",
        ),
        (
            "weight = 25",
            "weight = 0",
            "the weight of 'hook_effectiveness' must be above 0; omit it for no weight",
        ),
        (
            "name = \"emotional_resonance\"",
            "name = \"hook_effectiveness\"",
            "two dimensions are named 'hook_effectiveness'",
        ),
        (
            "[\"hook_effectiveness\", ",
            "[\"hooks\", ",
            "the judge 'hook' scores the unknown dimension 'hooks'",
        ),
    ] {
        let error = rejected(from, to);
        let expected = format!("{}: {expected}", line_of(from));
        assert!(error.contains(&expected), "{error}\nexpected: {expected}");
    }
    // The fault is elsewhere than the change.
    for (from, to, expected) in [
        (
            "name = \"subjects\"",
            "name = \"platforms\"",
            "two extras are named 'platforms'",
        ),
        (
            "lead = \"content-lead\"",
            "lead = \"market-lead\"",
            "'market-lead' leads two councils",
        ),
        (
            "lead = \"content-lead\"",
            "lead = \"hook\"",
            "'hook' is a lead, critic or orchestrator and cannot also be a judge",
        ),
        (
            "[\"hook_effectiveness\", ",
            "[\"hooks\", ",
            "no judge scores the dimension 'hook_effectiveness'",
        ),
        (
            "[\"trend_alignment\", \"shareability\"",
            "[\"trend_alignment\", \"emotional_resonance\", \"shareability\"",
            "the dimension 'emotional_resonance' is judged by two councils, 'content' and 'market': assign it to one",
        ),
        (
            "[\"human_authorship\"]",
            "[\"human_authorship\", \"production_quality\"]",
            "the dimension 'production_quality' has scored and unscored judges: give the unscored judges a dimension of their own",
        ),
        (
            "name = \"critic\"\ntitle",
            "name = \"critics\"\ntitle",
            "unknown seat 'critic': add a [[seats]] table for it",
        ),
    ] {
        let error = rejected(from, to);
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    }
}

/// C-02: all faults of a file are reported at once, each at the line of its value.
#[test]
fn c02_all_faults_are_reported_with_their_lines() {
    let themis = include_str!("../../casts/themis.toml");
    let broken = themis
        .replacen("temperature = 0.4", "temperature = 3.5", 1)
        .replacen("weight = 25", "weight = 0", 1)
        .replacen("name = \"subjects\"", "name = \"platforms\"", 1);
    let line = |text: &str| {
        let before = broken.split(text).next().unwrap();
        before.lines().count() + usize::from(before.ends_with('\n'))
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, &broken).unwrap();
    let error = Cast::load_file(&file).unwrap_err().to_string();
    let found: Vec<usize> = error
        .lines()
        .map(|line| {
            let rest = line.strip_prefix(&format!("{}:", file.display())).unwrap();
            rest.split(':').next().unwrap().parse().unwrap()
        })
        .collect();
    let mut expected = [
        line("temperature = 3.5"),
        line("weight = 0"),
        broken
            .lines()
            .enumerate()
            .filter(|(_, line)| *line == "name = \"platforms\"")
            .last()
            .unwrap()
            .0
            + 1,
    ];
    expected.sort_unstable();
    assert_eq!(found, expected, "{error}");
}

/// C-02: all anchors are required: 0, 25, 50, 75 and 100.
#[test]
fn c02_a_missing_anchor_is_an_error() {
    let error = rejected("75 = \"A start", "80 = \"A start");
    assert!(
        error.contains("unknown key '80'; known: 0, 25, 50, 75, 100"),
        "{error}"
    );
}

/// C-02: the type of the tiers checks them.
#[test]
fn c02_tiers_that_do_not_rise_are_an_error() {
    let error = rejected("from = 41", "from = 11");
    assert!(error.contains("tiers must rise"), "{error}");
}

/// C-02: the example in the documentation is valid, once seats are added.
#[test]
fn c02_the_documented_example_is_valid() {
    let page = include_str!("../../../../docs/casts.md");
    let mut blocks = page.split("```toml\n");
    let panel = blocks.find(|block| block.starts_with("[panel]")).unwrap();
    let panel = panel.split("```").next().unwrap();
    let mut cast = String::from("name = \"grant\"\nprotocol = \"councils\"\nsummary = \"x\"\n");
    let seats = [
        "novelty",
        "feasibility",
        "science-lead",
        "plan-lead",
        "critic",
        "orchestrator",
    ];
    cast += &seats.map(|seat| format!("[[seats]]\nname = \"{seat}\"\ntitle = \"x\"\ntier = \"fast\"\ntemperature = 0.3\nmax_output_tokens = 9\npersona = \"x\"\n")).concat();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grant.toml");
    std::fs::write(&file, cast + panel).unwrap();
    Cast::load_file(&file).unwrap();
}
