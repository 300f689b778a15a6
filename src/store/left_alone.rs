//! Debates that this process cannot run, because they belong to another version of the program. It holds their jobs for a while,
//! so that it does not take them again at once. Other processes take debates whose jobs are held without their jobs.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::lock;
use super::queue::Job;

/// How long a job is held. Versions before this one need the job to take the debate.
const HOLD: Duration = Duration::from_secs(5);

/// When this process leaves a debate alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaveAlone {
    Always,
    /// A client that resumes it gets the reason why it cannot be played.
    UnlessResumed,
}

#[derive(Debug, Default)]
pub(super) struct LeftAlone(Mutex<HashMap<Uuid, Entry>>);

#[derive(Debug)]
struct Entry {
    which: LeaveAlone,
    held: Option<(Job, Instant)>,
}

impl LeftAlone {
    pub(super) fn add(&self, id: Uuid, which: LeaveAlone) {
        let entry = Entry { which, held: None };
        self.entries().entry(id).or_insert(entry);
    }

    pub(super) fn remove(&self, id: Uuid) {
        self.entries().remove(&id);
    }

    pub(super) fn get(&self, id: Uuid) -> Option<LeaveAlone> {
        self.entries().get(&id).map(|entry| entry.which)
    }

    /// Keeps the job of a debate that is left alone. Any other job is finished.
    pub(super) fn hold(&self, job: Job) {
        let mut entries = self.entries();
        let entry = job.debate().and_then(|id| entries.get_mut(&id));
        if let Some(entry) = entry {
            entry.held = Some((job, Instant::now() + HOLD));
        }
    }

    /// Finishes the jobs that were held long enough: the debates get new ones.
    pub(super) fn release_due(&self) {
        let now = Instant::now();
        for entry in self.entries().values_mut() {
            drop(entry.held.take_if(|(_, until)| *until <= now));
        }
    }

    /// Finishes all held jobs.
    pub(super) fn release_all(&self) {
        for entry in self.entries().values_mut() {
            entry.held = None;
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Uuid, Entry>> {
        lock(&self.0)
    }
}

#[cfg(test)]
#[path = "left_alone_tests.rs"]
mod tests;
