//! A single call: one seat answers, in the form of a panel's blind answer. The baseline of benches (B-01); it is not offered as a
//! way to debate.

use roundtable_core::estimate::Outline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::panel::Answer;
use super::record_header::DebateStatus;
use super::single_call;
use super::verdict_header;
use crate::depth::Depth;
use crate::event::{End, Entry, Setup};
use crate::prompt::given;
use crate::protocol::{Context, Fault, Plan, Protocol, Request};
use crate::report::{Report, VerdictAnswer};
use crate::table::{Halt, Table};

/// The seat of a panel, with more room, because it has only one call.
const CAST: &str = r#"
name = "call"
protocol = "call"
summary = "One model answers."

[[seats]]
name = "answerer"
title = "Answerer"
tier = "deliberate"
temperature = 0.7
max_output_tokens = 3000
persona = "You answer questions on your own knowledge and judgement."
"#;

/// See the module's documentation.
#[derive(Debug)]
pub struct Call;

/// A call has no rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Input {}

impl Protocol for Call {
    const NAME: &'static str = "call";
    const TITLE: &'static str = "Call";
    const COMMAND: &'static str = "call";
    const SUMMARY: &'static str = "One model answers once";
    const CAST: &'static str = "call";
    const ANSWER_PHASE: &'static str = "synthesis";

    type Input = Input;
    type Rules = Input;

    fn at_depth(input: Input, _: Depth) -> Input {
        input
    }

    fn validate(
        _: Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Input>, Vec<Fault>> {
        single_call::plan(CAST, &request, &context, Input {})
    }

    fn outline(_: &Input, setup: &Setup) -> Outline {
        single_call::outline(setup)
    }

    async fn play(table: &Table, _: &Input) -> Result<End, Halt> {
        table.round(1, "answer");
        let turn = table
            .ask::<Answer>("answerer", "answer")
            .in_round(1)
            .prompt(
                "panel/answer",
                given!({ "question": table.setup().question }),
            )
            .last()
            .send()
            .await;
        single_call::end(table, turn)
    }

    fn report(entries: &[Entry]) -> Report {
        let Some(answer) = DebateStatus::of(entries).verdict::<Answer>() else {
            return Report::default();
        };
        let mut verdict = verdict_header::header(entries);
        verdict.badge = verdict_header::badge(None);
        verdict.answer = Some(VerdictAnswer {
            headline: Some(answer.position),
            short: String::new(),
            full: answer.answer.clone(),
            is_draft: false,
        });
        Report {
            verdict: Some(verdict),
            answer: Some(answer.answer),
            ..Report::default()
        }
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        single_call::record::<Answer>(id, timestamp, entries)
    }
}
