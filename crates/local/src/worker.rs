//! A thread that owns what must stay on one thread, started by its first job.
//!
//! It promises that jobs run in order, that dropping the last handle ends the thread and waits for it (native code must
//! not run while the process is being torn down), and that a thread that died is replaced at the next job.

use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use roundtable_engine::model::ModelError;

use crate::runtime::failed;

pub(crate) struct Worker<J: Send + 'static> {
    name: &'static str,
    run: Box<dyn Fn() -> Run<J> + Send + Sync>,
    started: Mutex<Option<Started<J>>>,
}

/// What the thread does: it serves jobs until the channel is closed.
pub(crate) type Run<J> = Box<dyn FnOnce(Receiver<J>) + Send>;

struct Started<J> {
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

    fn start_with(&self, job: J, started: &mut Option<Started<J>>) -> Result<(), ModelError> {
        let (jobs, receiver) = channel();
        let run = (self.run)();
        let thread = std::thread::Builder::new()
            .name(self.name.to_owned())
            .spawn(move || run(receiver))
            .map_err(|error| failed(format!("no thread for the {}: {error}", self.name)))?;
        let running = started.insert(Started { jobs, thread });
        running
            .jobs
            .send(job)
            .map_err(|_| failed(format!("the thread of the {} ended at once", self.name)))
    }
}

impl<J: Send + 'static> Drop for Worker<J> {
    fn drop(&mut self) {
        let started = self
            .started
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Started { jobs, thread }) = started {
            drop(jobs);
            // A panic over there has already been answered by closed replies.
            let _ = thread.join();
        }
    }
}
