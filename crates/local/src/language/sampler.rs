//! Token sampling: the schema masks the tokens, then one is drawn from the most likely ones.

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;
use llguidance::Matcher;
use llguidance::api::StopReason;
use roundtable_engine::model::ModelError;

use crate::runtime::local_error;

// Tokens beyond these limits are noise, especially in small models.
const TOP_K: i32 = 64;
const TOP_P: f32 = 0.95;
const MIN_P: f32 = 0.05;

/// The repetition penalty applies to tokens among the last `PENALTY_WINDOW`.
const PENALTY_WINDOW: i32 = 96;
const REPETITION_PENALTY: f32 = 1.15;

pub(super) struct TokenSampler {
    /// The state of schema matching. Kept outside the native sampler, which would silently ignore a failing schema.
    schema: Option<Matcher>,
    sampler: LlamaSampler,
}

/// Whether a reply continues after a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaState {
    Open,
    /// The reply is complete; the schema allows no further token.
    Complete,
}

impl TokenSampler {
    pub(super) fn new(
        temperature: f64,
        seed: u64,
        vocabulary: i32,
        schema: Option<Matcher>,
    ) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "temperatures are small")]
        let temperature = temperature as f32;
        // Small models tend to repeat themselves; larger ones are hardly affected by so mild a penalty.
        let penalty =
            LlamaSampler::penalties(vocabulary, PENALTY_WINDOW, REPETITION_PENALTY, 0.0, 0.0);
        let sampler = if temperature > 0.0 {
            LlamaSampler::chain_simple([
                penalty,
                LlamaSampler::top_k(TOP_K),
                LlamaSampler::top_p(TOP_P, 1),
                LlamaSampler::min_p(MIN_P, 1),
                LlamaSampler::temp(temperature),
                LlamaSampler::dist(fold_seed(seed)),
            ])
        } else {
            LlamaSampler::chain_simple([penalty, LlamaSampler::greedy()])
        };
        Self { schema, sampler }
    }

    /// Draws a token. `index` is the position in the decoded batch; `candidates` is a reused buffer.
    pub(super) fn sample(
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
                    .map_err(|error| schema_error(&error))?;
                let allowed = all.filter(|(token, _)| allowed.is_allowed(token.0.cast_unsigned()));
                candidates.data.extend(allowed.map(candidate));
            }
        }
        if candidates.data.is_empty() {
            return Err(local_error("the schema allows no token at this position"));
        }
        candidates.apply_sampler(&mut self.sampler);
        candidates
            .selected_token()
            .ok_or_else(|| local_error("the sampler selected no token"))
    }

    /// Updates the state with a token that was added to the reply.
    pub(super) fn accept(&mut self, token: LlamaToken) -> Result<SchemaState, ModelError> {
        self.sampler.accept(token);
        let Some(schema) = &mut self.schema else {
            return Ok(SchemaState::Open);
        };
        schema
            .consume_token(token.0.cast_unsigned())
            .map_err(|error| schema_error(&error))?;
        match schema.stop_reason() {
            StopReason::NotStopped => Ok(SchemaState::Open),
            StopReason::NoExtension | StopReason::EndOfSentence => Ok(SchemaState::Complete),
            reason @ (StopReason::MaxTokensTotal
            | StopReason::MaxTokensParser
            | StopReason::NoExtensionBias
            | StopReason::InternalError
            | StopReason::LexerTooComplex
            | StopReason::ParserTooComplex
            | StopReason::Cancelled) => {
                Err(local_error(format!("schema matching stopped: {reason}")))
            }
        }
    }

    /// The tokens that the schema determines, such as field names. Decoding them as a batch is much faster than sampling them
    /// one by one. The last one is omitted: the model may prefer a token that joins it with the following text.
    pub(super) fn forced_tokens(&mut self, model: &LlamaModel) -> Vec<LlamaToken> {
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
            Ok(valid) if valid == ids.len() => tokens,
            Ok(_) | Err(_) => Vec::new(),
        }
    }
}

fn schema_error(error: &dyn std::fmt::Display) -> ModelError {
    local_error(format!("schema matching failed: {error}"))
}

/// The sampler takes 32 bits and treats `u32::MAX` as "random seed".
fn fold_seed(seed: u64) -> u32 {
    let bytes = seed.to_le_bytes();
    let (low, high) = (
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
    );
    (low ^ high).min(u32::MAX - 1)
}
