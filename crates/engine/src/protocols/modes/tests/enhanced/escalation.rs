//! Debates that wait for a person.

use super::*;

/// Three seats that do not change their positions, and stand for three answers.
fn stuck(request: &Request, before: usize) -> Result<String, ModelError> {
    let said = converging(request, before)?;
    if name(request) != "contribution" {
        return Ok(said);
    }
    let mut reply: Value = serde_json::from_str(&said).unwrap();
    let (position, option) = match seat_of(request).as_str() {
        "sentinel" => (
            "Wait until somebody has measured the load",
            "Wait and measure",
        ),
        "builder" => ("Put one queue before every writer", "Use a queue"),
        _ => ("Buy larger hardware instead", "Buy hardware"),
    };
    reply["position"] = json!(position);
    reply["debate_alignment"] = json!(option);
    Ok(reply.to_string())
}

/// E-09: a person accepts the majority, chooses an answer, or wants another round. The record says `human_override`. E-10: it
/// also has what the user said, as `user_input`.
#[tokio::test]
async fn e09_diminishing_returns_wait_for_a_person() {
    for (choice, stop, rounds, overridden, answer) in [
        (
            "Use a queue",
            "human_override",
            3,
            true,
            Some("Use a queue"),
        ),
        (ANOTHER_ROUND, "", 4, false, None),
    ] {
        let (model, journal) = (Scripted::new(stuck), Arc::<MemoryJournal>::default());
        let table = open_table(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
        table.say("Mind the price.".into(), None).await.unwrap();
        let waits = |round: u32| Halt::Waiting {
            key: format!("r{round}/diminishing-returns"),
        };
        assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(3));
        let question = crate::table::open_question(&entries(&journal))
            .unwrap()
            .clone();
        assert_eq!(
            question.options,
            [
                ANOTHER_ROUND,
                "Wait and measure",
                "Use a queue",
                "Buy hardware"
            ],
            "nobody leads in a tie"
        );
        assert!(!question.question.contains("most"), "{question:?}");
        decide(
            journal.as_ref(),
            0,
            choice.into(),
            Some("Ada".into()),
            Some("It has to end.".into()),
        )
        .await
        .unwrap();
        let table = open_table(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
        let end = play(&table, &Modes).await;
        let debate = debate_of(&journal);
        assert_eq!(debate.rounds.len(), rounds, "{choice}");
        if choice == ANOTHER_ROUND {
            assert_eq!(end.unwrap_err(), waits(4));
            continue;
        }
        let verdict = verdict_of(&end.unwrap());
        assert_eq!(verdict.stop_reason, stop);
        let enhanced = enhancement(&verdict);
        assert_eq!(
            (enhanced.escalation, enhanced.human_override),
            (true, overridden)
        );
        assert_eq!(enhanced.answer.as_deref(), answer);
        let record = enhanced::record("id", &entries(&journal)).unwrap();
        let consensus = record.final_consensus.unwrap();
        assert_eq!(
            (
                consensus.decision.as_deref(),
                consensus.escalation,
                consensus.human_override
            ),
            (answer, true, overridden)
        );
        let said: Vec<_> = record
            .rounds
            .iter()
            .map(|round| round.user_input.clone())
            .collect();
        assert_eq!(said, [Some("Mind the price.".to_owned()), None, None]);
        assert!(!record.token_efficiency.consensus_reached);
        let report = report_json(&journal);
        assert!(
            report.contains("Ada decided after round 3, diminishing returns"),
            "{report}"
        );
    }
}

/// Plays until the first question, decides it, and plays to the end.
async fn decided(choice: &str, model: &Arc<Scripted>, journal: &Arc<MemoryJournal>) -> Verdict {
    let setup = || enhanced_setup("collaborative", 3, 5);
    let table = open_table(setup(), model, journal).await;
    assert!(matches!(
        play(&table, &Modes).await.unwrap_err(),
        Halt::Waiting { .. }
    ));
    decide(journal.as_ref(), 0, choice.into(), None, None)
        .await
        .unwrap();
    play_to_end(setup(), model, journal).await
}

/// E-22: a person's decision is the decision in every part of the result; dissent is measured against it, and the chair is told
/// to write it up.
#[tokio::test]
async fn e22_a_persons_decision_is_the_decision_everywhere() {
    let (model, journal) = (Scripted::new(stuck), Arc::<MemoryJournal>::default());
    let verdict = decided("Use a queue", &model, &journal).await;
    let resolution = verdict.resolution.clone().unwrap();
    assert_eq!(resolution.decision.as_deref(), Some("Use a queue"));
    assert_eq!(resolution.holders, ["builder"]);
    let position = "Put one queue before every writer";
    assert_eq!(resolution.position.as_deref(), Some(position));
    let enhanced = enhancement(&verdict);
    assert_eq!(enhanced.position.as_deref(), Some(position));
    let agents = |minority: &[MinorityPosition]| -> Vec<String> {
        minority.iter().map(|apart| apart.agent.clone()).collect()
    };
    assert_eq!(agents(&enhanced.minority), ["analyst", "sentinel"]);
    let record = enhanced::record("id", &entries(&journal)).unwrap();
    let consensus = record.final_consensus.unwrap();
    assert_eq!(consensus.decision.as_deref(), Some("Use a queue"));
    let dissent: Vec<_> = consensus
        .dissenting_opinions
        .iter()
        .map(|opinion| opinion.agent.as_str())
        .collect();
    assert_eq!(dissent, ["analyst", "sentinel"]);
    let answer = verdict.final_answer.unwrap();
    assert!(
        answer.starts_with("**Decided by a person: Use a queue**\n\n"),
        "{answer}"
    );
    let report = protocols::report(&entries(&journal));
    let facts: Vec<_> = report
        .facts
        .iter()
        .map(|fact| format!("{}: {}", fact.name, fact.value))
        .collect();
    assert!(
        facts.contains(&"Decided by: a person: Use a queue".into()),
        "{facts:?}"
    );
    assert!(
        facts.contains(&"Decision: Use a queue, by a person".into()),
        "{facts:?}"
    );
    assert!(
        !facts.iter().any(|fact| fact.starts_with("Consensus")),
        "{facts:?}"
    );
    let heard = model.heard();
    let chair = text_of(heard.last().unwrap());
    assert!(
        chair.contains("It is made; do not decide otherwise."),
        "{chair}"
    );
    assert!(!chair.contains("Decide what the better"), "{chair}");
}

/// E-22: without a decision the record has none, and no answer of one seat stands for the panel.
#[tokio::test]
async fn e22_a_divided_panel_has_no_decision() {
    let (model, journal) = (Scripted::new(stuck), Arc::<MemoryJournal>::default());
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 2), &model, &journal).await;
    assert_eq!(verdict.stop_reason, "round_cap");
    assert_eq!(verdict.worth.debated.answer, None);
    assert_eq!(enhancement(&verdict).answer, None);
    let record = enhanced::record("id", &entries(&journal)).unwrap();
    let consensus = record.final_consensus.unwrap();
    assert_eq!(consensus.decision, None);
    assert_eq!(consensus.supporting_evidence, []);
    let report = report_json(&journal);
    assert!(
        report.contains(r#""name":"Decision","value":"none""#),
        "{report}"
    );
}

/// E-09: what most stand for is named and can be accepted.
#[tokio::test]
async fn e09_the_answer_of_most_can_be_accepted() {
    let model = changed(stuck, |request, _, reply| {
        if seat_of(request) == "builder" {
            reply["debate_alignment"] = json!("Buy hardware");
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    let setup = || enhanced_setup("collaborative", 3, 5);
    let table = open_table(setup(), &model, &journal).await;
    play(&table, &Modes).await.unwrap_err();
    let entries = entries(&journal);
    let question = crate::table::open_question(&entries).unwrap();
    assert_eq!(
        question.options,
        [ACCEPT, ANOTHER_ROUND, "Buy hardware", "Wait and measure"]
    );
    assert!(
        question
            .question
            .contains("Accept what most stand for (\"Buy hardware\")"),
        "{question:?}"
    );
    decide(journal.as_ref(), 0, ACCEPT.into(), None, None)
        .await
        .unwrap();
    let verdict = play_to_end(setup(), &model, &journal).await;
    assert_eq!(verdict.stop_reason, "human_override");
    let answer = enhancement(&verdict).answer.as_deref();
    assert_eq!(answer, Some("Buy hardware"));
}

/// Without escalation, the debate does not wait for a person.
#[tokio::test]
async fn e21_without_escalation_a_debate_without_progress_ends() {
    let rules = enhanced_by(algorithm::ENHANCED, "collaborative", 5)
        .with_escalation(EscalationPolicy::Never);
    let setup = setup_of(&rules, 3, Ability::Full);
    let verdict = play_to_end(setup, &Scripted::new(stuck), &Arc::default()).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("plateau", 3)
    );
}

/// M-08 in an enhanced debate.
#[tokio::test]
async fn e09_failed_objections_wait_for_a_person() {
    let model = changed(unanimous, |_, _, reply| {
        reply["confidence"] = json!(0.9);
        reply["claims"] = json!([]);
        reply["references"] = json!([]);
        reply["backing"] = json!([]);
        reply["critiques"] = json!([]);
    });
    let journal = Arc::<MemoryJournal>::default();
    let table = open_table(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let halt = play(&table, &Modes).await.unwrap_err();
    assert_eq!(
        halt,
        Halt::Waiting {
            key: "r2/groupthink".into()
        }
    );
    decide(journal.as_ref(), 0, ACCEPT.into(), None, None)
        .await
        .unwrap();
    let verdict = play_to_end(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(verdict.stop_reason, "human_override");
    assert!(enhancement(&verdict).human_override);
}

/// E-21: democratic majority, on both sides of each threshold.
#[tokio::test]
async fn e21_a_majority_is_counted_and_without_one_a_person_decides() {
    let with = |apart: usize| {
        changed(story, move |request, _, reply| {
            let seats = ["sentinel", "builder", "analyst", "ecologist"];
            let index = seats
                .iter()
                .position(|seat| *seat == seat_of(request))
                .unwrap();
            reply["debate_alignment"] = json!(if index < apart {
                format!("Way {index}{index}")
            } else {
                "Use a queue".into()
            });
        })
    };
    let rules = enhanced_by(algorithm::DEFAULT, "collaborative", 5);
    let setup = || setup_of(&rules, 4, Ability::Full);
    for (apart, level, stop) in [
        (0, Level::High, "consensus"),
        (1, Level::Medium, "majority"),
    ] {
        let verdict = play_to_end(setup(), &with(apart), &Arc::default()).await;
        let enhanced = enhancement(&verdict);
        assert_eq!(
            (
                verdict.stop_reason.as_str(),
                enhanced.level,
                enhanced.minority.len()
            ),
            (stop, Some(level), apart)
        );
        assert_eq!((enhanced.escalation, enhanced.similarity), (false, None));
    }
    let (model, journal) = (with(2), Arc::<MemoryJournal>::default());
    let table = open_table(setup(), &model, &journal).await;
    let halt = play(&table, &Modes).await.unwrap_err();
    assert_eq!(
        halt,
        Halt::Waiting {
            key: "r5/no-majority".into()
        }
    );
    decide(journal.as_ref(), 0, "Way 00".into(), None, None)
        .await
        .unwrap();
    let verdict = play_to_end(setup(), &model, &journal).await;
    let enhanced = enhancement(&verdict);
    assert_eq!(
        (
            enhanced.level,
            enhanced.human_override,
            enhanced.answer.as_deref()
        ),
        (Some(Level::Low), true, Some("Way 00"))
    );
    // This algorithm does not ask for evidence.
    assert!(
        model
            .heard()
            .iter()
            .all(|request| !request.system.contains("# Evidence"))
    );
}

/// E-21: or until its seat withdraws it.
#[tokio::test]
async fn e21_a_security_objection_halts_until_a_person_overrides() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "sentinel" && round_of(request) < 3 {
            reply["security_objection"] = json!("The queue is open to everybody.");
        }
    });
    let rules = enhanced_by("security_first_veto", "collaborative", 5);
    let setup = || setup_of(&rules, 3, Ability::Full);
    let journal = Arc::<MemoryJournal>::default();
    let table = open_table(setup(), &model, &journal).await;
    let waits = |round: u32| Halt::Waiting {
        key: format!("r{round}/security-objection"),
    };
    assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(1));
    decide(journal.as_ref(), 0, ANOTHER_ROUND.into(), None, None)
        .await
        .unwrap();
    let table = open_table(setup(), &model, &journal).await;
    assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(2));
    let forked = Arc::new(MemoryJournal::holding(journal.keyed()));

    decide(journal.as_ref(), 0, OVERRIDE.into(), None, None)
        .await
        .unwrap();
    let verdict = play_to_end(setup(), &model, &journal).await;
    let enhanced = enhancement(&verdict);
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus", 2)
    );
    assert!(enhanced.human_override);
    assert_eq!(enhanced.security_objections[0].overridden_round, Some(2));

    // The seat no longer raises it.
    decide(forked.as_ref(), 0, ANOTHER_ROUND.into(), None, None)
        .await
        .unwrap();
    let verdict = play_to_end(setup(), &model, &forked).await;
    let enhanced = enhancement(&verdict);
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus", 3)
    );
    assert_eq!(
        (
            enhanced.human_override,
            enhanced.security_objections[0].withdrawn_round
        ),
        (false, Some(3))
    );
}
