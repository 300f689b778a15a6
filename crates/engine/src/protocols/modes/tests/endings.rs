//! Exit criteria, groupthink and the comparison with the blind votes.

use super::*;
use crate::protocols::Scrutiny;

/// M-08: a panel that agrees at once plays a critical-objection round before it may end; if that changes nothing, the debate
/// waits for a person's decision.
#[tokio::test]
async fn m08_a_herd_plays_an_objection_round_and_then_a_person_decides() {
    for (choice, reason, rounds) in [
        (ACCEPT, "human_override", 2),
        (ANOTHER_ROUND, "consensus", 3),
    ] {
        let (model, journal) = (Scripted::new(herd), Arc::<MemoryJournal>::default());
        let table = open_table(setup("collaborative", 4, 5), &model, &journal).await;
        let halt = play(&table, &Modes).await.unwrap_err();
        assert_eq!(
            halt,
            Halt::Waiting {
                key: "r2/groupthink".into()
            }
        );
        let objection = model
            .heard()
            .into_iter()
            .filter(|request| text_of(request).contains("Round 2 is a critical-objection round"))
            .count();
        assert_eq!(objection, 4);
        decide(journal.as_ref(), 0, choice.into(), None, None)
            .await
            .unwrap();
        let verdict = play_to_end(setup("collaborative", 4, 5), &model, &journal).await;
        assert_eq!(
            (verdict.stop_reason.as_str(), verdict.total_rounds),
            (reason, rounds)
        );
        let alarm = &verdict.groupthink[0];
        assert_eq!(
            (
                alarm.round,
                alarm.objection_round,
                alarm.decision.as_deref()
            ),
            (1, 2, Some(choice))
        );
        assert_eq!(alarm.diversity.unwrap().sources, 0);
    }
}

/// M-08: if the objections bring a fact or change a position, no person is asked.
#[tokio::test]
async fn m08_objections_that_change_something_need_no_person() {
    let model = Scripted::new(|request: &Request, before| {
        let said = herd(request, before)?;
        if name(request) != "contribution" || round_of(request) == 1 {
            return Ok(said);
        }
        Ok(valid_reply(request, "ACCEPT", 0.9).to_string())
    });
    let verdict = play_to_end(setup("collaborative", 4, 5), &model, &Arc::default()).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus", 2)
    );
    assert_eq!(verdict.groupthink.len(), 1);
}

/// M-08: two stagnant rounds fire the first trigger; the objection round precedes the plateau exit.
#[tokio::test]
async fn m08_stagnation_leads_to_an_objection_round_before_the_plateau_ends_it() {
    let model = Scripted::new(|request: &Request, before| {
        if name(request) != "contribution" {
            return story(request, before);
        }
        let mut reply = valid_reply(request, "BLOCKER", 0.5);
        reply["claims"] = json!([]);
        reply["references"] = json!([]);
        reply["supports"] = json!([]);
        reply["opposes"] = json!([]);
        Ok(reply.to_string())
    });
    // A panel of BLOCKERs has no majority; here the debate does not wait for a person.
    let rules = rules("collaborative", 9).with_escalation(EscalationPolicy::Never);
    let setup = setup_of(&rules, 3, Ability::Full);
    let journal = Arc::default();
    let verdict = play_to_end(setup, &model, &journal).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("plateau", 4)
    );
    assert_eq!(
        verdict.groupthink[0].trigger,
        roundtable_core::groupthink::Trigger::Stagnation
    );
    assert_eq!(verdict.state.open_blockers().count(), 3);
    // Three BLOCKERs are no agreement.
    let report = report_json(&journal);
    assert!(
        report.contains("Groupthink was suspected after round 3: for two rounds"),
        "{report}"
    );
    assert!(!report.contains("agreed too easily"), "{report}");
}

/// M-05: the round limit ends a debate without agreement; the result names it and keeps the BLOCKER.
#[tokio::test]
async fn m05_the_round_cap_is_named() {
    let verdict = play_to_end(
        setup("expert-panel", 3, 2),
        &Scripted::new(stubborn),
        &Arc::default(),
    )
    .await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("round_cap", 2)
    );
    assert_eq!(verdict.state.open_blockers().count(), 1);
}

/// C-17: in modes whose first round is blind and in the others.
#[tokio::test]
async fn c17_the_result_compares_blind_and_debated_votes() {
    let parallel = play_to_end(
        setup("delphi", 3, 5),
        &Scripted::new(story),
        &Arc::default(),
    )
    .await
    .worth;
    assert_eq!(
        (
            parallel.blind.answer.as_deref(),
            parallel.debated.answer.as_deref()
        ),
        (Some("Use a queue"), Some("Use a queue"))
    );
    assert_eq!(
        (
            parallel.changed,
            parallel.blind.tokens,
            parallel.debated.tokens
        ),
        (Some(false), 360, 840)
    );
    let sequence = play_to_end(
        setup("socratic", 3, 5),
        &Scripted::new(story),
        &Arc::default(),
    )
    .await
    .worth;
    assert_eq!(
        sequence.blind.votes,
        BTreeMap::from([("BLOCKER".to_owned(), 3)])
    );
    assert_eq!((sequence.changed, sequence.blind.tokens), (Some(true), 360));
    assert!(sequence.blind.cost < sequence.debated.cost);
}

/// C-06, C-21: the answer of a partial debate says what is missing and carries the lowered confidence.
#[tokio::test]
async fn c21_a_partial_answer_says_so() {
    let model = Scripted::new(|request: &Request, before| {
        if name(request) == "contribution" && seat_of(request) == "builder" {
            return Err(ModelError::Unauthorized {
                detail: "it is closed".into(),
            });
        }
        story(request, before)
    });
    let journal = Arc::<MemoryJournal>::default();
    let verdict = play_to_end(setup("collaborative", 3, 2), &model, &journal).await;
    let answer = verdict.final_answer.clone().unwrap();
    assert!(
        answer.starts_with("**Partial:** the builder was absent in rounds 1 and 2."),
        "{answer}"
    );
    let percent = |value: Option<f64>| format!("{:.0}%", value.unwrap() * 100.0);
    let (stated, lowered) = (
        percent(verdict.confidence_stated),
        percent(verdict.confidence),
    );
    assert_ne!(stated, lowered);
    assert!(
        answer.contains(&format!("lowered from {stated} to {lowered}.")),
        "{answer}"
    );
    assert!(answer.contains("Use a queue, and measure."), "{answer}");
    let report = protocols::report(&entries(&journal));
    assert_eq!(report.answer.as_deref(), Some(answer.as_str()));
    assert!(
        report
            .facts
            .iter()
            .any(|fact| fact.name == "Confidence" && fact.value == lowered)
    );
}

/// C-22: the result says whether the answer was challenged.
#[tokio::test]
async fn c22_the_verdict_says_whether_the_answer_was_challenged() {
    // The sentinel blocks in round 1 and accepts in round 2.
    let settled = play_to_end(
        setup("collaborative", 3, 5),
        &Scripted::new(story),
        &Arc::default(),
    )
    .await;
    assert_eq!(
        settled.scrutiny.unwrap().sentence(),
        "Challenged and settled: 1 objection, none open."
    );
    let open = play_to_end(
        setup("collaborative", 3, 3),
        &Scripted::new(stubborn),
        &Arc::default(),
    )
    .await;
    let sentence = open.scrutiny.unwrap().sentence();
    assert!(sentence.starts_with("Challenged: "), "{sentence}");
    let agreed = changed(story, |_, _, reply| {
        reply["vote"] = json!("ACCEPT");
        reply["confidence"] = json!(0.8);
        reply["debate_alignment"] = json!("Use a queue");
        reply["blocker"] = Value::Null;
    });
    let journal = Arc::default();
    let agreed = play_to_end(setup("collaborative", 3, 5), &agreed, &journal).await;
    assert_eq!(agreed.scrutiny, Some(Scrutiny::Unanimous));
    assert!(report_json(&journal).contains("Not challenged: the seats agreed before"));
}

/// C-17: what the blind votes and the debate cost is in the facts, so every surface shows it.
#[tokio::test]
async fn c17_the_facts_compare_the_cost() {
    let journal = Arc::default();
    play_to_end(
        setup("collaborative", 3, 5),
        &Scripted::new(story),
        &journal,
    )
    .await;
    let report = protocols::report(&entries(&journal));
    let cost = report.facts.iter().find(|fact| fact.name == "Cost");
    let cost = &cost.unwrap().value;
    assert!(
        cost.contains(" tokens) blind, ") && cost.ends_with(" tokens) debated"),
        "{cost}"
    );
}

/// E-22: the record of a plain debate has its decision and dissent too.
#[tokio::test]
async fn e22_the_record_of_a_plain_debate_has_its_decision() {
    let model = changed(story, |request, _, reply| {
        let is_apart = seat_of(request) == "sentinel";
        reply["debate_alignment"] = json!(if is_apart { "Wait" } else { "Use a queue" });
    });
    let journal = Arc::default();
    play_to_end(setup("collaborative", 3, 2), &model, &journal).await;
    let record = protocols::debate_record("id", &entries(&journal)).unwrap();
    let consensus = record.final_consensus.unwrap();
    assert_eq!(consensus.decision.as_deref(), Some("Use a queue"));
    assert_eq!(consensus.rationale, "Use a queue, and measure.");
    assert_eq!(consensus.dissenting_opinions[0].agent, "sentinel");
}

fn valued(max_price: Option<f64>) -> Rules {
    Rules {
        value: Some(crate::round_value::ValueRules {
            max_price,
            ..Default::default()
        }),
        ..rules("collaborative", 5)
    }
}

/// B-10: with a price, a debate ends when another round is not worth it; without one, measuring changes nothing.
#[tokio::test]
async fn b10_a_debate_stops_when_another_round_is_not_worth_it() {
    let play = async |rules: Rules| {
        let (model, journal) = (Scripted::new(stubborn), Arc::default());
        let verdict = play_to_end(setup_of(&rules, 4, Ability::Full), &model, &journal).await;
        (verdict, contributions(&model).len(), entries(&journal))
    };
    let (plain, said, _) = play(rules("collaborative", 5)).await;
    let (measured, said_measured, journal) = play(valued(None)).await;
    assert_eq!((plain.stop_reason.as_str(), said), ("round_cap", 20));
    assert_eq!(
        (measured.stop_reason.as_str(), said_measured),
        ("round_cap", 20)
    );
    assert_eq!(crate::round_value::of_journal(&journal).len(), 5);
    let transcript = crate::transcript::Transcript::of("id", &journal).unwrap();
    assert!(transcript.rounds[0].value.is_some());
    let (stopped, said, journal) = play(valued(Some(0.0))).await;
    assert_eq!((stopped.stop_reason.as_str(), said), ("value", 4));
    assert!(stopped.final_answer.is_some());
    assert!(
        stopped.stop_explanation.contains("not worth its price"),
        "{}",
        stopped.stop_explanation
    );
    let end = journal.iter().find_map(|entry| entry.event.ended());
    assert_eq!(end.map(|end| end.state), Some(State::Complete));
    let report = protocols::report(&journal);
    let report = serde_json::to_string(&report).unwrap();
    assert!(report.contains("It is not worth it"), "{report}");
}

/// B-10, M-08: an objection round is played although another round is not worth its price.
#[tokio::test]
async fn b10_groupthink_is_tested_before_a_debate_stops_by_value() {
    let (model, journal) = (Scripted::new(herd), Arc::default());
    let rules = valued(Some(0.0)).with_escalation(EscalationPolicy::Never);
    let verdict = play_to_end(setup_of(&rules, 4, Ability::Full), &model, &journal).await;
    assert_eq!(verdict.groupthink.len(), 1);
    assert!(verdict.total_rounds >= 2);
}
