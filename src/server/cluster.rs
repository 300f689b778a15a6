//! A scheduler among others: servers and workers on any machines that use the same database (B-04).
//!
//! Each takes debates that nobody living runs, as many as it has places, and hands on what it has no place for. Readers here
//! learn of entries that are written elsewhere, and what somebody here wants of a debate elsewhere gets there.

use std::sync::Arc;
use std::time::Duration;

use roundtable_engine::event::State;
use tokio::time::Instant;
use uuid::Uuid;

use super::log;
use super::scheduler::{PATIENCE, Scheduler, Unable};
use crate::store::{Command, CommandOutcome, DebateRow, Notification, PendingCommand, StoreError};

/// How often there is a look for debates that nobody has been handed, such as those of a process that died.
const LOOK: Duration = Duration::from_secs(1);
/// How long nothing is taken after a debate has stopped without an end: what stopped it may stop the next.
pub(super) const REST: Duration = Duration::from_secs(2);
/// How often there is a look for the answer to an order.
const ASK: Duration = Duration::from_millis(50);

/// Who runs the debates of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Here,
    /// Workers do; this server only takes requests and shows what happens.
    Elsewhere,
}

impl Scheduler {
    /// From here on until it closes, this scheduler does its part. Nothing happens where the store is this process's alone.
    pub(crate) fn join_others(self: &Arc<Self>) {
        if self.store().is_shared() {
            self.tasks().spawn(Arc::clone(self).hear());
            self.tasks().spawn(Arc::clone(self).poll_for_work());
        }
    }

    /// Passes on what others tell.
    async fn hear(self: Arc<Self>) {
        let closing = self.closing().clone();
        let hearing = async {
            loop {
                if let Err(error) = self.hear_all().await {
                    log::note(&format!("news from others are interrupted: {error}"));
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = closing.cancelled() => {}
            () = hearing => {}
        }
    }

    async fn hear_all(&self) -> Result<(), StoreError> {
        let Some(mut listening) = self.store().listen().await? else {
            return std::future::pending().await;
        };
        // Whatever was told before somebody listened.
        self.notifiers().ring_all();
        self.call();
        loop {
            match listening.next().await? {
                Notification::Entries(id) => self.notifiers().ring(id),
                Notification::Work => self.call(),
                Notification::Gap => {
                    self.notifiers().ring_all();
                    self.call();
                }
            }
        }
    }

    /// Takes work and orders as they come.
    async fn poll_for_work(self: Arc<Self>) {
        let mut traffic = self.traffic();
        let mut next_look = Instant::now();
        loop {
            traffic.mark_unchanged();
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK;
                if let Err(error) = self.store().enqueue_missing_jobs().await {
                    log::note(&format!("cannot hand out debates: {error}"));
                }
            }
            if let Err(error) = self.take_what_there_is().await {
                log::note(&format!("cannot look for work: {error}"));
            }
            tokio::select! {
                () = self.closing().cancelled() => return,
                () = self.called() => {}
                _ = traffic.changed() => {}
                () = tokio::time::sleep_until(next_look) => {}
            }
        }
    }

    async fn take_what_there_is(self: &Arc<Self>) -> Result<(), StoreError> {
        for order in self.store().take_commands().await? {
            let scheduler = Arc::clone(self);
            self.tasks()
                .spawn(async move { scheduler.run_command(order).await });
        }
        while self.rested() {
            let free = self.free_places();
            if free == 0 {
                break;
            }
            let leases = match self.store().lease_jobs(free).await {
                Ok(leases) => leases,
                Err(error) => {
                    self.rest_until(Instant::now() + REST);
                    log::note(&format!("cannot take a debate: {error}"));
                    break;
                }
            };
            if leases.is_empty() {
                break;
            }
            for lease in leases {
                log::note(&format!("taking debate {}", lease.id()));
                self.run_claimed(lease);
            }
        }
        Ok(())
    }

    /// A debate has stopped without an end.
    pub(super) fn backoff(&self) {
        self.rest_until(Instant::now() + REST);
    }

    async fn run_command(&self, order: PendingCommand) {
        let done = self.execute(order.debate, order.command).await;
        let answer = match done {
            Ok(answer) => answer,
            Err(Unable::State(state, why)) => CommandOutcome::Refused(state, why),
            Err(other) => CommandOutcome::Refused(State::Running, other.to_string()),
        };
        if let Err(error) = self.store().answer_command(order.id, &answer).await {
            log::note(&format!(
                "an answer about debate {} is lost: {error}",
                order.debate
            ));
        }
    }

    /// Does here what was wished for elsewhere.
    async fn execute(&self, id: Uuid, command: Command) -> Result<CommandOutcome, Unable> {
        if command == Command::Cancel {
            return Ok(CommandOutcome::Done(self.cancel_here(id).await?));
        }
        let Some(table) = self.table_soon(id).await else {
            let why = "the debate is not running any more";
            return Err(Unable::State(self.state(id).await?, why.into()));
        };
        Ok(match command {
            Command::Say { text, by } => CommandOutcome::Heard(table.say(text, by).await?),
            Command::Pause => {
                table.pause();
                CommandOutcome::Done(State::Running)
            }
            Command::Continue | Command::Cancel => {
                table.unpause();
                CommandOutcome::Done(State::Running)
            }
        })
    }

    /// Has it done by whoever runs the debate.
    pub(super) async fn command(
        &self,
        id: Uuid,
        command: Command,
    ) -> Result<CommandOutcome, Unable> {
        if !self.store().is_shared() {
            return Err(Unable::Elsewhere);
        }
        let order = self.store().send_command(id, &command).await?;
        let deadline = Instant::now() + PATIENCE;
        let answer = loop {
            let answer = self.store().command_outcome(order).await?;
            if answer.is_some() || Instant::now() >= deadline {
                break answer;
            }
            tokio::time::sleep(ASK).await;
        };
        self.store().withdraw_command(order).await?;
        match answer {
            Some(CommandOutcome::Refused(state, why)) => Err(Unable::State(state, why)),
            Some(answer) => Ok(answer),
            None => Err(Unable::Elsewhere),
        }
    }

    /// The same, where the answer is the state of the debate.
    pub(super) async fn request_command(
        &self,
        id: Uuid,
        command: Command,
    ) -> Result<State, Unable> {
        match self.command(id, command).await? {
            CommandOutcome::Done(state) | CommandOutcome::Refused(state, _) => Ok(state),
            CommandOutcome::Heard(_) => self.state(id).await,
        }
    }

    /// Waits until a debate that others run is over or waits for a person.
    pub(super) async fn wait_for_others(&self, id: Uuid) {
        let mut bell = self.notifiers().listen(id);
        loop {
            bell.mark_unchanged();
            let goes_on = match self.store().get(id).await {
                Ok(Some(row)) => matches!(row.state, State::Queued | State::Running),
                Ok(None) | Err(_) => false,
            };
            if !goes_on {
                return;
            }
            tokio::select! {
                _ = bell.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// How many stand before it in the queue, here or for anybody.
    pub(super) async fn place_in_queue(&self, row: &DebateRow) -> Result<Option<u64>, StoreError> {
        if let Some(position) = self.queue_position(row.id) {
            return Ok(Some(position as u64));
        }
        if row.state == State::Queued && self.store().is_shared() {
            return self.store().queue_position(row).await.map(Some);
        }
        Ok(None)
    }

    /// How many wait for a place, here or for anybody.
    pub(super) async fn queue_length(&self) -> u64 {
        let (_, here) = self.load();
        if !self.store().is_shared() {
            return here as u64;
        }
        // Whether the database answers is another question.
        self.store().queue_length().await.unwrap_or(0)
    }

    /// Takes nothing more, and gives what runs some time to come to its end.
    pub(crate) async fn drain(&self, deadline: Duration) {
        self.stop_taking();
        let mut traffic = self.traffic();
        let drained = async {
            loop {
                traffic.mark_unchanged();
                if self.load().0 == 0 || traffic.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(deadline, drained).await;
    }
}
