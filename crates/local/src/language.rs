//! The embedded language model.
//!
//! One thread owns the model. All requests that wait or run are decoded together, so several seats cost little more than
//! one; a prompt that begins like one that was read before, or is being read now, does not read that beginning again.
//! A request with a schema can only ever produce text that fits the schema.
//!
//! The same seed gives different text when other requests run beside it: a finished call is replayed from the journal,
//! never by asking again.

mod batcher;
mod cache;
mod choice;
mod grammar;
mod pieces;
mod prompt;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::task::{Context, Poll};

use futures::Stream;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use roundtable_engine::model::{Ability, Delta, Deltas, Model, ModelError, Profile, Request};

use crate::runtime::{Threads, failed, load};
use crate::worker::Worker;
use batcher::Batcher;

/// About three billion weights at the usual four to five bits each. Models below it need help that larger ones do not.
const SMALL_FILE_BYTES: u64 = 2_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub threads: Threads,
    /// What one request may use for its prompt and its reply together.
    pub context_tokens: u32,
    /// How many requests are decoded together; more wait.
    pub parallel: u32,
    /// Memory for what the model has read. One full context always fits; more is used where a model is frugal, so that
    /// parallel requests find room and prompts can stay for reuse.
    pub cache_bytes: u64,
    pub reuse: Reuse,
    /// Judged by the size of the file where it is not given.
    pub ability: Option<Ability>,
}

impl Settings {
    pub fn new(threads: Threads) -> Self {
        Self {
            threads,
            context_tokens: 8192,
            parallel: 8,
            cache_bytes: 512 * 1024 * 1024,
            reuse: Reuse::SharedBeginnings,
            ability: None,
        }
    }
}

/// Whether prompts that begin alike are read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    SharedBeginnings,
    /// Every prompt is read from its first token. Only comparisons want this.
    Nothing,
}

pub struct LocalModel {
    worker: Arc<Worker<Job>>,
    profile: Profile,
}

struct Job {
    request: Request,
    replies: Replies,
}

type Reply = Result<Delta, ModelError>;
type Replies = UnboundedSender<Reply>;

impl LocalModel {
    /// The file is loaded by the first request; if that fails, the request says why.
    pub fn open(path: PathBuf, settings: Settings) -> Self {
        let profile = Profile {
            context_tokens: Some(settings.context_tokens),
            ability: settings.ability.unwrap_or_else(|| ability_of(&path)),
        };
        let run = move || {
            let path = path.clone();
            Box::new(move |jobs| serve(&jobs, &path, settings)) as _
        };
        Self {
            worker: Arc::new(Worker::new("language model", run)),
            profile,
        }
    }
}

/// By the size of the file, because requests depend on it and must be the same before and after the model is loaded.
fn ability_of(path: &Path) -> Ability {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.len() >= SMALL_FILE_BYTES => Ability::Full,
        Ok(_) | Err(_) => Ability::Small,
    }
}

impl Model for LocalModel {
    fn stream(&self, request: Request) -> Deltas {
        let (replies, receiver) = unbounded();
        if let Err(error) = self.worker.send(Job {
            request,
            replies: replies.clone(),
        }) {
            let _ = replies.unbounded_send(Err(error));
        }
        Box::pin(Answer {
            receiver,
            ended: false,
            _worker: Arc::clone(&self.worker),
        })
    }

    fn profile(&self) -> Profile {
        self.profile
    }
}

/// The stream of one request. Dropping it ends the request.
struct Answer {
    receiver: UnboundedReceiver<Reply>,
    ended: bool,
    /// The thread lives as long as anyone listens.
    _worker: Arc<Worker<Job>>,
}

impl Stream for Answer {
    type Item = Reply;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let reply = match Pin::new(&mut self.receiver).poll_next(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(reply)) => reply,
            Poll::Ready(None) => Err(failed("it ended without finishing its answer")),
        };
        self.ended = matches!(reply, Ok(Delta::Finish(_)) | Err(_));
        Poll::Ready(Some(reply))
    }
}

fn serve(jobs: &Receiver<Job>, path: &Path, settings: Settings) {
    // A missing file may be there at the next request, so loading is tried again.
    while let Ok(job) = jobs.recv() {
        let model = match load(path) {
            Ok(model) => model,
            Err(error) => {
                let _ = job.replies.unbounded_send(Err(error));
                continue;
            }
        };
        match Batcher::new(&model, settings) {
            Ok(batcher) => batcher.serve(job, jobs),
            Err(error) => {
                let _ = job.replies.unbounded_send(Err(error));
            }
        }
    }
}

#[cfg(test)]
#[path = "language_tests.rs"]
mod tests;
