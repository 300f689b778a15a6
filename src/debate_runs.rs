//! Debates that run without anyone watching: those of a bench and of a set of questions.

use roundtable_engine::event::{Entry, Event, State};
use roundtable_engine::protocols;
use roundtable_engine::table::Halt;
use tokio_util::sync::CancellationToken;

use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::{self, PreparedDebate};
use crate::store::{DebateRow, Lease};

/// Plays a debate until it ends, waits for a person, or is cancelled.
pub(crate) async fn play(
    app: &AppContext,
    lease: Lease,
    prepared: PreparedDebate,
    cancel: &CancellationToken,
) -> Result<(), Failure> {
    let journal = lease.journal();
    let (table, protocol) = setup::open_table(app, prepared, journal, cancel.clone()).await?;
    let lost = lease.lost();
    let played = tokio::select! {
        biased;
        () = lost.cancelled() => return Err(Failure::other(
            "lost the lease: another process is running this debate",
        )),
        played = protocols::play_unless(&table, protocol, || cancel.is_cancelled()) => played,
    };
    match played {
        // A debate that waits for a person's decision has no answer here.
        Ok(_) | Err(Halt::Waiting { .. }) => Ok(()),
        Err(halt) => Err(halt.into()),
    }
}

/// Whether running it again would change nothing. A failed debate is retried.
pub(crate) fn has_ended(row: &DebateRow) -> bool {
    matches!(
        row.state,
        State::Complete | State::Partial | State::Waiting | State::Cancelled
    )
}

/// Whether its budget ended the debate.
pub(crate) fn ran_out(entries: &[Entry]) -> bool {
    let end = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Ended(end) => Some(end),
        _ => None,
    });
    end.is_some_and(|end| end.ran_out())
}
