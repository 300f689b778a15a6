//! Starts the debate that a request asks for, and stops it when the client is gone.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use roundtable_engine::preset::OnDisconnect;
use roundtable_engine::protocols;
use serde_json::Value;
use uuid::Uuid;

use super::super::access::Caller;
use super::super::problem::Problem;
use super::super::requests::NewDebate;
use super::super::scheduler::Scheduler;
use super::super::{App, off_runtime, rest};
use super::ask::Ask;
use super::catalog::Choice;
use super::conversation::conversation;
use crate::failure::Failure;
use crate::store::{CreateRequest, Created};

/// Longer than any client waits.
const MAX_WAIT: Duration = Duration::from_hours(24);

/// A debate that a client waits for. Dropping it stops the debate after its calls in flight, unless it has been left to itself.
pub(super) struct Debate {
    pub(super) id: Uuid,
    scheduler: Arc<Scheduler>,
    stops: bool,
}

impl Drop for Debate {
    fn drop(&mut self) {
        // A server that closes resumes its debates at the next start.
        if self.stops && !self.scheduler.closing().is_cancelled() {
            self.scheduler.stop_after_calls(self.id);
        }
    }
}

impl Debate {
    /// Waits until it is no longer running or queued.
    pub(super) async fn wait(&self) {
        self.scheduler.wait_for(self.id, MAX_WAIT).await;
    }

    /// The debate needs no further observation: it is over, or no request waits for it.
    pub(super) fn leave(&mut self) {
        self.stops = false;
    }
}

/// Starts the debate, or joins the one that an earlier request with the same key started.
pub(super) async fn start(
    app: &Arc<App>,
    caller: &Caller,
    headers: &HeaderMap,
    ask: &Ask,
    (choice, bytes): (Choice, bytes::Bytes),
) -> Result<Debate, Problem> {
    let request = CreateRequest {
        key: rest::idempotency_key(headers, caller)?,
        fingerprint: off_runtime(move || rest::fingerprint(&bytes)).await?,
        token: caller.token,
        is_attended: false,
    };
    let on_disconnect = choice.on_disconnect;
    let new = new_debate(app, ask, choice)?;
    let (task_app, task_caller) = (Arc::clone(app), caller.clone());
    // In a task: a client that disconnects while the debate is being created drops the result, and with it stops the debate.
    let starting = app.scheduler.tasks().spawn(async move {
        let (app, caller) = (task_app, task_caller);
        let created = if let Some(created) = app.store.find_created(&request).await? {
            created
        } else {
            let spec = rest::spec_of(&app, &caller, new).await?;
            rest::start(&app, &caller, spec, &request).await?
        };
        let is_new = matches!(created, Created::New(_));
        Ok(Debate {
            id: rest::id_of(&created)?,
            scheduler: Arc::clone(&app.scheduler),
            stops: is_new && on_disconnect == OnDisconnect::Stop,
        })
    });
    starting
        .await
        .map_err(|error| Problem::internal(&format!("the request stopped: {error}")))?
}

fn new_debate(app: &App, ask: &Ask, choice: Choice) -> Result<NewDebate, Problem> {
    let said = conversation(&ask.turns, &app.context.config.limits)?;
    let mut new = choice.debate;
    let protocol = protocols::named(&new.protocol)
        .ok_or_else(|| Problem::internal("a model without its protocol"))?;
    let rules = Value::Object(std::mem::take(&mut new.rules));
    let (question, rules) = protocol
        .converse(rules, said)
        .map_err(|faults| Problem::from(Failure::refused(faults)))?;
    new.question = question;
    if let Value::Object(rules) = rules {
        new.rules = rules
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect();
    }
    new.seed = ask.seed;
    Ok(new)
}

/// The debate has no answer to send.
pub(super) fn without_answer(
    status: StatusCode,
    name: &'static str,
    why: String,
    id: Uuid,
) -> Problem {
    let (header, value) = super::errors::NO_RETRY;
    Problem::new(status, name, why)
        .about(id)
        .with(header, value)
}
