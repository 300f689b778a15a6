use super::*;
use crate::evidence::{Level, Strength};
use EvidenceType::{Documented, Empirical, Logical, Precedent, Speculative};

fn said(kind: EvidenceType, source: &str) -> Said {
    Said {
        kind: Stated::Given(kind),
        source: Cited::read(source),
        is_listed: false,
    }
}

fn on(claim: &str, evidence: Vec<Said>, confidence: f64) -> Grounds {
    Grounds {
        claim: claim.into(),
        text: format!("The words of {claim}."),
        evidence,
        confidence: Stated::Given(Confidence::new(confidence).unwrap()),
    }
}

fn heard(seat: &str, grounds: Vec<Grounds>) -> Heard {
    Heard {
        seat: seat.into(),
        grounds,
        bare: Vec::new(),
        unknown: Vec::new(),
        references: Vec::new(),
        critiques: Vec::new(),
        dropped: Vec::new(),
    }
}

fn critique(claim: &str, counter: Vec<EvidenceType>, answer: Answer) -> Critique {
    Critique {
        claim: claim.into(),
        grade: Stated::Given(Strength::Medium),
        counter,
        answer,
    }
}

fn flags(ledger: &Ledger) -> Vec<String> {
    ledger
        .flags
        .iter()
        .map(|flagged| flagged.flag.to_string())
        .collect()
}

#[test]
fn e02_a_claim_carries_evidence_source_and_confidence() {
    let mut ledger = Ledger::default();
    let evidence = vec![said(Documented, "RFC 7231"), said(Logical, "It follows.")];
    ledger.take(1, &[heard("a", vec![on("C1", evidence, 0.9)])]);
    let grounding = &ledger.claims["C1"]["a"];
    assert_eq!(grounding.evidence.len(), 2);
    assert_eq!(grounding.grade.level, Level::MediumHigh);
    assert_eq!(grounding.stated, Confidence::new(0.9).ok());
    assert_eq!(grounding.calibration, Some(Calibration::Overconfident));
    assert_eq!(ledger.kinds_of("C1"), [Documented, Logical]);
    assert_eq!(flags(&ledger), Vec::<String>::new());
}

#[test]
fn e02_invalid_evidence_is_dropped_and_flagged() {
    let unknown = Said {
        kind: Stated::Unreadable("ANECDOTAL".into()),
        source: Cited::read("A friend"),
        is_listed: false,
    };
    let untyped = Said {
        kind: Stated::Missing,
        source: Cited::read("Somewhere"),
        is_listed: false,
    };
    let cases = [
        (
            unknown,
            "C1 has evidence of a type that does not exist: \"ANECDOTAL\"",
        ),
        (untyped, "C1 has evidence without a type"),
        (
            said(Empirical, " "),
            "C1 has EMPIRICAL evidence without a source",
        ),
        (said(Documented, "c1"), "C1 cites itself: \"c1\""),
        (
            said(Documented, "the words of C1"),
            "C1 cites itself: \"the words of C1\"",
        ),
        (said(Documented, "Analyst"), "C1 cites itself: \"Analyst\""),
    ];
    for (bad, expected) in cases {
        let grounds = on("C1", vec![bad], 0.2);
        assert_eq!(
            grounds
                .faults("analyst")
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            [expected, "C1 rests on nothing: it counts as SPECULATIVE"]
        );
        let mut ledger = Ledger::default();
        ledger.take(1, &[heard("analyst", vec![grounds])]);
        assert_eq!(
            flags(&ledger),
            [expected, "C1 rests on nothing: it counts as SPECULATIVE"]
        );
        assert_eq!(ledger.kinds_of("C1"), [Speculative]);
    }
    let mut high = on("C1", vec![said(Logical, "It follows.")], 0.5);
    for (confidence, expected) in [
        (
            Stated::Unreadable("high".into()),
            "the confidence in C1 cannot be read: \"high\"",
        ),
        (
            Stated::Unreadable("1.7".into()),
            "the confidence in C1 cannot be read: \"1.7\"",
        ),
        (Stated::Missing, "no confidence is stated for C1"),
    ] {
        high.confidence = confidence;
        let mut ledger = Ledger::default();
        ledger.take(1, &[heard("analyst", vec![high.clone()])]);
        assert_eq!(flags(&ledger), [expected]);
        let grounding = &ledger.claims["C1"]["analyst"];
        assert_eq!((grounding.stated, grounding.calibration), (None, None));
    }
}

#[test]
fn e02_a_claim_without_evidence_is_speculative_until_a_seat_gives_some() {
    let mut ledger = Ledger::default();
    let mut bare = heard("a", Vec::new());
    bare.bare = vec!["C1".into()];
    bare.unknown = vec!["C9".into()];
    ledger.take(1, &[bare]);
    assert_eq!(ledger.kinds_of("C1"), [Speculative]);
    assert_eq!(ledger.grade_of("C1").unwrap().level, Level::VeryLow);
    assert_eq!(
        flags(&ledger),
        [
            "there is no claim \"C9\"",
            "C1 rests on nothing: it counts as SPECULATIVE"
        ]
    );
    ledger.take(
        2,
        &[heard(
            "b",
            vec![on("C1", vec![said(Precedent, "Stripe")], 0.5)],
        )],
    );
    assert_eq!(ledger.kinds_of("C1"), [Precedent]);
    assert_eq!(ledger.grade_of("C9"), None);
}

#[test]
fn e03_only_counter_evidence_of_the_same_or_a_stronger_type_contests() {
    let synthesis = || Answer::Synthesis("Both.".into());
    let table = [
        (vec![Documented], synthesis(), Standing::Contests),
        (vec![Precedent], synthesis(), Standing::Contests),
        (
            vec![Logical],
            synthesis(),
            Standing::TooWeak { needed: Precedent },
        ),
        (vec![], synthesis(), Standing::NoCounterEvidence),
        (vec![Documented], Answer::Neither, Standing::Unfinished),
        (
            vec![],
            Answer::Concession("True.".into()),
            Standing::Concedes,
        ),
    ];
    for (counter, answer, expected) in table {
        let mut ledger = Ledger::default();
        ledger.take(
            1,
            &[heard(
                "a",
                vec![on("C1", vec![said(Precedent, "Stripe")], 0.5)],
            )],
        );
        let mut critic = heard("b", Vec::new());
        critic.critiques = vec![critique("C1", counter, answer)];
        ledger.take(2, &[critic]);
        assert_eq!(ledger.critiques[0].standing, expected);
        let conceded = usize::from(expected == Standing::Concedes);
        assert_eq!(ledger.concessions.len(), conceded, "{expected:?}");
        let is_flagged = !matches!(expected, Standing::Contests | Standing::Concedes);
        assert_eq!(ledger.flags.len(), usize::from(is_flagged), "{expected:?}");
    }
}

#[test]
fn e03_learned_weights_decide_which_type_is_stronger() {
    let weights = Weights {
        logical: crate::bounded::Probability::percent(75),
        ..Weights::default()
    };
    let attack = critique("C1", vec![Logical], Answer::Synthesis("Both.".into()));
    assert_eq!(judge(&attack, &[Precedent], &weights), Standing::Contests);
    assert_eq!(
        judge(&attack, &[Precedent], &Weights::default()),
        Standing::TooWeak { needed: Precedent }
    );
    assert_eq!(judge(&attack, &[], &weights), Standing::Contests);
}

/// E-07: listed references are sources, reasoning is not.
#[test]
fn e07_sources_of_a_round_are_kept_by_seat() {
    let mut ledger = Ledger::default();
    let mut first = heard(
        "a",
        vec![on(
            "C1",
            vec![said(Documented, "RFC 7231"), said(Logical, "So it is.")],
            0.5,
        )],
    );
    first.references = vec![Cited::read("Load test of May")];
    let mut second = heard("b", vec![on("C1", vec![said(Empirical, "rfc 7231")], 0.5)]);
    second.grounds[0].evidence.push(Said {
        is_listed: true,
        ..said(Logical, "Conway's Law")
    });
    ledger.take(1, &[first, second]);
    let cited: Vec<usize> = ledger.cited_in(1).values().map(BTreeSet::len).collect();
    assert_eq!(cited, [2, 2]);
    let shared = ledger
        .sources
        .all()
        .iter()
        .filter(|source| source.cited_by.len() == 2);
    assert_eq!(shared.count(), 1);
    assert!(ledger.cited_in(2).is_empty());
}

/// E-04: what a seat backed in earlier rounds still backs its position, unless it gave the claim up or changed sides.
#[test]
fn e04_a_position_is_graded_by_the_evidence_since_it_was_taken() {
    let mut ledger = Ledger::default();
    ledger.take(
        1,
        &[heard(
            "a",
            vec![on("C1", vec![said(Documented, "RFC 1")], 0.9)],
        )],
    );
    ledger.take(
        2,
        &[heard("a", vec![on("C2", vec![said(Logical, "So.")], 0.5)])],
    );
    let sure = Confidence::new(0.8).unwrap();
    let level = |since: u32, seat: &str, gone: &str| {
        let position = ledger.position(since..=2, seat, sure, |claim| claim != gone);
        (position.grade.level, position.calibration)
    };
    let overconfident = Calibration::Overconfident;
    assert_eq!(level(1, "a", ""), (Level::MediumHigh, Calibration::Within));
    assert_eq!(level(2, "a", ""), (Level::MediumLow, overconfident));
    assert_eq!(level(1, "a", "C1"), (Level::MediumLow, overconfident));
    assert_eq!(level(1, "b", ""), (Level::VeryLow, overconfident));
    let position = ledger.position(1..=2, "a", sure, |_| true);
    assert_eq!((position.evidence.len(), position.earlier.len()), (1, 1));
}

/// E-04: over- and underconfidence of single claims.
#[test]
fn e04_the_confidence_in_a_claim_is_compared_with_its_band() {
    use Calibration::{Overconfident, Underconfident, Within};
    let mut ledger = Ledger::default();
    let claims = ["C1", "C2", "C3"].into_iter().zip([0.84, 0.85, 0.69]);
    let grounds = claims.map(|(claim, sure)| on(claim, vec![said(Documented, "RFC 1")], sure));
    ledger.take(1, &[heard("a", grounds.collect())]);
    let of = |round| -> Vec<Calibration> {
        let all = ledger.claim_confidences(round, "a").into_iter();
        all.map(|claim| claim.calibration).collect()
    };
    assert_eq!(of(1), [Within, Overconfident, Underconfident]);
    assert_eq!(of(2), []);
}

#[test]
fn m09_a_withheld_turn_leaves_no_text_in_the_ledger() {
    let mut ledger = Ledger::default();
    ledger.take(
        1,
        &[heard(
            "b",
            vec![on("C2", vec![said(Documented, "Shared")], 0.5)],
        )],
    );
    let mut bad = heard(
        "a",
        vec![on(
            "C1",
            vec![
                said(Documented, "SECRET recipe"),
                said(Logical, "SECRET reason"),
                said(Documented, "shared"),
            ],
            0.5,
        )],
    );
    bad.critiques = vec![critique("C2", vec![], Answer::Concession("SECRET".into()))];
    bad.grounds[0].evidence.push(Said {
        kind: Stated::Unreadable("SECRET".into()),
        ..said(Logical, "x")
    });
    ledger.take(2, &[bad]);
    ledger.redact(2, "a", "[withheld]");
    let json = serde_json::to_string(&ledger).unwrap();
    assert!(!json.contains("SECRET"), "{json}");
    assert!(json.contains("Shared"));
}
