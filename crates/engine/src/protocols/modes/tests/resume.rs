//! Killed, resumed and incomplete debates; reports and records at every entry.

use super::*;

/// C-08, in each speaking order.
#[tokio::test]
async fn c08_killed_after_every_entry_and_resumed_the_debate_is_the_same() {
    for mode in ["delphi", "devils-advocate", "red-team-blue-team"] {
        assert_resumes_after_every_entry(|| setup(mode, 3, 5), story, is_finished_step).await;
    }
}

/// C-15: the same seed, setup and replies give the same journal.
#[tokio::test]
async fn c15_the_same_debate_twice_is_the_same_journal() {
    let (first, second) = (Arc::default(), Arc::default());
    play_to_end(setup("adversarial", 3, 5), &Scripted::new(story), &first).await;
    play_to_end(setup("adversarial", 3, 5), &Scripted::new(story), &second).await;
    assert_eq!(timeless(&first), timeless(&second));
    assert_all_rebuilt(&Modes, &first).await;
}

/// C-06: without any reply the debate fails; once the model is back it can be completed.
#[tokio::test]
async fn c06_a_debate_without_any_reply_fails_and_can_be_resumed() {
    let dead = Scripted::new(|_: &Request, _| {
        Err(ModelError::Unreachable {
            detail: "no network".into(),
        })
    });
    let journal = Arc::default();
    let verdict = play_to_end(setup("collaborative", 3, 5), &dead, &journal).await;
    assert_eq!(
        (verdict.outcome(), verdict.stop_reason.as_str()),
        (State::Failed, "seats_absent")
    );
    let verdict = play_to_end(
        setup("collaborative", 3, 5),
        &Scripted::new(story),
        &journal,
    )
    .await;
    assert_eq!(verdict.outcome(), State::Complete);
    let debate = Debate::from_journal(&entries(&journal)).unwrap();
    assert_eq!(debate.state, verdict.state);
    // Also those of a debate that was played again from its first failure.
    assert_all_rebuilt(&Modes, &journal).await;
}

/// C-07
#[tokio::test]
async fn c07_a_budget_limit_ends_the_debate_with_a_partial_result() {
    let (model, journal) = (Scripted::new(story), Arc::<MemoryJournal>::default());
    let setup = setup("collaborative", 3, 5);
    let deps = deps_for(&setup, &model, journal);
    let budget = Budget {
        max_tokens: Some(300),
        ..Budget::default()
    };
    let table = Table::open(setup, budget, deps).await.unwrap();
    let end = play(&table, &Modes).await.unwrap();
    assert_eq!(end.state, State::Partial);
    let verdict = verdict_of(&end);
    assert_eq!(verdict.stop_reason, "budget");
}

/// C-09: the journal can be folded at any entry; at the end the fold has the state of the result.
#[tokio::test]
async fn c09_report_and_record_exist_at_every_entry() {
    let journal = Arc::default();
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "analyst" && round_of(request) == 2 {
            reply["opposes"] = json!([{ "claim": "C2", "ground": "inference_gap", "because": "one month is no trend", "counter": "E1" }]);
        }
    });
    let verdict = play_to_end(setup("adversarial", 3, 5), &model, &journal).await;
    let entries = entries(&journal);
    let mut shown = 0;
    for end in 0..=entries.len() {
        let sections = protocols::report(&entries[..end]).sections.len();
        assert!(sections >= shown, "after {end} entries");
        shown = sections;
        assert_eq!(
            protocols::record("id", "then".into(), &entries[..end]).is_some(),
            end > 0
        );
    }
    assert_eq!(Debate::from_journal(&entries).unwrap().state, verdict.state);
    insta::assert_json_snapshot!(protocols::report(&entries));
    let mut record = protocols::record("id", "then".into(), &entries).unwrap();
    crate::scripted::strip_times(&mut record);
    record["totals"] = Value::Null;
    record["total_ms"] = Value::Null;
    insta::assert_json_snapshot!(record);
}

/// C-08: a partial debate whose prompts have changed is refused before any step is asked, and stays as it ended.
#[tokio::test]
async fn c08_a_partial_debate_with_changed_prompts_is_refused_before_any_call() {
    let partial = Scripted::new(|request: &Request, before| {
        if name(request) == "contribution"
            && seat_of(request) == "analyst"
            && round_of(request) == 2
        {
            return Err(ModelError::Unauthorized {
                detail: "it is closed".into(),
            });
        }
        stubborn(request, before)
    });
    let journal = Arc::<MemoryJournal>::default();
    let mut setup = setup("collaborative", 3, 2);
    setup.rules["escalation"] = json!("never");
    let verdict = play_to_end(setup.clone(), &partial, &journal).await;
    assert_eq!(verdict.outcome(), State::Partial);
    let mut tampered = journal.keyed();
    // Of the seats that spoke in parallel, the analyst is the last one.
    let changed = tampered
        .iter_mut()
        .find(|keyed| keyed.key == "r2/builder/speak");
    if let Event::StepFinished(step) = &mut changed.unwrap().entry.event {
        Arc::make_mut(step).call.request = "0000".into();
    }
    let ended = tampered.len();
    let journal = Arc::new(MemoryJournal::holding(tampered));
    let model = Scripted::new(story);
    let table = open_table(setup, &model, &journal).await;
    let halt = play(&table, &Modes).await.unwrap_err();
    assert!(matches!(halt, Halt::Drift { .. }), "{halt}");
    assert_eq!(model.asked(), [] as [String; 0]);
    assert_eq!(journal.keyed().len(), ended);
}
