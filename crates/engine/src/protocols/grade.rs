//! The grading of one open answer against a rubric, for benches (B-01). The judge does not learn who answered; the bench asks it
//! twice, with the answer before and after the rubric. It is not offered as a way to debate.

use roundtable_core::estimate::{Outline, PlannedCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record_header::{DebateStatus, RecordHeader};
use crate::cast::Cast;
use crate::data::{Origin, Text};
use crate::depth::Depth;
use crate::event::{End, Entry, Setup, State};
use crate::prompt::given;
use crate::protocol::{Context, EmbedderUse, Fault, Plan, Protocol, Request, end_of};
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
        let question = request.question.trim().to_owned();
        context
            .check_question(&question)
            .map_err(|fault| vec![fault])?;
        let text = Text {
            name: "grade.toml".into(),
            origin: Origin::BuiltIn,
            content: CAST.into(),
        };
        let cast = Cast::of(&text).map_err(|error| vec![Fault::new("/cast", error.to_string())])?;
        Ok(Plan::new(question, cast, EmbedderUse::None, input))
    }

    fn outline(_: &Input, setup: &Setup) -> Outline {
        let seats = setup.seats.iter();
        let calls = seats.map(|seated| PlannedCall::new(&seated.seat.name, 0));
        Outline::fixed(vec![calls.collect()])
    }

    async fn play(table: &Table, rules: &Input) -> Result<End, Halt> {
        let ended = |state: State, reason: String| End {
            state,
            reason: Some(reason),
            result: None,
        };
        let Some(seated) = table.setup().seats.first() else {
            return Ok(ended(State::Failed, "the cast has no seat".into()));
        };
        table.round(1, "grade");
        let turn = table
            .ask::<Grading>(&seated.seat.name, "grade")
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
            .send()
            .await;
        match turn {
            Ok(Some(turn)) => end_of(State::Complete, None, &turn.reply),
            Ok(None) => {
                let missing = table.missing();
                let reasons: Vec<&str> = missing.iter().map(|one| one.reason.as_str()).collect();
                Ok(ended(State::Failed, reasons.join("; ")))
            }
            Err(Halt::Budget(limit)) => Ok(ended(State::Partial, limit.to_string())),
            Err(halt) => Err(halt),
        }
    }

    fn report(_: &[Entry]) -> Report {
        Report::default()
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        let header = RecordHeader::of(id, timestamp, entries)?;
        let result: Option<Grading> = header.status.verdict();
        Some(serde_json::json!({
            "id": header.id,
            "timestamp": header.timestamp,
            "protocol": header.setup.protocol,
            "question": header.setup.question,
            "state": header.status.state,
            "models": header.models,
            "result": result,
        }))
    }
}
