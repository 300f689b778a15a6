//! Runs one debate: prepares it, plays it, and records the failure if it cannot be played.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use roundtable_engine::event::{End, State};
use roundtable_engine::protocols;
use roundtable_engine::table::{Budget, Halt, LeftAlone, end_offline, note_left_alone};
use uuid::Uuid;

use super::{ActiveDebate, Job, JobSource, Scheduler, log, progress_sink};
use crate::clock;
use crate::failure::Failure;
use crate::models::ModelPolicy;
use crate::setup::{self, PreparedDebate, limits};
use crate::store::{Lease, LeaveAlone};

enum PlayError {
    Halt(Halt),
    Failure(Failure),
}

/// How the run of a debate stopped.
enum Stopped {
    As(State),
    /// This version cannot replay it. It stays as it is for a version that can.
    LeftAlone(String),
}

/// Why a debate is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// A client created or resumed it, and gets an error if it cannot be played.
    Request,
    /// Another process ran it.
    Takeover,
}

impl Occasion {
    /// A resumed debate is queued until its first new entry.
    fn of(state: State) -> Self {
        match state {
            State::Running => Self::Takeover,
            _ => Self::Request,
        }
    }
}

impl Scheduler {
    pub(super) fn start(self: &Arc<Self>, job: Job, debate: Arc<ActiveDebate>) {
        let scheduler = Arc::clone(self);
        self.tasks.spawn(async move {
            let id = job.id;
            let closed = async {
                scheduler.closing.cancelled().await;
                scheduler.calls_finished(&debate).await;
            };
            tokio::select! {
                biased;
                // It stays `running` in the store, and the next server process resumes it.
                () = closed => {}
                outcome = scheduler.run_guarded(job, &debate) => {
                    if let Err(failure) = &outcome {
                        scheduler.back_off();
                        if !failure.is_transient() {
                            scheduler.lock().given_up.insert(id);
                        }
                    }
                    report(id, outcome);
                }
            }
            // If it should still run, `recovery` or another process resumes it.
            scheduler.release(id, &debate);
        });
    }

    /// Runs a debate. A panic is a defect of this program: it ends the debate as failed, and must not cost its slot.
    async fn run_guarded(&self, job: Job, debate: &ActiveDebate) -> Result<Stopped, Failure> {
        let id = job.id;
        let run = AssertUnwindSafe(self.run(job, debate)).catch_unwind();
        let panic = match run.await {
            Ok(outcome) => return outcome,
            Err(panic) => panic_message(panic.as_ref()),
        };
        let failure = Failure::other(format!("internal error: {panic}"));
        log::note(&format!("debate {id}: {}", failure.message()));
        let lease = self.store.lease_for_server(id).await?;
        self.fail(&lease, failure).await
    }

    async fn run(&self, job: Job, debate: &ActiveDebate) -> Result<Stopped, Failure> {
        let is_requested = matches!(job.source, JobSource::Leased(_));
        let (lease, occasion) = match job.source {
            JobSource::Prepared(prepared) => {
                let (lease, prepared) = *prepared;
                return self
                    .play_leased(&lease, prepared, Occasion::Request, debate)
                    .await;
            }
            JobSource::Leased(lease) => (*lease, Occasion::Request),
            JobSource::Taken(lease) => {
                let state = self.state_under_lease(job.id).await?;
                (*lease, Occasion::of(state))
            }
            JobSource::Stored => {
                let lease = self.store.lease_for_server(job.id).await?;
                let state = self.state_under_lease(job.id).await?;
                // It may have stopped, or have been stopped, since it was found to be abandoned.
                if !matches!(state, State::Queued | State::Running) {
                    return Ok(Stopped::As(state));
                }
                (lease, Occasion::of(state))
            }
        };
        let protocol = &lease.setup().protocol;
        if !is_requested && protocols::of_stored(protocol).is_none() {
            let why = format!("it has no protocol '{protocol}'");
            return self.leave_alone(&lease, LeaveAlone::Always, why).await;
        }
        let (lease, prepared) = self.prepare(lease).await?;
        self.play_leased(&lease, prepared, occasion, debate).await
    }

    async fn state_under_lease(&self, id: Uuid) -> Result<State, Failure> {
        let row = self.store.get(id).await?;
        Ok(row.map_or(State::Interrupted, |row| row.state))
    }

    async fn play_leased(
        &self,
        lease: &Lease,
        prepared: PreparedDebate,
        occasion: Occasion,
        debate: &ActiveDebate,
    ) -> Result<Stopped, Failure> {
        let lost = lease.lost();
        let played = tokio::select! {
            biased;
            // No further model call: the process that holds the lease now continues from the journal.
            () = lost.cancelled() => {
                let why = "lost the lease; another process may be running this debate";
                return Err(Failure::other(why));
            }
            played = self.play(lease, prepared, debate) => played,
        };
        match played {
            Ok(end) => Ok(Stopped::As(end.state)),
            Err(PlayError::Halt(Halt::Waiting { .. })) => Ok(Stopped::As(State::Waiting)),
            Err(PlayError::Halt(halt @ Halt::Journal(_))) => Err(halt.into()),
            Err(PlayError::Halt(halt @ Halt::Drift { .. })) if occasion == Occasion::Takeover => {
                self.leave_alone(lease, LeaveAlone::UnlessResumed, halt.to_string())
                    .await
            }
            Err(PlayError::Halt(halt)) => self.fail(lease, halt.into()).await,
            Err(PlayError::Failure(failure)) => self.fail(lease, failure).await,
        }
    }

    /// Leaves a debate of another version as it is, and notes that for its readers.
    async fn leave_alone(
        &self,
        lease: &Lease,
        which: LeaveAlone,
        reason: String,
    ) -> Result<Stopped, Failure> {
        let left = LeftAlone {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            reason,
        };
        self.lock().given_up.insert(lease.id());
        self.store.leave_alone(lease.id(), which);
        note_left_alone(lease.journal().as_ref(), clock::now(), &left).await?;
        Ok(Stopped::LeftAlone(left.sentence(&lease.setup().program)))
    }

    async fn prepare(&self, lease: Lease) -> Result<(Lease, PreparedDebate), Failure> {
        let id = lease.id();
        let setup = lease.setup().clone();
        let own = self.store.budget(id).await?.unwrap_or(setup.budget);
        let configured = self.context.config.limits.budget();
        let budget = limits::resumed(own, Budget::default(), configured);
        // The token's limits apply to fallbacks as well, also in another process than the one that took the request.
        let limits = self.store.limits_of(id).await?;
        let policy = ModelPolicy {
            models: limits.models,
            priced_only: limits.max_cost_per_day.is_some(),
        };
        let progress = progress_sink();
        let preparing = setup::prepare_resume(&self.context, setup, budget, policy, &progress);
        match preparing.await {
            Ok(prepared) => Ok((lease, prepared)),
            Err(failure) => {
                self.fail(&lease, failure.clone()).await?;
                Err(failure)
            }
        }
    }

    async fn play(
        &self,
        lease: &Lease,
        mut prepared: PreparedDebate,
        debate: &ActiveDebate,
    ) -> Result<Arc<End>, PlayError> {
        let models = prepared.seat_models.into_iter();
        let models = models.map(|(seat, model)| (seat, debate.calls.guard(model)));
        prepared.seat_models = models.collect();
        let journal = lease.journal();
        let cancel = debate.cancel.clone();
        let (table, protocol) = setup::open_table(&self.context, prepared, journal, cancel)
            .await
            .map_err(PlayError::Failure)?;
        let feed = Arc::clone(&debate.feed);
        feed.begin(table.last_seq());
        table.set_observer(Box::new(move |notice| feed.publish(notice)));
        let table = Arc::new(table);
        let table = debate.table.get_or_init(|| table);
        debate.table_ready.cancel();
        let is_interrupted = || debate.calls.is_stopped();
        protocols::play_unless(table, protocol, is_interrupted)
            .await
            .map_err(PlayError::Halt)
    }

    /// Ends a debate that cannot be played as failed, so that it is not retried at every start.
    async fn fail(&self, lease: &Lease, failure: Failure) -> Result<Stopped, Failure> {
        let end = End {
            state: State::Failed,
            reason: Some(failure.message().to_owned()),
            result: None,
        };
        let journal = lease.journal();
        end_offline(journal.as_ref(), clock::now(), lease.setup(), end)
            .await
            .map_err(|error| Failure::from(error).after(failure.message()))?;
        Ok(Stopped::As(State::Failed))
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

fn report(id: Uuid, outcome: Result<Stopped, Failure>) {
    match outcome {
        Ok(Stopped::LeftAlone(why)) => log::note(&format!("left debate {id} alone: {why}")),
        Ok(Stopped::As(state)) => log::note(&format!("debate {id} is {}", state.name())),
        Err(failure) => log::note(&format!("debate {id} stopped: {}", failure.message())),
    }
}

#[cfg(test)]
#[path = "runner_tests.rs"]
mod tests;
