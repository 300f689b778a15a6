//! Continuous batching: decodes all running requests together.
//!
//! Each batch has the newest token of every request that is generating, then as many prompt tokens as fit. A request waits
//! while the KV cache has no room for it. A request that shares a long prefix with a prompt being read waits for that prefix
//! and reuses it.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::mpsc::Receiver;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use roundtable_core::usage::Usage;
use roundtable_engine::model::{Delta, Finish, ModelError, Request};

use super::grammar::GrammarFactory;
use super::kv_cache::{CacheOp, KvCache, Prefix, Slot, common_prefix_len};
use super::sampler::{SchemaState, TokenSampler};
use super::utf8_decoder::Utf8Decoder;
use super::{Job, PrefixCache, Replies, Settings, prompt};
use crate::runtime::{backend, compute_lock, local_error};

/// Tokens per step: large enough to use the cores, small enough not to stall requests that are generating.
const BATCH_TOKENS: u32 = 256;
/// A request waits for a prefix being read only if that saves at least this many tokens.
const MIN_SHARED_TO_WAIT: usize = 32;
/// A prompt must leave room for a reply of this many tokens, or for the requested maximum if that is less.
const MIN_REPLY_TOKENS: usize = 32;
/// The limit for cells of finished requests, kept for reuse. With twice as many, decoding is a third slower.
const MAX_IDLE_CELLS: usize = 2048;
/// `LLAMA_FLASH_ATTN_TYPE_DISABLED`. On CPUs flash attention is slower: at 4,000 tokens, half the tokens per second.
const FLASH_ATTENTION_DISABLED: i32 = 0;

pub(super) struct Batcher<'m> {
    model: &'m LlamaModel,
    context: LlamaContext<'m>,
    settings: Settings,
    /// The limit for prompt and reply of one request.
    context_tokens: usize,
    prefix_cache: PrefixCache,
    grammars: Option<GrammarFactory>,
    cache: KvCache,
    waiting: VecDeque<Waiting>,
    running: Vec<Running>,
    batch: LlamaBatch<'static>,
    candidates: LlamaTokenDataArray,
}

struct Waiting {
    prompt: Vec<LlamaToken>,
    /// The limit for the reply.
    reply_tokens: usize,
    sampler: TokenSampler,
    replies: Replies,
}

struct Running {
    slot: Slot,
    /// The prompt and the reply so far.
    tokens: Vec<LlamaToken>,
    prompt_tokens: usize,
    reply_tokens: usize,
    /// The number of tokens that the model has read; the rest are pending.
    read: usize,
    cached: usize,
    sampler: TokenSampler,
    decoder: Utf8Decoder,
    replies: Replies,
}

impl Running {
    fn pending(&self) -> &[LlamaToken] {
        &self.tokens[self.read..]
    }

    fn generated(&self) -> usize {
        self.tokens.len() - self.prompt_tokens
    }

    /// The prefix kept for reuse: the prompt only, because no other prompt continues with this reply.
    fn reusable_prefix(&self, prefix_cache: PrefixCache) -> Prefix {
        let tokens = match prefix_cache {
            PrefixCache::Enabled => self.prompt_tokens.min(self.read),
            PrefixCache::Disabled => 0,
        };
        Prefix {
            slot: self.slot,
            tokens,
        }
    }

    /// The number of cells it may still need.
    fn outstanding(&self) -> usize {
        self.prompt_tokens + self.reply_tokens - self.read
    }
}

/// Whether a waiting request can start.
enum Admission {
    Start(Option<Prefix>),
    /// A running request is reading a prefix that this one shares.
    PrefixPending,
    NoRoom,
}

impl<'m> Batcher<'m> {
    pub(super) fn new(model: &'m LlamaModel, settings: Settings) -> Result<Self, ModelError> {
        let context_tokens = settings.context_tokens.min(model.n_ctx_train()).max(1);
        let cells = cache_cells(model, context_tokens, settings.cache_bytes);
        let parallel = settings.parallel.max(1);
        // Room for as many idle sequences as busy ones.
        let slots = parallel.saturating_mul(2).min(256);
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(cells))
            .with_n_batch(BATCH_TOKENS)
            .with_n_ubatch(BATCH_TOKENS)
            .with_n_seq_max(slots)
            .with_kv_unified(true)
            .with_swa_full(true)
            .with_flash_attention_policy(FLASH_ATTENTION_DISABLED)
            .with_n_threads(settings.threads.as_i32())
            .with_n_threads_batch(settings.threads.as_i32());
        let context = model.new_context(backend()?, parameters).map_err(|error| {
            local_error(format!(
                "cannot allocate a context of {cells} tokens: {error}"
            ))
        })?;
        // Recurrent models have a state instead of a KV cache and cannot return to an earlier position.
        let prefix_cache = if model.is_recurrent() || model.is_hybrid() {
            PrefixCache::Disabled
        } else {
            settings.prefix_cache
        };
        Ok(Self {
            model,
            settings,
            context_tokens: context_tokens as usize,
            prefix_cache,
            grammars: None,
            cache: KvCache::new(context.n_ctx() as usize, MAX_IDLE_CELLS, slots as usize),
            context,
            waiting: VecDeque::new(),
            running: Vec::new(),
            // One sequence per token; `LlamaBatch` does not check this limit.
            batch: LlamaBatch::new(BATCH_TOKENS as usize, 1),
            candidates: LlamaTokenDataArray::new(Vec::new(), false),
        })
    }

    /// Runs until the channel is closed and all jobs are done.
    pub(super) fn serve(mut self, first: Job, jobs: &Receiver<Job>) {
        self.enqueue(first);
        loop {
            while let Ok(job) = jobs.try_recv() {
                self.enqueue(job);
            }
            self.drop_cancelled();
            if self.running.is_empty() && self.waiting.is_empty() {
                match jobs.recv() {
                    Ok(job) => self.enqueue(job),
                    Err(_) => return,
                }
            }
            self.admit();
            if let Err(error) = self.step() {
                self.fail_all(&error);
            }
        }
    }

    fn enqueue(&mut self, job: Job) {
        let Job { request, replies } = job;
        match self.prepare(&request) {
            Ok((prompt, reply_tokens, sampler)) => self.waiting.push_back(Waiting {
                prompt,
                reply_tokens,
                sampler,
                replies,
            }),
            Err(error) => {
                let _ = replies.unbounded_send(Err(error));
            }
        }
    }

    fn prepare(
        &mut self,
        request: &Request,
    ) -> Result<(Vec<LlamaToken>, usize, TokenSampler), ModelError> {
        let prompt = prompt::tokens(request, self.model)?;
        let requested = (request.max_output_tokens as usize).max(1);
        let room = self.context_tokens.saturating_sub(prompt.len());
        if room < requested.min(MIN_REPLY_TOKENS) {
            return Err(ModelError::TooLong {
                detail: format!(
                    "the prompt has {} tokens and the reply may have {requested}; the context holds {}",
                    prompt.len(),
                    self.context_tokens
                ),
            });
        }
        let matcher = match &request.schema {
            None => None,
            Some(schema) => {
                let grammars = match &mut self.grammars {
                    Some(grammars) => grammars,
                    none => none.insert(GrammarFactory::new(self.model)?),
                };
                Some(grammars.matcher(schema)?)
            }
        };
        let sampler = TokenSampler::new(
            request.temperature,
            request.seed,
            self.model.n_vocab(),
            matcher,
        );
        Ok((prompt, requested.min(room), sampler))
    }

    /// Drops requests whose receiver is gone. Their prompts stay in the cache until the room is needed.
    fn drop_cancelled(&mut self) {
        self.waiting.retain(|waiting| !waiting.replies.is_closed());
        let (cache, prefix_cache) = (&mut self.cache, self.prefix_cache);
        self.running.retain(|running| {
            let open = !running.replies.is_closed();
            if !open {
                cache.retire(running.reusable_prefix(prefix_cache));
            }
            open
        });
    }

    /// Starts waiting requests in order of arrival; those waiting for a prefix are skipped.
    fn admit(&mut self) {
        let mut index = 0;
        while self.running.len() < self.settings.parallel.max(1) as usize {
            let Some(waiting) = self.waiting.get(index) else {
                return;
            };
            match self.admission(waiting) {
                Admission::PrefixPending => index += 1,
                Admission::NoRoom => return,
                Admission::Start(prefix) => {
                    if let Some(waiting) = self.waiting.remove(index) {
                        self.start(waiting, prefix);
                    }
                }
            }
        }
    }

    fn admission(&self, waiting: &Waiting) -> Admission {
        // The last token is always decoded: its logits give the next token.
        let reusable = &waiting.prompt[..waiting.prompt.len().saturating_sub(1)];
        let prefix = match self.prefix_cache {
            PrefixCache::Enabled => self.cache.longest_prefix(reusable),
            PrefixCache::Disabled => None,
        };
        if self.prefix_cache == PrefixCache::Enabled {
            let cached = prefix.map_or(0, |prefix| prefix.tokens);
            let prompts = self.running.iter();
            let pending = prompts
                .map(|running| {
                    common_prefix_len(&running.tokens[..running.prompt_tokens], reusable)
                })
                .max()
                .unwrap_or(0);
            if pending >= cached + MIN_SHARED_TO_WAIT {
                return Admission::PrefixPending;
            }
        }
        let reserved: usize = self.running.iter().map(Running::outstanding).sum();
        let needed = self
            .cache
            .additional_cells(prefix, waiting.prompt.len() + waiting.reply_tokens);
        if self.cache.busy_cells() + reserved + needed > self.cache.capacity() {
            return Admission::NoRoom;
        }
        Admission::Start(prefix)
    }

    fn start(&mut self, waiting: Waiting, prefix: Option<Prefix>) {
        let slot = match self.cache.open(prefix) {
            Ok(slot) => slot,
            Err(error) => {
                let _ = waiting
                    .replies
                    .unbounded_send(Err(local_error(error.to_string())));
                return;
            }
        };
        let cached = prefix.map_or(0, |prefix| prefix.tokens);
        self.running.push(Running {
            slot,
            prompt_tokens: waiting.prompt.len(),
            tokens: waiting.prompt,
            reply_tokens: waiting.reply_tokens,
            read: cached,
            cached,
            sampler: waiting.sampler,
            decoder: Utf8Decoder::default(),
            replies: waiting.replies,
        });
    }

    /// Decodes one batch and samples the next token of every request that has no pending tokens.
    fn step(&mut self) -> Result<(), ModelError> {
        let ready = self.fill_batch()?;
        if self.batch.n_tokens() == 0 {
            return Ok(());
        }
        self.apply_cache_ops()?;
        {
            let _lock = compute_lock();
            self.context
                .decode(&mut self.batch)
                .map_err(|error| local_error(format!("cannot decode: {error}")))?;
            // Decoding may continue in the background; the lock must cover all of it.
            self.context.synchronize();
        }
        let mut ended = Vec::new();
        for (index, output) in ready {
            if let Some(end) = self.advance(index, output) {
                ended.push((index, end));
            }
        }
        ended.sort_by_key(|(index, _)| std::cmp::Reverse(*index));
        for (index, end) in ended {
            let running = self.running.swap_remove(index);
            self.cache
                .retire(running.reusable_prefix(self.prefix_cache));
            finish(running, end);
        }
        Ok(())
    }

    /// Returns the requests whose tokens are all in the batch, each with the batch index of its last token.
    fn fill_batch(&mut self) -> Result<Vec<(usize, i32)>, ModelError> {
        self.batch.clear();
        let mut ready = Vec::new();
        let mut order: Vec<usize> = (0..self.running.len()).collect();
        // Requests that are generating have one token each and come first.
        order.sort_by_key(|index| self.running[*index].pending().len());
        let mut room = BATCH_TOKENS as usize;
        for index in order {
            let running = &mut self.running[index];
            let count = running.pending().len().min(room);
            let all = count == running.pending().len();
            let tokens = &running.tokens[running.read..running.read + count];
            self.cache
                .append(running.slot, tokens)
                .map_err(|error| local_error(error.to_string()))?;
            for (offset, token) in tokens.iter().enumerate() {
                let position = i32::try_from(running.read + offset).unwrap_or(i32::MAX);
                let last = all && offset + 1 == count;
                self.batch
                    .add(*token, position, &[running.slot.as_i32()], last)
                    .map_err(|error| {
                        local_error(format!("cannot add a token to the batch: {error}"))
                    })?;
            }
            running.read += count;
            room -= count;
            if all && count > 0 {
                ready.push((index, self.batch.n_tokens() - 1));
            }
        }
        Ok(ready)
    }

    fn apply_cache_ops(&mut self) -> Result<(), ModelError> {
        for op in self.cache.take_ops() {
            let result = match op {
                CacheOp::Copy { from, to } => {
                    let end = u32::try_from(from.tokens).ok();
                    let (from, to) = (from.slot.as_i32(), to.as_i32());
                    self.context.kv_cache_seq_cp(from, to, Some(0), end)
                }
                CacheOp::Truncate(Prefix { slot, tokens }) => {
                    let start = u32::try_from(tokens).ok();
                    self.context.kv_cache_seq_rm(slot.as_i32(), start, None)
                }
                CacheOp::Clear(slot) => self.context.kv_cache_seq_rm(slot.as_i32(), None, None),
            };
            result.map_err(|error| local_error(format!("cannot update the KV cache: {error}")))?;
        }
        Ok(())
    }

    /// Appends the next token of one request and the tokens that its schema forces after it. Returns the outcome if the reply
    /// is complete.
    fn advance(&mut self, index: usize, output: i32) -> Option<Result<Finish, ModelError>> {
        let running = &mut self.running[index];
        let token = match running
            .sampler
            .sample(&self.context, output, &mut self.candidates)
        {
            Ok(token) => token,
            Err(error) => return Some(Err(error)),
        };
        if self.model.vocab().is_eog(token) {
            return Some(Ok(Finish::Stop));
        }
        let mut next = vec![token];
        let mut forced = false;
        loop {
            for token in next {
                match running.append(token, self.model) {
                    Ok(SchemaState::Open) => {}
                    Ok(SchemaState::Complete) => return Some(Ok(Finish::Stop)),
                    Err(error) => return Some(Err(error)),
                }
                if running.generated() == running.reply_tokens {
                    return Some(Ok(Finish::Length));
                }
            }
            if forced {
                return None;
            }
            forced = true;
            next = running.sampler.forced_tokens(self.model);
        }
    }

    /// Fails all running requests and clears the cache, whose state is unknown after an error.
    fn fail_all(&mut self, error: &ModelError) {
        for running in self.running.drain(..) {
            let _ = running.replies.unbounded_send(Err(error.clone()));
        }
        self.context.clear_kv_cache();
        self.cache.reset();
    }
}

impl Running {
    fn append(&mut self, token: LlamaToken, model: &LlamaModel) -> Result<SchemaState, ModelError> {
        let state = self.sampler.accept(token)?;
        self.tokens.push(token);
        let text = self
            .decoder
            .push(&model.vocab().token_to_piece(token, false, None));
        self.send_text(text);
        Ok(state)
    }

    fn send_text(&self, text: String) {
        if !text.is_empty() {
            // Fails if the request was cancelled, which `drop_cancelled` handles before the next step.
            let _ = self.replies.unbounded_send(Ok(Delta::Text(text)));
        }
    }
}

fn finish(mut running: Running, end: Result<Finish, ModelError>) {
    let rest = running.decoder.finish();
    running.send_text(rest);
    let usage = Usage {
        input: running.prompt_tokens as u64,
        output: running.generated() as u64,
        cached: running.cached as u64,
    };
    let last = [Ok(Delta::Usage(usage)), end.map(Delta::Finish)];
    for reply in last {
        let _ = running.replies.unbounded_send(reply);
    }
}

/// Room for one context, or for up to two if `cache_bytes` allows: then requests run in parallel and prompts stay for reuse.
fn cache_cells(model: &LlamaModel, context_tokens: u32, cache_bytes: u64) -> u32 {
    const BYTES_PER_NUMBER: u64 = 2;
    let width = u64::from(model.n_embd().unsigned_abs()) / u64::from(model.n_head().max(1));
    let numbers = 2 * u64::from(model.n_layer()) * u64::from(model.n_head_kv()) * width;
    let affordable = cache_bytes / (numbers * BYTES_PER_NUMBER).max(1);
    let affordable = u32::try_from(affordable).unwrap_or(u32::MAX);
    affordable.clamp(context_tokens, context_tokens.saturating_mul(2))
}
