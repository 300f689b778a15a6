//! The gate through which a debate's model calls pass, so that a closing server, or a debate whose client is gone, lets calls in
//! flight finish and starts none: their answers are paid for, and are journaled before the debate is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::stream;
use roundtable_engine::model::{Deltas, Model, Profile, Request};
use roundtable_engine::table::SeatModel;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Counts the calls of one debate.
#[derive(Debug)]
pub(super) struct CallGate {
    closing: CancellationToken,
    in_flight: AtomicUsize,
    /// Calls that came after the gate was closed. They wait until it opens again, or until the debate is dropped.
    blocked: AtomicUsize,
    stop: watch::Sender<Stop>,
}

/// Whether the debate is to stop when its calls in flight have finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    No,
    Requested,
    /// It is being stopped, and cannot continue.
    Final,
}

impl CallGate {
    pub(super) fn new(closing: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            closing,
            in_flight: AtomicUsize::new(0),
            blocked: AtomicUsize::new(0),
            stop: watch::Sender::new(Stop::No),
        })
    }

    /// Whether no call is in flight, and all of the debate's unfinished turns wait at the gate: every other one is journaled.
    pub(super) fn is_drained(&self, unfinished_turns: usize) -> bool {
        let blocked = self.blocked.load(Ordering::Relaxed);
        self.in_flight.load(Ordering::Relaxed) == 0 && unfinished_turns <= blocked
    }

    /// Starts no further call.
    pub(super) fn request_stop(&self) {
        self.change(Stop::No, Stop::Requested);
    }

    /// Withdraws the request to stop. Returns whether the debate continues.
    pub(super) fn withdraw_stop(&self) -> bool {
        self.change(Stop::Requested, Stop::No);
        *self.stop.borrow() == Stop::No
    }

    /// Makes the request to stop final, unless it was withdrawn. Returns whether the debate stops.
    pub(super) fn confirm_stop(&self) -> bool {
        self.change(Stop::Requested, Stop::Final);
        self.is_stopped()
    }

    pub(super) fn is_stop_requested(&self) -> bool {
        *self.stop.borrow() != Stop::No
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.stop.borrow() == Stop::Final
    }

    fn change(&self, from: Stop, to: Stop) {
        self.stop.send_if_modified(|stop| {
            let is_from = *stop == from;
            if is_from {
                *stop = to;
            }
            is_from
        });
    }

    /// Waits until the request to stop is withdrawn.
    pub(super) async fn reopened(&self) {
        let mut stop = self.stop.subscribe();
        if stop.wait_for(|stop| *stop == Stop::No).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The model behind the gate.
    pub(super) fn guard(self: &Arc<Self>, seat: SeatModel) -> SeatModel {
        SeatModel {
            model: Arc::new(GatedModel {
                model: seat.model,
                gate: Arc::clone(self),
            }),
            price: seat.price,
        }
    }
}

struct GatedModel {
    model: Arc<dyn Model>,
    gate: Arc<CallGate>,
}

/// Counts a call until its stream is dropped.
struct InFlight(Arc<CallGate>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a call that waits at the gate.
struct Blocked(Arc<CallGate>);

impl Blocked {
    fn at(gate: &Arc<CallGate>) -> Self {
        gate.blocked.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(gate))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        self.0.blocked.fetch_sub(1, Ordering::Relaxed);
    }
}

fn call(gate: &Arc<CallGate>, model: &Arc<dyn Model>, request: Request) -> Deltas {
    gate.in_flight.fetch_add(1, Ordering::Relaxed);
    let call = InFlight(Arc::clone(gate));
    let deltas = model.stream(request);
    deltas
        .inspect(move |_| {
            let _ = &call;
        })
        .boxed()
}

impl Model for GatedModel {
    fn stream(&self, request: Request) -> Deltas {
        let is_closing = self.gate.closing.is_cancelled();
        if !is_closing && *self.gate.stop.borrow() == Stop::No {
            return call(&self.gate, &self.model, request);
        }
        let blocked = Blocked::at(&self.gate);
        let (gate, model) = (Arc::clone(&self.gate), Arc::clone(&self.model));
        let reopened = async move {
            gate.reopened().await;
            if gate.closing.is_cancelled() {
                std::future::pending::<()>().await;
            }
            drop(blocked);
            call(&gate, &model, request)
        };
        stream::once(reopened).flatten().boxed()
    }

    fn profile(&self) -> Profile {
        self.model.profile()
    }

    fn sees(&self) -> bool {
        self.model.sees()
    }

    fn calls_tools(&self) -> bool {
        self.model.calls_tools()
    }
}
