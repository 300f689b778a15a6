//! The settings of a caller, and the validation of a request.

use roundtable_core::bounded::Probability;
use roundtable_core::panel::EARLY_STOP_CONFIDENCE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Panel;
use super::replies::{Answer, MAX_ANSWER_CHARS, MAX_POSITION_CHARS};
use crate::cast::{Cast, CastChoice, Part};
use crate::data::{Data, DataError};
use crate::depth::Depth;
use crate::form::{FieldKind, FormField};
use crate::protocol::{Context, EmbedderUse, Fault, Plan, Protocol, Request};
use crate::round_value::ValueRules;

/// With two models nothing can be ranked: each reads a single answer.
const MIN_SEATS: usize = 3;

/// The rules of a panel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    /// Rank the answers and have the chair conclude even if the blind answers agree.
    pub full: Option<bool>,
    /// Whether the seats rank each other's answers. Without ranks, the chair concludes from the answers alone. Defaults to true.
    pub rank: Option<bool>,
    /// Stop when another round costs more than this for each change that it is expected to bring, in US dollars.
    #[schemars(range(min = 0))]
    pub stop_by_value: Option<f64>,
    /// The confidence, from 0 to 1, that every blind answer needs for the panel to stop early. Defaults to 0.8.
    pub early_stop_confidence: Option<f64>,
    /// An answer of the caller, made before reading any other. It is ranked and weighed like those of the seats, which do not
    /// know whose it is.
    pub my_answer: Option<Answer>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub full: bool,
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub ranks: bool,
    pub early_stop_confidence: Probability,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub my_answer: Option<Answer>,
    /// How the value of another round is judged. `None` in debates of earlier versions, which did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueRules>,
}

/// Panels of earlier versions always ranked.
fn yes() -> bool {
    true
}

/// `quick` leaves the ranking out, `deep` always ranks.
pub(super) fn at_depth(input: Input, depth: Depth) -> Input {
    let (full, rank) = match depth {
        Depth::Normal => return input,
        Depth::Quick => (None, input.full.is_none().then_some(false)),
        Depth::Deep => (Some(true), None),
    };
    Input {
        full: input.full.or(full),
        rank: input.rank.or(rank),
        ..input
    }
}

pub(super) fn form() -> Vec<FormField> {
    vec![
        FormField::new("full", "Always rank", FieldKind::Checkbox)
            .hint("Rank the answers and have the chair conclude even if all answers agree."),
    ]
}

pub(super) fn validate(
    input: &Input,
    request: &Request,
    context: &Context<'_>,
) -> Result<Plan<Rules>, Vec<Fault>> {
    let mut faults = Vec::new();
    let question = request.question.trim().to_owned();
    faults.extend(context.check_question(&question).err());
    let stop = input.early_stop_confidence.unwrap_or(EARLY_STOP_CONFIDENCE);
    let stop = Probability::new(stop)
        .map_err(|error| Fault::new("/rules/early_stop_confidence", error.to_string()))
        .map_err(|fault| faults.push(fault))
        .ok();
    faults.extend(input.my_answer.as_ref().and_then(own_answer_fault));
    let history = context.value.clone();
    let value = ValueRules::new(input.stop_by_value, history)
        .map_err(|message| faults.push(Fault::new("/rules/stop_by_value", message)))
        .ok();
    let cast = load_cast(context.data, request.cast.as_ref())
        .map_err(|error| faults.push(Fault::new("/cast", error.to_string())))
        .ok();
    match (cast, stop) {
        (Some(cast), Some(early_stop_confidence)) if faults.is_empty() => {
            let rules = Rules {
                full: input.full.unwrap_or(false),
                ranks: input.rank.unwrap_or(true),
                early_stop_confidence,
                my_answer: input.my_answer.clone(),
                value,
            };
            Ok(Plan::new(question, cast, EmbedderUse::None, rules))
        }
        _ => Err(faults),
    }
}

/// The limits are those of the seats' answers.
fn own_answer_fault(answer: &Answer) -> Option<Fault> {
    let fault = |field: &str, text: &str, most: usize| {
        let length = text.chars().count();
        let is_valid = !text.trim().is_empty() && length <= most;
        let message = format!("{field} must have 1 to {most} characters and has {length}");
        (!is_valid).then(|| Fault::new(format!("/rules/my_answer/{field}"), message))
    };
    fault("answer", &answer.answer, MAX_ANSWER_CHARS)
        .or_else(|| fault("position", &answer.position, MAX_POSITION_CHARS))
}

fn load_cast(data: &Data, choice: Option<&CastChoice>) -> Result<Cast, DataError> {
    let text = Cast::find(data, choice, Panel::CAST)?;
    let cast = Cast::of(&text)?;
    cast.check_protocol(&text, Panel::NAME)?;
    let count = |part: Part| cast.seats.iter().filter(|seat| seat.part == part).count();
    if count(Part::Panel) < MIN_SEATS || count(Part::Chair) != 1 {
        let message = format!(
            "a panel needs at least {MIN_SEATS} seats that answer and one with part = \"chair\""
        );
        return Err(text.broken(1, message));
    }
    Ok(cast)
}
