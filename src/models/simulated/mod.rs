//! Simulated seats (B-17): valid replies without a model, to try casts, budgets, stop rules and servers for nothing.
//!
//! A reply is a function of the request and the settings: the same debate with the same seed is the same. The answer of a seat is
//! drawn by the model of [`roundtable_core::simulation`]; which option counts as right is drawn too, so it says nothing about the
//! question. Every call says in a notice that it is simulated.

mod opinion;
mod question;
mod reply;
mod texts;
mod values;

use std::collections::VecDeque;
use std::time::Duration;

use roundtable_core::simulation::World;
use roundtable_core::usage::Usage;
use roundtable_engine::model::{Delta, Deltas, Finish, Model, Request};

use super::delta_stream::{DeltaSource, Item, into_deltas};
use crate::config::{ModelName, Simulation};
use opinion::Seat;

/// How often a reply that is sent at a given speed is continued.
const TICK: Duration = Duration::from_millis(50);

/// Tokens are counted as this many characters.
const CHARS_PER_TOKEN: usize = 4;

pub(super) struct SimulatedModel {
    notice: String,
    settings: Simulation,
    seat: Seat,
}

impl SimulatedModel {
    pub(super) fn new(name: &ModelName, settings: Simulation) -> Self {
        let correlations = (World::WITHIN_MODEL, World::BETWEEN_MODELS);
        Self {
            notice: format!(
                "{name} is simulated: its texts mean nothing, and its answers are drawn by chance"
            ),
            settings,
            seat: Seat::new(name.model(), settings, correlations),
        }
    }

    /// The whole reply, and what it used.
    fn reply(&self, request: &Request) -> (String, Usage, Finish) {
        let mut text = reply::text(&self.seat, request);
        let prompt: usize = request.texts().map(str::len).sum();
        let limit = request.max_output_tokens as usize * CHARS_PER_TOKEN;
        let finish = match text.char_indices().nth(limit) {
            Some((end, _)) => {
                text.truncate(end);
                Finish::Length
            }
            None => Finish::Stop,
        };
        let usage = Usage {
            input: tokens(prompt),
            output: tokens(text.len()),
            cached: 0,
        };
        (text, usage, finish)
    }
}

fn tokens(chars: usize) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN) as u64
}

impl Model for SimulatedModel {
    fn stream(&self, request: Request) -> Deltas {
        let (text, usage, finish) = self.reply(&request);
        let (pieces, pause) = pieces(text, self.settings.tokens_per_second);
        let mut deltas: VecDeque<Delta> = VecDeque::from([Delta::Notice(self.notice.clone())]);
        deltas.extend(pieces.into_iter().map(Delta::Text));
        deltas.extend([Delta::Usage(usage), Delta::Finish(finish)]);
        into_deltas(Call {
            latency: self.settings.latency,
            pause,
            deltas,
        })
    }
}

/// The reply as it arrives, and the time between two pieces.
fn pieces(text: String, tokens_per_second: f64) -> (Vec<String>, Duration) {
    if tokens_per_second <= 0.0 {
        return (vec![text], Duration::ZERO);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the speed is at most a million tokens per second"
    )]
    let per_tick = (tokens_per_second * TICK.as_secs_f64()).floor().max(1.0) as usize;
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let pause = Duration::from_secs_f64(per_tick as f64 / tokens_per_second);
    let characters: Vec<char> = text.chars().collect();
    let pieces = characters.chunks(per_tick * CHARS_PER_TOKEN);
    (pieces.map(|piece| piece.iter().collect()).collect(), pause)
}

struct Call {
    /// Before the first text; zero afterwards.
    latency: Duration,
    pause: Duration,
    deltas: VecDeque<Delta>,
}

impl DeltaSource for Call {
    async fn next(&mut self) -> Option<Item> {
        let delta = self.deltas.pop_front()?;
        if matches!(delta, Delta::Text(_)) {
            let wait = std::mem::take(&mut self.latency) + self.pause;
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
        }
        Some(Ok(delta))
    }
}

#[cfg(test)]
#[path = "../simulated_tests.rs"]
mod tests;
