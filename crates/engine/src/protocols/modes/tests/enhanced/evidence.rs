//! Evidence, critiques and checks against the user's sources.

use super::*;

/// E-02: if it still has none, it counts as SPECULATIVE.
#[tokio::test]
async fn e02_a_claim_without_evidence_is_sent_back_once() {
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            reply["backing"].as_array_mut().unwrap().truncate(1);
        }
    });
    let journal = Arc::default();
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("evidence".to_owned(), 1)])
    );
    let asked = model.heard();
    let again: Vec<_> = asked
        .iter()
        .filter(|request| request.messages.len() > 2)
        .map(|request| request.messages.last().unwrap().text.clone())
        .collect();
    assert_eq!(again.len(), 1);
    assert!(again[0].contains("N2 rests on nothing"), "{}", again[0]);
    let debate = debate_of(&journal);
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    let claim = debate
        .state
        .claims
        .iter()
        .find(|claim| claim.text.contains("helps the builder in month 1"))
        .unwrap();
    assert_eq!(ledger.kinds_of(&claim.id), [EvidenceType::Speculative]);
    let report = report_json(&journal);
    assert!(report.contains("rests on nothing: it counts as SPECULATIVE"));
}

/// E-02: an unknown type, no source, a claim that cites itself, invalid confidences. The turn is kept; invalid pieces are sent back
/// once, then left out and flagged.
#[tokio::test]
async fn e02_bad_evidence_costs_the_piece_and_not_the_turn() {
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            reply["backing"] = json!([
                { "of": "N1", "evidence": [{ "type": "ANECDOTAL", "source": "A friend" }, { "type": "DOCUMENTED", "source": "N1" },
                                           { "type": "EMPIRICAL", "source": "" }, { "type": "EMPIRICAL", "source": "[9]" }],
                  "confidence": 1.7 },
                { "of": "N2", "evidence": [{ "source": "Somewhere" }], "confidence": "high" },
                { "of": "C77", "evidence": [], "confidence": null },
            ]);
        }
    });
    let journal = Arc::default();
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(verdict.missing, []);
    let debate = debate_of(&journal);
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    let flags: Vec<String> = ledger
        .flags
        .iter()
        .map(|flagged| flagged.flag.to_string())
        .collect();
    insta::assert_json_snapshot!("flags", flags);
    for claim in debate
        .state
        .claims
        .iter()
        .filter(|claim| claim.introduced_by == "builder" && claim.introduced_round == 1)
    {
        let grounding = &ledger.claims[&claim.id]["builder"];
        assert_eq!(
            (grounding.stated, grounding.grade.level),
            (None, Level::VeryLow)
        );
    }
}

/// E-07: one source under three spellings is one, and all three agents cite it.
#[tokio::test]
async fn e07_one_source_under_three_spellings_is_shared() {
    let model = changed(converging, |request, _, reply| {
        let spelling = match seat_of(request).as_str() {
            "sentinel" => ("Queueing theory (https://example.org/queues/)", Value::Null),
            "builder" => (
                "QUEUEING THEORY",
                json!("http://www.example.org/queues#top"),
            ),
            _ => (
                "the queueing theory",
                json!("https://example.org/queues?utm_source=mail"),
            ),
        };
        reply["references"] = json!([{ "number": 1, "title": spelling.0, "url": spelling.1, "gist": "", "kind": "citation" }]);
        reply["backing"][1]["evidence"][0] = json!({ "type": "LOGICAL", "source": "So it is." });
    });
    let journal = Arc::default();
    play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let debate = debate_of(&journal);
    let play = debate.enhanced.as_ref().unwrap();
    let shares: Vec<f64> = play
        .rounds
        .iter()
        .map(|round| round.metrics.evidence)
        .collect();
    assert_eq!(shares, [1.0, 1.0, 1.0]);
    assert_eq!(play.rounds[2].decision.status, Status::ConsensusReached);
}

/// E-03: counter-evidence that is too weak does not.
#[tokio::test]
async fn e03_concessions_and_counter_evidence_change_the_claim() {
    let model = changed(converging, |request, _, reply| {
        let (seat, round) = (seat_of(request), round_of(request));
        let critique = |counter: &str, source: &str, concession: Option<&str>| {
            let counter = if counter.is_empty() {
                json!([])
            } else {
                json!([{ "type": counter, "source": source }])
            };
            json!([{ "claim": "C1", "grade": "MEDIUM", "counter": counter,
                     "synthesis": concession.is_none().then_some("Some of both."), "concession": concession }])
        };
        match (seat.as_str(), round) {
            ("analyst", 2) => reply["critiques"] = critique("EMPIRICAL", "Our own log", None),
            ("builder", 2) => reply["critiques"] = critique("LOGICAL", "It cannot be.", None),
            ("analyst", 3) => {
                reply["critiques"] = critique("", "", Some("The log was of another machine."));
            }
            _ => {}
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let statuses = [2, 3].map(|round| {
        let all = entries(&journal);
        let end = all
            .iter()
            .position(|entry| matches!(&entry.event, Event::RoundStarted { round: number, .. } if *number == round + 1))
            .unwrap_or(all.len());
        let debate = Debate::from_journal(&all[..end]).unwrap();
        let claim = debate.state.claim("C1").unwrap().clone();
        (claim.status, claim.opponents.iter().map(|o| o.seat.clone()).collect::<Vec<_>>())
    });
    assert_eq!(
        statuses,
        [
            (ClaimStatus::Contested, vec!["analyst".to_owned()]),
            (ClaimStatus::Accepted, vec![])
        ]
    );
    let debate = debate_of(&journal);
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    assert_eq!(ledger.concessions.len(), 1);
    assert_eq!(
        ledger.concessions[0].because,
        "The log was of another machine."
    );
    // The weak critique was sent back once and is flagged.
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("critique".to_owned(), 1)])
    );
    assert!(ledger.flags.iter().any(|flagged| flagged.flag.to_string()
        == "the critique of C1 brings nothing as strong as EMPIRICAL"));
}

/// M-16: grade, counter-evidence, synthesis and concession reach the other seats, and the state gives the reason in words.
#[tokio::test]
async fn m16_critiques_reach_the_others() {
    for (mode, round) in [("collaborative", 3), ("adversarial", 2)] {
        let model = changed(converging, |request, _, reply| {
            if (seat_of(request).as_str(), round_of(request)) == ("builder", 2) {
                reply["critiques"] = json!([
                    { "claim": "C1", "grade": "MEDIUM", "counter": [{ "type": "EMPIRICAL", "source": "[1]" }],
                      "synthesis": "Some of both.", "concession": null },
                    { "claim": "C5", "grade": "LOW", "counter": [], "synthesis": null, "concession": "The log is plain." },
                ]);
            }
        });
        play_to_end(enhanced_setup(mode, 3, 5), &model, &Arc::default()).await;
        let requests = contributions_in(&model, round);
        let request = requests
            .iter()
            .find(|request| seat_of(request) == "analyst")
            .unwrap();
        let text = text_of(request);
        for line in [
            "Critique of C1 graded MEDIUM; against it [EMPIRICAL] [E",
            "synthesis: Some of both.",
            "Critique of C5 graded LOW; concedes: The log is plain.",
        ] {
            assert!(text.contains(line), "{mode}: '{line}' is missing: {text}");
        }
        if mode == "collaborative" {
            let objection =
                "| against: builder (FACT conflict): Bursts at nine. [E6]; Some of both., see E6";
            assert!(text.contains(objection), "{text}");
        } else {
            let objection = "Objects to C1 (FACT conflict): Bursts at nine. [E";
            assert!(text.contains(objection), "{text}");
        }
        let others = text.split("## Your seat").next().unwrap();
        assert!(!others.contains("[1]"), "{others}");
    }
}

/// E-03, E-15
#[tokio::test]
async fn e03_the_weights_of_the_rules_are_used() {
    let mut rules = enhanced_by(algorithm::ENHANCED, "collaborative", 5);
    rules.enhanced.as_mut().unwrap().weights = Weights {
        logical: Probability::percent(86),
        ..Weights::default()
    };
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 2 {
            reply["critiques"] = json!([{ "claim": "C1", "grade": "LOW", "counter": [{ "type": "LOGICAL", "source": "It cannot be." }],
                                          "synthesis": "Neither.", "concession": null }]);
        }
    });
    let verdict = play_to_end(setup_of(&rules, 3, Ability::Full), &model, &Arc::default()).await;
    assert_eq!(verdict.violations, BTreeMap::new());
    let heard = model.heard();
    let first = heard
        .iter()
        .find(|request| name(request) == "contribution")
        .unwrap();
    assert!(
        first.system.contains("- LOGICAL (0.86): reasoning"),
        "{}",
        first.system
    );
}

/// E-18: a claim that cites a source is supported, not found or contradicted; an EMPIRICAL claim that contradicts a figure is
/// flagged; claims that cite anything else are not checked.
#[tokio::test]
async fn e18_claims_are_checked_against_the_sources() {
    use roundtable_core::sources::{Checked, Source, Sources, of_text};
    let text = "The write load peaks at 400 requests per second.\n\nThe queue holds messages for 7 days.\n";
    let source = Source {
        name: "plan.md".into(),
        sha256: String::new(),
        passages: of_text("plan.md", text),
    };
    let rules = enhanced_by(algorithm::ENHANCED, "collaborative", 5)
        .with_sources(Sources::new(vec![source]));
    let model = changed(converging, |request, _, reply| {
        if round_of(request) > 1 {
            return;
        }
        let (claim, kind, cited) = match seat_of(request).as_str() {
            "sentinel" => (
                "The write load peaks at 400 requests per second.",
                "DOCUMENTED",
                "plan.md",
            ),
            "builder" => (
                "The write load peaks at 900 requests per second.",
                "DOCUMENTED",
                "plan.md",
            ),
            _ => (
                "The queue holds messages for 30 days.",
                "EMPIRICAL",
                "Our own test",
            ),
        };
        reply["claims"][1]["text"] = json!(claim);
        reply["backing"][1]["evidence"][0] = json!({ "type": kind, "source": cited });
        if seat_of(request) == "sentinel" {
            reply["backing"][0]["evidence"][0] =
                json!({ "type": "DOCUMENTED", "source": "plan.md" });
        }
    });
    let journal = Arc::default();
    let verdict = play_to_end(setup_of(&rules, 3, Ability::Full), &model, &journal).await;
    let results: Vec<(String, EvidenceType, String)> = enhancement(&verdict)
        .source_checks
        .iter()
        .map(|check| {
            let result = match &check.result {
                Checked::Supported { .. } => "supported".to_owned(),
                Checked::NotFound => "not found".to_owned(),
                Checked::Contradicted { figure, .. } => {
                    format!("contradicted by {}", figure.clone().unwrap_or_default())
                }
            };
            (check.seat.clone(), check.kind, result)
        })
        .collect();
    let of = |seat: &str, kind, result: &str| (seat.to_owned(), kind, result.to_owned());
    assert_eq!(
        results,
        [
            of("sentinel", EvidenceType::Documented, "not found"),
            of("sentinel", EvidenceType::Documented, "supported"),
            of("builder", EvidenceType::Documented, "contradicted by 400"),
            of("analyst", EvidenceType::Empirical, "contradicted by 7"),
        ]
    );
    // Contradicted evidence no longer gives the claim its band, and the seats are told.
    let contradicted = &enhancement(&verdict).source_checks[2];
    let debate = debate_of(&journal);
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    let grade = ledger.grade_of(&contradicted.claim).unwrap();
    assert_eq!(grade.level, Level::VeryLow);
    let told = format!(
        "{}: SPECULATIVE; allows VERY LOW (0.10–0.24); source check: contradicted by plan.md:1-3, which has 400",
        contradicted.claim
    );
    let second = contributions_in(&model, 2);
    assert!(
        text_of(&second[0]).contains(&told),
        "{}",
        text_of(&second[0])
    );
    // The seats are told next to the claims.
    for request in contributions_in(&model, 2) {
        let shared = &request.messages[0].text;
        for line in [
            "C1 [FACT] The sentinel has seen bursts in month 1. [source check: not found in plan.md]",
            "C2 [INFER] The write load peaks at 400 requests per second. | for",
            "C4 [INFER] The write load peaks at 900 requests per second. [source check: contradicted by plan.md:1-3, which has 400]",
            "C6 [INFER] The queue holds messages for 30 days. [source check: contradicted by plan.md:1-3, which has 7]",
        ] {
            assert!(shared.contains(line), "'{line}' is missing: {shared}");
        }
    }
    let found = &enhancement(&verdict).source_checks[1];
    assert!(
        found.passage.as_deref().unwrap().contains("peaks at 400"),
        "{found:?}"
    );
    let report = report_json(&journal);
    assert!(
        report.contains("Claims checked against your sources"),
        "{report}"
    );
}

/// E-03: a critique of nothing, of one's own claim, or with two ends is sent back once and then has no effect.
#[tokio::test]
async fn e03_invalid_critiques_are_sent_back_and_not_applied() {
    for (claim, synthesis, concession, fault) in [
        (
            "C99",
            Some("Both."),
            None,
            "critique: there is no claim \"C99\".",
        ),
        (
            "C3",
            Some("Both."),
            None,
            "critique: C3 is your own claim: criticise claims of others, or retract it.",
        ),
        (
            "C1",
            Some("Both."),
            Some("It is so."),
            "critique: the critique of C1 both proposes a synthesis and concedes: do one of the two.",
        ),
        (
            "C1",
            None,
            None,
            "critique: the critique of C1 ends with neither a synthesis nor a concession.",
        ),
    ] {
        let model = changed(converging, move |request, _, reply| {
            if seat_of(request) == "builder" && round_of(request) == 2 {
                let counter = json!([{ "type": "EMPIRICAL", "source": "Our own log" }]);
                reply["critiques"] = json!([{ "claim": claim, "grade": "LOW", "counter": counter,
                                              "synthesis": synthesis, "concession": concession }]);
            }
        });
        let journal = Arc::<MemoryJournal>::default();
        play_to_end(enhanced_setup("collaborative", 3, 2), &model, &journal).await;
        let debate = debate_of(&journal);
        let turn = &debate.rounds[1].turns[1];
        assert_eq!(turn.remarks, [fault]);
        let opposed = debate
            .state
            .claims
            .iter()
            .filter(|claim| !claim.opponents.is_empty());
        assert_eq!(opposed.count(), 0, "{fault}");
        let ledger = &debate.enhanced.as_ref().unwrap().ledger;
        assert_eq!(ledger.concessions, [], "{fault}");
    }
}

/// E-04: a seat that repeats its position keeps its evidence; one that changes sides loses it.
#[tokio::test]
async fn e04_evidence_of_earlier_rounds_still_backs_a_position() {
    for (second, level) in [
        ("Use a queue", Level::MediumHigh),
        ("Buy hardware", Level::VeryLow),
    ] {
        let model = changed(converging, move |request, _, reply| {
            if seat_of(request) == "builder" && round_of(request) == 2 {
                reply["debate_alignment"] = json!(second);
                reply["claims"] = json!([]);
                reply["references"] = json!([]);
                reply["backing"] = json!([]);
            }
        });
        let journal = Arc::<MemoryJournal>::default();
        let rules = enhanced_by(algorithm::ENHANCED, "collaborative", 2);
        play_to_end(setup_of(&rules, 3, Ability::Full), &model, &journal).await;
        let debate = debate_of(&journal);
        let position = &debate.enhanced.as_ref().unwrap().rounds[1].positions[1];
        assert_eq!(position.evidence.grade.level, level, "{second}");
        assert_eq!(position.evidence.evidence, []);
    }
}

/// E-03: a claim of the same parallel group was not on the table: a critique of it is neither applied nor in the ledger.
#[tokio::test]
async fn e03_a_critique_of_a_claim_of_the_same_group_does_not_count() {
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 2 {
            // The sentinel's first claim of this round.
            reply["critiques"] = json!([{ "claim": "C7", "grade": "LOW", "counter": [{ "type": "EMPIRICAL", "source": "Our own log" }],
                                          "synthesis": "Both.", "concession": null }]);
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    play_to_end(enhanced_setup("collaborative", 3, 2), &model, &journal).await;
    let debate = debate_of(&journal);
    let claim = debate.state.claim("C7").unwrap();
    assert_eq!(
        (claim.introduced_by.as_str(), claim.opponents.len()),
        ("sentinel", 0)
    );
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    assert_eq!(ledger.critiques, []);
    let flags: Vec<String> = ledger
        .flags
        .iter()
        .map(|flagged| flagged.flag.to_string())
        .collect();
    assert!(flags.iter().any(|flag| flag.contains("C7")), "{flags:?}");
}
