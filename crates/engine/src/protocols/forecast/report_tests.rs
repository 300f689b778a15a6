use std::sync::Arc;

use crate::journal::MemoryJournal;
use crate::protocols;
use crate::protocols::forecast::tests::{good, played, script};
use crate::scripted::entries;

/// C-09: there is a report at every moment of a forecast, and it never loses what an earlier one showed.
#[tokio::test]
async fn c09_there_is_a_report_at_every_moment_of_a_forecast() {
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
