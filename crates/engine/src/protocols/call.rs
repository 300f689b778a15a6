//! A single call: one seat answers, in the form of a panel's blind answer. The baseline of benches (B-01); it is not offered as a
//! way to debate.

use roundtable_core::estimate::{Outline, PlannedCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::panel::Answer;
use super::record_header::{DebateStatus, RecordHeader};
use super::verdict_header;
use crate::cast::Cast;
use crate::data::{Origin, Text};
use crate::depth::Depth;
use crate::event::{End, Entry, Setup, State};
use crate::prompt::given;
use crate::protocol::{Context, EmbedderUse, Fault, Plan, Protocol, Request, end_of};
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
        let question = request.question.trim().to_owned();
        let mut faults: Vec<Fault> = context
            .check_question(&question)
            .err()
            .into_iter()
            .collect();
        let text = Text {
            name: "call.toml".into(),
            origin: Origin::BuiltIn,
            content: CAST.into(),
        };
        match Cast::of(&text) {
            Ok(cast) if faults.is_empty() => {
                Ok(Plan::new(question, cast, EmbedderUse::None, Input {}))
            }
            Ok(_) => Err(faults),
            Err(error) => {
                faults.push(Fault::new("/cast", error.to_string()));
                Err(faults)
            }
        }
    }

    fn outline(_: &Input, setup: &Setup) -> Outline {
        let seats = setup.seats.iter();
        let calls = seats.map(|seated| PlannedCall::new(&seated.seat.name, 0));
        Outline::fixed(vec![calls.collect()])
    }

    async fn play(table: &Table, _: &Input) -> Result<End, Halt> {
        let ended = |state: State, reason: String| End {
            state,
            reason: Some(reason),
            result: None,
        };
        let Some(seated) = table.setup().seats.first() else {
            return Ok(ended(State::Failed, "the cast has no seat".into()));
        };
        table.round(1, "answer");
        let turn = table
            .ask::<Answer>(&seated.seat.name, "answer")
            .in_round(1)
            .prompt(
                "panel/answer",
                given!({ "question": table.setup().question }),
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
        let header = RecordHeader::of(id, timestamp, entries)?;
        let result: Option<Answer> = header.status.verdict();
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
