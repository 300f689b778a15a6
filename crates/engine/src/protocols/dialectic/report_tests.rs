use std::sync::Arc;

use crate::journal::MemoryJournal;
use crate::protocols::{self, Dialectic};
use crate::scripted::{Scripted, deps, entries, good_script, setup};
use crate::table::{Budget, Table};

/// C-09: there is a report after every journal entry, and a later one never has fewer sections.
#[tokio::test]
async fn c09_there_is_a_report_after_every_journal_entry() {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(good_script);
    let table = Table::open(
        setup("Why?"),
        Budget::default(),
        deps(&model, journal.clone()),
    )
    .await
    .unwrap();
    protocols::play(&table, &Dialectic).await.unwrap();
    let entries = entries(&journal);
    let mut shown = 0;
    for end in 0..=entries.len() {
        let sections = protocols::report(&entries[..end]).sections.len();
        assert!(sections >= shown, "after {end} entries");
        shown = sections;
    }
    insta::assert_json_snapshot!(protocols::report(&entries));
}
