//! All forecasts of one question.

use roundtable_engine::event::Millis;
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Forecast;
use roundtable_engine::protocols::forecast::{Overview, Rules};
use uuid::Uuid;

use crate::store::{DebateRow, Filter, Store, StoreError};

/// The forecasts with the question and the task id of this one, oldest first; with a token only its own.
pub(crate) async fn forecasts_like(
    store: &Store,
    row: &DebateRow,
    (token, now): (Option<Uuid>, Millis),
) -> Result<Vec<(String, Overview)>, StoreError> {
    let Some(wanted) = Rules::of(&store.entries(row.id).await?) else {
        return Ok(Vec::new());
    };
    let filter = Filter {
        protocol: Some(Forecast::NAME.to_owned()),
        token,
        ..Filter::default()
    };
    let mut found = Vec::new();
    // A listing has the beginning of each question.
    let rows = store.list_uncounted(&filter).await?.into_iter().rev();
    for other in rows.filter(|other| {
        row.question
            .starts_with(other.question.trim_end_matches('…'))
    }) {
        let entries = store.entries(other.id).await?;
        let task = Rules::of(&entries).map(|rules| rules.request.task_id);
        if task.as_ref() != Some(&wanted.request.task_id) {
            continue;
        }
        let overview = Overview::of(&other.id.to_string(), &entries, now);
        let overview = overview.filter(|overview| !overview.debate.is_empty());
        found.extend(overview.map(|overview| (other.id.to_string(), overview)));
    }
    Ok(found)
}
