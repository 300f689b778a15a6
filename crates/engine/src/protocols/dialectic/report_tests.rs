use std::sync::Arc;

use crate::journal::MemoryJournal;
use crate::protocols::{self, Dialectic};
use crate::scripted::{Scripted, deps, entries, good_script, setup};
use crate::table::{Budget, Table as Debate};

/// C-09: the report is a fold over the journal at any of its entries, and never loses what an earlier one showed.
#[tokio::test]
async fn c09_there_is_a_report_at_every_moment_of_a_debate() {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(good_script);
    let table = Debate::open(
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
