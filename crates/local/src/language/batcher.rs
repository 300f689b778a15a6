//! Decodes all requests together.
//!
//! Each step puts into one batch the newest token of every request that is writing and as much of the prompts that are
//! still being read as fits. A request that does not fit the cache waits its turn; one whose prompt begins like another
//! that is just being read waits for that beginning and then goes on from there.

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

use super::cache::{Beginning, Cache, Change, Slot, shared_length};
use super::choice::{Chooser, Then};
use super::grammar::Grammars;
use super::pieces::Pieces;
use super::{Job, Replies, Reuse, Settings, prompt};
use crate::runtime::{backend, failed, turn};

/// Tokens in one step: large enough to use the cores, small enough that those who write do not stall.
const BATCH_TOKENS: u32 = 256;
/// A prompt waits for a beginning that is just being read only if that saves at least this many tokens.
const WORTH_WAITING: usize = 32;
/// A prompt must leave room for a reply of this many tokens, or for as many as were asked for.
const LEAST_REPLY: usize = 32;
/// What finished requests may leave in the cache for later ones. With twice as much, all others are a third slower.
const IDLE_CELLS: usize = 2048;
/// The native runtime's number for "no flash attention". On processors it is the slower one: at 4,000 tokens, half as many
/// a second.
const PLAIN_ATTENTION: i32 = 0;

pub(super) struct Batcher<'m> {
    model: &'m LlamaModel,
    context: LlamaContext<'m>,
    settings: Settings,
    /// What one request may use.
    context_tokens: usize,
    reuse: Reuse,
    grammars: Option<Grammars>,
    cache: Cache,
    waiting: VecDeque<Waiting>,
    running: Vec<Running>,
    batch: LlamaBatch<'static>,
    candidates: LlamaTokenDataArray,
}

struct Waiting {
    prompt: Vec<LlamaToken>,
    /// The most that the reply may have.
    reply_tokens: usize,
    chooser: Chooser,
    replies: Replies,
}

struct Running {
    slot: Slot,
    /// The prompt and the reply as far as it goes.
    tokens: Vec<LlamaToken>,
    prompt_tokens: usize,
    reply_tokens: usize,
    /// How many of the tokens the model has read; the rest are pending.
    read: usize,
    cached: usize,
    chooser: Chooser,
    pieces: Pieces,
    replies: Replies,
}

impl Running {
    fn pending(&self) -> &[LlamaToken] {
        &self.tokens[self.read..]
    }

    fn written(&self) -> usize {
        self.tokens.len() - self.prompt_tokens
    }

    /// What stays of it for others: its prompt. Nobody else's prompt goes on with its reply.
    fn remainder(&self, reuse: Reuse) -> Beginning {
        let tokens = match reuse {
            Reuse::SharedBeginnings => self.prompt_tokens.min(self.read),
            Reuse::Nothing => 0,
        };
        Beginning {
            slot: self.slot,
            tokens,
        }
    }

    /// Cells it may yet need.
    fn outstanding(&self) -> usize {
        self.prompt_tokens + self.reply_tokens - self.read
    }
}

/// Whether a waiting request can begin.
enum Admission {
    Now(Option<Beginning>),
    /// Its beginning is just being read for another.
    BeginningComes,
    NoRoom,
}

impl<'m> Batcher<'m> {
    pub(super) fn new(model: &'m LlamaModel, settings: Settings) -> Result<Self, ModelError> {
        let context_tokens = settings.context_tokens.min(model.n_ctx_train()).max(1);
        let cells = cells(model, context_tokens, settings.cache_bytes);
        let parallel = settings.parallel.max(1);
        // As many idle sequences as busy ones.
        let slots = parallel.saturating_mul(2).min(256);
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(cells))
            .with_n_batch(BATCH_TOKENS)
            .with_n_ubatch(BATCH_TOKENS)
            .with_n_seq_max(slots)
            .with_kv_unified(true)
            .with_swa_full(true)
            .with_flash_attention_policy(PLAIN_ATTENTION)
            .with_n_threads(settings.threads.as_i32())
            .with_n_threads_batch(settings.threads.as_i32());
        let context = model
            .new_context(backend()?, parameters)
            .map_err(|error| failed(format!("no memory for {cells} tokens: {error}")))?;
        // Models with a running state instead of a cache cannot go back to the middle of what they read.
        let reuse = if model.is_recurrent() || model.is_hybrid() {
            Reuse::Nothing
        } else {
            settings.reuse
        };
        Ok(Self {
            model,
            settings,
            context_tokens: context_tokens as usize,
            reuse,
            grammars: None,
            cache: Cache::new(context.n_ctx() as usize, IDLE_CELLS, slots as usize),
            context,
            waiting: VecDeque::new(),
            running: Vec::new(),
            // One sequence to a token: the batch does not check it.
            batch: LlamaBatch::new(BATCH_TOKENS as usize, 1),
            candidates: LlamaTokenDataArray::new(Vec::new(), false),
        })
    }

    /// Serves until nobody can send jobs any more and all that came are done.
    pub(super) fn serve(mut self, first: Job, jobs: &Receiver<Job>) {
        self.take(first);
        loop {
            while let Ok(job) = jobs.try_recv() {
                self.take(job);
            }
            self.forget_abandoned();
            if self.running.is_empty() && self.waiting.is_empty() {
                match jobs.recv() {
                    Ok(job) => self.take(job),
                    Err(_) => return,
                }
            }
            self.admit();
            if let Err(error) = self.step() {
                self.fail_all(&error);
            }
        }
    }

    fn take(&mut self, job: Job) {
        let Job { request, replies } = job;
        match self.prepare(&request) {
            Ok((prompt, reply_tokens, chooser)) => self.waiting.push_back(Waiting {
                prompt,
                reply_tokens,
                chooser,
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
    ) -> Result<(Vec<LlamaToken>, usize, Chooser), ModelError> {
        let prompt = prompt::tokens(request, self.model)?;
        let asked = (request.max_output_tokens as usize).max(1);
        let room = self.context_tokens.saturating_sub(prompt.len());
        if room < asked.min(LEAST_REPLY) {
            return Err(ModelError::TooLong {
                detail: format!(
                    "the prompt has {} tokens and the reply may have {asked}; the context holds {}",
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
                    none => none.insert(Grammars::of(self.model)?),
                };
                Some(grammars.matcher(schema)?)
            }
        };
        let chooser = Chooser::new(
            request.temperature,
            request.seed,
            self.model.n_vocab(),
            matcher,
        );
        Ok((prompt, asked.min(room), chooser))
    }

    /// Nobody listens to them any more. What they read stays for others until its room is needed.
    fn forget_abandoned(&mut self) {
        self.waiting.retain(|waiting| !waiting.replies.is_closed());
        let (cache, reuse) = (&mut self.cache, self.reuse);
        self.running.retain(|running| {
            let listens = !running.replies.is_closed();
            if !listens {
                cache.settle(running.remainder(reuse));
            }
            listens
        });
    }

    /// In the order they came, except that those who wait for a beginning let others pass.
    fn admit(&mut self) {
        let mut index = 0;
        while self.running.len() < self.settings.parallel.max(1) as usize {
            let Some(waiting) = self.waiting.get(index) else {
                return;
            };
            match self.admission(waiting) {
                Admission::BeginningComes => index += 1,
                Admission::NoRoom => return,
                Admission::Now(beginning) => {
                    if let Some(waiting) = self.waiting.remove(index) {
                        self.start(waiting, beginning);
                    }
                }
            }
        }
    }

    fn admission(&self, waiting: &Waiting) -> Admission {
        // The last token is always read, because its reading tells what comes next.
        let reusable = &waiting.prompt[..waiting.prompt.len().saturating_sub(1)];
        let beginning = match self.reuse {
            Reuse::SharedBeginnings => self.cache.longest_beginning(reusable),
            Reuse::Nothing => None,
        };
        if self.reuse == Reuse::SharedBeginnings {
            let held = beginning.map_or(0, |beginning| beginning.tokens);
            let prompts = self.running.iter();
            let coming = prompts
                .map(|running| shared_length(&running.tokens[..running.prompt_tokens], reusable))
                .max()
                .unwrap_or(0);
            if coming >= held + WORTH_WAITING {
                return Admission::BeginningComes;
            }
        }
        let promised: usize = self.running.iter().map(Running::outstanding).sum();
        let claim = self
            .cache
            .claim(beginning, waiting.prompt.len() + waiting.reply_tokens);
        if self.cache.busy_cells() + promised + claim > self.cache.capacity() {
            return Admission::NoRoom;
        }
        Admission::Now(beginning)
    }

    fn start(&mut self, waiting: Waiting, beginning: Option<Beginning>) {
        let slot = match self.cache.open(beginning) {
            Ok(slot) => slot,
            Err(error) => {
                let _ = waiting
                    .replies
                    .unbounded_send(Err(failed(error.to_string())));
                return;
            }
        };
        let cached = beginning.map_or(0, |beginning| beginning.tokens);
        self.running.push(Running {
            slot,
            prompt_tokens: waiting.prompt.len(),
            tokens: waiting.prompt,
            reply_tokens: waiting.reply_tokens,
            read: cached,
            cached,
            chooser: waiting.chooser,
            pieces: Pieces::default(),
            replies: waiting.replies,
        });
    }

    /// Reads one batch and lets every request that is through with its tokens choose the next.
    fn step(&mut self) -> Result<(), ModelError> {
        let ready = self.fill_batch()?;
        if self.batch.n_tokens() == 0 {
            return Ok(());
        }
        self.make_changes()?;
        {
            let _turn = turn();
            self.context
                .decode(&mut self.batch)
                .map_err(|error| failed(format!("it cannot read on: {error}")))?;
            // Decoding may go on in the background; the turn must not end before it does.
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
            self.cache.settle(running.remainder(self.reuse));
            finish(running, end);
        }
        Ok(())
    }

    /// Returns which requests have all their tokens in the batch, and where the last one is.
    fn fill_batch(&mut self) -> Result<Vec<(usize, i32)>, ModelError> {
        self.batch.clear();
        let mut ready = Vec::new();
        let mut order: Vec<usize> = (0..self.running.len()).collect();
        // Those who write have one token each and come first.
        order.sort_by_key(|index| self.running[*index].pending().len());
        let mut room = BATCH_TOKENS as usize;
        for index in order {
            let running = &mut self.running[index];
            let taken = running.pending().len().min(room);
            let all = taken == running.pending().len();
            let tokens = &running.tokens[running.read..running.read + taken];
            self.cache
                .append(running.slot, tokens)
                .map_err(|error| failed(error.to_string()))?;
            for (offset, token) in tokens.iter().enumerate() {
                let place = i32::try_from(running.read + offset).unwrap_or(i32::MAX);
                let last = all && offset + 1 == taken;
                self.batch
                    .add(*token, place, &[running.slot.as_i32()], last)
                    .map_err(|error| failed(format!("a batch is too large: {error}")))?;
            }
            running.read += taken;
            room -= taken;
            if all && taken > 0 {
                ready.push((index, self.batch.n_tokens() - 1));
            }
        }
        Ok(ready)
    }

    fn make_changes(&mut self) -> Result<(), ModelError> {
        for change in self.cache.take_changes() {
            let made = match change {
                Change::Copy { from, to } => {
                    let end = u32::try_from(from.tokens).ok();
                    let (from, to) = (from.slot.as_i32(), to.as_i32());
                    self.context.kv_cache_seq_cp(from, to, Some(0), end)
                }
                Change::Cut(Beginning { slot, tokens }) => {
                    let start = u32::try_from(tokens).ok();
                    self.context.kv_cache_seq_rm(slot.as_i32(), start, None)
                }
                Change::Clear(slot) => self.context.kv_cache_seq_rm(slot.as_i32(), None, None),
            };
            made.map_err(|error| failed(format!("its cache cannot be changed: {error}")))?;
        }
        Ok(())
    }

    /// Writes the next token of one request, and those that follow without a choice. Returns how it ended, if it did.
    fn advance(&mut self, index: usize, output: i32) -> Option<Result<Finish, ModelError>> {
        let running = &mut self.running[index];
        let token = match running
            .chooser
            .choose(&self.context, output, &mut self.candidates)
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
                match running.write(token, self.model) {
                    Ok(Then::More) => {}
                    Ok(Then::Complete) => return Some(Ok(Finish::Stop)),
                    Err(error) => return Some(Err(error)),
                }
                if running.written() == running.reply_tokens {
                    return Some(Ok(Finish::Length));
                }
            }
            if forced {
                return None;
            }
            forced = true;
            next = running.chooser.forced(self.model);
        }
    }

    /// The native cache is in an unknown state: everybody hears of it, and the next request begins afresh.
    fn fail_all(&mut self, error: &ModelError) {
        for running in self.running.drain(..) {
            let _ = running.replies.unbounded_send(Err(error.clone()));
        }
        self.context.clear_kv_cache();
        self.cache.reset();
    }
}

impl Running {
    fn write(&mut self, token: LlamaToken, model: &LlamaModel) -> Result<Then, ModelError> {
        let then = self.chooser.accept(token)?;
        self.tokens.push(token);
        let text = self
            .pieces
            .push(&model.vocab().token_to_piece(token, false, None));
        self.say(text);
        Ok(then)
    }

    fn say(&self, text: String) {
        if !text.is_empty() {
            // Nobody may listen any more; that is seen before the next step.
            let _ = self.replies.unbounded_send(Ok(Delta::Text(text)));
        }
    }
}

fn finish(mut running: Running, end: Result<Finish, ModelError>) {
    let rest = running.pieces.finish();
    running.say(rest);
    let usage = Usage {
        input: running.prompt_tokens as u64,
        output: running.written() as u64,
        cached: running.cached as u64,
    };
    let last = [Ok(Delta::Usage(usage)), end.map(Delta::Finish)];
    for reply in last {
        let _ = running.replies.unbounded_send(reply);
    }
}

/// One context at least, two where memory allows: then seats find room beside each other and prompts can stay.
fn cells(model: &LlamaModel, context_tokens: u32, cache_bytes: u64) -> u32 {
    const BYTES_OF_A_NUMBER: u64 = 2;
    let width = u64::from(model.n_embd().unsigned_abs()) / u64::from(model.n_head().max(1));
    let numbers = 2 * u64::from(model.n_layer()) * u64::from(model.n_head_kv()) * width;
    let affordable = cache_bytes / (numbers * BYTES_OF_A_NUMBER).max(1);
    let affordable = u32::try_from(affordable).unwrap_or(u32::MAX);
    affordable.clamp(context_tokens, context_tokens.saturating_mul(2))
}
