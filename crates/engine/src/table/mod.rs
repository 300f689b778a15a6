//! The table: the only thing that acts. A protocol asks seats through it and computes with pure functions; looking up the
//! journal, spending the budget, calling, streaming, validating, recording and announcing are written here, once.

mod calls;
mod fingerprint;
mod journaling;
mod person;
mod replay;
mod step;
mod write_queue;

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::StreamExt;
use futures::stream::FuturesOrdered;
use roundtable_core::scale::Scale;
use roundtable_core::timing;
use roundtable_core::usage::Price;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::embedder::Embedder;
use crate::event::{End, Entry, Event, Millis, Seated, Setup};
use crate::journal::{Journal, JournalError, Keyed};
use crate::model::Model;
use crate::prompt::{PromptError, Prompts};
use crate::reasoning::Library;
use crate::reply::Reply;
use crate::safety;
use crate::totals::{Sum, call_of};

pub use crate::budget::{Budget, Exhausted};
pub use person::{CONTINUE, STOP, Unheard, decide, end_meanwhile, open_question, say_meanwhile};
pub use step::{Ask, Turn};

use crate::budget::BudgetTracker;
use person::{Person, said_in};
use replay::Replay;
use write_queue::WriteQueue;

/// Why a debate stops before its protocol is through. A failed step is not among them: its seat is absent, no more.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Halt {
    #[error(transparent)]
    Budget(#[from] Exhausted),
    #[error("the debate was interrupted")]
    Cancelled,
    #[error(
        "the journal does not fit: step '{step}' was asked with another prompt, model or setting when it was recorded"
    )]
    Drift { step: String },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("the debate was opened with another setup")]
    OtherSetup,
    #[error("no model is given for seat '{seat}'")]
    NoModel { seat: String },
    #[error("the debate waits for a person's decision")]
    Waiting { key: String },
}

pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;
}

/// The model in a seat, and its price where that is known.
#[derive(Clone)]
pub struct SeatModel {
    pub model: Arc<dyn Model>,
    pub price: Option<Price>,
}

/// What the table works with. Everything that could differ between two runs comes in here.
pub struct TableDeps {
    pub seat_models: HashMap<String, SeatModel>,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub scale: Scale,
    pub prompts: Arc<Prompts>,
    pub library: Arc<Library>,
    pub journal: Arc<dyn Journal>,
    pub clock: Arc<dyn Clock>,
    pub cancel: CancellationToken,
}

/// Something that just happened. `seq` is its place in the journal; chunks and the like have none.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    pub seq: Option<u64>,
    pub at: Millis,
    pub event: Event,
}

/// A step whose seat was absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    pub step: String,
    pub seat: String,
    pub reason: String,
}

pub struct Table {
    setup: Setup,
    deps: TableDeps,
    replay: Replay,
    budget_tracker: BudgetTracker,
    deadline: Option<Millis>,
    write_queue: WriteQueue,
    asked: Mutex<Asked>,
    person: Person,
    /// Made for the first who listens: it has a place for every notice that one may lag behind.
    notices: OnceLock<broadcast::Sender<Arc<Notice>>>,
    observer: OnceLock<Observer>,
}

/// Ack of everything at once, in order, by whoever makes it happen. It must not wait.
pub type Observer = Box<dyn Fn(&Arc<Notice>) + Send + Sync>;

#[derive(Default)]
struct Asked {
    count: usize,
    /// Attempts beyond the first, at this table.
    retries: usize,
    sum: Sum,
    missing: BTreeMap<String, Missing>,
}

/// How many notices a slow listener may lag behind before it has to catch up from the journal.
const LAG: usize = 8192;

/// Retries of a debate beyond one for every step.
const SPARE_RETRIES: usize = 20;

impl Table {
    /// Sits down to a new debate, or to one whose journal already holds something; an ended one is opened again.
    ///
    /// `budget` may be larger than the one the debate was opened with.
    pub async fn open(setup: Setup, budget: Budget, deps: TableDeps) -> Result<Self, Halt> {
        let mut entries = deps.journal.load().await?;
        let now = deps.clock.now();
        if let Some(generation) = next_generation(&entries) {
            let entry = Entry {
                seq: entries.last().map_or(1, |last| last.seq + 1),
                at: now,
                event: Event::Reopened { generation },
            };
            deps.journal.append(vec![keyed(&entry, generation)]).await?;
            entries.push(entry);
        }
        let budget_tracker = BudgetTracker::new(budget);
        let mut asked = Asked::default();
        for call in entries.iter().filter_map(|entry| call_of(&entry.event)) {
            budget_tracker.recall(&call.spent);
            asked.sum.add(call);
        }
        let deadline = budget_tracker.deadline(now, busy_ms(&entries));
        let person = Person::having_said(said_in(&entries).cloned().collect());
        let replay = Replay::of(entries);
        if replay.setup.as_ref().is_some_and(|known| **known != setup) {
            return Err(Halt::OtherSetup);
        }
        let is_new = replay.setup.is_none();
        let table = Self {
            write_queue: WriteQueue::at(replay.next_seq.max(1)),
            setup,
            deps,
            replay,
            budget_tracker,
            deadline,
            asked: Mutex::new(asked),
            person,
            notices: OnceLock::new(),
            observer: OnceLock::new(),
        };
        if !safety::is_ready() {
            table.meanwhile(safety::prepare);
        }
        if is_new {
            table
                .record(Event::Opened(Arc::new(table.setup.clone())))
                .await?;
        }
        Ok(table)
    }

    /// The number of the last entry that the journal holds, or will with the next.
    pub fn last_seq(&self) -> u64 {
        self.write_queue.last_seq()
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

    /// A template without parts, as a prompt would include it.
    pub fn render(&self, name: &str, context: impl Serialize) -> Result<String, Halt> {
        Ok(self.deps.prompts.render_plain(name, context)?)
    }

    /// From now on; what was before is in the journal.
    pub fn listen(&self) -> broadcast::Receiver<Arc<Notice>> {
        let sender = self.notices.get_or_init(|| broadcast::channel(LAG).0);
        sender.subscribe()
    }

    /// For one who must not miss anything and does not wait: from now on. There can be one; a second is not heard.
    pub fn set_observer(&self, observer: Observer) {
        let _ = self.observer.set(observer);
    }

    /// Puts a question to one seat.
    pub fn ask<T: Reply>(&self, seat: &str, verb: &str) -> Ask<'_, T> {
        Ask::new(self, seat, verb)
    }

    /// Begins a round, unless it has begun: everyone notify of it at once, and it is journaled with the first step that follows.
    pub fn round(&self, round: u32, name: &str) {
        if self.replay.has_round(round) {
            return;
        }
        if self.write_queue.begin(round) {
            let name = name.to_owned();
            let event = Event::RoundStarted { round, name };
            self.defer_and_announce(event);
        }
    }

    /// Does what will be needed later while models are waited for.
    pub fn meanwhile(&self, work: impl FnOnce() + Send + 'static) {
        drop(tokio::task::spawn_blocking(work));
    }

    /// Steps whose seat was absent, in the order of their names.
    pub fn missing(&self) -> Vec<Missing> {
        lock(&self.asked).missing.values().cloned().collect()
    }

    /// How many steps were asked for so far, the missing ones among them.
    pub fn asked(&self) -> usize {
        lock(&self.asked).count
    }

    /// What the whole debate has used so far, earlier runs included.
    pub fn spent(&self) -> Sum {
        lock(&self.asked).sum
    }

    pub async fn end(&self, end: Arc<End>) -> Result<(), Halt> {
        Ok(self.record(Event::Ended(end)).await?)
    }

    /// Whether one more attempt at a call is within what this debate may make: a few, and one for every step (C-07).
    fn may_retry(&self) -> bool {
        let mut asked = lock(&self.asked);
        asked.retries += 1;
        asked.retries <= SPARE_RETRIES + asked.count
    }

    fn seated(&self, seat: &str) -> Result<(&Seated, &SeatModel), Halt> {
        let missing = || Halt::NoModel {
            seat: seat.to_owned(),
        };
        let seated = self.setup.seats.iter().find(|it| it.seat.name == seat);
        let chair = self.deps.seat_models.get(seat);
        Ok((seated.ok_or_else(missing)?, chair.ok_or_else(missing)?))
    }
}

/// Several seats at once. All are let finish before a halt of one of them counts: their answers are paid for.
pub async fn all<T>(
    asks: impl IntoIterator<Item = impl Future<Output = Result<T, Halt>>>,
) -> Result<Vec<T>, Halt> {
    side_by_side(asks).await.into_iter().collect()
}

/// Several seats at once, keeping what the others said when one of them halts.
pub async fn each<T>(
    asks: impl IntoIterator<Item = impl Future<Output = Result<T, Halt>>>,
) -> (Vec<Option<T>>, Result<(), Halt>) {
    let mut halted = Ok(());
    let kept = side_by_side(asks)
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

/// Each goes on when something has come for it, and is left alone when it has come for another: ten seats that answer word by word
/// would else all be looked at for every word of one.
pub fn side_by_side<F: Future>(
    work: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    FuturesOrdered::from_iter(work).collect()
}

/// Two kinds of work side by side; neither waits for the other.
pub async fn both<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> (A, B) {
    futures::future::join(first, second).await
}

/// The number of the reopening that is due, where the last thing in the journal is an end.
fn next_generation(entries: &[Entry]) -> Option<u32> {
    let mut generation = 0;
    let mut is_ended = false;
    for entry in entries {
        match &entry.event {
            Event::Ended(_) => is_ended = true,
            Event::Reopened { generation: number } => {
                generation = *number;
                is_ended = false;
            }
            Event::Opened(_)
            | Event::RoundStarted { .. }
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::StepFinished(_)
            | Event::StepFailed(_)
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_)
            | Event::Asked(_)
            | Event::Decided(_) => {}
        }
    }
    is_ended.then_some(generation + 1)
}

fn keyed(entry: &Entry, generation: u32) -> Keyed {
    Keyed {
        key: entry.event.key(generation).unwrap_or_default(),
        entry: entry.clone(),
    }
}

/// How long calls of this journal were under way, side by side counted once.
pub fn busy_ms(entries: &[Entry]) -> u64 {
    timing::busy(entries.iter().filter_map(span_of))
}

/// From when to when the work behind an entry took place.
pub fn span_of(entry: &Entry) -> Option<(Millis, Millis)> {
    if let Event::Noted { started_at, .. } = &entry.event {
        return Some((*started_at, entry.at));
    }
    call_of(&entry.event).map(|call| {
        let end = call.started_at + call.spent.latency_ms;
        (call.started_at, end)
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
