//! The speed of an embedded model on this machine, remembered in the cache folder for the next run.

use std::fs;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};
use roundtable_engine::model::{
    Delta, Deltas, Message, Model, ModelError, Profile, Request, Speaker,
};

/// Fewer tokens are no measure.
const MIN_TOKENS: u64 = 20;

/// A model whose speed is measured: the tokens that it writes in the time that it works, reading and parallel calls included.
pub(super) struct Timed<M> {
    model: M,
    clock: Arc<Mutex<WorkClock>>,
}

/// A file with the number of tokens per second. `None` if it cannot be kept.
pub(super) struct SpeedRecord(Option<PathBuf>);

impl SpeedRecord {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self(file)
    }

    pub(super) fn read(&self) -> Option<f64> {
        let text = fs::read_to_string(self.0.as_ref()?).ok()?;
        let speed: f64 = text.trim().parse().ok()?;
        (speed.is_finite() && speed > 0.0).then_some(speed)
    }

    fn write(&self, speed: f64) {
        if let Some(path) = &self.0 {
            // Without the file, the next run measures again.
            let _ = fs::write(path, format!("{speed:.2}\n"));
        }
    }
}

struct WorkClock {
    record: SpeedRecord,
    running: u32,
    /// When the first of the running calls started.
    since: Instant,
    /// Of the calls since then.
    new_tokens: u64,
    /// One of the calls since then was cancelled, and its tokens are unknown.
    is_spoiled: bool,
    worked: Duration,
    tokens: u64,
}

impl WorkClock {
    fn start(&mut self) {
        if self.running == 0 {
            self.since = Instant::now();
            self.new_tokens = 0;
            self.is_spoiled = false;
        }
        self.running += 1;
    }

    fn end(&mut self, tokens: u64) {
        self.new_tokens += tokens;
        self.is_spoiled |= tokens == 0;
        self.running -= 1;
        if self.running > 0 || self.is_spoiled {
            return;
        }
        self.tokens += self.new_tokens;
        self.worked += self.since.elapsed();
        if self.tokens >= MIN_TOKENS {
            self.record.write(speed(self.tokens, self.worked));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand tokens")]
fn speed(tokens: u64, time: Duration) -> f64 {
    tokens as f64 / time.as_secs_f64().max(0.001)
}

impl<M: Model> Timed<M> {
    pub(super) fn new(model: M, record: SpeedRecord) -> Self {
        let clock = WorkClock {
            record,
            running: 0,
            since: Instant::now(),
            new_tokens: 0,
            is_spoiled: false,
            worked: Duration::ZERO,
            tokens: 0,
        };
        Self {
            model,
            clock: Arc::new(Mutex::new(clock)),
        }
    }

    /// From earlier runs, or from a short call.
    pub(super) async fn tokens_per_second(&self, name: &str) -> Option<f64> {
        let known = lock(&self.clock).record.read();
        if known.is_some() {
            return known;
        }
        // The first call loads the weights.
        self.measure(name, 1).await?;
        let speed = self.measure(name, 24).await?;
        lock(&self.clock).record.write(speed);
        Some(speed)
    }

    async fn measure(&self, name: &str, max_output_tokens: u32) -> Option<f64> {
        let request = Request {
            model: name.to_owned(),
            system: String::new(),
            messages: vec![Message {
                speaker: Speaker::User,
                text: "Describe the sea in one paragraph.".to_owned(),
                shared: false,
                tools: Vec::new(),
            }],
            images: Vec::new(),
            schema: None,
            tools: None,
            temperature: 0.0,
            max_output_tokens,
            seed: 0,
        };
        let started = Instant::now();
        let mut deltas = self.model.stream(request);
        let mut tokens = 0;
        while let Some(delta) = deltas.next().await {
            if let Delta::Usage(usage) = delta.ok()? {
                tokens += usage.output;
            }
        }
        (tokens > 0).then(|| speed(tokens, started.elapsed()))
    }
}

fn lock(clock: &Mutex<WorkClock>) -> std::sync::MutexGuard<'_, WorkClock> {
    clock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: Model> Model for Timed<M> {
    fn stream(&self, request: Request) -> Deltas {
        lock(&self.clock).start();
        Box::pin(TimedCall {
            deltas: self.model.stream(request),
            clock: Arc::clone(&self.clock),
            tokens: 0,
        })
    }

    fn profile(&self) -> Profile {
        self.model.profile()
    }
}

/// Ends when it is dropped, also if it was cancelled.
struct TimedCall {
    deltas: Deltas,
    clock: Arc<Mutex<WorkClock>>,
    tokens: u64,
}

impl Stream for TimedCall {
    type Item = Result<Delta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let delta = self.deltas.poll_next_unpin(context);
        if let Poll::Ready(Some(Ok(Delta::Usage(usage)))) = &delta {
            self.tokens += usage.output;
        }
        delta
    }
}

impl Drop for TimedCall {
    fn drop(&mut self) {
        lock(&self.clock).end(self.tokens);
    }
}

#[cfg(test)]
#[path = "speed_tests.rs"]
mod tests;
