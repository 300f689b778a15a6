use std::sync::Arc;

use crate::journal::MemoryJournal;
use crate::protocols;
use crate::protocols::forecast::tests::{good, played, script};
use crate::report::BadgeKind;
use crate::scripted::{assert_verdicts, entries};

/// C-09: there is a report after every journal entry, and a later one never has fewer sections.
#[tokio::test]
async fn c09_there_is_a_report_after_every_journal_entry() {
    let journal = Arc::<MemoryJournal>::default();
    let model = script(|request, _| good(request));
    played(&model, &journal).await;
    let entries = entries(&journal);
    let mut shown = 0;
    for end in 0..=entries.len() {
        let sections = protocols::report(&entries[..end]).sections.len();
        assert!(sections >= shown, "after {end} entries");
        shown = sections;
    }
    insta::assert_json_snapshot!(protocols::report(&entries));
}

/// C-22: the verdict has the likeliest outcome as headline, all probabilities, and the roles that hold another outcome.
#[tokio::test]
async fn c22_the_verdict_of_a_forecast() {
    let journal = Arc::<MemoryJournal>::default();
    played(&script(|request, _| good(request)), &journal).await;
    insta::assert_json_snapshot!("verdict", assert_verdicts(&entries(&journal)));
    let quiet = script(|request, _| {
        let mut reply = good(request);
        if reply.get("rebuts").is_some() {
            reply["rebuts"] = serde_json::json!([]);
        }
        reply
    });
    let journal = Arc::<MemoryJournal>::default();
    played(&quiet, &journal).await;
    let verdict = assert_verdicts(&entries(&journal));
    assert_eq!(verdict.badge.kind, BadgeKind::NotChallenged);
    assert!(verdict.is_unchallenged());
}
