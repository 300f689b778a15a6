//! A reply that fits the schema of its request: every property filled by its type and limits, and by its name where a rule of a
//! protocol needs more. It knows names of properties but no protocol.

use roundtable_core::random::SplitMix64;
use roundtable_engine::model::Request;
use serde_json::{Map, Value, json};

use super::opinion::{Opinion, Seat, hash};
use super::question;
use super::values::whole;

/// Lists that are as long as their values: one item for each issue, dimension, judge, answer and so on.
const EACH: [&str; 7] = [
    "issue",
    "dimension",
    "judge",
    "disagreement",
    "finding",
    "name",
    "answer",
];

/// The beginning of a question or content that identifies it.
const MAX_SUBJECT: usize = 400;

/// A longer text after "You are the" is not the title of a seat.
const MAX_TITLE: usize = 60;

/// The text of a reply to this request: JSON by its schema, or prose.
pub(super) fn text(seat: &Seat, request: &Request) -> String {
    let mut random = seat.random(request);
    let opinion = seat.opinion(request, &mut random);
    let own = request
        .messages
        .last()
        .map_or("", |last| last.text.as_str());
    let all: String = request.texts().collect::<Vec<_>>().join("\n");
    let title = between(own, "You are the ", ".")
        .or_else(|| between(&all, "You are the ", "."))
        .filter(|title| title.len() <= MAX_TITLE)
        .map_or_else(|| "seat".to_owned(), str::to_lowercase);
    let texts = request.messages.iter().map(|message| message.text.as_str());
    // Prompts about a long content differ after it.
    let about: String = question::find(texts).chars().take(MAX_SUBJECT).collect();
    let round = ["This is round ", "Round "]
        .into_iter()
        .find_map(|mark| between(own, mark, " ")?.parse().ok());
    let mut writer = Writer {
        random,
        round: round.unwrap_or(1),
        headings: headings(own),
        must_object: own.contains("is a critical-objection round"),
        about: hash(&[&about]),
        opinion,
        title,
        claims: 0,
        item: String::new(),
        stance: between(own, "Your stance is ", ".")
            .unwrap_or_default()
            .to_owned(),
        prompt: all,
    };
    match &request.schema {
        Some(schema) => writer.value("", &schema.json).to_string(),
        None => writer.string("answer"),
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.rfind(start)? + start.len()..];
    rest.split(end).next()
}

/// The headings under which an argument is requested.
fn headings(text: &str) -> Vec<String> {
    let Some((_, list)) = text.rsplit_once("under these headings:\n") else {
        return Vec::new();
    };
    let lines = list.lines().map_while(|line| line.strip_prefix("- "));
    let heading = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    lines.map(heading).collect()
}

pub(super) struct Writer {
    pub(super) random: SplitMix64,
    pub(super) opinion: Opinion,
    pub(super) title: String,
    pub(super) round: usize,
    pub(super) headings: Vec<String>,
    pub(super) must_object: bool,
    /// A random number that is the same for all seats of this question.
    pub(super) about: u64,
    /// Claims made so far.
    pub(super) claims: usize,
    /// The subject of the current item of a list.
    pub(super) item: String,
    /// An assigned stance, if there is one.
    pub(super) stance: String,
    pub(super) prompt: String,
}

impl Writer {
    fn value(&mut self, name: &str, schema: &Value) -> Value {
        if let Some(sent) = schema.get("x-sent") {
            return self.value(name, sent);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(choices) = schema["enum"].as_array() {
            return self.choice(name, choices);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(variants) = schema[key].as_array() {
                return self.variant(name, variants);
            }
        }
        match self.kind(name, schema) {
            "object" => self.object(name, schema),
            "array" => Value::Array(self.list(name, schema)),
            "number" => json!(self.number(name, schema)),
            "integer" => json!(whole(self.number(name, schema))),
            "boolean" => json!(self.flag(name)),
            "string" => json!(self.limited(name, schema)),
            _ => Value::Null,
        }
    }

    /// The type; of several the one that is wanted here.
    fn kind<'a>(&self, name: &str, schema: &'a Value) -> &'a str {
        let one = schema["type"].as_str();
        let several = schema["type"].as_array().into_iter().flatten();
        let mut several = several.filter_map(Value::as_str);
        let may_be_null = several.clone().any(|kind| kind == "null");
        match one.or_else(|| several.find(|kind| *kind != "null")) {
            Some(_) if may_be_null && self.is_null(name) => "null",
            Some(kind) => kind,
            None if schema.get("properties").is_some() => "object",
            None => "null",
        }
    }

    fn variant(&mut self, name: &str, variants: &[Value]) -> Value {
        let is_null = |variant: &&Value| variant["type"] == "null";
        let null = variants.iter().find(is_null);
        if null.is_some() && self.is_null(name) {
            return Value::Null;
        }
        // Variants that only allow constants are one enumeration with descriptions.
        let constants: Vec<Value> = variants
            .iter()
            .flat_map(|variant| {
                let several = variant["enum"].as_array().into_iter().flatten();
                variant.get("const").into_iter().chain(several).cloned()
            })
            .collect();
        if !constants.is_empty() {
            return self.choice(name, &constants);
        }
        let first = variants.iter().find(|variant| !is_null(variant));
        first.map_or(Value::Null, |variant| self.value(name, variant))
    }

    fn object(&mut self, name: &str, schema: &Value) -> Value {
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        if name == "probabilities" {
            return self.probabilities(properties);
        }
        let mut object = Map::new();
        // The outcome that it supports is the likeliest one.
        let likely = properties.get("probabilities");
        let likely = likely.map(|schema| self.value("probabilities", schema));
        for (inner, schema) in properties {
            if let Some(likely) = likely.as_ref().filter(|_| inner == "probabilities") {
                object.insert(inner.clone(), likely.clone());
                continue;
            }
            let value = self.value(inner, schema);
            object.insert(inner.clone(), value);
        }
        Value::Object(object)
    }

    fn list(&mut self, name: &str, schema: &Value) -> Vec<Value> {
        let items = &schema["items"];
        let bound = |key: &str, default: usize| {
            let bound = schema[key]
                .as_u64()
                .and_then(|bound| usize::try_from(bound).ok());
            bound.unwrap_or(default)
        };
        let (least, most) = (bound("minItems", 0), bound("maxItems", 8));
        if let Some((property, mut values)) = each(items) {
            if property == "answer" {
                self.random.shuffle(&mut values);
            }
            return values
                .into_iter()
                .take(most)
                .map(|value| {
                    value
                        .as_str()
                        .unwrap_or_default()
                        .clone_into(&mut self.item);
                    let mut item = self.value(name, items);
                    item[property] = value;
                    item
                })
                .collect();
        }
        let wanted = self.length(name).clamp(least, most.max(least));
        if let Some(choices) = items["enum"].as_array() {
            let mut choices = choices.clone();
            self.random.shuffle(&mut choices);
            choices.truncate(wanted);
            return choices;
        }
        (0..wanted).map(|_| self.value(name, items)).collect()
    }
}

/// The property of a list's items that has one value for each item, with its values.
fn each(items: &Value) -> Option<(&'static str, Vec<Value>)> {
    EACH.into_iter().find_map(|property| {
        let values = items["properties"][property]["enum"].as_array()?;
        Some((property, values.clone()))
    })
}
