//! A worker thread for state that must stay on one thread, started by the first job.
//!
//! Jobs run in order. Dropping the worker joins the thread, because native code must not run during process exit. A thread that
//! panicked is replaced by the next job.

use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use roundtable_engine::model::ModelError;

use crate::runtime::local_error;

pub(crate) struct Worker<J: Send + 'static> {
    name: &'static str,
    run: Box<dyn Fn() -> Run<J> + Send + Sync>,
    started: Mutex<Option<RunningThread<J>>>,
}

/// The thread's main function: handles jobs until the channel is closed.
pub(crate) type Run<J> = Box<dyn FnOnce(Receiver<J>) + Send>;

struct RunningThread<J> {
    jobs: Sender<J>,
    thread: JoinHandle<()>,
}

impl<J: Send + 'static> Worker<J> {
    pub(crate) fn new(
        name: &'static str,
        run: impl Fn() -> Run<J> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            run: Box::new(run),
            started: Mutex::new(None),
        }
    }

    pub(crate) fn send(&self, job: J) -> Result<(), ModelError> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match started.as_ref() {
            Some(running) => match running.jobs.send(job) {
                Ok(()) => return Ok(()),
                Err(SendError(job)) => job,
            },
            None => job,
        };
        self.start_with(job, &mut started)
    }

    fn start_with(&self, job: J, started: &mut Option<RunningThread<J>>) -> Result<(), ModelError> {
        let (jobs, receiver) = channel();
        let run = (self.run)();
        let thread = std::thread::Builder::new()
            .name(self.name.to_owned())
            .spawn(move || run(receiver))
            .map_err(|error| {
                local_error(format!("cannot start the {} thread: {error}", self.name))
            })?;
        let running = started.insert(RunningThread { jobs, thread });
        running
            .jobs
            .send(job)
            .map_err(|_| local_error(format!("the {} thread ended immediately", self.name)))
    }
}

impl<J: Send + 'static> Drop for Worker<J> {
    fn drop(&mut self) {
        let started = self
            .started
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(RunningThread { jobs, thread }) = started {
            drop(jobs);
            // After a panic the callers already got an error, because their reply channels closed.
            let _ = thread.join();
        }
    }
}
