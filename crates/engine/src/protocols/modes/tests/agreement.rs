//! Agreement that is none: contradicting answers, silent seats, reversals and open blockers.

use roundtable_core::evidence::Level;

use super::*;

const SEATS: [&str; 4] = ["sentinel", "builder", "analyst", "ecologist"];

/// All vote ACCEPT at 0.80; the first seats stand for the plan, the others against it.
fn divided(supporters: usize) -> Arc<Scripted> {
    changed(story, move |request, _, reply| {
        let seat = seat_of(request);
        let index = SEATS.iter().position(|name| *name == seat).unwrap();
        reply["vote"] = json!("ACCEPT");
        reply["confidence"] = json!(0.8);
        reply["blocker"] = json!(null);
        reply["debate_alignment"] = json!(if index < supporters {
            "adopt the plan"
        } else {
            "not adopt the plan"
        });
    })
}

/// M-17, E-21: a 2:2 split is not a consensus with any votes. At the last round a person is asked, and the debate can be
/// resumed with the decision or with another round.
#[tokio::test]
async fn m17_a_split_panel_waits_for_a_person() {
    let (model, journal) = (divided(2), Arc::<MemoryJournal>::default());
    let setup = || setup("collaborative", 4, 2);
    let table = open_table(setup(), &model, &journal).await;
    let waits = |round: u32| Halt::Waiting {
        key: format!("r{round}/no-majority"),
    };
    assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(2));
    let query = crate::table::open_question(&entries(&journal))
        .unwrap()
        .clone();
    assert_eq!(
        query.options,
        [ANOTHER_ROUND, "adopt the plan", "not adopt the plan"]
    );
    assert!(
        query
            .question
            .contains("2 for \"adopt the plan\", 2 for \"not adopt the plan\""),
        "{query:?}"
    );
    let forked = Arc::new(MemoryJournal::holding(journal.keyed()));
    decide(
        journal.as_ref(),
        0,
        "not adopt the plan".into(),
        Some("Ada".into()),
        None,
    )
    .await
    .unwrap();
    let verdict = play_to_end(setup(), &model, &journal).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("human_override", 2)
    );
    assert_eq!(
        verdict.stop_explanation,
        "a person decided: not adopt the plan"
    );
    decide(forked.as_ref(), 0, ANOTHER_ROUND.into(), None, None)
        .await
        .unwrap();
    let table = open_table(setup(), &model, &forked).await;
    assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(3));
}

/// E-21 in plain debates: all agree is HIGH, all but one MEDIUM with the minority kept, less is LOW.
#[tokio::test]
async fn e21_the_default_algorithm_counts_answers_in_plain_debates() {
    let rules = rules("collaborative", 3).with_escalation(EscalationPolicy::Never);
    for (supporters, stop, rounds, level, minority) in [
        (4, "consensus", 1, Level::High, 0),
        (3, "majority", 2, Level::Medium, 1),
        (2, "round_cap", 3, Level::Low, 2),
    ] {
        let setup = setup_of(&rules, 4, Ability::Full);
        let verdict = play_to_end(setup, &divided(supporters), &Arc::default()).await;
        let decision = verdict.panel_decision.as_ref().unwrap();
        assert_eq!(
            (verdict.stop_reason.as_str(), verdict.total_rounds),
            (stop, rounds)
        );
        assert_eq!((decision.level, decision.minority.len()), (level, minority));
        assert_eq!(
            verdict.stop_explanation.contains("no consensus: 2 for"),
            level == Level::Low,
            "{}",
            verdict.stop_explanation
        );
    }
}

/// M-17: stances that contradict each other are no consensus. They are assigned, so the debate does not wait for a person.
#[tokio::test]
async fn m17_contradicting_stances_are_no_consensus() {
    let setup = setup("devils-advocate", 4, 3);
    let verdict = play_to_end(setup, &divided(4), &Arc::default()).await;
    assert_eq!(verdict.stop_reason, "round_cap");
    let decision = verdict.panel_decision.unwrap();
    assert_eq!((decision.level, decision.carried), (Level::Low, false));
}

/// E-22: opposites in words are no agreement where typed answers are missing, and a typed answer is asked for once.
#[tokio::test]
async fn e22_a_typed_answer_is_asked_for_and_words_count_without_one() {
    for (position, stop) in [
        ("We do not oppose the merger.", "consensus"),
        ("We oppose the merger.", "round_cap"),
    ] {
        let model = changed(story, move |request, _, reply| {
            reply["vote"] = json!("ACCEPT");
            reply["confidence"] = json!(0.8);
            reply["blocker"] = json!(null);
            reply["debate_alignment"] = json!(null);
            let seat = seat_of(request);
            reply["position"] = json!(if SEATS[..2].contains(&seat.as_str()) {
                "We support the merger."
            } else {
                position
            });
        });
        let rules = rules("collaborative", 2).with_escalation(EscalationPolicy::Never);
        let setup = setup_of(&rules, 4, Ability::Full);
        let verdict = play_to_end(setup, &model, &Arc::default()).await;
        assert_eq!(verdict.stop_reason, stop, "{position}");
        assert_eq!(
            verdict.violations.keys().collect::<Vec<_>>(),
            ["answer"],
            "{position}"
        );
        let asked = contributions(&model).into_iter().any(|request| {
            text_of(&request).contains(
                "name the answer you stand for in `debate_alignment`, in at most six words",
            )
        });
        assert!(asked);
    }
}

/// M-17: a panel that flips and flips back has not reached a plateau.
#[tokio::test]
async fn m17_a_panel_that_flips_has_moved() {
    let model = changed(story, |request, _, reply| {
        let round = round_of(request);
        reply["vote"] = json!("MINOR");
        reply["blocker"] = json!(null);
        reply["confidence"] = json!(0.6);
        reply["claims"] = json!([]);
        reply["references"] = json!([]);
        reply["debate_alignment"] = json!(if round.is_multiple_of(2) {
            "Wait"
        } else {
            "Use a queue"
        });
    });
    let verdict = play_to_end(setup("collaborative", 3, 4), &model, &Arc::default()).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("round_cap", 4)
    );
    assert_eq!(verdict.groupthink, []);
}

/// M-08: an open BLOCKER is not an agreement, and can only be overridden.
#[tokio::test]
async fn m08_an_open_blocker_is_not_presented_as_agreement() {
    let model = changed(herd, |request, _, reply| {
        if seat_of(request) == "ecologist" {
            reply["vote"] = json!("BLOCKER");
            reply["blocker"] = json!("Nobody asked the fish.");
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    let setup = || setup("collaborative", 4, 5);
    let table = open_table(setup(), &model, &journal).await;
    play(&table, &Modes).await.unwrap_err();
    let query = crate::table::open_question(&entries(&journal))
        .unwrap()
        .clone();
    assert_eq!(query.key, "r2/groupthink");
    assert_eq!(query.options, [OVERRIDE, ANOTHER_ROUND]);
    assert!(
        query.question.contains("ecologist: Nobody asked the fish.")
            && !query.question.contains("The panel agrees"),
        "{query:?}"
    );
    decide(journal.as_ref(), 0, OVERRIDE.into(), None, None)
        .await
        .unwrap();
    let verdict = play_to_end(setup(), &model, &journal).await;
    assert_eq!(
        (
            verdict.stop_reason.as_str(),
            verdict.stop_explanation.as_str()
        ),
        (
            "human_override",
            "a person accepted the answer despite an open BLOCKER"
        )
    );
}

/// M-08: a split panel is not called an agreement either: not to a person, not to the seats, and not in the report.
#[tokio::test]
async fn m08_a_split_panel_is_not_presented_as_agreement() {
    let model = changed(herd, |request, _, reply| {
        let is_for = SEATS[..2].contains(&seat_of(request).as_str());
        reply["debate_alignment"] = json!(if is_for { "Use a queue" } else { "Wait" });
    });
    let journal = Arc::<MemoryJournal>::default();
    let table = open_table(setup("collaborative", 4, 5), &model, &journal).await;
    play(&table, &Modes).await.unwrap_err();
    let query = crate::table::open_question(&entries(&journal))
        .unwrap()
        .clone();
    assert_eq!(query.key, "r2/groupthink");
    assert_eq!(query.options, [ANOTHER_ROUND, "Use a queue", "Wait"]);
    assert!(
        query
            .question
            .starts_with("The panel does not agree (2 for \"Use a queue\", 2 for \"Wait\")"),
        "{query:?}"
    );
    let objecting = contributions_in(&model, 2);
    assert_eq!(objecting.len(), 4);
    for request in objecting {
        let instructions = request.messages[1].text.rsplit("## What to do").next();
        assert!(!instructions.unwrap().contains("the panel agrees"));
    }
    decide(journal.as_ref(), 0, "Wait".into(), None, None)
        .await
        .unwrap();
    play_to_end(setup("collaborative", 4, 5), &model, &journal).await;
    let report = report_json(&journal);
    assert!(
        report.contains("Groupthink was suspected after round 1: at least 75%"),
        "{report}"
    );
    assert!(!report.contains("The panel agree"), "{report}");
}

/// M-08: uncited references are not sources, and are sent back once.
#[tokio::test]
async fn m08_uncited_references_are_no_sources() {
    let model = changed(herd, |_, _, reply| {
        let listed = (1..=3).map(|number| {
            json!({ "number": number, "title": format!("Log {number}"), "url": null, "gist": "", "kind": "citation" })
        });
        reply["references"] = json!(listed.collect::<Vec<_>>());
    });
    let journal = Arc::<MemoryJournal>::default();
    let table = open_table(setup("collaborative", 4, 5), &model, &journal).await;
    play(&table, &Modes).await.unwrap_err();
    let debate = Debate::from_journal(&entries(&journal)).unwrap();
    let first = &debate.rounds[0];
    assert_eq!(first.diversity.unwrap().sources, 0);
    assert_eq!(
        first.turns[0].remarks[0],
        "citations: reference [1] is listed but never cited: cite it or leave it out."
    );
}

/// M-14: a focus of a round that was not played is named.
#[tokio::test]
async fn m14_an_unplayed_focus_is_named_in_the_result() {
    let focus = BTreeMap::from([(2, "Who pays?".to_owned()), (4, "Who runs it?".to_owned())]);
    let mut rules = rules("collaborative", 5);
    rules.focus = focus;
    let setup = setup_of(&rules, 3, Ability::Full);
    let verdict = play_to_end(setup, &Scripted::new(story), &Arc::default()).await;
    assert_eq!(
        verdict.remarks,
        [
            "The focus of round 4 was not debated, because the debate ended after round 2: Who runs it?"
        ]
    );
}

/// E-21: small models are not asked for a typed answer, so a panel of them without a majority ends with its result instead of
/// waiting for a person; the ending names no answers.
#[tokio::test]
async fn e21_small_models_without_a_majority_do_not_wait_for_a_person() {
    let model = Scripted::new(|request: &Request, _| {
        Ok(other_reply(request).unwrap_or_else(|| {
            let vote = match seat_of(request).as_str() {
                "sentinel" => "BLOCKER",
                "builder" => "ACCEPT",
                _ => "MINOR",
            };
            small_reply(request, vote, 0.6).to_string()
        }))
    });
    for mode in ["collaborative", "socratic"] {
        let setup = setup_of(&rules(mode, 2), 3, Ability::Small);
        let verdict = play_to_end(setup, &model, &Arc::default()).await;
        assert_eq!(
            (verdict.outcome(), verdict.stop_explanation.as_str()),
            (State::Complete, "the last allowed round was played")
        );
        let decided = verdict.resolution.unwrap().decision;
        assert_eq!(decided, None, "{mode}");
    }
    for request in model.heard() {
        let asked = &request.schema.as_ref().unwrap().json["properties"];
        assert_eq!(asked.get("debate_alignment"), None, "{}", name(&request));
        assert!(!text_of(&request).contains("debate_alignment"));
    }
    // Models that are asked for an answer and give three do wait.
    let full = changed(stubborn, |request, _, reply| {
        reply["debate_alignment"] = json!(format!("What the {} wants", seat_of(request)));
    });
    let table = open_table(setup("collaborative", 3, 2), &full, &Arc::default()).await;
    let halt = play(&table, &Modes).await.unwrap_err();
    assert!(matches!(halt, Halt::Waiting { .. }), "{halt}");
}

/// M-08: small models that agree at once play an objection round and are told to object; no person is asked about it.
#[tokio::test]
async fn m08_small_models_that_agree_do_not_wait_for_a_person() {
    let model = Scripted::new(|request: &Request, _| {
        let small = || small_reply(request, "ACCEPT", 0.9).to_string();
        Ok(other_reply(request).unwrap_or_else(small))
    });
    let setup = setup_of(&rules("collaborative", 1), 3, Ability::Small);
    let verdict = play_to_end(setup, &model, &Arc::default()).await;
    assert_eq!(
        (verdict.outcome(), verdict.groupthink.len()),
        (State::Complete, 1)
    );
    let objecting = contributions(&model).into_iter();
    let objecting =
        objecting.filter(|request| text_of(request).contains("may be settling too early"));
    assert_eq!(objecting.count(), 3);
}

/// E-22: a conclusion that says the opposite of what most seats say is sent back once. If it stays, the result says so, and the
/// seats that say the opposite are its dissent. Two of four seats are not most of them.
#[tokio::test]
async fn e22_a_conclusion_against_the_panel_is_sent_back_and_named() {
    const FOR: &str = "Close the main street to cars.";
    const AGAINST: &str = "The main street should not be closed to cars.";
    for (in_favour, first, second, calls, remark) in [
        (3, AGAINST, FOR, 2, None),
        (3, AGAINST, AGAINST, 2, Some("of 3 of 4 seats")),
        (2, AGAINST, AGAINST, 1, None),
    ] {
        let model = Scripted::new(move |request: &Request, _| {
            if name(request) == "conclusion" {
                let is_again = text_of(request).contains("says the opposite of the positions");
                let answer = if is_again { second } else { first };
                return Ok(
                    json!({ "answer": answer, "dissent": [], "open_points": [] }).to_string(),
                );
            }
            Ok(other_reply(request).unwrap_or_else(|| {
                let mut reply = small_reply(request, "MINOR", 0.6);
                let seats = ["sentinel", "builder", "analyst", "ecologist"];
                let seat = seat_of(request);
                let index = seats.iter().position(|name| **name == *seat);
                let position = if index < Some(in_favour) {
                    FOR
                } else {
                    AGAINST
                };
                reply["position"] = json!(position);
                reply.to_string()
            }))
        });
        let journal = Arc::<MemoryJournal>::default();
        let setup = setup_of(&rules("collaborative", 2), 4, Ability::Small);
        let verdict = play_to_end(setup, &model, &journal).await;
        let asked = model.heard().into_iter();
        let asked = asked.filter(|request| name(request) == "conclusion");
        assert_eq!(asked.count(), calls, "{in_favour}");
        assert_eq!(verdict.remarks.len(), usize::from(remark.is_some()));
        for (said, expected) in verdict.remarks.iter().zip(remark) {
            assert!(said.contains(expected), "{said}");
        }
        let entries: Vec<Entry> = journal
            .keyed()
            .into_iter()
            .map(|keyed| keyed.entry)
            .collect();
        let dissent = crate::protocols::report(&entries).verdict.unwrap().dissent;
        let opposed = if verdict.answer.as_deref() == Some(FOR) {
            4 - in_favour
        } else {
            in_favour
        };
        assert_eq!(dissent.len(), opposed, "{dissent:?}");
    }
}
