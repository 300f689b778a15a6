//! The input of a dialectic and its validation (P-01).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::MAX_ROUNDS;
use super::{Dialectic, Rules};
use crate::cast::{Cast, CastChoice};
use crate::data::{Data, DataError};
use crate::depth::Depth;
use crate::form::{FieldKind, FormField};
use crate::protocol::{Context, EmbedderUse, Fault, Plan, Protocol, Request, excess_tokens};

const SEATS: [&str; 4] = ["proposer", "skeptic", "synthesizer", "judge"];

/// The rules of a dialectic. Anything left out is taken from the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "DialecticInput")]
pub struct Input {
    /// The debate does not end before this round, unless the skeptic is ready.
    pub min_rounds: Option<u32>,
    /// The last round.
    pub max_rounds: Option<u32>,
    /// The skeptic's score, from 1 to 10, that ends the debate.
    pub early_stop_score: Option<u8>,
    /// Whether a judge scores the final answer.
    pub auto_score: Option<bool>,
    /// An answer of the caller. The skeptic attacks it in place of the proposer's first one.
    pub my_answer: Option<String>,
}

/// The protocol's part of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub min_rounds: u32,
    pub max_rounds: u32,
    pub early_stop_score: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min_rounds: 3,
            max_rounds: 5,
            early_stop_score: 8,
        }
    }
}

/// `quick` is proposal, critique and answer. Rounds that the caller has set stay, also if it is only one of the two.
pub(super) fn at_depth(input: Input, depth: Depth) -> Input {
    let (min, max, early_stop_score, auto_score) = match depth {
        Depth::Normal => return input,
        Depth::Quick => (1, 1, None, Some(false)),
        Depth::Deep => (4, 8, Some(9), None),
    };
    let is_open = input.min_rounds.is_none() && input.max_rounds.is_none();
    Input {
        min_rounds: input.min_rounds.or(is_open.then_some(min)),
        max_rounds: input.max_rounds.or(is_open.then_some(max)),
        early_stop_score: input.early_stop_score.or(early_stop_score),
        auto_score: input.auto_score.or(auto_score),
        ..input
    }
}

pub(super) fn validate(
    input: &Input,
    request: &Request,
    context: &Context<'_>,
) -> Result<Plan<Rules>, Vec<Fault>> {
    let mut faults = Vec::new();
    let question = request.question.trim().to_owned();
    faults.extend(context.check_question(&question).err());
    let own = input.my_answer.as_deref();
    faults.extend(own.and_then(|answer| own_answer_fault(answer, context.max_question_tokens)));
    let settings: Settings = context.settings();
    let max_rounds = input.max_rounds.unwrap_or(settings.max_rounds);
    // A caller that names only the last round wants no more than that.
    let min_rounds = input
        .max_rounds
        .map_or(settings.min_rounds, |max| settings.min_rounds.min(max));
    let rules = Rules::new(
        input.min_rounds.unwrap_or(min_rounds),
        max_rounds,
        input.early_stop_score.unwrap_or(settings.early_stop_score),
    );
    let rules = rules
        .map_err(|error| faults.push(Fault::new("/rules", error.to_string())))
        .ok();
    let cast = load_cast(context.data, request.cast.as_ref());
    let cast = cast
        .map_err(|error| faults.push(Fault::new("/cast", error.to_string())))
        .ok();
    match (cast, rules) {
        (Some(cast), Some(rules)) if faults.is_empty() => {
            let rules = Rules {
                auto_score: input.auto_score.unwrap_or(true),
                my_answer: input.my_answer.clone(),
                ..rules
            };
            Ok(Plan::new(question, cast, EmbedderUse::Optional, rules))
        }
        _ => Err(faults),
    }
}

pub(super) fn form() -> Vec<FormField> {
    let rounds = FieldKind::Number {
        least: 1,
        most: MAX_ROUNDS,
    };
    vec![FormField::new("max_rounds", "Rounds at most", rounds).placeholder("5")]
}

/// The answer is in every later prompt, like the question.
fn own_answer_fault(answer: &str, limit: u64) -> Option<Fault> {
    let message = if answer.trim().is_empty() {
        "my_answer is empty: leave it out, or give the answer that the skeptic attacks".to_owned()
    } else {
        let count = excess_tokens(answer, limit)?;
        format!("my_answer has {count} tokens; the limit is {limit}")
    };
    Some(Fault::new("/rules/my_answer", message))
}

fn load_cast(data: &Data, choice: Option<&CastChoice>) -> Result<Cast, DataError> {
    let text = Cast::find(data, choice, Dialectic::CAST)?;
    let cast = Cast::of(&text)?;
    cast.check_protocol(&text, Dialectic::NAME)?;
    for seat in SEATS {
        cast.seat(seat).map_err(|_| {
            text.broken(
                1,
                format!(
                    "missing seat '{seat}': `ask` needs the seats {}",
                    SEATS.join(", ")
                ),
            )
        })?;
    }
    Ok(cast)
}
