//! Runs a debate in the foreground: plays it, shows it, saves it when interrupted, and chooses the exit code.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use roundtable_engine::event::{Entry, Query, Setup, State};
use roundtable_engine::journal::JournalError;
use roundtable_engine::model::Ability;
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;
use roundtable_engine::table::{Halt, Table};
use roundtable_engine::transcript::Transcript;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock;
use crate::embedded;
use crate::estimate::{self, UsageEstimate};
use crate::setup::estimate::DebateEstimate;
use crate::setup::{self, DebateSpec, PreparedDebate};
use crate::store::{Lease, Store};

use super::args::{DebateArgs, OutputMode};
use super::decision_prompt::{self, UserDecision};
use super::display::Display;
use super::output;
use super::stdin_lines::{KeyMode, StdinLines, Typed, is_interactive};
use super::stored_debate::{RecordingJournal, StoredDebate};
use crate::app_context::AppContext;
use crate::failure::{Code, Failure};

pub(crate) struct Debate {
    pub lease: Lease,
    pub prepared: PreparedDebate,
    /// The journal so far, for a debate that is resumed.
    pub past: Vec<Entry>,
}

/// Whether the person at the terminal takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Person {
    Watches,
    /// Every line they type goes to the seats.
    Speaks,
}

/// Starts a debate and runs it to its end.
pub(crate) async fn start(
    app: &AppContext,
    spec: DebateSpec,
    args: &DebateArgs,
) -> Result<ExitCode, Failure> {
    start_with(app, spec, args, Person::Watches).await
}

pub(crate) async fn start_with(
    app: &AppContext,
    spec: DebateSpec,
    args: &DebateArgs,
    person: Person,
) -> Result<ExitCode, Failure> {
    if args.estimate {
        return print_estimates(app, vec![spec], args).await;
    }
    // Retrieval of templates comes before the first prompt. The store is opened meanwhile.
    if spec.protocol.needs().library {
        app.preload_embedder();
    }
    let store = app.store().await?;
    let debate = create(app, &store, spec, args).await?;
    let mut terminal = Terminal::new(app, person);
    if args.allow_secrets {
        terminal.sends_secrets = Secrets::Sent;
    }
    run(app, &store, debate, &args.output, terminal).await
}

/// Prints what these debates would use. Nothing is started.
pub(crate) async fn print_estimates(
    app: &AppContext,
    specs: Vec<DebateSpec>,
    args: &DebateArgs,
) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let mut estimates = Vec::new();
    for spec in specs {
        let spec = DebateSpec {
            is_estimate: true,
            ..args.apply(app, spec)?
        };
        let prepared = setup::prepare(app, &store, spec, &args.output.progress_sink()).await?;
        estimates.extend(DebateEstimate::of(&prepared));
    }
    store.close().await;
    match estimates.as_slice() {
        [only] if args.output.json => output::json(only)?,
        several if args.output.json => output::json(&several)?,
        several => {
            for estimate in several {
                output::line(&format!("{} ({})", estimate.text, estimate.basis));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prepares a new debate and creates it in the store.
pub(crate) async fn create(
    app: &AppContext,
    store: &Store,
    spec: DebateSpec,
    args: &DebateArgs,
) -> Result<Debate, Failure> {
    let spec = args.apply(app, spec)?;
    let prepared = setup::prepare(app, store, spec, &args.output.progress_sink()).await?;
    if !args.output.quiet
        && let Some(line) = expected_duration(app, &prepared.setup).await
    {
        output::note(&line);
    }
    let lease = store
        .create(Uuid::new_v4(), &prepared.setup, clock::now())
        .await?;
    Ok(Debate {
        lease,
        prepared,
        past: Vec::new(),
    })
}

/// How long the debate will take if the embedded model has seats in it: they take minutes where hosted models take seconds.
async fn expected_duration(app: &AppContext, setup: &Setup) -> Option<String> {
    let seats = &setup.seats;
    let embedded: Vec<&str> = seats
        .iter()
        .filter_map(|seated| embedded::name_of(&seated.model))
        .collect();
    let estimate = setup.estimate?;
    let speed = app.local.tokens_per_second(embedded.first()?).await?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small count"
    )]
    let mut expected = UsageEstimate::of_calls(estimate.uncalibrated.calls.round() as u64);
    if seats.iter().all(|seated| seated.ability == Ability::Small) {
        expected = expected.of_small_models();
    }
    Some(estimate::on_embedded_model(
        expected,
        (embedded.len(), seats.len()),
        speed,
    ))
}

/// Runs a debate to its end, asks for the decisions it waits for, and shows the result.
pub(crate) async fn run(
    app: &AppContext,
    store: &Store,
    debate: Debate,
    mode: &OutputMode,
    mut terminal: Terminal,
) -> Result<ExitCode, Failure> {
    let id = debate.lease.id();
    let mut budget = debate.prepared.budget;
    let started = Instant::now();
    let saved = |_: &Failure| print_saved(id);
    let played = play_with(app, debate, mode, &mut terminal).await;
    let (mut display, mut stored) = played.inspect_err(saved)?;
    while let Some(query) = &stored.transcript.waiting_for
        && mode.may_ask()
        && is_interactive()
        && let Some(decision) = terminal.ask(query).await
    {
        let debate = decision_prompt::apply(app, store, id, decision, mode).await?;
        budget = debate.prepared.budget;
        let played = play_with(app, debate, mode, &mut terminal).await;
        (display, stored) = played.inspect_err(saved)?;
    }
    // The answer is shown before the store is closed, which may take a moment.
    let shown = display.show_result(&stored, budget, app.config.limits.budget());
    if mode.may_ask()
        && let Some(after) = app.config.bell_after
        && started.elapsed() >= after
    {
        output::bell();
    }
    store.close().await;
    shown?;
    // Otherwise the summary has the reason.
    if mode.quiet && stored.transcript.state == State::Failed {
        let reason = stored.transcript.reason.as_deref();
        output::error(&output::harmless(reason.unwrap_or("the debate failed")));
    }
    Ok(exit_code(&stored.transcript))
}

/// Plays a debate to its end without showing the result.
pub(crate) async fn play(
    app: &AppContext,
    debate: Debate,
    mode: &OutputMode,
) -> Result<(Display, StoredDebate), Failure> {
    let id = debate.lease.id();
    let mut terminal = Terminal::new(app, Person::Watches);
    let played = play_with(app, debate, mode, &mut terminal).await;
    played.inspect_err(|_| print_saved(id))
}

fn print_saved(id: Uuid) {
    output::note(&format!(
        "Saved. Resume it with:\n  roundtable resume {}",
        output::short_id(&id.to_string())
    ));
}

/// The person at the terminal, with one reader for all input.
pub(crate) struct Terminal {
    person: Person,
    lines: Option<StdinLines>,
    sends_secrets: Secrets,
}

/// Whether typed words with likely secrets go to the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    Refused,
    Sent,
}

/// Typed words were left out.
fn not_sent(found: &Failure) -> String {
    format!(
        "Not sent: {}. Type it without that, or start the debate with --allow-secrets.",
        found.message()
    )
}

impl Terminal {
    pub(crate) fn new(app: &AppContext, person: Person) -> Self {
        Self {
            person,
            lines: (person == Person::Speaks).then(StdinLines::start),
            sends_secrets: if app.config.limits.allow_secrets {
                Secrets::Sent
            } else {
                Secrets::Refused
            },
        }
    }

    fn lines(&mut self) -> &mut StdinLines {
        self.lines.get_or_insert_with(StdinLines::start)
    }

    /// Asks for a decision; `None` if there is none yet. The reason goes to the models like any other words.
    pub(super) async fn ask(&mut self, query: &Query) -> Option<UserDecision> {
        let is_guarded = self.sends_secrets == Secrets::Refused;
        let decision = decision_prompt::ask(query, self.lines()).await?;
        let note = decision.note.as_deref().unwrap_or_default();
        if is_guarded && let Err(found) = setup::secrets::check_words("/note", note) {
            output::note(&not_sent(&found));
            return Some(UserDecision {
                note: None,
                ..decision
            });
        }
        Some(decision)
    }
}

async fn play_with(
    app: &AppContext,
    debate: Debate,
    mode: &OutputMode,
    terminal: &mut Terminal,
) -> Result<(Display, StoredDebate), Failure> {
    let id = debate.lease.id();
    let cancel = CancellationToken::new();
    let mut display = Display::new(
        mode,
        &debate.prepared.setup,
        &id.to_string(),
        terminal.person,
    );
    display.load_past(&debate.past);
    let created_at = debate.lease.created_at();
    let journal = Arc::new(RecordingJournal::new(
        id,
        created_at,
        debate.lease.journal(),
    ));
    let (table, protocol) =
        setup::open_table(app, debate.prepared, journal.clone(), cancel.clone()).await?;
    let lost = debate.lease.lost();
    let _keys = display.has_input_line().then(KeyMode::start);
    let played = tokio::select! {
        biased;
        () = lost.cancelled() => Err(Failure::other(
            "lost the lease: the database was unreachable for too long, and another process may be running this debate",
        )),
        played = watch(&table, protocol, &cancel, &mut display, terminal) => played,
    };
    display.close();
    drop(table);
    drop(debate.lease);
    played?;
    Ok((display, journal.take()?))
}

async fn watch(
    table: &Table,
    protocol: &dyn AnyProtocol,
    cancel: &CancellationToken,
    display: &mut Display,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let (drafts, mut drafted) = unbounded_channel();
    let mut speaking = std::pin::pin!(forward_input(table, terminal, drafts));
    let mut notices = table.listen();
    let play = protocols::play_unless(table, protocol, || cancel.is_cancelled());
    tokio::pin!(play);
    // Polled only when woken by a signal, not for every delta.
    let mut interrupted = FuturesUnordered::from_iter([interruption()]);
    let end = loop {
        tokio::select! {
            biased;
            notice = notices.recv() => match notice {
                Ok(notice) => display.show(&notice),
                // Lagged: the finished turn has the whole text.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => break play.await,
            },
            Some(()) = interrupted.next() => cancel.cancel(),
            Some(draft) = drafted.recv() => display.set_draft(draft),
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
    match end {
        // The question is in the journal.
        Ok(_) | Err(Halt::Waiting { .. }) => Ok(()),
        Err(halt) => Err(halt.into()),
    }
}

/// Forwards typed lines to the seats while the debate runs, and the line so far to the display. Returns only if that fails.
async fn forward_input(
    table: &Table,
    terminal: &mut Terminal,
    drafts: UnboundedSender<String>,
) -> JournalError {
    if terminal.person == Person::Speaks {
        while let Some(typed) = terminal.lines().typed().await {
            let (draft, words) = match typed {
                Typed::Draft(draft) => (draft, String::new()),
                Typed::Line(words) => (String::new(), words),
            };
            // The display is there as long as the debate runs.
            let _ = drafts.send(draft);
            if words.is_empty() {
                continue;
            }
            if terminal.sends_secrets == Secrets::Refused
                && setup::secrets::are_sent(&table.setup().seats, [])
                && let Err(found) = setup::secrets::check_words("/text", &words)
            {
                output::note(&not_sent(&found));
                continue;
            }
            if let Err(error) = table.say(words, None).await {
                return error;
            }
        }
    }
    std::future::pending().await
}

/// Ctrl-C or SIGTERM.
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
        State::Partial => Code::Partial.into(),
        State::Waiting => Code::Waiting.into(),
        State::Failed => Code::NoModel.into(),
        State::Cancelled | State::Interrupted | State::Running | State::Queued => {
            Code::Interrupted.into()
        }
    }
}
