//! The leading answers of the rounds of finished debates (B-10).

use roundtable_core::value::Leading;
use roundtable_engine::event::Event;
use serde::Deserialize;
use sqlx::Row;
use sqlx::any::AnyRow;

use super::errors::{Failure, StoreError};
use super::{Store, signed};

/// The newest debates that are read.
const MAX_DEBATES: u64 = 50;

impl Store {
    /// Of the newest complete debates of a protocol: for each, the leading answer after every round.
    pub(crate) async fn leading_answers(
        &self,
        protocol: &str,
    ) -> Result<Vec<Vec<Leading>>, StoreError> {
        // Exact keys use the index; hardly a debate has more rounds.
        let query = sqlx::query(
            "SELECT found.id, journal.body FROM (SELECT id FROM debates WHERE protocol = $1 AND state = 'complete' \
             ORDER BY created_at DESC, id DESC LIMIT $2) AS found JOIN journal ON journal.debate_id = found.id \
             AND journal.key IN ('r1/value', 'r2/value', 'r3/value', 'r4/value', 'r5/value', 'r6/value', 'r7/value', 'r8/value') \
             ORDER BY found.id, journal.seq",
        )
        .bind(protocol.to_owned())
        .bind(signed(MAX_DEBATES));
        let mut debates: Vec<(String, Vec<Leading>)> = Vec::new();
        for (id, leading) in self.read_all(query, read).await?.into_iter().flatten() {
            match debates.last_mut() {
                Some((last, rounds)) if *last == id => rounds.push(leading),
                Some(_) | None => debates.push((id, vec![leading])),
            }
        }
        Ok(debates.into_iter().map(|(_, rounds)| rounds).collect())
    }
}

/// `None` if another version wrote the note in another form.
fn read(row: &AnyRow) -> Result<Option<(String, Leading)>, Failure> {
    let leading = match serde_json::from_str(row.try_get("body")?) {
        Ok(Event::Noted { value, .. }) => Leading::deserialize(value).ok(),
        Ok(_) | Err(_) => None,
    };
    let id = row.try_get("id")?;
    Ok(leading.map(|leading| (id, leading)))
}
