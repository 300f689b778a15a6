//! Running a debate in the foreground: play it, show it, save it when interrupted, end with the right exit code.

use std::process::ExitCode;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use roundtable_engine::event::{Entry, State};
use roundtable_engine::journal::JournalError;
use roundtable_engine::protocols::{self, Protocol};
use roundtable_engine::table::{Halt, Table};
use roundtable_engine::transcript::Transcript;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::setup::{self, PreparedDebate};
use crate::store::{Lease, Store};

use super::deciding;
use super::display::{Display, Manner};
use super::output;
use super::reading::{Reading, RecordingJournal};
use super::typed::{Typed, is_somebody_there};
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};

pub(crate) struct Debate {
    pub lease: Lease,
    pub prepared: PreparedDebate,
    /// What was said before, where the debate goes on.
    pub past: Vec<Entry>,
}

/// Whether whoever sits before the terminal takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Person {
    Watches,
    /// Every line they type is said to the seats.
    Speaks,
}

pub(crate) async fn run(
    app: &AppContext,
    store: &Store,
    debate: Debate,
    manner: &Manner,
) -> Result<ExitCode, Failure> {
    let seat = Seat::of(Person::Watches);
    run_with(app, store, debate, manner, seat).await
}

pub(crate) async fn run_with(
    app: &AppContext,
    store: &Store,
    debate: Debate,
    manner: &Manner,
    mut seat: Seat,
) -> Result<ExitCode, Failure> {
    let id = debate.lease.id();
    let mut played = play_with(app, debate, manner, &mut seat).await;
    while played.is_err()
        && let Some(query) = deciding::waiting(store, id).await
    {
        let can_ask = !(manner.quiet || manner.json || manner.events);
        if !can_ask || !is_somebody_there() {
            if !manner.quiet {
                output::note(&deciding::told_to_others(&query, id));
            }
            break;
        }
        let Some(verdict) = deciding::ask(&query, seat.typed()).await else {
            output::note(&deciding::told_to_others(&query, id));
            break;
        };
        let debate = deciding::decided(app, store, id, verdict, manner).await?;
        played = play_with(app, debate, manner, &mut seat).await;
    }
    let (display, reading) = match played {
        Ok(played) => played,
        Err(failure) => {
            saved(id);
            return Err(failure);
        }
    };
    // First the answer, then the tidying up.
    let shown = display.result(&reading);
    store.close().await;
    shown?;
    Ok(exit_code(&reading.transcript))
}

/// Plays it to its end, without showing the result.
pub(crate) async fn play(
    app: &AppContext,
    debate: Debate,
    manner: &Manner,
) -> Result<(Display, Reading), Failure> {
    let id = debate.lease.id();
    let mut seat = Seat::of(Person::Watches);
    let played = play_with(app, debate, manner, &mut seat).await;
    played.inspect_err(|_| saved(id))
}

fn saved(id: Uuid) {
    output::note(&format!(
        "Saved as {id}. `roundtable resume {id}` goes on with it."
    ));
}

/// The place before the terminal, with one pair of ears for all that is typed there.
pub(crate) struct Seat {
    person: Person,
    typed: Option<Typed>,
}

impl Seat {
    pub(crate) fn of(person: Person) -> Self {
        Self {
            person,
            typed: (person == Person::Speaks).then(Typed::listening),
        }
    }

    pub(super) fn typed(&mut self) -> &mut Typed {
        self.typed.get_or_insert_with(Typed::listening)
    }
}

async fn play_with(
    app: &AppContext,
    debate: Debate,
    manner: &Manner,
    seat: &mut Seat,
) -> Result<(Display, Reading), Failure> {
    let id = debate.lease.id();
    let cancel = CancellationToken::new();
    let mut display = Display::new(manner, &debate.prepared.setup, &id.to_string(), seat.person);
    display.recall(&debate.past);
    let created_at = debate.lease.created_at();
    let journal = Arc::new(RecordingJournal::new(
        id,
        created_at,
        debate.lease.journal(),
    ));
    let (table, protocol) =
        setup::sit(app, debate.prepared, journal.clone(), cancel.clone()).await?;
    let lost = debate.lease.lost();
    let played = tokio::select! {
        biased;
        () = lost.cancelled() => Err(Failure::other(
            "the database could not be reached for too long, and another process may have taken this debate over",
        )),
        played = watch(&table, protocol, &cancel, &mut display, seat) => played,
    };
    display.close();
    drop(table);
    drop(debate.lease);
    played?;
    Ok((display, journal.take()?))
}

async fn watch(
    table: &Table,
    protocol: Protocol,
    cancel: &CancellationToken,
    display: &mut Display,
    seat: &mut Seat,
) -> Result<(), Failure> {
    let mut speaking = std::pin::pin!(passed_on(table, seat));
    let mut notices = table.listen();
    let play = protocols::play(table, protocol);
    tokio::pin!(play);
    // Looked at only when a signal has come, and not for every word that does.
    let mut interrupted = FuturesUnordered::from_iter([interruption()]);
    let end = loop {
        tokio::select! {
            biased;
            notice = notices.recv() => match notice {
                Ok(notice) => display.show(&notice),
                // Too much at once: what was missed is in the finished turn.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break play.await,
            },
            Some(()) = interrupted.next() => cancel.cancel(),
            error = &mut speaking => return Err(Halt::from(error).into()),
            end = &mut play => break end,
        }
    };
    loop {
        match notices.try_recv() {
            Ok(notice) => display.show(&notice),
            Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    end?;
    Ok(())
}

/// Says to the seats whatever is typed, side by side with the debate. Ends only where that fails.
async fn passed_on(table: &Table, seat: &mut Seat) -> JournalError {
    if seat.person == Person::Speaks {
        while let Some(words) = seat.typed().line().await {
            if !words.is_empty()
                && let Err(error) = table.say(words, None).await
            {
                return error;
            }
        }
    }
    std::future::pending().await
}

/// Ctrl-C, or the signal with which systems end programs.
pub(crate) async fn interruption() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

pub(crate) fn exit_code(transcript: &Transcript) -> ExitCode {
    match transcript.state {
        State::Complete => ExitCode::SUCCESS,
        State::Partial if transcript.ran_out() => Code::Budget.into(),
        State::Partial | State::Waiting => Code::Partial.into(),
        State::Failed => Code::NoModel.into(),
        State::Cancelled | State::Running | State::Queued => Code::Interrupted.into(),
    }
}
