//! The sentence embedder: all-MiniLM-L6-v2, in process.
//!
//! Returns one unit-length vector of 384 numbers per text, in order. Texts are truncated to 256 tokens, the length the model was
//! trained with. A batch is computed by one thread: a second one saves little time for texts this short, and spins while it waits,
//! which takes up to three times the CPU on a busy machine. Several batches are computed at once, each in a context of its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread::{self, available_parallelism};

use futures::channel::oneshot;
use futures::future::BoxFuture;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::{LlamaContextParams, LlamaPoolingType};
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::ModelError;

use crate::runtime::{backend, compute_lock, load_model, local_error};
use crate::worker::Worker;

/// The limit for a text and for a batch. The runtime aborts the process if a batch exceeds the configured size.
const BATCH_TOKENS: usize = 256;
/// A text has at least two tokens: begin and end.
const BATCH_TEXTS: usize = BATCH_TOKENS / 2;
/// A smaller batch is not worth a thread.
const LEAST_TOKENS: usize = 64;
const MAX_CONTEXTS: usize = 4;
/// The number of vectors that are kept for texts that come again.
const RECENT: usize = 256;

type Vectors = Result<Vec<Vec<f32>>, ModelError>;

pub struct LocalEmbedder {
    worker: Arc<Worker<Job>>,
}

struct Job {
    texts: Vec<String>,
    reply: oneshot::Sender<Vectors>,
}

impl LocalEmbedder {
    /// `path` is the GGUF file of [`crate::weights::EMBEDDER`]. It is read in the background, so that it is loaded when the first
    /// text comes. If that fails, the next call tries again and reports it.
    pub fn open(path: PathBuf) -> Self {
        let run = move || {
            let path = path.clone();
            Box::new(move |jobs| serve(&jobs, &path)) as _
        };
        let embedder = Self {
            worker: Arc::new(Worker::new("embedder", run)),
        };
        drop(embedder.embed(Vec::new()));
        embedder
    }
}

impl Embedder for LocalEmbedder {
    fn name(&self) -> &'static str {
        "local:all-MiniLM-L6-v2"
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Vectors> {
        let (reply, vectors) = oneshot::channel();
        let sent = self.worker.send(Job { texts, reply });
        let worker = Arc::clone(&self.worker);
        Box::pin(async move {
            sent?;
            let vectors = vectors
                .await
                .unwrap_or_else(|_| Err(local_error("the embedder thread ended without a result")));
            drop(worker);
            vectors
        })
    }
}

fn serve(jobs: &Receiver<Job>, path: &Path) {
    // Loading is retried with each call: the file may have been downloaded since.
    while let Ok(job) = jobs.recv() {
        let model = match load_model(path) {
            Ok(model) => model,
            Err(error) => {
                let _ = job.reply.send(Err(error));
                continue;
            }
        };
        match open_context(&model) {
            Ok(context) => {
                let cores = available_parallelism().map_or(1, usize::from);
                let mut texts = TextEmbedder {
                    model: &model,
                    contexts: vec![context],
                    max_contexts: cores.min(MAX_CONTEXTS),
                    recent: HashMap::new(),
                };
                texts.reply(waiting(job, jobs, texts.max_contexts));
                while let Ok(job) = jobs.recv() {
                    texts.reply(waiting(job, jobs, texts.max_contexts));
                }
            }
            Err(error) => {
                let _ = job.reply.send(Err(error));
            }
        }
    }
}

fn open_context(model: &LlamaModel) -> Result<LlamaContext<'_>, ModelError> {
    let tokens = u32::try_from(BATCH_TOKENS).unwrap_or(u32::MAX);
    let parameters = LlamaContextParams::default()
        .with_n_ctx(std::num::NonZeroU32::new(tokens))
        .with_n_batch(tokens)
        .with_n_ubatch(tokens)
        .with_n_seq_max(u32::try_from(BATCH_TEXTS).unwrap_or(u32::MAX))
        .with_kv_unified(true)
        .with_embeddings(true)
        .with_pooling_type(LlamaPoolingType::Mean)
        .with_n_threads(1)
        .with_n_threads_batch(1);
    model
        .new_context(backend()?, parameters)
        .map_err(|error| local_error(format!("cannot create the embedder's context: {error}")))
}

/// A job and those that wait behind it, as many as fit into one batch for each context: with more than that the first jobs would
/// wait for the last.
fn waiting(first: Job, jobs: &Receiver<Job>, contexts: usize) -> Vec<Job> {
    let length = |job: &Job| {
        job.texts
            .iter()
            .map(|text| text.len() / 4 + 2)
            .sum::<usize>()
    };
    let mut tokens = length(&first);
    let mut together = vec![first];
    while tokens < BATCH_TOKENS * contexts
        && let Ok(job) = jobs.try_recv()
    {
        tokens += length(&job);
        together.push(job);
    }
    together
}

struct TextEmbedder<'model> {
    model: &'model LlamaModel,
    /// At least one. Another is opened when there are more batches than contexts.
    contexts: Vec<LlamaContext<'model>>,
    max_contexts: usize,
    recent: HashMap<String, Vec<f32>>,
}

impl TextEmbedder<'_> {
    fn reply(&mut self, jobs: Vec<Job>) {
        let mut new: Vec<&str> = jobs
            .iter()
            .flat_map(|job| &job.texts)
            .map(String::as_str)
            .filter(|text| !self.recent.contains_key(*text))
            .collect();
        new.sort_unstable();
        new.dedup();
        let known = self.compute(&new).map(|vectors| {
            let new = new.into_iter().map(str::to_owned).zip(vectors);
            self.recent.extend(new);
        });
        for Job { texts, reply } in jobs {
            let vectors = known.clone().map(|()| {
                let vectors = texts.iter().filter_map(|text| self.recent.get(text));
                vectors.cloned().collect()
            });
            let _ = reply.send(vectors);
        }
        if self.recent.len() > RECENT {
            self.recent.clear();
        }
    }

    fn compute(&mut self, texts: &[&str]) -> Vectors {
        let tokens: Vec<_> = texts
            .iter()
            .map(|text| tokenize(text, self.model))
            .collect();
        let mut vectors = Vec::with_capacity(texts.len());
        for batches in batches(&tokens, self.max_contexts).chunks(self.max_contexts) {
            while self.contexts.len() < batches.len() {
                self.contexts.push(open_context(self.model)?);
            }
            let _lock = compute_lock();
            for batch in encode_all(&mut self.contexts, batches) {
                vectors.extend(batch?);
            }
        }
        Ok(vectors)
    }
}

/// Computes each batch in a context of its own, the first one on this thread.
fn encode_all(contexts: &mut [LlamaContext], batches: &[Batch]) -> Vec<Vectors> {
    thread::scope(|scope| {
        let mut pairs = contexts.iter_mut().zip(batches);
        let first = pairs.next();
        let others: Vec<_> = pairs
            .map(|(context, texts)| scope.spawn(|| encode(context, texts)))
            .collect();
        let first = first.map(|(context, texts)| encode(context, texts));
        let others = others.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(local_error("a thread of the embedder panicked")))
        });
        first.into_iter().chain(others).collect()
    })
}

fn encode(context: &mut LlamaContext, texts: &[Vec<LlamaToken>]) -> Vectors {
    let mut batch = LlamaBatch::new(BATCH_TOKENS, 1);
    for (sequence, text) in (0..).zip(texts) {
        for (position, token) in (0..).zip(text) {
            // Mean pooling reads every token, so every token is an output.
            batch
                .add(*token, position, &[sequence], true)
                .map_err(|error| {
                    local_error(format!("cannot add a token to the batch: {error}"))
                })?;
        }
    }
    context
        .encode(&mut batch)
        .map_err(|error| local_error(format!("cannot embed the texts: {error}")))?;
    let vectors = (0..).take(texts.len()).map(|sequence| {
        let vector = context.embeddings_seq_ith(sequence);
        vector
            .map(normalize)
            .map_err(|error| local_error(format!("no embedding for a text: {error}")))
    });
    vectors.collect()
}

/// Begin token, words, end token. A long text is truncated but keeps its end token.
fn tokenize(text: &str, model: &LlamaModel) -> Vec<LlamaToken> {
    // Bounds the cost of a huge text: tokens average less than 32 bytes.
    let cut = text.floor_char_boundary(BATCH_TOKENS * 32);
    let mut tokens = model.vocab().tokenize(&text.as_bytes()[..cut], true, false);
    if tokens.len() > BATCH_TOKENS {
        tokens.truncate(BATCH_TOKENS - 1);
        tokens.push(model.vocab().sep());
    }
    tokens
}

/// The tokens of texts that are computed together.
type Batch<'t> = &'t [Vec<LlamaToken>];

/// Splits the texts into consecutive batches: no larger than the limit, and about equal if there are fewer batches than contexts.
fn batches(texts: &[Vec<LlamaToken>], contexts: usize) -> Vec<Batch<'_>> {
    let total: usize = texts.iter().map(Vec::len).sum();
    let share = total.div_ceil(contexts).max(LEAST_TOKENS);
    let mut batches = Vec::new();
    let (mut start, mut tokens) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        let is_full = tokens + text.len() > BATCH_TOKENS || index - start == BATCH_TEXTS;
        if index > start && (tokens >= share || is_full) {
            batches.push(&texts[start..index]);
            (start, tokens) = (index, 0);
        }
        tokens += text.len();
    }
    if start < texts.len() {
        batches.push(&texts[start..]);
    }
    batches
}

fn normalize(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector
        .iter()
        .map(|x| x / length.max(f32::MIN_POSITIVE))
        .collect()
}

#[cfg(test)]
#[path = "embedder_tests.rs"]
mod tests;
