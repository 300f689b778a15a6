//! The settings of a caller, and the validation of a request.

use roundtable_core::bounded::Probability;
use roundtable_core::panel::EARLY_STOP_CONFIDENCE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Panel;
use crate::cast::{Cast, CastChoice, Part};
use crate::data::{Data, DataError};
use crate::depth::Depth;
use crate::protocol::{Context, EmbedderUse, Fault, FieldKind, FormField, Plan, Protocol, Request};

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
    /// The confidence, from 0 to 1, that every blind answer needs for the panel to stop early. Defaults to 0.8.
    pub early_stop_confidence: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    pub full: bool,
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub ranks: bool,
    pub early_stop_confidence: Probability,
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
    vec![FormField {
        name: "full",
        label: "Always rank",
        hint: "Rank the answers and have the chair conclude even if the blind answers agree.",
        placeholder: "",
        kind: FieldKind::Checkbox,
    }]
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
    let cast = load_cast(context.data, request.cast.as_ref())
        .map_err(|error| faults.push(Fault::new("/cast", error.to_string())))
        .ok();
    match (cast, stop) {
        (Some(cast), Some(early_stop_confidence)) if faults.is_empty() => {
            let rules = Rules {
                full: input.full.unwrap_or(false),
                ranks: input.rank.unwrap_or(true),
                early_stop_confidence,
            };
            Ok(Plan::new(question, cast, EmbedderUse::None, rules))
        }
        _ => Err(faults),
    }
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
