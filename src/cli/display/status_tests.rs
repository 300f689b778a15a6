use roundtable_core::usage::{Money, Usage};

use super::*;

/// R3: an extra round is never "round 2 of 1", and a round with a purpose of its own names it.
#[test]
fn extra_rounds_are_named() {
    let planned = |least, most| Some(Planned { least, most });
    let lines = [
        (1, "debate", planned(1, 1), "● round 1 of 1"),
        (
            2,
            "objection",
            planned(1, 1),
            "extra round: critical objections",
        ),
        (
            2,
            "objection",
            planned(3, 3),
            "●●○ round 2 of 3: critical objections",
        ),
        (2, "refinement", planned(3, 5), "●●○○○ round 2 of 3–5"),
        (4, "refinement", planned(3, 5), "●●●●○ round 4 of 5"),
        (3, "debate", planned(2, 2), "extra round"),
        (0, "debate", planned(2, 2), "blind vote"),
        (2, "rankings", None, "round 2"),
    ];
    for (round, name, planned, expected) in lines {
        assert_eq!(timeline(round, name, planned), expected);
    }
}

#[test]
fn remarks_are_summed_up() {
    let remarks = ["evidence: name it.", "evidence: again.", "length: shorter."];
    let remarks = remarks.map(str::to_owned);
    let names = "also after a second try: a claim has no evidence; it is too long";
    assert_eq!(broken_rules(&remarks).as_deref(), Some(names));
    let unnamed = ["Do not name the debate.".to_owned()];
    let count = "also after a second try: it breaks a rule of the debate";
    assert_eq!(broken_rules(&unnamed).as_deref(), Some(count));
    assert_eq!(broken_rules(&[]), None);
}

/// D11: nothing used says nothing about the price; a known price of zero is free.
#[test]
fn c11_free_is_only_a_known_price() {
    let spent = Spent::default();
    let mut sum = Sum::default();
    assert_eq!(line(&[], &sum, &spent, "lab:x"), "  0 ms");
    sum.usage = Usage {
        input: 10,
        ..Usage::default()
    };
    assert_eq!(
        line(&[], &sum, &spent, "lab:x"),
        "  10 tokens so far · free · 0 ms"
    );
    sum.cost = None;
    let unknown = "  10 tokens so far · price unknown · 0 ms";
    assert_eq!(line(&[], &sum, &spent, "lab:x"), unknown);
    sum.cost = Money::from_dollars(0.5);
    let known = "  10 tokens so far · $0.5000 · 0 ms";
    assert_eq!(line(&[], &sum, &spent, "lab:x"), known);
}

#[test]
fn the_speed_of_an_embedded_model_is_shown() {
    let spent = Spent {
        usage: Usage {
            input: 900,
            output: 180,
            ..Usage::default()
        },
        latency_ms: 20_000,
        ..Spent::default()
    };
    let line = |model| line(&[], &Sum::default(), &spent, model);
    assert!(
        line("local:x").ends_with(" · 9 tokens/s"),
        "{}",
        line("local:x")
    );
    assert!(!line("lab:x").contains("tokens/s"), "{}", line("lab:x"));
    assert_eq!(tokens_per_second(0, Duration::from_secs(1)), None);
    assert_eq!(tokens_per_second(5, Duration::ZERO), None);
}
