//! The rules that a request may set, of all protocols, as the document shows them. Which of them a protocol has, and what they
//! may be, it says itself when it is asked for something else.

use roundtable_engine::algorithm::Algorithm;
use roundtable_engine::data::Data;
use roundtable_engine::mode::Mode;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

pub(super) fn schema(_: &mut SchemaGenerator) -> Schema {
    let whole = |text: &str| json!({ "type": "integer", "minimum": 0, "description": text });
    let words = |text: &str| json!({ "type": "string", "description": text });
    let list = |text: &str| json!({ "type": "array", "items": {}, "description": text });
    json_schema!({
        "type": "object",
        "description": "The rules of the protocol, as far as they are to differ from the configuration. A rule that the protocol does not have is refused.",
        "default": {},
        "properties": {
            "min_rounds": whole("dialectic: it does not end before."),
            "max_rounds": whole("dialectic, modes: the last round."),
            "early_stop_score": whole("dialectic: the skeptic's mark, from 1 to 10, that ends it."),
            "auto_score": { "type": "boolean", "description": "dialectic: whether a judge marks the answer." },
            "mode": named("modes: how the panel debates. councils: `full` or `fast`.", Mode::names),
            "seats": whole("modes: so many of the cast, at least 3."),
            "focus": {
                "anyOf": [
                    { "type": "string" },
                    { "type": "object", "additionalProperties": { "type": "string" } },
                ],
                "description": "modes: a question for round 1, or questions by round: `{\"2\": \"What does it cost?\"}`.",
            },
            "stakes": { "enum": ["high", "ordinary"], "description": "modes: high stakes are checked once more." },
            "enhanced": {
                "type": "boolean",
                "description": "modes: whether claims carry evidence and the measured convergence decides when the debate is over. Where it is left out, the project's constitution and the configuration say.",
            },
            "algorithm": named(
                "modes: how an enhanced debate comes to a decision; naming one makes the debate an enhanced one.",
                Algorithm::names,
            ),
            "domain": {
                "type": "string", "minLength": 1, "maxLength": 80, "examples": ["api design"],
                "description": "modes, forecast: what sort of question it is. An enhanced debate uses what earlier decisions of its domain have taught.",
            },
            "outcomes": list("forecast: what may happen, as labels or as objects of the contract."),
            "rounds": whole("forecast: how many."),
            "roles": list("forecast: who takes part."),
            "judge_weight": { "type": "number", "description": "forecast: what the judge counts." },
            "max_argument_length": whole("forecast: in words."),
            "resolves": words("forecast: the day on which it is known."),
            "context": words("forecast: notes to go by."),
            "task_id": words("forecast: the caller's own name for it."),
            "request": { "type": "object", "description": "forecast: a whole request of the contract." },
            "title": words("councils: what is judged, in a few words."),
            "parts": list("councils: the texts, as objects of `kind`, `name` and `text`."),
            "images": list("councils: pictures, for models that see."),
        },
    })
}

/// A rule that is one of names; those that are built in are shown, and a user may have more.
fn named(
    text: &str,
    names: impl Fn(&Data) -> Result<Vec<String>, roundtable_engine::data::DataError>,
) -> Value {
    let examples = names(&Data::built_in()).unwrap_or_default();
    json!({ "type": "string", "examples": examples, "description": text })
}
