//! Damaged journals and journals of a newer version: every fold over them terminates without a panic.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::budget::Budget;
use crate::protocols::{self, Dialectic, play};
use crate::scripted::{Scripted, deps, entries, good_script, setup};
use crate::table::Table;
use crate::transcript::Transcript;

/// Any JSON, of a bounded size.
pub(crate) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::from),
        // Words with a meaning in journals.
        prop::sample::select(vec![
            "complete",
            "r1",
            "r2/skeptic/review",
            "S1",
            "answer",
            "dialectic"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}|answer|assumptions|kind", inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The journal of a good debate, as JSON.
fn good() -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let journal = Arc::<MemoryJournal>::default();
    runtime.block_on(async {
        let model = Scripted::new(good_script);
        let deps = deps(&model, Arc::clone(&journal) as Arc<dyn Journal>);
        let table = Table::open(setup("Why?"), Budget::default(), deps)
            .await
            .unwrap();
        play(&table, &Dialectic).await.unwrap();
    });
    let entries = entries(&journal);
    entries.iter().map(|entry| json!(entry)).collect()
}

/// Replaces the `nth` value, in document order.
fn replace(value: &mut Value, nth: &mut usize, with: &Value) -> bool {
    if *nth == 0 {
        value.clone_from(with);
        return true;
    }
    *nth -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| replace(item, nth, with)),
        Value::Object(fields) => fields.values_mut().any(|field| replace(field, nth, with)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Builds every view of a journal.
fn fold(entries: &[Entry]) {
    let _ = Transcript::of("id", entries);
    let _ = protocols::report(entries);
    let _ = protocols::record("id", "then".into(), entries);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// C-08: an invalid entry is an error, not a panic.
    #[test]
    fn c08_any_json_is_an_entry_or_an_error(value in json()) {
        if let Ok(entry) = serde_json::from_value::<Entry>(value) {
            fold(&[entry]);
        }
    }

    /// C-08: changed values, and missing, reordered, duplicate or foreign entries.
    #[test]
    fn c08_damaged_journals_are_folded_or_refused(
        protocol in prop::sample::select(protocols::ALL.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..60_usize, json()), 0..4),
        moves in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3),
        dropped in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        static GOOD: std::sync::LazyLock<Vec<Value>> = std::sync::LazyLock::new(good);
        let mut lines = GOOD.clone();
        lines[0]["event"]["protocol"] = json!(protocol.name());
        for (line, mut nth, with) in changes {
            let at = line.index(lines.len());
            replace(&mut lines[at]["event"], &mut nth, &with);
        }
        for (from, to) in moves {
            let (from, to) = (from.index(lines.len()), to.index(lines.len()));
            let line = lines[from].clone();
            lines.insert(to, line);
        }
        for line in dropped {
            let at = line.index(lines.len());
            lines.remove(at);
        }
        let entries: Vec<Entry> = lines.into_iter().filter_map(|line| serde_json::from_value(line).ok()).collect();
        fold(&entries);
    }
}
