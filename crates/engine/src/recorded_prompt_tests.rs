use std::sync::Arc;

use super::*;
use crate::event::End;
use crate::journal::Journal;
use crate::protocols::{Dialectic, play};
use crate::scripted::{Scripted, deps, entries, good_script, rebuilt, setup};

async fn played() -> (Arc<Scripted>, Vec<Entry>) {
    let model = Scripted::new(good_script);
    let journal: Arc<MemoryJournal> = Arc::default();
    let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
    let setup = setup("Is it worth it?");
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    play(&table, &Dialectic).await.unwrap();
    (model, entries(&journal))
}

/// P-11: every prompt of a debate is what its seat received, word by word.
#[tokio::test]
async fn p11_a_rebuilt_prompt_is_the_one_that_was_sent() {
    let (model, entries) = played().await;
    let heard = model.heard();
    let steps = steps(&entries);
    assert_eq!(steps.len(), heard.len());
    for (step, sent) in steps.iter().zip(&heard) {
        let prompt = rebuilt(&Dialectic, &entries, step).await.unwrap();
        let texts: Vec<&str> = prompt.texts().map(|(_, text)| text).collect();
        assert_eq!(texts, sent.texts().collect::<Vec<_>>(), "{step}");
        assert_eq!((&prompt.step, prompt.seed), (step, sent.seed));
        assert_eq!(prompt.schema, **sent.schema.as_ref().unwrap().json);
    }
}

/// P-11: prompts of a debate that runs, and of one that was reopened after a failure, can be rebuilt too.
#[tokio::test]
async fn p11_prompts_are_rebuilt_at_every_point_of_a_debate() {
    let (_, entries) = played().await;
    for length in (1..=entries.len()).rev().step_by(6) {
        let past = &entries[..length];
        for step in steps(past) {
            let prompt = rebuilt(&Dialectic, past, &step).await;
            assert!(prompt.is_ok(), "{step} of {length} entries: {prompt:?}");
        }
    }
    let mut reopened = entries;
    let seq = reopened.len() as u64 + 1;
    let event = Event::Reopened {
        generation: 1,
        from: None,
    };
    reopened.push(Entry { seq, at: 0, event });
    let ended = Event::Ended(Arc::new(End::clone(
        reopened
            .iter()
            .find_map(|entry| entry.event.ended())
            .unwrap(),
    )));
    reopened.push(Entry {
        seq: seq + 1,
        at: 0,
        event: ended,
    });
    for step in steps(&reopened) {
        rebuilt(&Dialectic, &reopened, &step).await.unwrap();
    }
}

/// P-11: a prompt with another hash than the recorded one is never shown as what the seat received.
#[tokio::test]
async fn p11_a_changed_prompt_is_refused() {
    let (_, entries) = played().await;
    let changed = |changed: &str| -> Vec<Entry> {
        let mut entries = entries.clone();
        for entry in &mut entries {
            if let Event::StepFinished(step) = &mut entry.event
                && step.call.step == changed
            {
                Arc::make_mut(step).call.request = "0".repeat(32);
            }
        }
        entries
    };
    let own = changed("r1/skeptic/criticise");
    let refused = rebuilt(&Dialectic, &own, "r1/skeptic/criticise").await;
    let expected = NoPrompt::Changed {
        step: "r1/skeptic/criticise".into(),
    };
    assert_eq!(refused, Err(expected));
    // A later step cannot be reached, an earlier one can.
    let later = rebuilt(&Dialectic, &own, "r2/proposer/revise").await;
    assert!(matches!(later, Err(NoPrompt::Changed { .. })), "{later:?}");
    rebuilt(&Dialectic, &own, "r1/proposer/propose")
        .await
        .unwrap();
}

#[tokio::test]
async fn p11_a_step_that_does_not_exist_has_no_prompt() {
    let (_, entries) = played().await;
    for step in ["r9/skeptic/criticise", "", "r1", "r1/skeptic", "../x"] {
        let refused = rebuilt(&Dialectic, &entries, step).await;
        let expected = NoPrompt::UnknownStep { step: step.into() };
        assert_eq!(refused, Err(expected));
    }
}
