//! Killed, interrupted and resumed debates.

use super::*;

/// C-08: killed after every single journal entry and resumed, the journal is the same and no call is made twice.
#[tokio::test]
async fn c08_killed_after_every_entry_and_resumed_nothing_is_lost_or_repeated() {
    let whole: Arc<MemoryJournal> = Arc::default();
    played(&Scripted::new(good_script), &whole).await;
    let length = whole.keyed().len();
    assert!(length > 10);
    for after in 1..=length {
        let model = Scripted::new(good_script);
        let inner: Arc<MemoryJournal> = Arc::default();
        let (dying, dead) = Dying::after(after, &inner);
        let first_life = async {
            let table = Table::open(
                setup(QUESTION),
                Budget::default(),
                deps(&model, Arc::new(dying)),
            )
            .await
            .unwrap();
            play(&table, &Dialectic).await.unwrap();
        };
        tokio::select! {
            () = first_life => {}
            () = dead.notified() => {}
        }
        if inner.keyed().len() < length {
            played(&model, &inner).await;
        }
        assert_eq!(
            timeless(&inner),
            timeless(&whole),
            "killed after entry {after}"
        );
        assert_eq!(model.asked().len(), 8, "killed after entry {after}");
    }
}

/// C-08: another prompt at the same step is an error, not a silent wrong answer.
#[tokio::test]
async fn c08_a_journal_of_another_setup_is_refused() {
    let (model, journal) = (Scripted::new(good_script), Arc::<MemoryJournal>::default());
    played(&model, &journal).await;
    let unfinished: Vec<_> = journal.keyed().into_iter().take(6).collect();
    let other = Arc::new(MemoryJournal::holding(unfinished.clone()));
    let error = Table::open(
        setup("Another question?"),
        Budget::default(),
        deps(&model, other),
    )
    .await
    .err();
    assert_eq!(error, Some(Halt::OtherSetup));

    let mut tampered = unfinished;
    for keyed in &mut tampered {
        if let Event::StepFinished(step) = &mut keyed.entry.event {
            Arc::make_mut(step).call.request = "0000".into();
        }
    }
    let journal = Arc::new(MemoryJournal::holding(tampered));
    let table = Table::open(setup(QUESTION), Budget::default(), deps(&model, journal))
        .await
        .unwrap();
    let error = play(&table, &Dialectic).await.unwrap_err();
    assert_eq!(
        error,
        Halt::Drift {
            step: "r1/proposer/propose".into()
        }
    );
}

/// Ctrl-C: the debate is saved as cancelled and resumes where it stopped.
#[tokio::test]
async fn an_interrupted_debate_is_saved_and_resumes() {
    let journal = Arc::<MemoryJournal>::default();
    let cancel = tokio_util::sync::CancellationToken::new();
    let interrupting = cancel.clone();
    let model = Scripted::new(move |request: &Request, before| {
        if name(request) == "review" {
            interrupting.cancel();
        }
        good_script(request, before)
    });
    let mut deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    deps.cancel = cancel;
    let table = Table::open(setup(QUESTION), Budget::default(), deps)
        .await
        .unwrap();
    let end = play(&table, &Dialectic).await.unwrap();
    assert_eq!(end.state, State::Cancelled);
    assert_eq!(model.asked().len(), 4);
    assert_eq!(played(&model, &journal).await.state, State::Complete);
    assert_eq!(model.asked().len(), 8);
}

/// C-06: resuming a partial debate retries the missing step and plays on from there. The trace and the transcript show every step
/// once; what was paid for in vain stays in the totals.
#[tokio::test]
async fn c06_resuming_retries_a_step_that_was_missing_in_the_middle() {
    let (model, journal) = (Scripted::new(first_critique_fails), Arc::default());
    let before = played(&model, &journal).await;
    assert_eq!(before.state, State::Partial);
    let again = Scripted::new(good_script);
    let after = played(&again, &journal).await;
    assert_eq!(
        again.asked(),
        [
            "critique",
            "revision",
            "review",
            "revision",
            "review",
            "synthesis"
        ],
        "the judge's reply to the same answer is used again"
    );
    let result = after.result.unwrap();
    assert_eq!(
        (after.state, result.missing.len(), result.confidence),
        (State::Complete, 0, result.confidence_stated)
    );
    let fresh = played(&Scripted::new(good_script), &Arc::default()).await;
    assert_eq!(after.rounds, fresh.rounds);
    assert_eq!(result.issues, fresh.result.unwrap().issues);
    assert_eq!(
        after.totals.debate.calls,
        before.totals.debate.calls + fresh.totals.debate.calls - 2
    );
    let entries = entries(&journal);
    let transcript = crate::transcript::Transcript::of("id", &entries).unwrap();
    let mut steps: Vec<_> = transcript.turns().map(|turn| &turn.step).collect();
    let shown = steps.len();
    steps.sort();
    steps.dedup();
    assert_eq!((shown, steps.len()), (8, 8));
    assert_eq!(transcript.totals, after.totals);

    // Complete now: nothing is left to retry.
    let idle = Scripted::new(good_script);
    let same = played(&idle, &journal).await;
    assert_eq!(idle.heard().len(), 0);
    assert_eq!((same.rounds, same.state), (after.rounds, State::Complete));
}

/// C-06: a retry that fails again leaves the debate partial, and it can be resumed once more.
#[tokio::test]
async fn c06_a_failed_retry_can_be_resumed_again() {
    let journal = Arc::default();
    for generation in 0..3 {
        let trace = played(&Scripted::new(first_critique_fails), &journal).await;
        assert_eq!(trace.state, State::Partial, "{generation}");
        assert_eq!(trace.result.unwrap().missing.len(), 1);
    }
    let trace = played(&Scripted::new(good_script), &journal).await;
    assert_eq!(trace.state, State::Complete);
}

/// C-08: a resumed debate that is killed after any entry and resumed again leaves the same journal.
#[tokio::test]
async fn c08_a_resumed_debate_that_is_killed_leaves_the_same_journal() {
    let partial = Arc::<MemoryJournal>::default();
    played(&Scripted::new(first_critique_fails), &partial).await;
    let start = partial.keyed().len();
    let whole = Arc::new(MemoryJournal::holding(partial.keyed()));
    played(&Scripted::new(good_script), &whole).await;
    for length in start + 1..whole.keyed().len() {
        let journal = Arc::new(MemoryJournal::holding(partial.keyed()));
        let (dying, dead) = Dying::after(length, &journal);
        let model = Scripted::new(good_script);
        let killed = deps(&model, Arc::new(dying));
        tokio::select! {
            table = Table::open(setup(QUESTION), Budget::default(), killed) => {
                let table = table.unwrap();
                tokio::select! {
                    _ = play(&table, &Dialectic) => {}
                    () = dead.notified() => {}
                }
            }
            () = dead.notified() => {}
        }
        let heard = model.heard();
        let rest = Scripted::new(move |request: &Request, before| {
            let earlier = heard.iter().filter(|old| name(old) == name(request));
            good_script(request, before + earlier.count().min(1))
        });
        if journal.keyed().len() < whole.keyed().len() {
            played(&rest, &journal).await;
        }
        let keys = |journal: &MemoryJournal| -> Vec<String> {
            journal.keyed().into_iter().map(|keyed| keyed.key).collect()
        };
        assert_eq!(keys(&journal), keys(&whole), "killed after {length}");
    }
}
