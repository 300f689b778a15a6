//! An enhanced debate from its own evidence to what the next one makes of it: `record`, `post-mortem` by the ids of its claims,
//! `learning`, and the next debate.

use serde_json::{Value, json};

use crate::enhanced::{answer, converging, debate, measured};
use crate::harness::{Home, Server};

/// One seat measures, one knows a precedent, one guesses.
fn backing(seat: &str, _: u32) -> Value {
    let evidence = match seat {
        "sentinel" => json!([{ "type": "EMPIRICAL", "source": "[1]" }]),
        "builder" => json!([{ "type": "PRECEDENT", "source": "[1]" }]),
        _ => json!([]),
    };
    json!([{ "of": "N1", "evidence": evidence, "confidence": 0.5 }])
}

/// An enhanced debate of this domain, ended and stored.
fn debated(domain: &str) -> (Server, Home) {
    let server = Server::start(|request, _| answer(request, converging, backing));
    let home = measured(&server);
    debate(&home, &["--enhanced", "--domain", domain]).expect(0, &[]);
    (server, home)
}

fn record(home: &Home) -> Value {
    let record = home.run(&["record", "last", "--format", "json"]).json();
    record["debate_record"].clone()
}

/// The claims of the record that rest on evidence of this type; on none at all for SPECULATIVE.
fn claims_of<'a>(record: &'a Value, kind: &str) -> Vec<&'a str> {
    let claims = record["claims"].as_array().unwrap().iter();
    let resting = claims.filter(|it| match it["evidence"][0]["type"].as_str() {
        Some(found) => found == kind,
        None => kind == "SPECULATIVE",
    });
    resting.map(|it| it["id"].as_str().unwrap()).collect()
}

fn marks(claims: &[&str], mark: &str) -> String {
    let lines = claims
        .iter()
        .map(|id| format!("    - claim: {id}\n      mark: {mark}\n"));
    lines.collect()
}

/// E-14, E-15: a stored enhanced debate is assessed by the ids of its own claims; their evidence is marked, the weights of its
/// domain move as far as one project moves them, its seats are scored by what they brought, and the next debate counts so.
#[test]
fn e14_the_claims_of_a_stored_debate_are_marked_and_learned_from() {
    let (_server, home) = debated("queues");
    let before = record(&home);
    let (measured, known, guessed) = (
        claims_of(&before, "EMPIRICAL"),
        claims_of(&before, "PRECEDENT"),
        claims_of(&before, "SPECULATIVE"),
    );
    assert!(
        measured.len() > 1 && known.len() > 1 && guessed.len() > 1,
        "{}",
        before["claims"]
    );
    // One of what was measured turned out wrong, and of one guess nobody says anything.
    let text = format!(
        "post_mortem_assessment:\n  decision_accuracy: 0.6\n  evidence:\n{}{}{}{}",
        marks(&measured[..1], "refuted"),
        marks(&measured[1..], "validated"),
        marks(&known, "refuted"),
        marks(&guessed[1..], "validated"),
    );
    home.write("said.yaml", &text);
    let assessed = home.run(&["post-mortem", "last", "--from", "said.yaml", "--json"]);
    assessed.expect(0, &[]);
    let assessed = assessed.json();
    let evidence = assessed["evidence"].as_array().unwrap();
    for (claims, kind) in [
        (&measured[..1], ("EMPIRICAL", "refuted")),
        (&measured[1..], ("EMPIRICAL", "validated")),
        (&known[..], ("PRECEDENT", "refuted")),
        (&guessed[1..], ("SPECULATIVE", "validated")),
    ] {
        for id in claims {
            let piece = evidence
                .iter()
                .find(|it| it["claims"].as_array().unwrap().contains(&json!(id)));
            let piece = piece.unwrap_or_else(|| panic!("nothing of {id} in {evidence:?}"));
            assert_eq!(
                (&piece["type"], &piece["mark"]),
                (&json!(kind.0), &json!(kind.1)),
                "{id}"
            );
        }
    }
    assert!(
        !assessed["evidence"]
            .to_string()
            .contains(&format!("\"{}\"", guessed[0])),
        "nobody said anything of {}",
        guessed[0]
    );

    // (weight × 15 + share that held) / 16: the prior counts as fifteen projects.
    let updates = &assessed["learning_updates"];
    assert_eq!(updates["domain"], "queues");
    let held = 1.0 - 1.0 / f64::from(u32::try_from(measured.len()).unwrap());
    for (kind, expected) in [
        ("EMPIRICAL", (0.85 * 15.0 + held) / 16.0),
        ("PRECEDENT", 0.70 * 15.0 / 16.0),
        ("SPECULATIVE", (0.20 * 15.0 + 1.0) / 16.0),
    ] {
        let found = updates["evidence_weight_updates"][kind]["new_weight"].as_f64();
        let found = found.unwrap_or_else(|| panic!("{kind} is not in {updates}"));
        assert!(
            (found - expected).abs() < 1e-9,
            "{kind}: {found}, not {expected}"
        );
    }
    assert_eq!(
        updates["evidence_weight_updates"]
            .as_object()
            .unwrap()
            .len(),
        3
    );
    let right = |seat: &str| {
        let seats = &updates["agent_calibration_updates"];
        seats[seat]["accuracy"]
            .as_f64()
            .unwrap_or_else(|| panic!("{seat} is not in {seats}"))
    };
    assert!(right("sentinel") > right("builder"));

    // Its report names the claims; the next debate of the domain weighs its evidence so, another one does not.
    let shown = home.run(&["post-mortem", "last"]);
    shown.expect(0, &[]);
    assert!(
        shown.out.contains(&format!("({})", known[0])),
        "{}",
        shown.out
    );
    for (domain, weight) in [("queues", 0.65625), ("hiring", 0.70)] {
        debate(&home, &["--enhanced", "--domain", domain]).expect(0, &[]);
        let support = record(&home)["final_consensus"]["supporting_evidence"].clone();
        let support = support.as_array().unwrap().iter();
        let mut weights = support
            .filter(|it| it["type"] == "PRECEDENT")
            .map(|it| it["weight"].as_f64().unwrap());
        let found = weights.next().unwrap();
        assert!((found - weight).abs() < 1e-4, "{domain}: {found}");
    }
}

/// A claim that the debate never made is refused with those that it did, and nothing is recorded or learned.
#[test]
fn e14_a_claim_that_was_never_made_is_refused() {
    let (_server, home) = debated("queues");
    home.write(
        "said.yaml",
        "post_mortem_assessment:\n  decision_accuracy: 0.6\n  evidence:\n    - {claim: C99, mark: refuted}\n",
    );
    home.run(&["post-mortem", "last", "--from", "said.yaml"])
        .expect(2, &["unknown claim 'C99'; known claims: C1, C2"]);
    assert_eq!(
        home.run(&["learning", "history", "--json"]).json(),
        json!([])
    );
}

/// E-14: a debate that waits for a person, or was broken off, has no decision to assess.
#[test]
fn e14_an_unfinished_debate_cannot_be_assessed() {
    let server = Server::start(|request, _| answer(request, crate::enhanced::stuck, backing));
    let home = measured(&server);
    debate(&home, &["--enhanced"]);
    assert_eq!(home.list()[0]["state"], "waiting");
    home.write(
        "said.yaml",
        "post_mortem_assessment:\n  decision_accuracy: 0.6\n",
    );
    for args in [
        &["post-mortem", "last", "--from", "said.yaml"][..],
        &["track", "last", "Begun"],
    ] {
        home.run(args).expect(2, &["waiting"]);
    }
    assert_eq!(
        home.run(&["learning", "history", "--json"]).json(),
        json!([])
    );
}
