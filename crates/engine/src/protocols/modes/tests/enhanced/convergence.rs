//! Measures, statuses and the replay of measured rounds.

use super::*;
use crate::scripted::{longest_chain, rules_at};

/// E-08, E-11, E-12: an enhanced debate from end to end, with journal, report and record as snapshots.
#[tokio::test]
async fn e08_an_enhanced_debate_converges_round_by_round() {
    let (model, journal) = (Scripted::new(converging), Arc::default());
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(
        (
            verdict.stop_reason.as_str(),
            verdict.total_rounds,
            verdict.violations.len()
        ),
        ("consensus_with_diverse_evidence", 3, 0),
        "{:?}",
        verdict.violations
    );
    let enhanced = enhancement(&verdict);
    assert_eq!(enhanced.level, Some(Level::MediumHigh));
    assert_eq!(
        (enhanced.escalation, enhanced.human_override, enhanced.flags),
        (false, false, 0)
    );
    assert_eq!(enhanced.answer.as_deref(), Some("Use a queue"));
    let most = &enhanced.evidence[0];
    assert_eq!(
        (most.source.as_str(), most.cited_by.len(), most.agents),
        ("Queueing theory, third edition", 3, 3)
    );
    insta::assert_json_snapshot!("log", log(&journal));
    crate::scripted::assert_verdicts(&entries(&journal));
    assert_all_rebuilt(&Modes, &journal).await;
    insta::assert_json_snapshot!("report", protocols::report(&entries(&journal)));
    let record = enhanced::record("id", &entries(&journal)).unwrap();
    let yaml = serde_saphyr::to_string(&record).unwrap();
    assert_eq!(
        serde_saphyr::from_str::<crate::retrospective::DebateRecord>(&yaml).unwrap(),
        record
    );
    let mut json = serde_json::to_value(&record).unwrap();
    crate::scripted::strip_times(&mut json);
    insta::assert_json_snapshot!("record", json);
}

#[tokio::test]
async fn e08_every_mode_can_be_enhanced() {
    for mode in MODES {
        let (model, journal) = (Scripted::new(converging), Arc::default());
        let verdict = play_to_end(enhanced_setup(mode, 3, 4), &model, &journal).await;
        assert_eq!(verdict.violations, BTreeMap::new(), "{mode}");
        let enhanced = enhancement(&verdict);
        assert_eq!(
            enhanced.decision.as_ref().unwrap().basis,
            roundtable_core::convergence::Basis::Measured
        );
        // Assigned stances contradict each other by design, so only the round limit ends such a debate.
        let expected = if mode == "devils-advocate" {
            "round_cap"
        } else {
            "consensus_with_diverse_evidence"
        };
        assert_eq!(verdict.stop_reason, expected, "{mode}");
        assert!(protocols::progress(&entries(&journal)).is_some(), "{mode}");
    }
}

#[tokio::test]
async fn c08_an_enhanced_debate_killed_after_every_entry_is_the_same() {
    for mode in ["collaborative", "adversarial"] {
        assert_resumes_after_every_entry(
            || enhanced_setup(mode, 3, 5),
            converging,
            is_finished_step,
        )
        .await;
    }
}

/// E-05: measurements are in the journal.
#[tokio::test]
async fn e05_a_replay_needs_no_embedder() {
    let journal = Arc::<MemoryJournal>::default();
    let setup = enhanced_setup("collaborative", 3, 5);
    let first = play_to_end(setup.clone(), &Scripted::new(converging), &journal).await;
    let kept: Vec<Keyed> = journal
        .keyed()
        .into_iter()
        .filter(|keyed| !matches!(keyed.entry.event, Event::Ended(_)))
        .collect();
    let silent = Scripted::new(|_: &Request, _| panic!("a replay calls no model"));
    let journal = Arc::new(MemoryJournal::holding(kept));
    let mut deps = deps_for(&setup, &silent, Arc::clone(&journal) as Arc<dyn Journal>);
    deps.embedder = None;
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let end = play(&table, &Modes).await.unwrap();
    assert_eq!(verdict_of(&end), first);
}

/// The report says why similarity was not measured.
#[tokio::test]
async fn e19_without_an_embedder_the_typed_answers_decide() {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(converging);
    let setup = enhanced_setup("collaborative", 3, 5);
    let mut deps = deps_for(&setup, &model, Arc::clone(&journal) as Arc<dyn Journal>);
    deps.embedder = None;
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let verdict = verdict_of(&play(&table, &Modes).await.unwrap());
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus_with_diverse_evidence", 3)
    );
    assert_eq!(enhancement(&verdict).similarity, None);
    let report = report_json(&journal);
    assert!(
        report.contains(
            "Similarity was not measured (there is no embedder): the typed answers alone decide."
        ),
        "{report}"
    );
}

#[tokio::test]
async fn e08_an_early_consensus_plays_a_devils_advocate_round_first() {
    let (model, journal) = (Scripted::new(unanimous), Arc::default());
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus_reached", 2)
    );
    let debate = debate_of(&journal);
    let kinds: Vec<RoundKind> = debate.rounds.iter().map(|round| round.kind).collect();
    assert_eq!(kinds, [RoundKind::Ordinary, RoundKind::Objection]);
    let first = &debate.enhanced.as_ref().unwrap().rounds[0].decision;
    assert_eq!(first.warnings, [Warning::EarlyConsensus]);
    // Not under the round that it demands.
    let second = &debate.enhanced.as_ref().unwrap().rounds[1].decision;
    assert_eq!(second.warnings, []);
    // Even if the limit is one round.
    let verdict = play_to_end(
        enhanced_setup("collaborative", 3, 1),
        &Scripted::new(unanimous),
        &Arc::default(),
    )
    .await;
    assert_eq!(verdict.total_rounds, 2);
}

/// E-19: it is reported as a contradiction.
#[tokio::test]
async fn e19_similar_wording_with_different_answers_is_no_consensus() {
    let model = changed(unanimous, |request, _, reply| {
        if seat_of(request) == "analyst" {
            reply["debate_alignment"] = json!("Buy hardware");
        }
    });
    let journal = Arc::default();
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 2), &model, &journal).await;
    assert_eq!(verdict.stop_reason, "round_cap");
    let decision = enhancement(&verdict).decision.clone().unwrap();
    assert_eq!((decision.status, decision.vetoed), (Status::Continue, true));
    let report = report_json(&journal);
    assert!(
        report.contains("The wording is similar, but the answers contradict each other"),
        "{report}"
    );
    assert_eq!(enhancement(&verdict).minority[0].agent, "analyst");
}

/// E-20: a change is explained if it names a new claim or new evidence.
#[tokio::test]
async fn e20_position_changes_are_explained_or_marked() {
    let journal = Arc::default();
    play_to_end(
        enhanced_setup("collaborative", 3, 5),
        &Scripted::new(converging),
        &journal,
    )
    .await;
    let debate = debate_of(&journal);
    let rounds = &debate.enhanced.as_ref().unwrap().rounds;
    let explained = |round: usize, seat: &str| {
        let positions = &rounds[round].positions;
        positions
            .iter()
            .find(|position| position.seat == seat)
            .unwrap()
            .explanation
            .clone()
    };
    assert_eq!(explained(0, "analyst"), Explanation::NotNeeded);
    assert_eq!(explained(1, "sentinel"), Explanation::Unexplained);
    assert_eq!(explained(2, "analyst"), Explanation::By(vec!["C9".into()]));
    let turned: Vec<_> = rounds
        .iter()
        .map(|round| round.metrics.turned.clone())
        .collect();
    assert_eq!(
        turned,
        [
            vec![],
            vec!["sentinel".to_owned()],
            vec!["analyst".to_owned()]
        ]
    );
}

/// C-21, E-22: every surface shows the position of the verdict, and the sources of positions that were given up do not support it.
#[tokio::test]
async fn e22_the_result_has_one_position_and_its_own_evidence() {
    let model = changed(converging, |request, _, reply| {
        let (seat, round) = (seat_of(request), round_of(request));
        reply["references"][0]["title"] = json!(format!("Log {round} of the {seat}"));
        if seat == "sentinel" {
            reply["confidence"] = json!(0.8);
            let text = reply["position"].as_str().unwrap();
            reply["position"] = json!(format!("{text}."));
        }
    });
    let journal = Arc::default();
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let position = "Put one queue before every writer and limit it.";
    assert_eq!(enhancement(&verdict).position.as_deref(), Some(position));
    let report = protocols::report(&entries(&journal));
    let outcome = report
        .sections
        .iter()
        .find(|section| section.title == "Outcome")
        .unwrap();
    let shown = crate::report::Block::Text {
        markdown: position.into(),
    };
    assert!(outcome.blocks.contains(&shown), "{outcome:?}");
    let record = enhanced::record("id", &entries(&journal)).unwrap();
    let mut sources: Vec<String> = record
        .final_consensus
        .unwrap()
        .supporting_evidence
        .into_iter()
        .map(|evidence| evidence.citation)
        .filter(|citation| citation.starts_with("Log"))
        .collect();
    sources.sort();
    // The builder wanted a queue from the first, the sentinel from round 2, the analyst from round 3.
    assert_eq!(
        sources,
        [
            "Log 1 of the builder",
            "Log 2 of the builder",
            "Log 2 of the sentinel",
            "Log 3 of the analyst",
            "Log 3 of the builder",
            "Log 3 of the sentinel"
        ]
    );
}

/// E-02, E-04, E-20: the record has the type of a guess, the band that the evidence allows, and what moved a seat.
#[tokio::test]
async fn e04_the_record_has_bands_and_explained_moves() {
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" {
            reply["backing"] = json!([]);
            reply["confidence"] = json!(0.9);
        }
    });
    let journal = Arc::default();
    play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let record = enhanced::record("id", &entries(&journal)).unwrap();
    let position = |round: usize, agent: &str| {
        let mut positions = record.rounds[round].agent_positions.iter();
        let found = positions.find(|position| position.agent == agent);
        serde_json::to_value(found.unwrap()).unwrap()
    };
    let guess = position(0, "builder");
    assert_eq!(guess["evidence_types"], json!(["SPECULATIVE"]));
    assert_eq!(guess["evidence_citations"], json!([]));
    assert_eq!(guess["evidence_allows"], "VERY LOW");
    assert_eq!(guess["calibration"], "overconfident");
    let moved = position(2, "analyst");
    assert_eq!(moved["moved_by"], json!(["C9"]));
    assert_eq!(moved["moved_unexplained"], Value::Null);
    assert_eq!(position(1, "sentinel")["moved_unexplained"], true);
}

/// E-08: without any evidence the explanation does not speak of different evidence.
#[tokio::test]
async fn e08_a_consensus_without_evidence_says_so() {
    for (has_evidence, explanation) in [
        (true, "the positions are alike and the answers agree"),
        (false, "the positions are alike; no evidence was cited"),
    ] {
        let model = changed(unanimous, move |_, _, reply| {
            reply["confidence"] = json!(0.7);
            if !has_evidence {
                reply["claims"] = json!([]);
                reply["references"] = json!([]);
                reply["backing"] = json!([]);
                reply["critiques"] = json!([]);
            }
        });
        let setup = enhanced_setup("collaborative", 3, 5);
        let verdict = play_to_end(setup, &model, &Arc::default()).await;
        assert_eq!(verdict.stop_explanation, explanation);
    }
}

/// E-22: opposites in words are no consensus in an enhanced debate without typed answers.
#[tokio::test]
async fn e22_opposites_in_words_are_no_consensus() {
    for (position, is_consensus) in [
        ("Close the plant on the river by 2027", true),
        ("Refuse to close the plant on the river by 2027", false),
    ] {
        let model = changed(unanimous, move |request, _, reply| {
            reply["debate_alignment"] = json!(null);
            let is_analyst = seat_of(request) == "analyst";
            let other = "Close the plant on the river by 2027";
            reply["position"] = json!(if is_analyst { position } else { other });
        });
        let journal = Arc::default();
        let setup = enhanced_setup("collaborative", 3, 2);
        let verdict = play_to_end(setup, &model, &journal).await;
        let decision = enhancement(&verdict).decision.clone().unwrap();
        assert_eq!(decision.status.is_consensus(), is_consensus, "{position}");
    }
}

/// M-17: a seat that never spoke does not agree: two of three are less than 80%.
#[tokio::test]
async fn m17_a_silent_seat_prevents_a_measured_consensus() {
    let model = changed(unanimous, |request, _, reply| {
        if seat_of(request) == "analyst" {
            reply["vote"] = json!("MAINTAIN");
        }
    });
    let setup = enhanced_setup("collaborative", 3, 2);
    let verdict = play_to_end(setup, &model, &Arc::default()).await;
    assert_eq!(verdict.stop_reason, "round_cap");
}

/// E-11: the positions of a measured round are shown once, as cards; the table next to them has the votes.
#[tokio::test]
async fn e11_positions_are_shown_once() {
    let journal = Arc::default();
    play_to_end(
        enhanced_setup("collaborative", 3, 5),
        &Scripted::new(converging),
        &journal,
    )
    .await;
    let report = report_json(&journal);
    for position in [
        "Buy larger hardware instead",
        "Put larger hardware before every writer",
    ] {
        assert_eq!(report.matches(position).count(), 1, "{position}");
    }
    assert!(report.contains("Votes in round 1") && !report.contains("Positions in round 1"));
    // A plain debate has no cards.
    let journal = Arc::default();
    play_to_end(
        setup("collaborative", 3, 5),
        &Scripted::new(story),
        &journal,
    )
    .await;
    assert!(report_json(&journal).contains("Positions in round 1"));
}

/// B-13, E-08: an early consensus of a quick debate is not tested by an objection round.
#[tokio::test(start_paused = true)]
async fn b13_a_quick_enhanced_debate_is_two_calls_deep() {
    let input = json!({ "enhanced": true });
    let rules = rules_at(&Modes, Depth::Quick, input, QUESTION);
    let rules: Rules = serde_json::from_value(rules).unwrap();
    let setup = setup_of(&rules, 3, Ability::Full);
    let (model, journal) = (Scripted::new(unanimous), Arc::<MemoryJournal>::default());
    let deps = deps_for(&setup, &model, Arc::clone(&journal) as Arc<dyn Journal>);
    assert_eq!(longest_chain(&Modes, setup, deps).await, 2);
    assert_eq!(contributions(&model).len(), 3);
}
