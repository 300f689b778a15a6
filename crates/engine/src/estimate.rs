//! The expected usage of a debate (B-13), estimated before its first call and compared with the truth afterwards.
//!
//! The estimate is sized by the first prompts that would really be sent: the protocol is played on a table whose models record
//! the prompts and never answer. The estimate is a part of the setup; debates of earlier versions have none.
//! The note [`KEY`] repeats it, so that a store finds the estimates of many debates without reading their setups.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::poll;
use roundtable_core::estimate::{
    Amounts, Inside, Outline, Range, Ratios, SeatSize, amounts, ranges,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::Budget;
use crate::event::{Entry, Setup};
pub use crate::expected_usage::{Estimate, KEY};
use crate::expected_usage::{dollars, whole};
use crate::journal::MemoryJournal;
use crate::model::{Ability, Deltas, Model, Profile, Request};
use crate::protocol::{AnyProtocol, SeatModels};
use crate::report::{self, Block, Cell, Section, Tone};
use crate::table::{Halt, SeatModel, Table, TableDeps, busy_ms};
use crate::tokens;
use crate::totals::Totals;

/// The tokens of a reply: a page, less from small models, and at the least a sentence.
const REPLY: u64 = 450;
const SMALL_REPLY: u64 = 150;
const SHORTEST_REPLY: u64 = 20;
/// The limit of a prompt if the model's context is unknown.
const MAX_PROMPT: u64 = 128_000;

/// How often the protocol is polled until it waits for its first replies.
const MAX_POLLS: usize = 200;
const MAX_IDLE_POLLS: usize = 8;

/// The estimate next to what the debate used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    #[serde(flatten)]
    pub estimate: Estimate,
    pub used: Amounts,
    /// Whether it lies within the ranges.
    pub inside: Inside,
}

/// Output tokens per second, by seat, where it is known.
pub type Speeds = HashMap<String, f64>;

/// `prompts` are the tokens of the first prompts by seat, `ratios` those of earlier debates of the protocol and depth.
#[expect(clippy::implicit_hasher, reason = "the map of `first_prompts`")]
pub fn estimate(
    outline: &Outline,
    setup: &Setup,
    models: &SeatModels,
    prompts: &HashMap<String, u64>,
    speeds: &Speeds,
    ratios: &Ratios,
) -> Estimate {
    let question = tokens::estimate(&setup.question);
    let mean = prompts
        .values()
        .sum::<u64>()
        .checked_div(prompts.len() as u64);
    let size = |seat: &str, other: u64, reply: u64| {
        let model = models.get(seat);
        let context = model.and_then(|seat| seat.model.profile().context_tokens);
        SeatSize {
            prompt: prompts.get(seat).copied().unwrap_or(other),
            max_prompt: context.map_or(MAX_PROMPT, u64::from),
            reply,
            price: model.and_then(|seat| seat.price),
            tokens_per_second: speeds.get(seat).copied(),
        }
    };
    let uncalibrated = amounts(&outline.likely, |seat| {
        size(seat, mean.unwrap_or(question), usual_reply(setup, seat))
    });
    // Every prompt contains at least the question. A token has four bytes on average; in some texts it has eight.
    let least = amounts(&outline.least, |seat| {
        let size = size(seat, question, SHORTEST_REPLY);
        SeatSize {
            prompt: size.prompt / 2,
            ..size
        }
    });
    Estimate {
        depth: setup.depth,
        ranges: ranges(&uncalibrated, ratios),
        least,
        uncalibrated,
        debates: ratios.debates(),
    }
}

fn usual_reply(setup: &Setup, seat: &str) -> u64 {
    let seated = setup.seats.iter().find(|seated| seated.seat.name == seat);
    seated.map_or(REPLY, |seated| {
        let usual = match seated.ability {
            Ability::Full => REPLY,
            Ability::Small => SMALL_REPLY,
        };
        usual.min(u64::from(seated.seat.max_output_tokens))
    })
}

/// The tokens of the first prompts of a debate, by seat. Nothing is sent.
///
/// # Errors
/// [`Halt`] if the table cannot be opened or a prompt cannot be rendered.
pub async fn first_prompts(
    protocol: &dyn AnyProtocol,
    setup: &Setup,
    deps: TableDeps,
) -> Result<HashMap<String, u64>, Halt> {
    let heard: Arc<Heard> = Arc::default();
    let recorders = deps.seat_models.into_iter().map(|(seat, model)| {
        let recorder = Recorder {
            seat: seat.clone(),
            inner: model.model,
            heard: Arc::clone(&heard),
        };
        let price = model.price;
        let model = Arc::new(recorder);
        (seat, SeatModel { model, price })
    });
    let deps = TableDeps {
        seat_models: recorders.collect(),
        embedder: None,
        journal: Arc::new(MemoryJournal::default()),
        ..deps
    };
    let table = Table::open(setup.clone(), Budget::default(), deps).await?;
    let mut play = protocol.play(&table);
    let mut idle = 0;
    for _ in 0..MAX_POLLS {
        let before = heard.len();
        if let std::task::Poll::Ready(played) = poll!(&mut play) {
            // A protocol that ends without a reply has failed to render a prompt.
            played?;
            break;
        }
        tokio::task::yield_now().await;
        let is_idle = before > 0 && heard.len() == before;
        idle = if is_idle { idle + 1 } else { 0 };
        if idle == MAX_IDLE_POLLS {
            break;
        }
    }
    drop(play);
    Ok(heard.take())
}

/// The prompts so far.
#[derive(Default)]
struct Heard(Mutex<HeardPrompts>);

#[derive(Default)]
struct HeardPrompts {
    by_seat: HashMap<String, u64>,
    calls: usize,
}

impl Heard {
    fn len(&self) -> usize {
        self.with(|heard| heard.calls)
    }

    fn take(&self) -> HashMap<String, u64> {
        self.with(|heard| std::mem::take(&mut heard.by_seat))
    }

    fn add(&self, seat: &str, request: &Request) {
        self.with(|heard| {
            // Not counted exactly: loading the vocabulary would take as long as everything else before the first call.
            let sum = request.texts().map(tokens::estimate).sum::<u64>();
            let longest = heard.by_seat.entry(seat.to_owned()).or_default();
            *longest = sum.max(*longest);
            heard.calls += 1;
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut HeardPrompts) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A model that records what it is sent and never answers.
struct Recorder {
    seat: String,
    inner: Arc<dyn Model>,
    heard: Arc<Heard>,
}

impl Model for Recorder {
    fn stream(&self, request: Request) -> Deltas {
        self.heard.add(&self.seat, &request);
        Box::pin(futures::stream::pending())
    }

    fn profile(&self) -> Profile {
        self.inner.profile()
    }

    fn sees(&self) -> bool {
        self.inner.sees()
    }

    fn calls_tools(&self) -> bool {
        self.inner.calls_tools()
    }
}

/// The estimate next to what the debate has used. `None` before it has ended.
#[expect(clippy::cast_precision_loss, reason = "amounts of one debate")]
pub fn comparison(entries: &[Entry]) -> Option<Comparison> {
    entries.iter().rev().find_map(|entry| entry.event.ended())?;
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let estimate = setup.estimate?;
    let sum = Totals::of(entries).debate;
    let used = Amounts {
        calls: f64::from(sum.calls),
        tokens: sum.usage.total() as f64,
        cost: sum.cost.map(roundtable_core::usage::Money::dollars),
        seconds: busy_ms(entries) as f64 / 1000.0,
    };
    Some(Comparison {
        estimate,
        used,
        inside: estimate.ranges.inside(&used),
    })
}

impl Comparison {
    /// One line for people.
    pub fn to_text(&self) -> String {
        let expected = &self.estimate.ranges;
        let cost = expected
            .cost
            .map_or_else(String::new, |cost| format!(", {}", dollars(cost.expected)));
        format!(
            "Estimated {} calls, {} tokens{cost}, {} s: {}",
            whole(expected.calls.expected),
            whole(expected.tokens.expected),
            whole(expected.seconds.expected),
            self.verdict()
        )
    }

    /// The use next to the estimate: `Used 8 calls (estimated 9) · 4,800 tokens (5,200) · $0.0056 ($0.0061) · 17 ms`
    pub fn usage_text(&self, time: &str) -> String {
        let (expected, used) = (&self.estimate.ranges, &self.used);
        let cost = match (used.cost, expected.cost) {
            (Some(used), Some(expected)) if expected.high > 0.0 => {
                format!("{} ({})", dollars(used), dollars(expected.expected))
            }
            (Some(_), _) => "free".to_owned(),
            (None, _) => "price unknown".to_owned(),
        };
        format!(
            "Used {} calls (estimated {}) · {} tokens ({}) · {cost} · {time}",
            whole(used.calls),
            whole(expected.calls.expected),
            whole(used.tokens),
            whole(expected.tokens.expected),
        )
    }

    fn verdict(&self) -> String {
        let outside: Vec<&str> = self
            .parts()
            .into_iter()
            .filter_map(|(name, _, _, is_inside)| (is_inside == Some(false)).then_some(name))
            .collect();
        if outside.is_empty() {
            "as expected".to_owned()
        } else {
            format!("outside the range: {}", outside.join(", "))
        }
    }

    /// Name, estimated range, use, and whether it lies within.
    fn parts(&self) -> [(&'static str, String, String, Option<bool>); 4] {
        let (ranges, used, inside) = (&self.estimate.ranges, &self.used, &self.inside);
        let span = |range: Range, text: fn(f64) -> String| {
            format!("{} to {}", text(range.low), text(range.high))
        };
        let unknown = || "unknown".to_owned();
        [
            (
                "calls",
                span(ranges.calls, whole),
                whole(used.calls),
                Some(inside.calls),
            ),
            (
                "tokens",
                span(ranges.tokens, whole),
                whole(used.tokens),
                Some(inside.tokens),
            ),
            (
                "cost",
                ranges.cost.map_or_else(unknown, |cost| span(cost, dollars)),
                used.cost.map_or_else(unknown, dollars),
                inside.cost,
            ),
            (
                "seconds",
                span(ranges.seconds, whole),
                whole(used.seconds),
                Some(inside.seconds),
            ),
        ]
    }
}

/// The report section that compares the estimate with the truth.
pub(crate) fn section(entries: &[Entry]) -> Option<Section> {
    let comparison = comparison(entries)?;
    let rows = comparison
        .parts()
        .map(|(name, estimated, used, is_inside)| {
            let tone = match is_inside {
                Some(false) => Tone::Caution,
                Some(true) | None => Tone::Plain,
            };
            vec![
                Cell::new(name),
                Cell::new(estimated),
                Cell { text: used, tone },
            ]
        });
    let table = report::Table::of(&comparison.to_text(), &["", "#Estimated", "#Used"], rows);
    Some(Section::side("Estimate", vec![Block::Table(table)]))
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
