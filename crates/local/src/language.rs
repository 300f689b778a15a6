//! The embedded language model.
//!
//! One thread owns the model. Concurrent requests are decoded in one batch, so several seats cost little more than one.
//! A prefix that a prompt shares with an earlier or a running prompt is read only once. Decoding is constrained by the
//! request's schema: only text that matches the schema can be generated.
//!
//! The output for a seed depends on what else is in the batch, so finished calls are replayed from the journal, never
//! regenerated.

mod batcher;
mod grammar;
mod kv_cache;
mod prompt;
mod sampler;
mod utf8_decoder;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::task::{Context, Poll};

use futures::Stream;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use roundtable_engine::model::{Ability, Delta, Deltas, Model, ModelError, Profile, Request};

use crate::runtime::{Threads, load_model, local_error};
use crate::worker::Worker;
use batcher::Batcher;

/// About three billion weights at the usual 4 to 5 bits each. Prompts for smaller models contain additional help.
const SMALL_FILE_BYTES: u64 = 2_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub threads: Threads,
    /// The limit for prompt and reply of one request together.
    pub context_tokens: u32,
    /// The number of requests decoded in one batch; further requests wait.
    pub parallel: u32,
    /// Memory for the KV cache. It always holds at least one full context, and up to two if they fit, so that requests run in
    /// parallel and prompts stay for reuse.
    pub cache_bytes: u64,
    pub prefix_cache: PrefixCache,
    /// By default derived from the size of the file.
    pub ability: Option<Ability>,
}

impl Settings {
    pub fn new(threads: Threads) -> Self {
        Self {
            threads,
            context_tokens: 8192,
            parallel: 8,
            cache_bytes: 512 * 1024 * 1024,
            prefix_cache: PrefixCache::Enabled,
            ability: None,
        }
    }
}

/// Whether a prefix shared by several prompts is read only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrefixCache {
    Enabled,
    /// Every prompt is read from its first token. For benchmarks.
    Disabled,
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
    /// The first request loads the file and returns the error if that fails.
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

/// Derived from the size of the file, because requests depend on it and must be the same before and after loading.
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
        Box::pin(ReplyStream {
            receiver,
            ended: false,
            _worker: Arc::clone(&self.worker),
        })
    }

    fn profile(&self) -> Profile {
        self.profile
    }
}

/// The reply to one request. Dropping it cancels the request.
struct ReplyStream {
    receiver: UnboundedReceiver<Reply>,
    ended: bool,
    /// Keeps the thread alive until the stream is dropped.
    _worker: Arc<Worker<Job>>,
}

impl Stream for ReplyStream {
    type Item = Reply;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let reply = match Pin::new(&mut self.receiver).poll_next(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(reply)) => reply,
            Poll::Ready(None) => Err(local_error(
                "the model thread ended before the reply was complete",
            )),
        };
        self.ended = matches!(reply, Ok(Delta::Finish(_)) | Err(_));
        Poll::Ready(Some(reply))
    }
}

fn serve(jobs: &Receiver<Job>, path: &Path, settings: Settings) {
    // Loading is retried with each request: the file may have been downloaded since.
    while let Ok(job) = jobs.recv() {
        let model = match load_model(path) {
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
