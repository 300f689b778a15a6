//! The table: the only object with side effects. Protocols ask seats through it and otherwise are pure functions. Replay,
//! budget, model calls, streaming, validation, journaling and notification are implemented here, once for all protocols.

mod calls;
mod fingerprint;
mod handover;
mod journaling;
mod parroting;
mod person;
mod replay;
mod reply_type;
mod rescue;
mod step;
mod write_queue;

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;

use futures::StreamExt;
use futures::stream::FuturesOrdered;
use minijinja::value::{Serde, merge_maps};
use roundtable_core::scale::Scale;
use roundtable_core::timing;
use roundtable_core::usage::Price;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::embedder::Embedder;
use crate::event::{End, Entry, Event, Millis, Seated, Setup, State};
use crate::journal::{Journal, JournalError, Keyed, current};
use crate::model::{Ability, Model};
use crate::prompt::{PromptError, Prompts, QuoteTag};
use crate::reasoning::Library;
use crate::reply::Reply;
use crate::safety;
use crate::totals::Sum;

pub use crate::budget::{Budget, Exhausted};
pub use handover::{LeftAlone, left_alone, note_left_alone};
pub use person::{CONTINUE, DecisionError, STOP, decide, end_offline, open_question, say_offline};
pub use rescue::FastModel;
pub use step::{Ask, Turn};

use crate::budget::BudgetTracker;
pub(crate) use fingerprint::of as request_hash;
use person::{Person, words_in};
use replay::Replay;
use write_queue::WriteQueue;

/// Why a debate stops before its protocol is finished. Every protocol passes it up with `?`; the caller decides whether the
/// debate ends, is resumed later or waits. A failed step does not halt a debate: its seat is absent for that step.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Halt {
    #[error(transparent)]
    Budget(#[from] Exhausted),
    #[error("the debate was interrupted")]
    Cancelled,
    /// The request of a journaled step differs from the one the protocol renders now.
    #[error(
        "cannot replay step '{step}': the journal recorded it with a different prompt, model or setting"
    )]
    Drift { step: String },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("the journal was opened with a different setup")]
    OtherSetup,
    #[error("no model for seat '{seat}'")]
    NoModel { seat: String },
    /// The question `key` is journaled; the debate is played again after [`decide`].
    #[error("the debate is waiting for a person's decision")]
    Waiting { key: String },
}

/// The wall clock, replaced in tests.
pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;
}

/// The model of a seat, and its price if known.
#[derive(Clone)]
pub struct SeatModel {
    pub model: Arc<dyn Model>,
    pub price: Option<Price>,
}

/// The dependencies of a [`Table`]: models, embedder, prompts, templates, journal, clock and cancellation. Everything that
/// can differ between two runs of the same setup is passed in here, so that a test can replace it.
pub struct TableDeps {
    pub seat_models: HashMap<String, SeatModel>,
    /// The model that puts invalid replies into their schema (C-05); the seat's own if there is none.
    pub fast_model: Option<FastModel>,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub scale: Scale,
    pub prompts: Arc<Prompts>,
    pub library: Arc<Library>,
    pub journal: Arc<dyn Journal>,
    pub clock: Arc<dyn Clock>,
    pub cancel: CancellationToken,
}

/// An event as listeners of a [`Table`] receive it. `seq` is its sequence number in the journal; it is `None` for events
/// that are not journaled, such as chunks. Journaled events arrive in the order of `seq`.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    pub seq: Option<u64>,
    /// Whether the journal has it. Entries that can be recomputed are announced while they wait for the next write.
    pub is_written: bool,
    pub at: Millis,
    pub event: Event,
}

impl Notice {
    fn of(entry: Entry, is_written: bool) -> Self {
        let Entry { seq, at, event } = entry;
        Self {
            seq: Some(seq),
            is_written,
            at,
            event,
        }
    }
}

/// A step whose seat was absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    pub step: String,
    pub seat: String,
    pub reason: String,
}

/// One debate being played. A protocol gets a `&Table` and asks seats with [`Table::ask`].
///
/// Guarantees: an event is in the journal before listeners are notified of it and before anything relies on it (deferred
/// entries, which can be recomputed, are the exception); a step that is in the journal is not asked again; no call starts after
/// the budget is spent; text that the safety monitor withholds leaves the step neither to seats nor to listeners.
pub struct Table {
    setup: Setup,
    quote_tag: QuoteTag,
    /// The parent of a follow-up, rendered. Every prompt begins with it.
    parent: Option<String>,
    deps: TableDeps,
    replay: Replay,
    budget_tracker: BudgetTracker,
    deadline: Option<Millis>,
    write_queue: WriteQueue,
    stats: Mutex<Stats>,
    person: Person,
    /// Created for the first listener, because its buffer is large.
    notices: OnceLock<broadcast::Sender<Arc<Notice>>>,
    observer: OnceLock<Observer>,
    /// The first step of the journal whose request has changed.
    drifted: OnceLock<String>,
    /// The debate has been reopened, and that is not written yet.
    is_reopening: AtomicBool,
}

/// Called synchronously with every notice, in order. It must not block.
pub type Observer = Box<dyn Fn(&Arc<Notice>) + Send + Sync>;

#[derive(Default)]
struct Stats {
    /// Steps asked for, failed ones included.
    steps: usize,
    /// Attempts beyond the first, in this run.
    retries: usize,
    sum: Sum,
    missing: BTreeMap<String, Missing>,
}

/// How many notices a listener may lag behind before it has to catch up from the journal.
const MAX_LAG: usize = 8192;

/// Retries a debate may make in addition to one per step.
const SPARE_RETRIES: usize = 20;

impl Table {
    /// Starts a debate, or resumes the one in the journal; a debate that has ended is reopened.
    ///
    /// `budget` may be larger than the one in the journaled setup.
    ///
    /// # Errors
    /// [`Halt::OtherSetup`] if the journal belongs to a different setup, [`Halt::Journal`] if it cannot be read or written.
    pub async fn open(setup: Setup, budget: Budget, deps: TableDeps) -> Result<Self, Halt> {
        let mut entries = deps.journal.load().await?;
        let now = deps.clock.now();
        let reopened = next_generation(&entries).map(|generation| Entry {
            seq: entries.last().map_or(1, |last| last.seq + 1),
            at: now,
            event: Event::Reopened {
                generation,
                from: first_failure(&entries),
            },
        });
        entries.extend(reopened.clone());
        let budget_tracker = BudgetTracker::new(budget);
        let mut stats = Stats::default();
        for call in entries.iter().filter_map(|entry| entry.event.call()) {
            budget_tracker.add(&call.spent);
            stats.sum.add(call);
        }
        let deadline = budget_tracker.deadline(now, busy_ms(&entries));
        let person = Person::with_words(words_in(&entries).cloned().collect());
        let replay = Replay::of(&entries);
        if replay.setup.as_ref().is_some_and(|known| **known != setup) {
            return Err(Halt::OtherSetup);
        }
        let quote_tag = QuoteTag::of(setup.seed, &setup.question);
        let parent = match &setup.parent {
            Some(parent) => Some(deps.prompts.render_plain(
                "common/parent",
                minijinja::context! { parent => Serde(parent), quote_tag => quote_tag.as_str() },
            )?),
            None => None,
        };
        let is_new = replay.setup.is_none();
        let next_seq = reopened.as_ref().map_or(replay.next_seq, |entry| entry.seq);
        let table = Self {
            write_queue: WriteQueue::starting_at(next_seq.max(1)),
            quote_tag,
            parent,
            setup,
            deps,
            replay,
            budget_tracker,
            deadline,
            stats: Mutex::new(stats),
            person,
            notices: OnceLock::new(),
            observer: OnceLock::new(),
            drifted: OnceLock::new(),
            is_reopening: AtomicBool::new(reopened.is_some()),
        };
        // Written before the first call: a debate whose prompts have changed stays as it ended.
        if let Some(entry) = reopened {
            table.write_queue.defer_until_written(entry.at, entry.event);
        }
        if !safety::is_ready() {
            table.in_background(safety::prepare);
        }
        if is_new {
            table.write_opening().await?;
        }
        Ok(table)
    }

    /// Sequence number of the newest entry. Listeners are notified of those after it.
    pub fn last_seq(&self) -> u64 {
        self.write_queue.last_announced()
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    pub fn library(&self) -> &Library {
        &self.deps.library
    }

    pub fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.deps.embedder.as_ref()
    }

    pub fn scale(&self) -> &Scale {
        &self.deps.scale
    }

    /// Renders a template without parts, as a prompt would include it.
    pub fn render(&self, name: &str, context: impl Serialize) -> Result<String, Halt> {
        let context = minijinja::Value::from(Serde(context));
        let context = merge_maps([self.quote_context(), context]);
        Ok(self.deps.prompts.render_plain(name, context)?)
    }

    /// The part of every prompt's context that all quotes need.
    fn quote_context(&self) -> minijinja::Value {
        let tag = (QuoteTag::VARIABLE, self.quote_tag.as_str());
        minijinja::Value::from_pairs([tag])
    }

    /// Subscribes to notices from now on; earlier events are in the journal. A receiver that lags loses notices.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Notice>> {
        let sender = self.notices.get_or_init(|| broadcast::channel(MAX_LAG).0);
        sender.subscribe()
    }

    /// Sets the observer, which gets every notice from now on and misses none. A second one is ignored.
    pub fn set_observer(&self, observer: Observer) {
        let _ = self.observer.set(observer);
    }

    /// Builds a step: a question to one seat. Nothing is sent before [`Ask::send`].
    pub fn ask<T: Reply>(&self, seat: &str, verb: &str) -> Ask<'_, T> {
        Ask::new(self, seat, verb)
    }

    /// Starts a round, unless it already has. Listeners are notified at once; it is journaled with the next entry.
    pub fn round(&self, round: u32, name: &str) {
        if self.replay.has_round(round) {
            return;
        }
        if self.write_queue.start_round(round) {
            let name = name.to_owned();
            let event = Event::RoundStarted { round, name };
            self.defer_and_announce(event);
        }
    }

    /// Runs long work on the blocking pool and waits for it. On a thread of the runtime it would hold up other debates.
    pub async fn off_runtime(&self, work: impl FnOnce() + Send + 'static) {
        // A panic there is repeated by the code that needs the result.
        let _ = tokio::task::spawn_blocking(work).await;
    }

    /// Runs preparatory work on the blocking pool, so that it is done while models are answering.
    pub fn in_background(&self, work: impl FnOnce() + Send + 'static) {
        drop(tokio::task::spawn_blocking(work));
    }

    /// Failed steps, ordered by name.
    pub fn missing(&self) -> Vec<Missing> {
        lock(&self.stats).missing.values().cloned().collect()
    }

    /// Number of steps so far, failed ones included.
    pub fn asked(&self) -> usize {
        lock(&self.stats).steps
    }

    /// Usage of the whole debate so far, earlier runs included.
    pub fn spent(&self) -> Sum {
        lock(&self.stats).sum
    }

    /// Journals the end of the debate.
    pub async fn end(&self, end: Arc<End>) -> Result<(), Halt> {
        Ok(self.record(Event::Ended(end)).await?)
    }

    /// Called before a new call. In a resumed debate, steps that run in parallel are replayed first: a debate whose prompts have
    /// changed makes no call, and stays as it ended.
    async fn check_replay(&self) -> Result<(), Halt> {
        if self.replay.setup.is_none() {
            return Ok(());
        }
        yield_once().await;
        if let Some(step) = self.drifted.get() {
            return Err(Halt::Drift { step: step.clone() });
        }
        if self.is_reopening.swap(false, Ordering::Relaxed) {
            self.write_deferred().await?;
        }
        Ok(())
    }

    /// Counts a retry; false once the debate has used up its retries (C-07).
    fn may_retry(&self) -> bool {
        let mut stats = lock(&self.stats);
        stats.retries += 1;
        stats.retries <= SPARE_RETRIES + stats.steps
    }

    /// Whether the seat has a small model.
    pub fn is_small(&self, seat: &str) -> bool {
        let mut seats = self.setup.seats.iter();
        seats.any(|seated| seated.seat.name == seat && seated.ability == Ability::Small)
    }

    fn seated(&self, seat: &str) -> Result<(&Seated, &SeatModel), Halt> {
        let missing = || Halt::NoModel {
            seat: seat.to_owned(),
        };
        let seated = self.setup.seats.iter().find(|s| s.seat.name == seat);
        let seat_model = self.deps.seat_models.get(seat);
        Ok((seated.ok_or_else(missing)?, seat_model.ok_or_else(missing)?))
    }
}

/// Asks several seats concurrently. If one halts, the others still finish, because their answers are paid for.
pub async fn all<T>(
    asks: impl IntoIterator<Item = impl Future<Output = Result<T, Halt>>>,
) -> Result<Vec<T>, Halt> {
    join_all(asks).await.into_iter().collect()
}

/// Like [`all`], but returns the answers of the others if one halts.
pub async fn each<T>(
    asks: impl IntoIterator<Item = impl Future<Output = Result<T, Halt>>>,
) -> (Vec<Option<T>>, Result<(), Halt>) {
    let mut halted = Ok(());
    let kept = join_all(asks)
        .await
        .into_iter()
        .map(|answer| match answer {
            Ok(answer) => Some(answer),
            Err(halt) => {
                if halted.is_ok() {
                    halted = Err(halt);
                }
                None
            }
        })
        .collect();
    (kept, halted)
}

/// Runs futures concurrently, results in order. Only the woken one is polled: with ten streaming seats, a plain `join_all` of
/// few futures would poll all of them for every token of one.
pub fn join_all<F: Future>(
    work: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    FuturesOrdered::from_iter(work).collect()
}

/// Runs two futures concurrently.
pub async fn both<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> (A, B) {
    futures::future::join(first, second).await
}

/// Lets the other futures of a group run first. Unlike tokio's `yield_now`, it keeps their order.
async fn yield_once() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The generation that reopening this journal starts; `None` if the debate has not ended.
fn next_generation(entries: &[Entry]) -> Option<u32> {
    let mut generation = 0;
    let mut is_ended = false;
    for entry in entries {
        match &entry.event {
            Event::Ended(_) => is_ended = true,
            Event::Reopened {
                generation: number, ..
            } => {
                generation = *number;
                is_ended = false;
            }
            _ => {}
        }
    }
    is_ended.then_some(generation + 1)
}

/// The entry of the first failed step of a debate that ended without it. A debate that was interrupted or that its budget ended
/// continues where it was instead.
fn first_failure(entries: &[Entry]) -> Option<u64> {
    let end = entries.iter().rev().find_map(|entry| entry.event.ended())?;
    if end.ran_out() || end.state == State::Cancelled {
        return None;
    }
    let current = current(entries);
    let is_retried = |failed: &Entry, step: &str| {
        let later = current.iter().filter(|entry| entry.seq > failed.seq);
        let mut finished = later.filter_map(|entry| entry.event.finished());
        finished.any(|finished| finished.call.step == step)
    };
    current.iter().find_map(|entry| {
        let step = &entry.event.failed()?.call.step;
        (!is_retried(entry, step)).then_some(entry.seq)
    })
}

fn keyed(entry: &Entry, generation: u32) -> Keyed {
    Keyed {
        key: entry.event.key(generation).unwrap_or_default(),
        entry: entry.clone(),
    }
}

/// How long calls of this journal were in flight; concurrent calls count once.
pub fn busy_ms(entries: &[Entry]) -> u64 {
    timing::busy(entries.iter().filter_map(span_of))
}

/// Start and end of the work behind an entry.
pub fn span_of(entry: &Entry) -> Option<(Millis, Millis)> {
    if let Event::Noted { started_at, .. } = &entry.event {
        return Some((*started_at, entry.at));
    }
    let finished = entry.event.finished().map(|step| &step.call);
    finished.or_else(|| entry.event.call()).map(|call| {
        let end = call.started_at.saturating_add(call.spent.latency_ms);
        (call.started_at, end)
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
