//! The six tools: when an agent uses each, and what it may set. Inputs are parts of the protocols' own.

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use roundtable_engine::depth::Depth;
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols::{Councils, Dialectic, Forecast, Modes, Panel};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::outcome::Outcome;

/// The tool that waits for, looks up and continues debates.
pub(super) const DEBATES: &str = "debates";
/// How long a call may wait at most, in seconds.
pub(super) const MAX_WAIT_SECONDS: u64 = 600;

/// Text for every client, at every start: at most 500 characters.
pub(super) const INSTRUCTIONS: &str = "Roundtable lets several language models debate a question before you rely on one answer. \
     Use it for decisions that are costly to get wrong; put all context into the question, the models see nothing else. \
     A debate takes seconds to minutes and costs money. If a result has state \"running\", call `debates` with its id to wait; \
     repeating the same call joins the running debate. Report confidence and dissent, not only the answer.";

/// A tool that starts a debate.
pub(super) struct DebateTool {
    pub(super) name: &'static str,
    title: &'static str,
    /// When to use it.
    description: &'static str,
    pub(super) protocol: &'static dyn AnyProtocol,
    /// The argument that becomes the question, with its description.
    pub(super) subject: (&'static str, &'static str),
    /// The properties of the protocol's input that an agent may set.
    pub(super) input: &'static [&'static str],
    pub(super) required: &'static [&'static str],
    /// What the casts are for, if an agent may choose one.
    cast: Option<&'static str>,
    /// What the seats do with sources, if an agent may hand some in.
    sources: Option<&'static str>,
}

/// For protocols whose seats search.
const SEARCHED: &str =
    "Evidence that the seats search and cite: texts, or reports of earlier debates";
const READ: &str = "Short evidence that every seat reads: texts, or reports of earlier debates";

pub(super) const DEBATE_TOOLS: [DebateTool; 5] = [
    DebateTool {
        name: "ask",
        title: "Ask with a skeptic",
        description: "Answer a question after a skeptic has attacked the answer for several rounds. Use it when a plausible answer \
                      may be wrong: a design, a diagnosis, a claim, a plan; give yours as my_answer to have it attacked. One to \
                      five minutes.",
        protocol: &Dialectic,
        subject: (
            "question",
            "The question with all context it needs: code, constraints, what was tried",
        ),
        input: &["my_answer"],
        required: &[],
        cast: None,
        sources: Some(READ),
    },
    DebateTool {
        name: "panel",
        title: "Quick second opinion",
        description: "Let several models answer blind, rank each other, and combine the answers. The fastest second opinion; stops \
                      early if all agree. Use it for questions with a right answer, and first when unsure which tool to use. \
                      my_answer is ranked with the others.",
        protocol: &Panel,
        subject: ("question", "The question with all context it needs"),
        input: &["my_answer"],
        required: &[],
        cast: None,
        sources: Some(READ),
    },
    DebateTool {
        name: "debate",
        title: "Debate a decision",
        description: "Have a panel debate a decision with trade-offs over several rounds and vote. Use it for choices between \
                      alternatives, or to attack a plan (mode red-team-blue-team). The slowest and most thorough tool.",
        protocol: &Modes,
        subject: (
            "question",
            "The decision, the alternatives and all context they need",
        ),
        input: &["mode", "seats", "stakes"],
        required: &[],
        cast: None,
        sources: Some(SEARCHED),
    },
    DebateTool {
        name: "forecast",
        title: "Forecast an outcome",
        description: "Get a probability for each possible outcome of an event. Use it when the question is what will happen, and \
                      exactly one of the outcomes will.",
        protocol: &Forecast,
        subject: (
            "question",
            "What will happen? With the date by which it is known",
        ),
        input: &["outcomes", "resolves", "context", "domain"],
        required: &["outcomes"],
        cast: None,
        sources: Some(READ),
    },
    DebateTool {
        name: "judge",
        title: "Judge a text",
        description: "Have two councils score a text by fixed criteria and say what to improve. Use it to review a design document, \
                      an essay or a post, not to answer a question.",
        protocol: &Councils,
        subject: ("content", "The whole text to judge"),
        input: &["title"],
        required: &[],
        cast: Some(
            "rfc for designs and plans, essay for prose, themis (default) for social media, or a cast of your own",
        ),
        sources: None,
    },
];

const DEBATES_DESCRIPTION: &str = "Work with debates that exist: wait for a running one, look one up, search, resume, stop, \
     decide what it waits for, or ask a follow-up question. Call it with the id from a result whose state is not complete.";

/// A tool with the validator of its input.
pub(super) struct Entry {
    pub(super) tool: Tool,
    pub(super) validator: Option<Validator>,
}

/// All tools, in the order in which they are listed.
pub(super) fn all() -> &'static [Entry] {
    static ALL: OnceLock<Vec<Entry>> = OnceLock::new();
    ALL.get_or_init(|| {
        let debates = DEBATE_TOOLS.iter().map(DebateTool::entry);
        debates.chain([debates_entry()]).collect()
    })
}

pub(super) fn named(name: &str) -> Option<&'static Entry> {
    all().iter().find(|entry| entry.tool.name == name)
}

impl DebateTool {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        DEBATE_TOOLS.iter().find(|tool| tool.name == name)
    }

    fn entry(&self) -> Entry {
        let (subject, about) = self.subject;
        let mut properties = JsonObject::new();
        properties.insert(
            subject.into(),
            json!({ "type": "string", "minLength": 1, "description": about }),
        );
        let settings = SchemaSettings::draft2020_12();
        let mut generator = settings
            .with(|settings| settings.inline_subschemas = true)
            .into_generator();
        let mut input = self.protocol.input_schema(&mut generator);
        for name in self.input {
            let mut property = input["properties"][*name].take();
            simplify(&mut property);
            properties.insert((*name).into(), property);
        }
        if let Some(casts) = self.cast {
            properties.insert(
                "cast".into(),
                json!({ "type": "string", "description": casts }),
            );
        }
        properties.insert(
            "depth".into(),
            json!({ "enum": Depth::ALL, "description": "quick, normal (default) or deep: more rounds cost more" }),
        );
        if let Some(about) = self.sources {
            properties.insert("sources".into(), sources(about));
        }
        properties.insert(
            "max_cost".into(),
            json!({ "type": "number", "minimum": 0, "description": "Limit in US dollars" }),
        );
        properties.insert("wait_seconds".into(), wait_seconds());
        properties.insert(
            "estimate".into(),
            json!({ "type": "boolean", "description": "Only estimate calls, cost and time; starts nothing" }),
        );
        let mut required = vec![subject];
        required.extend(self.required);
        entry(
            self.name,
            self.title,
            self.description,
            &properties,
            &required,
        )
    }
}

fn debates_entry() -> Entry {
    let properties = json!({
        "id": { "type": "string", "description": "Id of a debate, or last (default)" },
        "action": {
            "enum": ["wait", "search", "resume", "stop", "decide", "follow_up"],
            "description": "wait (default) returns the result or the state; search lists debates",
        },
        "text": {
            "type": "string",
            "description": "decide: the chosen option; follow_up: the question; search: words of the question",
        },
        "wait_seconds": wait_seconds(),
    });
    let properties = properties.as_object().cloned().unwrap_or_default();
    let title = "Find and continue debates";
    entry(DEBATES, title, DEBATES_DESCRIPTION, &properties, &[])
}

fn sources(about: &str) -> Value {
    json!({
        "type": "array",
        "maxItems": 20,
        "description": about,
        "items": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1, "description": "Such as notes.md" },
                "text": { "type": "string", "minLength": 1 },
                "uri": { "type": "string", "description": "roundtable://debates/ID, instead of text" },
            },
            "required": ["name"],
            "additionalProperties": false,
        },
    })
}

fn wait_seconds() -> Value {
    json!({
        "type": "number",
        "minimum": 0,
        "maximum": MAX_WAIT_SECONDS,
        "description": "How long to wait; the debate runs on",
    })
}

fn entry(
    name: &'static str,
    title: &str,
    description: &'static str,
    properties: &JsonObject,
    required: &[&str],
) -> Entry {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let validator = jsonschema::validator_for(&schema).ok();
    let schema = schema.as_object().cloned().unwrap_or_default();
    let annotations = ToolAnnotations::new()
        .read_only(false)
        .destructive(false)
        .idempotent(name != DEBATES)
        .open_world(true);
    let tool = Tool::new(name, description, Arc::new(schema))
        .with_title(title)
        .with_raw_output_schema(Outcome::schema())
        .with_annotations(annotations);
    Entry { tool, validator }
}

/// Leaves out what an agent does not need to read: that an optional value may be null, titles, and widths of integers.
pub(super) fn simplify(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let is_value = |one: &&Value| one["type"] != "null" && **one != "null" && !one.is_null();
    if let Some(any) = fields.remove("anyOf") {
        let other = any.as_array().and_then(|all| all.iter().find(is_value));
        if let Some(other) = other.and_then(Value::as_object) {
            for (key, value) in other {
                fields.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }
    let kind = fields.get("type").and_then(Value::as_array).cloned();
    if let Some(kind) = kind.as_ref().and_then(|kinds| kinds.iter().find(is_value)) {
        fields.insert("type".into(), kind.clone());
    }
    if let Some(allowed) = fields.get_mut("enum").and_then(Value::as_array_mut) {
        allowed.retain(|value| !value.is_null());
    }
    if fields.get("description").is_some_and(Value::is_string) && fields.contains_key("title") {
        fields.remove("title");
    }
    for key in ["format", "default", "$schema"] {
        fields.remove(key);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = fields.get_mut(inner) {
            simplify(inner);
        }
    }
    if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(simplify);
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
