//! Debates that run without anyone watching: those of a bench and of a set of questions.

mod shared_budget;

use std::time::Duration;

use roundtable_engine::event::{Entry, Event, State};
use roundtable_engine::protocols;
use roundtable_engine::table::Halt;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::setup::{self, PreparedDebate};
use crate::store::{CreateRequest, DebateRow, Lease, Store};
pub(crate) use shared_budget::{Reservation, SharedBudget, within};

/// How often a debate that a worker runs is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A debate that is ready to run.
pub(crate) enum Opened {
    Here(Box<Lease>, Box<PreparedDebate>),
    /// It is queued, or a worker runs it.
    OnWorkers,
}

impl Opened {
    /// Puts a new debate into the queue of the workers.
    pub(crate) async fn queued(
        store: &Store,
        id: Uuid,
        prepared: &PreparedDebate,
    ) -> Result<Self, Failure> {
        let sent = CreateRequest::default();
        let created = store.create_queued(id, &prepared.setup, clock::now(), &sent);
        created.await?;
        Ok(Self::OnWorkers)
    }

    /// Until the debate ends, waits for a person, or is cancelled.
    pub(crate) async fn finish(
        self,
        app: &AppContext,
        (store, id): (&Store, Uuid),
        cancel: &CancellationToken,
    ) -> Result<(), Failure> {
        match self {
            Self::Here(lease, prepared) => play(app, *lease, *prepared, cancel).await,
            Self::OnWorkers => wait_for(store, id, cancel).await,
        }
    }
}

/// Until a worker has ended the debate. If this process is stopped, the workers continue.
async fn wait_for(store: &Store, id: Uuid, cancel: &CancellationToken) -> Result<(), Failure> {
    loop {
        let row = store.get(id).await?;
        if row.is_none_or(|row| has_ended(&row) || row.state == State::Failed) {
            return Ok(());
        }
        tokio::select! {
            () = cancel.cancelled() => return Ok(()),
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

/// Whether a worker runs the debate, or will.
pub(crate) fn is_with_workers(row: &DebateRow) -> bool {
    matches!(row.state, State::Queued | State::Running)
}

/// Plays a debate until it ends, waits for a person, or is cancelled.
async fn play(
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
