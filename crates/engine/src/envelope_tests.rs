use std::sync::Arc;

use super::*;
use crate::journal::MemoryJournal;
use crate::protocols::{Dialectic, play};
use crate::scripted::{Scripted, deps, good_script, setup};
use crate::table::{Budget, Table};

/// P-09: event names and envelopes are those of the design; the chunks of the synthesis add up to the final answer.
#[tokio::test]
async fn p09_envelopes_follow_the_design() {
    let model = Scripted::new(good_script);
    let setup = setup("Why?");
    let mut envelopes = Envelopes::new(&setup);
    let table = Table::open(
        setup,
        Budget::default(),
        deps(&model, Arc::<MemoryJournal>::default()),
    )
    .await
    .unwrap();
    let mut notices = table.listen();
    play(&table, &Dialectic).await.unwrap();
    let mut all = Vec::new();
    while let Ok(notice) = notices.try_recv() {
        all.extend(envelopes.wrap(&notice.event));
    }
    let mut names: Vec<&str> = all.iter().map(|envelope| envelope.event.as_str()).collect();
    names.dedup();
    assert_eq!(
        names,
        [
            "round_start",
            "proposer_start",
            "proposer_chunk",
            "proposer_end",
            "skeptic_start",
            "skeptic_chunk",
            "skeptic_end",
            "round_start",
            "proposer_start",
            "proposer_chunk",
            "proposer_end",
            "skeptic_start",
            "skeptic_chunk",
            "skeptic_end",
            "round_start",
            "proposer_start",
            "proposer_chunk",
            "proposer_end",
            "skeptic_start",
            "skeptic_chunk",
            "skeptic_end",
            "synthesis_start",
            "synthesis_chunk",
            "synthesis_end",
            "judge_start",
            "judge_chunk",
            "judge_end",
            "complete",
        ]
    );
    let synthesis: String = all
        .iter()
        .filter(|envelope| envelope.event == "synthesis_chunk")
        .map(|envelope| envelope.content.as_str())
        .collect();
    assert_eq!(all.last().unwrap().content, synthesis);
    assert!(
        all.windows(2)
            .all(|pair| pair[0].round <= pair[1].round || pair[1].event == "complete")
    );
    assert_eq!(all.last().unwrap().metadata.tokens_so_far, 8 * 120);
    insta::assert_json_snapshot!(&all[..3]);
}

/// P-09: the last event says how the debate ended and what is missing.
#[test]
fn p09_the_last_event_has_the_state_and_the_reason() {
    let end = |state, reason: Option<&str>| {
        let end = crate::event::End {
            state,
            reason: reason.map(str::to_owned),
            result: None,
        };
        let envelope = Envelopes::default().wrap(&Event::Ended(std::sync::Arc::new(end)));
        serde_json::to_value(envelope.unwrap().metadata).unwrap()
    };
    let partial = end(State::Partial, Some("the skeptic in round 1: gone"));
    assert_eq!(partial["state"], "partial");
    assert_eq!(partial["reason"], "the skeptic in round 1: gone");
    let complete = end(State::Complete, None);
    assert_eq!(
        (&complete["state"], complete.get("reason")),
        (&"complete".into(), None)
    );
}
