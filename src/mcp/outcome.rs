//! The result of a tool call: the same fields for every tool, and a text of at most 600 words.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use roundtable_core::usage::Money;
use roundtable_engine::event::{Entry, Query, State};
use roundtable_engine::protocols;
use roundtable_engine::report::Verdict;
use roundtable_engine::table::open_question;
use roundtable_engine::transcript::capital;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Value, json};

use super::progress::Progress;
use super::tools::{DEBATES, simplify};
use crate::clock;
use crate::format::{one_line, short};
use crate::setup::estimate::DebateEstimate;
use crate::store::DebateRow;

/// The longest parts of the text of a result. Together they stay below 600 words.
const MAX_ANSWER_WORDS: usize = 320;
const MAX_FACT_WORDS: usize = 150;
const MAX_DECISION_WORDS: usize = 80;
/// For the rest of the answer.
const REST: &str = "… (the rest is in structuredContent and in the report)";
const MAX_ITEMS: usize = 5;
const MAX_ITEM_CHARS: usize = 200;
/// The length of a question in a listing.
const MAX_LISTED_CHARS: usize = 120;

/// The result of a debate, or its state so far.
#[derive(Debug, Default, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(default)]
pub(super) struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    /// complete, partial, running, queued, waiting (for a decision), failed, cancelled, interrupted; found, estimated
    state: String,
    /// Markdown
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    /// The debate may still change the answer
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_draft: bool,
    /// Whether others tried to refute it
    #[serde(skip_serializing_if = "Option::is_none")]
    challenged: Option<String>,
    /// From 0 to 1
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence_reason: Option<String>,
    /// Who still disagrees, and why
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dissent: Vec<String>,
    /// What the debate changed in the first answer
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    caveats: Vec<String>,
    /// Such as the probability of each outcome
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    /// Where a running debate is, or why it ended
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What a person has to decide
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Decision>,
    /// The call that gets the result
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<NextCall>,
    /// Low and high of calls, tokens, seconds, and `cost_usd` if the prices are known
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    estimate: BTreeMap<&'static str, [f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    debates: Vec<Listed>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct Decision {
    question: String,
    options: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct NextCall {
    tool: String,
    arguments: JsonObject,
}

/// A debate that a search has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct Listed {
    id: String,
    state: String,
    question: String,
    created_at: String,
}

impl Outcome {
    /// The schema of `structuredContent`.
    pub(super) fn schema() -> Arc<JsonObject> {
        static SCHEMA: OnceLock<Arc<JsonObject>> = OnceLock::new();
        let schema = SCHEMA.get_or_init(|| {
            let settings = SchemaSettings::draft2020_12();
            let generator = settings
                .with(|settings| {
                    settings.inline_subschemas = true;
                    settings.meta_schema = None;
                })
                .into_generator();
            let mut schema = generator.into_root_schema_for::<Self>().to_value();
            simplify(&mut schema);
            let mut schema = schema.as_object().cloned().unwrap_or_default();
            schema.insert("required".into(), json!(["state"]));
            Arc::new(schema)
        });
        Arc::clone(schema)
    }

    pub(super) fn of(row: &DebateRow, entries: &[Entry], progress: Option<&Progress>) -> Self {
        let query = open_question(entries);
        let mut outcome = Self {
            id: Some(row.id.to_string()),
            state: row.state.name().to_owned(),
            cost_usd: row.totals.cost_usd.map(Money::dollars),
            note: progress.map(|progress| progress.message.clone()),
            decision: query.map(Decision::of),
            ..Self::default()
        };
        if let Some(verdict) = protocols::report(entries).verdict {
            outcome.add(verdict.shown_as(row.state));
        }
        outcome.next = outcome.next_call(row);
        outcome
    }

    fn add(&mut self, verdict: Verdict) {
        if let Some(answer) = verdict.answer {
            self.is_draft = answer.is_draft;
            self.answer = Some(match answer.headline {
                Some(headline) if !answer.full.contains(&headline) => {
                    format!("{headline}\n\n{}", answer.full)
                }
                _ => answer.full,
            });
            self.challenged = Some(verdict.badge.text);
        }
        if let Some(confidence) = verdict.confidence {
            self.confidence = Some(confidence.value);
            self.confidence_reason = confidence.reason;
        }
        let dissent = verdict.dissent.into_iter().map(|one| match one.reason {
            Some(reason) => format!("{}: {} ({reason})", one.title, one.position),
            None => format!("{}: {}", one.title, one.position),
        });
        self.dissent = items(dissent);
        self.changed = verdict.changed.map(|changed| changed.text);
        self.caveats = items(verdict.caveats);
        let figures = verdict.figures.iter();
        self.figures = items(figures.map(|fact| format!("{}: {}", fact.name, fact.value)));
        let failures = verdict.failures.iter();
        let failures = failures.map(|failure| format!("{}: {}", failure.text, failure.reason));
        let why: Vec<String> = verdict.ending.into_iter().chain(failures).collect();
        if self.note.is_none() && !why.is_empty() {
            self.note = Some(items(why).join("; "));
        }
    }

    /// For a call that only asks for the estimate.
    pub(super) fn estimated(debate: &DebateEstimate) -> Self {
        let ranges = &debate.estimate.ranges;
        let parts = [
            ("calls", Some(ranges.calls)),
            ("tokens", Some(ranges.tokens)),
            ("cost_usd", ranges.cost),
            ("seconds", Some(ranges.seconds)),
        ];
        let known = parts
            .into_iter()
            .filter_map(|(part, range)| range.map(|range| (part, [range.low, range.high])));
        Self {
            state: "estimated".to_owned(),
            note: Some(format!(
                "{} ({}); nothing was started",
                debate.text, debate.basis
            )),
            estimate: known.collect(),
            ..Self::default()
        }
    }

    pub(super) fn found(debates: &[DebateRow]) -> Self {
        let listed = debates.iter().map(|row| Listed {
            id: row.id.to_string(),
            state: row.state.name().to_owned(),
            question: short(&one_line(&row.question), MAX_LISTED_CHARS),
            created_at: clock::stamp(row.created_at),
        });
        Self {
            state: "found".to_owned(),
            debates: listed.collect(),
            ..Self::default()
        }
    }

    /// Adds a remark, such as that the call joined a running debate.
    pub(super) fn noting(mut self, remark: &str) -> Self {
        self.note = Some(match self.note {
            Some(note) => format!("{remark}; {note}"),
            None => remark.to_owned(),
        });
        self
    }

    fn next_call(&self, row: &DebateRow) -> Option<NextCall> {
        let id = row.id.to_string();
        let arguments = match row.state {
            State::Queued | State::Running => json!({ "id": id, "action": "wait" }),
            State::Waiting => {
                let choice = self.decision.as_ref()?.options.first()?;
                json!({ "id": id, "action": "decide", "text": choice })
            }
            State::Interrupted | State::Partial | State::Failed | State::Cancelled => {
                json!({ "id": id, "action": "resume" })
            }
            State::Complete => return None,
        };
        Some(NextCall {
            tool: DEBATES.to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
        })
    }

    pub(super) fn result(&self) -> CallToolResult {
        let mut result = CallToolResult::success(vec![ContentBlock::text(self.text())]);
        result.structured_content = Some(json!(self));
        result
    }

    /// For people and for models that do not read `structuredContent`.
    pub(super) fn text(&self) -> String {
        let mut parts = Vec::new();
        if let Some(answer) = &self.answer {
            let title = if self.is_draft {
                "Draft so far:\n\n"
            } else {
                ""
            };
            parts.push(format!(
                "{title}{}",
                first_words(answer, MAX_ANSWER_WORDS, REST)
            ));
        }
        let mut facts = Vec::new();
        facts.extend(self.challenged.clone());
        if let Some(confidence) = self.confidence {
            let reason = self.confidence_reason.as_deref();
            let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
            facts.push(format!("Confidence: {confidence:.2}{reason}"));
        }
        let mut add = |name: &str, texts: &[String]| {
            facts.extend(texts.iter().map(|text| format!("{name}{text}")));
        };
        add("", &self.figures);
        add("Changed by the debate: ", self.changed.as_slice());
        add("Dissent: ", &self.dissent);
        add("Caveat: ", &self.caveats);
        add(&format!("{}: ", capital(&self.state)), self.note.as_slice());
        facts.extend(self.cost_usd.map(|cost| format!("Cost: ${cost:.4}")));
        parts.push(first_words(&facts.join("\n"), MAX_FACT_WORDS, "…"));
        if let Some(decision) = &self.decision {
            let options = decision.options.join(", ");
            parts.push(format!(
                "The debate waits for a person to decide: {} Options: {options}. Ask the user.",
                decision.question
            ));
        }
        let listed = self.debates.iter().map(|debate| {
            let Listed {
                id,
                state,
                question,
                created_at,
            } = debate;
            format!("{id} {state} {created_at}: {question}")
        });
        let listed: Vec<String> = listed.collect();
        parts.push(listed.join("\n"));
        if self.state == "found" && self.debates.is_empty() {
            parts.push("No debate found.".to_owned());
        }
        parts.push(self.closing());
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }

    /// One line: the state, and where the debate is.
    pub(super) fn summary(&self) -> String {
        match &self.note {
            Some(note) => format!("{}: {note}", self.state),
            None => self.state.clone(),
        }
    }

    fn closing(&self) -> String {
        let Some(id) = &self.id else {
            return String::new();
        };
        let mut closing = format!(
            "Debate {id} is {}. Whole report: roundtable://debates/{id}",
            self.state
        );
        if let Some(NextCall { tool, arguments }) = &self.next {
            let verb = match self.state.as_str() {
                "waiting" => "With the decision, call",
                "running" | "queued" => "To get the result, call",
                _ => "To resume it, call",
            };
            let arguments = Value::Object(arguments.clone());
            closing = format!("{closing}\n{verb} {tool} with {arguments}");
        }
        closing
    }
}

/// At most [`MAX_ITEMS`] texts, each on one line.
fn items(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let texts = texts.into_iter().take(MAX_ITEMS);
    texts
        .map(|text| short(&one_line(&text), MAX_ITEM_CHARS))
        .collect()
}

impl Decision {
    fn of(query: &Query) -> Self {
        Self {
            question: first_words(&one_line(&query.question), MAX_DECISION_WORDS, "…"),
            options: query.options.clone(),
        }
    }
}

/// The beginning of a text, with `rest` in place of what is left out. Lines are kept.
fn first_words(text: &str, most: usize, rest: &str) -> String {
    let starts = text
        .char_indices()
        .scan(true, |was_space, (at, c)| {
            let starts_word = *was_space && !c.is_whitespace();
            *was_space = c.is_whitespace();
            Some((at, starts_word))
        })
        .filter(|(_, starts_word)| *starts_word);
    match starts.map(|(at, _)| at).nth(most) {
        Some(end) => format!("{} {rest}", text[..end].trim_end()),
        None => text.trim().to_owned(),
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
