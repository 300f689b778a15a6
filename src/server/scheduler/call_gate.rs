//! The gate through which a debate's model calls pass, so that a closing server, or a debate whose client is gone, lets calls in
//! flight finish and starts none: their answers are paid for, and are journaled before the debate is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use futures::stream;
use roundtable_engine::model::{Deltas, Model, Profile, Request};
use roundtable_engine::table::SeatModel;
use tokio_util::sync::CancellationToken;

/// Counts the calls of one debate.
#[derive(Debug)]
pub(super) struct CallGate {
    closing: CancellationToken,
    in_flight: AtomicUsize,
    /// Calls that came after the gate was closed. They wait until the debate is dropped.
    blocked: AtomicUsize,
}

impl CallGate {
    pub(super) fn new(closing: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            closing,
            in_flight: AtomicUsize::new(0),
            blocked: AtomicUsize::new(0),
        })
    }

    /// Lets no further call through.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Whether no call is in flight, and all of the debate's unfinished turns wait at the gate: every other one is journaled.
    pub(super) fn is_drained(&self, unfinished_turns: usize) -> bool {
        let blocked = self.blocked.load(Ordering::Relaxed);
        self.in_flight.load(Ordering::Relaxed) == 0 && unfinished_turns <= blocked
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

impl Model for GatedModel {
    fn stream(&self, request: Request) -> Deltas {
        if self.gate.closing.is_cancelled() {
            self.gate.blocked.fetch_add(1, Ordering::Relaxed);
            return stream::pending().boxed();
        }
        self.gate.in_flight.fetch_add(1, Ordering::Relaxed);
        let call = InFlight(Arc::clone(&self.gate));
        let deltas = self.model.stream(request);
        deltas
            .inspect(move |_| {
                let _ = &call;
            })
            .boxed()
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
