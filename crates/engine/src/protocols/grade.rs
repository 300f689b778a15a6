//! The grading of one open answer against a rubric, for benches (B-01). The judge does not learn who answered; the bench asks it
//! twice, with the answer before and after the rubric. It is not offered as a way to debate.

use roundtable_core::estimate::Outline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record_header::DebateStatus;
use super::single_call;
use crate::depth::Depth;
use crate::event::{End, Entry, Setup};
use crate::prompt::given;
use crate::protocol::{Context, Fault, Plan, Protocol, Request};
use crate::reply::Reply;
use crate::report::Report;
use crate::table::{Halt, Table};

const CAST: &str = r#"
name = "grade"
protocol = "grade"
summary = "One model grades an answer."

[[seats]]
name = "judge"
title = "Judge"
tier = "deliberate"
temperature = 0.0
max_output_tokens = 1500
persona = "You grade answers strictly and fairly. You do not know who gave them."
"#;

/// See the module's documentation.
#[derive(Debug)]
pub struct Grade;

/// What is graded, and by what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    pub answer: String,
    pub rubric: String,
    pub reference: Option<String>,
    /// Whether the answer comes before the rubric.
    pub answer_first: bool,
}

/// The judge's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grading {
    /// Which requirements the answer meets and which it does not.
    #[schemars(length(min = 1, max = 2_000))]
    pub reasons: String,
    pub verdict: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    Right,
    Partly,
    Wrong,
}

impl Mark {
    /// 1 for a right answer, 0 for a wrong one.
    pub const fn credit(self) -> f64 {
        match self {
            Self::Right => 1.0,
            Self::Partly => 0.5,
            Self::Wrong => 0.0,
        }
    }
}

impl Reply for Grading {
    const NAME: &'static str = "grading";
    const MAIN: &'static str = "reasons";

    fn text(&self) -> String {
        self.reasons.clone()
    }
}

/// The mark of a grading that has ended.
pub fn mark(entries: &[Entry]) -> Option<Mark> {
    let grading = DebateStatus::of(entries).verdict::<Grading>()?;
    Some(grading.verdict)
}

impl Protocol for Grade {
    const NAME: &'static str = "grade";
    const TITLE: &'static str = "Grading";
    const COMMAND: &'static str = "grade";
    const SUMMARY: &'static str = "One model grades an answer";
    const CAST: &'static str = "grade";
    const ANSWER_PHASE: &'static str = "synthesis";

    type Input = Input;
    type Rules = Input;

    fn at_depth(input: Input, _: Depth) -> Input {
        input
    }

    fn validate(
        input: Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Input>, Vec<Fault>> {
        single_call::plan(CAST, &request, &context, input)
    }

    fn outline(_: &Input, setup: &Setup) -> Outline {
        single_call::outline(setup)
    }

    async fn play(table: &Table, rules: &Input) -> Result<End, Halt> {
        table.round(1, "grade");
        let turn = table
            .ask::<Grading>("judge", "grade")
            .in_round(1)
            .prompt(
                "bench/grade",
                given!({
                    "question": table.setup().question,
                    "answer": rules.answer,
                    "rubric": rules.rubric,
                    "reference": rules.reference,
                    "answer_first": rules.answer_first,
                }),
            )
            .last()
            .send()
            .await;
        single_call::end(table, turn)
    }

    fn report(_: &[Entry]) -> Report {
        Report::default()
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        single_call::record::<Grading>(id, timestamp, entries)
    }
}
