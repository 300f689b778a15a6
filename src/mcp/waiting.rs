//! Waits for a debate on behalf of a call, with progress notifications for the client.

use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};
use roundtable_engine::event::State;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::decisions;
use super::progress::Progress;
use crate::server::operations::Operations;
use crate::server::problem::Problem;

/// Clients that reset their timeout on progress need it more often than every ten seconds.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// A client that does not read must not hold up the call.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause before looking again at a debate that changes hands.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);
/// Progress has to rise with every notification.
const MIN_STEP: f64 = 0.1;

/// How a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// The debate has ended, or waits for a person.
    Stopped,
    StillRunning,
    /// The client cancelled the call or disconnected.
    Gone,
}

/// The client of one call.
pub(super) struct Client {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    cancelled: CancellationToken,
    disconnected: CancellationToken,
    /// Whether a call may be answered with a task.
    pub(super) takes_tasks: bool,
    /// Whether a call may be answered with a question to the user.
    pub(super) can_ask: bool,
}

impl Client {
    pub(super) fn new(
        context: &RequestContext<RoleServer>,
        disconnected: &CancellationToken,
    ) -> Self {
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            cancelled: context.ct.clone(),
            disconnected: disconnected.clone(),
            takes_tasks: context
                .client_capabilities()
                .is_some_and(|capabilities| capabilities.supports_tasks()),
            can_ask: decisions::can_ask(context),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.cancelled.is_cancelled() || self.disconnected.is_cancelled()
    }

    async fn gone(&self) {
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            () = self.disconnected.cancelled() => {}
        }
    }

    async fn notify(&self, percent: f64, message: String) {
        let Some(token) = &self.token else {
            return;
        };
        let progress = ProgressNotificationParam::new(token.clone(), percent)
            .with_total(100.0)
            .with_message(message);
        let sending = self.peer.notify_progress(progress);
        let _ = tokio::time::timeout(SEND_TIMEOUT, sending).await;
    }
}

/// Waits until the debate stops, the limit is reached, or the client is gone.
pub(super) async fn wait(
    operations: &Operations,
    id: Uuid,
    limit: Duration,
    client: &Client,
) -> Result<Waited, Problem> {
    let deadline = Instant::now() + limit;
    let setup = operations.setup(id).await?;
    let mut shown = -MIN_STEP;
    let mut next_notice = Instant::now();
    loop {
        if client.is_gone() {
            return Ok(Waited::Gone);
        }
        let row = operations.find(&id.to_string()).await?;
        if !matches!(row.state, State::Queued | State::Running) {
            return Ok(Waited::Stopped);
        }
        let now = Instant::now();
        if now >= deadline {
            return Ok(Waited::StillRunning);
        }
        if now >= next_notice && client.token.is_some() {
            let entries = operations.entries(id).await?;
            let progress = Progress::of(setup.as_ref(), &entries, &operations.speakers(id));
            shown = progress.percent.max(shown + MIN_STEP);
            client.notify(shown, progress.message).await;
        }
        if now >= next_notice {
            next_notice = Instant::now() + PROGRESS_INTERVAL;
        }
        let until = next_notice.min(deadline).saturating_duration_since(now);
        let started = Instant::now();
        tokio::select! {
            biased;
            () = client.gone() => {}
            () = operations.wait(id, until) => {}
        }
        if started.elapsed() < RETRY_INTERVAL {
            tokio::time::sleep(RETRY_INTERVAL.min(until)).await;
        }
    }
}
