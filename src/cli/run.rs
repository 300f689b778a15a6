//! Running a debate in the foreground: play it, show it, save it when interrupted, end with the right exit code.

use std::process::ExitCode;
use std::sync::Arc;

use roundtable_engine::account::Account;
use roundtable_engine::event::{Entry, State};
use roundtable_engine::journal::JournalError;
use roundtable_engine::protocols::{self, Protocol};
use roundtable_engine::table::{Halt, Table};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio_util::sync::CancellationToken;

use crate::opening::{self, Prepared};
use crate::store::{Claim, Store};

use super::display::{Display, Manner};
use super::failure::{Code, Failure};
use super::output;
use super::reading::{Reading, Remembering};
use super::workshop::Workshop;

pub(crate) struct Debate {
    pub claim: Claim,
    pub prepared: Prepared,
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
    workshop: &Workshop,
    store: &Store,
    debate: Debate,
    manner: &Manner,
) -> Result<ExitCode, Failure> {
    run_with(workshop, store, debate, manner, Person::Watches).await
}

pub(crate) async fn run_with(
    workshop: &Workshop,
    store: &Store,
    debate: Debate,
    manner: &Manner,
    person: Person,
) -> Result<ExitCode, Failure> {
    let (display, reading) = play_with(workshop, debate, manner, person).await?;
    // First the answer, then the tidying up.
    let shown = display.result(&reading);
    store.close().await;
    shown?;
    Ok(exit_code(&reading.account))
}

/// Plays it to its end, without showing the result.
pub(crate) async fn play(
    workshop: &Workshop,
    debate: Debate,
    manner: &Manner,
) -> Result<(Display, Reading), Failure> {
    play_with(workshop, debate, manner, Person::Watches).await
}

async fn play_with(
    workshop: &Workshop,
    debate: Debate,
    manner: &Manner,
    person: Person,
) -> Result<(Display, Reading), Failure> {
    let id = debate.claim.id();
    let cancel = CancellationToken::new();
    let mut display = Display::new(manner, &debate.prepared.setup, &id.to_string());
    display.recall(&debate.past);
    let created_at = debate.claim.created_at();
    let journal = Arc::new(Remembering::new(debate.claim.journal()));
    let (table, protocol) =
        opening::sit(workshop, debate.prepared, journal.clone(), cancel.clone()).await?;
    let lost = debate.claim.lost();
    let played = tokio::select! {
        biased;
        () = lost.cancelled() => Err(Failure::other(
            "the database could not be reached for too long, and another process may have taken this debate over",
        )),
        played = watch(&table, protocol, &cancel, &mut display, person) => played,
    };
    display.close();
    drop(table);
    drop(debate.claim);
    match played {
        Ok(()) => {}
        Err(failure) => {
            output::note(&format!(
                "Saved as {id}. `roundtable resume {id}` goes on with it."
            ));
            return Err(failure);
        }
    }
    Ok((display, Reading::from(id, created_at, journal.take())?))
}

async fn watch(
    table: &Table,
    protocol: Protocol,
    cancel: &CancellationToken,
    display: &mut Display,
    person: Person,
) -> Result<(), Failure> {
    let mut speaking = std::pin::pin!(passed_on(table, person));
    let mut notices = table.listen();
    let play = protocols::play(table, protocol);
    tokio::pin!(play);
    let mut interrupted = std::pin::pin!(interruption());
    let end = loop {
        tokio::select! {
            biased;
            notice = notices.recv() => match notice {
                Ok(notice) => display.show(&notice),
                // Too much at once: what was missed is in the finished turn.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break play.await,
            },
            () = &mut interrupted, if !cancel.is_cancelled() => {
                cancel.cancel();
            }
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
async fn passed_on(table: &Table, person: Person) -> JournalError {
    if person == Person::Speaks {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let words = line.trim();
            if !words.is_empty()
                && let Err(error) = table.say(words.to_owned(), None).await
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

pub(crate) fn exit_code(account: &Account) -> ExitCode {
    match account.state {
        State::Complete => ExitCode::SUCCESS,
        State::Partial if account.ran_out() => Code::Budget.into(),
        State::Partial | State::Waiting => Code::Partial.into(),
        State::Failed => Code::NoModel.into(),
        State::Cancelled | State::Running | State::Queued => Code::Interrupted.into(),
    }
}
