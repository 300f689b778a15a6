use std::sync::Arc;

use crate::journal::MemoryJournal;
use crate::protocols;
use crate::protocols::forecast::tests::{good, played, script};
use crate::scripted::entries;

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
