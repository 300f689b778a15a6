//! Commands of clients to a debate: say, pause, decide, resume, cancel. A debate that another process runs gets them
//! through the store, and that process writes the outcome there.
//!
//! Every command is completed even if its client disconnects. Of several concurrent ones, each sees the state that the one
//! before has left: the state is read again under the debate's lease.

use std::sync::Arc;
use std::time::Duration;

use roundtable_engine::event::{End, State};
use roundtable_engine::table::{
    Budget, CONTINUE, Table, decide, end_offline, open_question, say_offline,
};
use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use super::{Scheduler, SchedulerError, log};
use crate::clock;
use crate::setup::{
    self,
    limits::{self, UsedUp},
};
use crate::store::{
    COMMAND_TIMEOUT, Command, CommandOutcome, Lease, LeaseError, PendingCommand, Rating, Resolution,
};

const OUTCOME_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a command waits for another request or process to release the debate.
const CLAIM_TIMEOUT: Duration = Duration::from_millis(500);
const CLAIM_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The outcome of claiming a debate.
enum Claim {
    /// With the state that it has under the lease.
    Leased(Box<Lease>, State),
    /// It runs or is queued here.
    Here(State),
    /// It is not in one of the required states.
    Refused(State),
}

/// How a debate is resumed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Continuation {
    /// New limits of the debate.
    pub requested: Budget,
    /// The limits of the caller's token.
    pub ceiling: Budget,
    /// The user who continues a paused debate.
    pub by: Option<String>,
}

fn wrong_state<T>(state: State, why: &str) -> Result<T, SchedulerError> {
    Err(SchedulerError::WrongState(state, why.to_owned()))
}

impl Scheduler {
    /// Adds a person's input. Returns its number.
    pub(crate) async fn say(
        self: &Arc<Self>,
        id: Uuid,
        text: String,
        by: Option<String>,
    ) -> Result<u32, SchedulerError> {
        let scheduler = Arc::clone(self);
        self.complete(async move { scheduler.say_now(id, text, by).await })
            .await
    }

    async fn say_now(
        &self,
        id: Uuid,
        text: String,
        by: Option<String>,
    ) -> Result<u32, SchedulerError> {
        self.check_secrets("/text", &text)?;
        if let Some(table) = self.wait_for_table(id).await {
            return Ok(table.say(text, by).await?);
        }
        let state = self.debate_state(id).await?;
        if state == State::Running && self.store.is_shared() {
            return match self.send_command(id, Command::Say { text, by }).await? {
                CommandOutcome::Heard(number) => Ok(number),
                CommandOutcome::Done(_) | CommandOutcome::Refused(..) => {
                    Err(SchedulerError::RunningElsewhere)
                }
            };
        }
        match self.claim(id, |state| state == State::Waiting).await? {
            Claim::Leased(lease, _) => {
                let journal = lease.journal();
                Ok(say_offline(journal.as_ref(), clock::now(), text, by).await?)
            }
            Claim::Here(state) | Claim::Refused(state) => {
                let why = if state == State::Queued {
                    "the debate has not started; send input when it is running"
                } else {
                    "the debate is not running and takes no input"
                };
                wrong_state(state, why)
            }
        }
    }

    /// Rates a debate that no process runs.
    pub(crate) async fn rate(
        &self,
        id: Uuid,
        rating: Rating,
        comment: Option<String>,
    ) -> Result<(), SchedulerError> {
        let store = self.store.clone();
        self.complete(async move { store.rate(id, rating, comment, clock::now()).await })
            .await
    }

    /// Records the outcome of a forecast.
    pub(crate) async fn resolve(
        &self,
        id: Uuid,
        resolution: Resolution,
    ) -> Result<(), SchedulerError> {
        let store = self.store.clone();
        self.complete(async move { store.resolve(id, resolution, clock::now()).await })
            .await
    }

    /// Deletes a debate that no process runs.
    pub(crate) async fn delete(&self, id: Uuid) -> Result<(), SchedulerError> {
        if self.has(id) {
            let why = "the debate is running; cancel it first";
            return wrong_state(self.debate_state(id).await?, why);
        }
        let store = self.store.clone();
        self.complete(async move { store.delete(id).await }).await
    }

    /// Words of clients go to the providers like a question.
    fn check_secrets(&self, at: &str, text: &str) -> Result<(), SchedulerError> {
        if self.context.config.limits.allow_secrets {
            return Ok(());
        }
        setup::secrets::check_words(at, text).map_err(SchedulerError::Failed)
    }

    /// Pauses a debate before its next round.
    pub(crate) async fn pause(self: &Arc<Self>, id: Uuid) -> Result<State, SchedulerError> {
        let scheduler = Arc::clone(self);
        self.complete(async move { scheduler.pause_now(id).await })
            .await
    }

    async fn pause_now(&self, id: Uuid) -> Result<State, SchedulerError> {
        if let Some(table) = self.wait_for_table(id).await {
            table.pause();
            return Ok(State::Running);
        }
        match self.debate_state(id).await? {
            State::Waiting => Ok(State::Waiting),
            State::Running if self.store.is_shared() => {
                self.send_state_command(id, Command::Pause).await
            }
            state @ (State::Queued
            | State::Running
            | State::Complete
            | State::Partial
            | State::Failed
            | State::Cancelled
            | State::Interrupted) => wrong_state(state, "only a running debate can be paused"),
        }
    }

    /// Whether a pause before the next round was requested.
    pub(crate) fn is_pause_requested(&self, id: Uuid) -> bool {
        self.table(id)
            .is_some_and(|table| table.is_pause_requested())
    }

    /// Answers the question that a debate waits for, and resumes it.
    pub(crate) async fn decide(
        self: &Arc<Self>,
        id: Uuid,
        choice: String,
        by: Option<String>,
        note: Option<String>,
    ) -> Result<State, SchedulerError> {
        self.check_secrets("/note", note.as_deref().unwrap_or_default())?;
        let scheduler = Arc::clone(self);
        self.complete(async move { scheduler.decide_now(id, choice, by, note).await })
            .await
    }

    async fn decide_now(
        self: &Arc<Self>,
        id: Uuid,
        choice: String,
        by: Option<String>,
        note: Option<String>,
    ) -> Result<State, SchedulerError> {
        let slot = self.reserve()?;
        let lease = match self.claim(id, |state| state == State::Waiting).await? {
            Claim::Leased(lease, _) => lease,
            Claim::Here(state) | Claim::Refused(state) => {
                return self.withdraw_pause(id, state, &choice).await;
            }
        };
        decide(lease.journal().as_ref(), clock::now(), choice, by, note).await?;
        let state = slot.state();
        self.submit_leased(slot, lease);
        Ok(state)
    }

    /// `continue` withdraws a pause that was requested but has not begun. No other decision is valid in this state.
    async fn withdraw_pause(
        &self,
        id: Uuid,
        state: State,
        choice: &str,
    ) -> Result<State, SchedulerError> {
        if let Some(table) = self.table(id).filter(|table| table.is_pause_requested())
            && choice == CONTINUE
        {
            table.cancel_pause();
            return Ok(state);
        }
        if state == State::Running && choice == CONTINUE && self.store.is_shared() {
            return self.send_state_command(id, Command::Continue).await;
        }
        wrong_state(state, "the debate is not waiting for a decision")
    }

    /// Resumes a debate that ended incomplete, was paused, or was interrupted.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        id: Uuid,
        continuation: Continuation,
    ) -> Result<State, SchedulerError> {
        let scheduler = Arc::clone(self);
        self.complete(async move { scheduler.resume_now(id, continuation).await })
            .await
    }

    async fn resume_now(
        self: &Arc<Self>,
        id: Uuid,
        continuation: Continuation,
    ) -> Result<State, SchedulerError> {
        let Continuation {
            requested,
            ceiling,
            by,
        } = continuation;
        let is_resumable = |state| !matches!(state, State::Complete | State::Waiting);
        let (lease, state) = match self.claim(id, is_resumable).await {
            Ok(Claim::Leased(lease, state)) => (lease, state),
            Ok(Claim::Here(state)) => {
                let Some(table) = self.table(id) else {
                    return Ok(state);
                };
                table.cancel_pause();
                return Ok(State::Running);
            }
            Ok(Claim::Refused(State::Waiting)) => return self.end_pause(id, by).await,
            Ok(Claim::Refused(state)) => {
                let why = "the debate is complete; there is nothing to resume";
                return wrong_state(state, why);
            }
            Err(SchedulerError::RunningElsewhere) if self.store.is_shared() => {
                return self.send_state_command(id, Command::Continue).await;
            }
            Err(error) => return Err(error),
        };
        let budget = self.resumed_budget(id, state, requested).await?;
        let budget = budget.within(ceiling);
        let slot = self.reserve()?;
        if state == State::Running && !self.store.is_shared() {
            self.store.set_budget(id, &budget).await?;
        } else {
            self.store.requeue(id, Some(&budget)).await?;
        }
        let state = slot.state();
        self.submit_leased(slot, lease);
        Ok(state)
    }

    /// Resumes a waiting debate if it is paused, that is, if it does not wait for another decision.
    async fn end_pause(
        self: &Arc<Self>,
        id: Uuid,
        by: Option<String>,
    ) -> Result<State, SchedulerError> {
        let entries = self.store.entries(id).await?;
        let options = open_question(&entries).map(|query| query.options.as_slice());
        let is_pause = options.is_some_and(|all| all.iter().any(|o| o == CONTINUE));
        if !is_pause {
            let why = "the debate is waiting for a decision; send it to …/decision";
            return wrong_state(State::Waiting, why);
        }
        self.decide_now(id, CONTINUE.into(), by, None).await
    }

    /// The limits of a debate that is resumed; an error if one of them is used up (C-19).
    async fn resumed_budget(
        &self,
        id: Uuid,
        state: State,
        requested: Budget,
    ) -> Result<Budget, SchedulerError> {
        let setup = self.store.setup(id).await?;
        let setup = setup.ok_or(SchedulerError::NotFound(id))?;
        let own = self.store.budget(id).await?.unwrap_or(setup.budget);
        let configured = self.context.config.limits.budget();
        let budget = limits::resumed(own, requested, configured);
        let past = self.store.entries(id).await?;
        setup::check_resumed_prices(&self.context, &setup, &budget, &past)
            .map_err(SchedulerError::Failed)?;
        let has_new_limits = limits::has_new_limits(own, requested, configured);
        let Some(used_up) = UsedUp::of(&past, budget, configured, has_new_limits) else {
            return Ok(budget);
        };
        let remedy = match used_up.request() {
            Some(budget) => format!("resume it with {}", json!({ "budget": budget })),
            None => "the server's configuration has to allow more first".to_owned(),
        };
        let why = format!("{}; {remedy}", used_up.sentence());
        Err(SchedulerError::WrongState(state, why))
    }

    /// Cancels a debate. Its journal is kept, and it can be resumed.
    pub(crate) async fn cancel(self: &Arc<Self>, id: Uuid) -> Result<State, SchedulerError> {
        let scheduler = Arc::clone(self);
        self.complete(async move { scheduler.cancel_now(id).await })
            .await
    }

    async fn cancel_now(&self, id: Uuid) -> Result<State, SchedulerError> {
        self.remove_from_queue(id);
        let is_active = |state| {
            matches!(
                state,
                State::Waiting | State::Queued | State::Running | State::Interrupted
            )
        };
        match self.claim(id, is_active).await {
            Ok(Claim::Leased(lease, _)) => {
                let end = End {
                    state: State::Cancelled,
                    reason: Some("cancelled".into()),
                    result: None,
                };
                let journal = lease.journal();
                end_offline(journal.as_ref(), clock::now(), lease.setup(), end).await?;
                Ok(State::Cancelled)
            }
            Ok(Claim::Here(_)) => self.cancel_local(id).await,
            Ok(Claim::Refused(state)) => wrong_state(state, "the debate has already ended"),
            Err(SchedulerError::RunningElsewhere) => {
                self.send_state_command(id, Command::Cancel).await
            }
            Err(error) => Err(error),
        }
    }

    /// Stops a debate that runs here once its calls in flight have finished. It ends as interrupted and can be resumed.
    /// [`Self::keep_running`] withdraws the request.
    pub(crate) fn stop_after_calls(self: &Arc<Self>, id: Uuid) {
        let Some(debate) = self.debate(id) else {
            return;
        };
        debate.calls.request_stop();
        let scheduler = Arc::clone(self);
        self.tasks.spawn(async move {
            tokio::select! {
                () = scheduler.calls_finished(&debate) => {
                    if debate.calls.confirm_stop() {
                        debate.cancel.cancel();
                        if scheduler.queue_position(id).is_some() {
                            // It may have started meanwhile, and ends as interrupted then.
                            let _ = scheduler.cancel_now(id).await;
                        }
                    }
                }
                () = debate.calls.reopened() => {}
                () = debate.removed.cancelled() => {}
            }
        });
    }

    /// Withdraws a request to stop. If it is too late for that, waits until the debate has stopped, so that it can be resumed.
    pub(crate) async fn keep_running(&self, id: Uuid) {
        if let Some(debate) = self.debate(id)
            && !debate.calls.withdraw_stop()
        {
            let _ = tokio::time::timeout(COMMAND_TIMEOUT, debate.removed.cancelled()).await;
        }
    }

    /// Waits until all debates that are to stop have stopped. After `grace`, their calls in flight are dropped.
    pub(crate) async fn finish_stops(&self, grace: Duration) {
        let debates: Vec<_> = self.lock().debates.values().cloned().collect();
        let stopping = debates.into_iter();
        let stopping: Vec<_> = stopping
            .filter(|one| one.calls.is_stop_requested())
            .collect();
        let stopped = async {
            for debate in &stopping {
                debate.removed.cancelled().await;
            }
        };
        if tokio::time::timeout(grace, stopped).await.is_ok() {
            return;
        }
        for debate in &stopping {
            if debate.calls.confirm_stop() {
                debate.cancel.cancel();
                let _ = tokio::time::timeout(COMMAND_TIMEOUT, debate.removed.cancelled()).await;
            }
        }
    }

    async fn cancel_local(&self, id: Uuid) -> Result<State, SchedulerError> {
        if let Some(debate) = self.debate(id) {
            debate.cancel.cancel();
            let _ = tokio::time::timeout(COMMAND_TIMEOUT, debate.removed.cancelled()).await;
        }
        self.debate_state(id).await
    }

    /// Leases a debate that is in one of the required states and neither runs nor is queued here. Waits if it is just being
    /// removed from the scheduler, or if another request or process holds it for a moment.
    async fn claim(
        &self,
        id: Uuid,
        is_required: impl Fn(State) -> bool,
    ) -> Result<Claim, SchedulerError> {
        let started = Instant::now();
        loop {
            let state = self.debate_state(id).await?;
            if let Some(debate) = self.debate(id) {
                let is_stopping = !matches!(state, State::Queued | State::Running);
                if !is_stopping || started.elapsed() > COMMAND_TIMEOUT {
                    return Ok(Claim::Here(state));
                }
                let removed = debate.removed.cancelled();
                let _ = tokio::time::timeout(CLAIM_POLL_INTERVAL, removed).await;
                continue;
            }
            if !is_required(state) {
                return Ok(Claim::Refused(state));
            }
            match self.store.lease_for_server(id).await {
                Ok(lease) => {
                    let state = self.debate_state(id).await?;
                    if is_required(state) {
                        return Ok(Claim::Leased(Box::new(lease), state));
                    }
                    return Ok(Claim::Refused(state));
                }
                Err(LeaseError::Held { .. }) if started.elapsed() < CLAIM_TIMEOUT => {
                    tokio::time::sleep(CLAIM_POLL_INTERVAL).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn table(&self, id: Uuid) -> Option<Arc<Table>> {
        self.debate(id)?.table.get().cloned()
    }

    /// Waits if the debate is starting and has no table yet; `None` at once if it is queued or not here.
    async fn wait_for_table(&self, id: Uuid) -> Option<Arc<Table>> {
        let debate = {
            let state = self.lock();
            if state.queue.iter().any(|job| job.id == id) {
                return None;
            }
            Arc::clone(state.debates.get(&id)?)
        };
        tokio::select! {
            () = debate.table_ready.cancelled() => {}
            () = debate.removed.cancelled() => return None,
            () = tokio::time::sleep(COMMAND_TIMEOUT) => {}
        }
        debate.table.get().cloned()
    }

    /// Sends a command to the process that runs the debate, and waits for the outcome.
    async fn send_command(
        &self,
        id: Uuid,
        command: Command,
    ) -> Result<CommandOutcome, SchedulerError> {
        if !self.store.is_shared() {
            return Err(SchedulerError::RunningElsewhere);
        }
        let sent = self.store.send_command(id, &command).await?;
        let deadline = Instant::now() + COMMAND_TIMEOUT;
        let outcome = loop {
            let outcome = self.store.command_outcome(sent).await?;
            if outcome.is_some() || Instant::now() >= deadline {
                break outcome;
            }
            tokio::time::sleep(OUTCOME_POLL_INTERVAL).await;
        };
        self.store.withdraw_command(sent).await?;
        match outcome {
            Some(CommandOutcome::Refused(state, why)) => {
                Err(SchedulerError::WrongState(state, why))
            }
            Some(outcome) => Ok(outcome),
            None => Err(SchedulerError::RunningElsewhere),
        }
    }

    /// Like `send_command`, for commands whose outcome is the debate's state.
    async fn send_state_command(
        &self,
        id: Uuid,
        command: Command,
    ) -> Result<State, SchedulerError> {
        match self.send_command(id, command).await? {
            CommandOutcome::Done(state) | CommandOutcome::Refused(state, _) => Ok(state),
            CommandOutcome::Heard(_) => self.debate_state(id).await,
        }
    }

    /// Executes a command that another process sent, and stores the outcome.
    pub(super) async fn run_command(&self, pending: PendingCommand) {
        let outcome = match self.execute(pending.debate, pending.command).await {
            Ok(outcome) => outcome,
            Err(SchedulerError::WrongState(state, why)) => CommandOutcome::Refused(state, why),
            Err(other) => CommandOutcome::Refused(State::Running, other.to_string()),
        };
        if let Err(error) = self.store.answer_command(pending.id, &outcome).await {
            log::note(&format!(
                "cannot store the outcome of a command to debate {}: {error}",
                pending.debate
            ));
        }
    }

    async fn execute(&self, id: Uuid, command: Command) -> Result<CommandOutcome, SchedulerError> {
        if command == Command::Cancel {
            return Ok(CommandOutcome::Done(self.cancel_local(id).await?));
        }
        let Some(table) = self.wait_for_table(id).await else {
            let state = self.debate_state(id).await?;
            return wrong_state(state, "the debate is no longer running");
        };
        Ok(match command {
            Command::Say { text, by } => CommandOutcome::Heard(table.say(text, by).await?),
            Command::Pause => {
                table.pause();
                CommandOutcome::Done(State::Running)
            }
            Command::Continue | Command::Cancel => {
                table.cancel_pause();
                CommandOutcome::Done(State::Running)
            }
        })
    }
}
