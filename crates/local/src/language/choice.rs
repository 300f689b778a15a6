//! Choosing the next token: what the schema allows, then what the model finds likely.

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use llguidance::Matcher;
use llguidance::api::StopReason;
use roundtable_engine::model::ModelError;

use crate::runtime::failed;

/// Beyond these a choice is noise, most of all in small models.
const MOST_LIKELY: i32 = 64;
const PROBABILITY_MASS: f32 = 0.95;
const LEAST_OF_THE_BEST: f32 = 0.05;

/// How many of the last tokens count as repeated, and by how much they become less likely.
const PENALTY_WINDOW: i32 = 96;
const PENALTY: f32 = 1.15;

pub(super) struct Chooser {
    /// The schema as far as it has been filled in. We hold it ourselves, outside the native sampler: there a failing
    /// schema would be passed over in silence.
    schema: Option<Matcher>,
    sampler: LlamaSampler,
}

/// Whether the reply goes on after a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    More,
    /// The schema is filled in; nothing more can follow.
    Complete,
}

impl Chooser {
    pub(super) fn new(
        temperature: f64,
        seed: u64,
        vocabulary: i32,
        schema: Option<Matcher>,
    ) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "temperatures are small")]
        let temperature = temperature as f32;
        // Small models fall into repeating themselves; larger ones hardly notice a penalty this mild.
        let penalty = LlamaSampler::penalties(vocabulary, PENALTY_WINDOW, PENALTY, 0.0, 0.0);
        let sampler = if temperature > 0.0 {
            LlamaSampler::chain_simple([
                penalty,
                LlamaSampler::top_k(MOST_LIKELY),
                LlamaSampler::top_p(PROBABILITY_MASS, 1),
                LlamaSampler::min_p(LEAST_OF_THE_BEST, 1),
                LlamaSampler::temp(temperature),
                LlamaSampler::dist(fold(seed)),
            ])
        } else {
            LlamaSampler::chain_simple([penalty, LlamaSampler::greedy()])
        };
        Self { schema, sampler }
    }

    /// `index` is the place in the batch that was just decoded; `candidates` is room to work in.
    pub(super) fn choose(
        &mut self,
        context: &LlamaContext<'_>,
        index: i32,
        candidates: &mut LlamaTokenDataArray,
    ) -> Result<LlamaToken, ModelError> {
        let logits = context.get_logits_ith(index);
        candidates.data.clear();
        candidates.selected = None;
        candidates.sorted = false;
        let all = (0..).map(LlamaToken).zip(logits.iter().copied());
        let candidate = |(token, logit)| LlamaTokenData::new(token, logit, 0.0);
        match &mut self.schema {
            None => candidates.data.extend(all.map(candidate)),
            Some(schema) => {
                let allowed = schema
                    .compute_mask_or_eos()
                    .map_err(|error| broken(&error))?;
                let allowed = all.filter(|(token, _)| allowed.is_allowed(token.0.cast_unsigned()));
                candidates.data.extend(allowed.map(candidate));
            }
        }
        if candidates.data.is_empty() {
            return Err(failed("its schema allows no token here"));
        }
        candidates.apply_sampler(&mut self.sampler);
        candidates
            .selected_token()
            .ok_or_else(|| failed("no token could be chosen"))
    }

    /// Takes note of a token that is now part of the reply.
    pub(super) fn accept(&mut self, token: LlamaToken) -> Result<Then, ModelError> {
        self.sampler.accept(token);
        let Some(schema) = &mut self.schema else {
            return Ok(Then::More);
        };
        schema
            .consume_token(token.0.cast_unsigned())
            .map_err(|error| broken(&error))?;
        match schema.stop_reason() {
            StopReason::NotStopped => Ok(Then::More),
            StopReason::NoExtension | StopReason::EndOfSentence => Ok(Then::Complete),
            reason @ (StopReason::MaxTokensTotal
            | StopReason::MaxTokensParser
            | StopReason::NoExtensionBias
            | StopReason::InternalError
            | StopReason::LexerTooComplex
            | StopReason::ParserTooComplex
            | StopReason::Cancelled) => Err(failed(format!("its schema gave up: {reason}"))),
        }
    }

    /// The tokens that the schema leaves no choice about: names of fields and what stands between them. They are read
    /// together, which is much faster than choosing them one by one. The last one is left to the model, because it may
    /// want to write it together with what follows.
    pub(super) fn forced(&mut self, model: &LlamaModel) -> Vec<LlamaToken> {
        let Some(schema) = &mut self.schema else {
            return Vec::new();
        };
        let bytes = schema.compute_ff_bytes();
        if bytes.is_empty() {
            return Vec::new();
        }
        let mut tokens = model.vocab().tokenize(&bytes, false, false);
        tokens.pop();
        let ids: Vec<u32> = tokens.iter().map(|token| token.0.cast_unsigned()).collect();
        match schema.validate_tokens(&ids) {
            Ok(fitting) if fitting == ids.len() => tokens,
            Ok(_) | Err(_) => Vec::new(),
        }
    }
}

fn broken(error: &dyn std::fmt::Display) -> ModelError {
    failed(format!("its schema could not be followed: {error}"))
}

/// The sampler takes 32 bits; the value with all bits set would mean "any seed".
fn fold(seed: u64) -> u32 {
    let bytes = seed.to_le_bytes();
    let (low, high) = (
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    );
    (low ^ high).min(u32::MAX - 1)
}
