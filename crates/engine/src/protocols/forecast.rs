//! The forecast protocol (F): roles argue in rounds about which outcome will happen, every argument is scored, the judge speaks
//! last. The result is a probability distribution that can be scored once the outcome is known.
//!
//! The arguments of a round are scored while the next round runs.

mod argue;
mod assessment;
mod calibration;
mod checks;
mod contract;
mod debate;
mod ensemble;
mod extras;
mod facts;
mod fields;
mod input;
mod outline;
mod overview;
mod percentages;
mod preview;
mod prompt_inputs;
mod remarks;
mod replies;
mod report;
mod request;
mod resolution;
mod result;
mod rules;
mod scale;
mod text_budget;
mod value;
mod verdict;

use minijinja::value::merge_maps;
use roundtable_core::estimate::Outline;
use roundtable_core::format::percent;
use serde_json::{Value, json};

pub use calibration::{Calibration, GroupRecord, Grouping, MeanCrps, Record, calibration_report};
pub use contract::{
    DebateRequest, Disagreement, LoggedArgument, Outcome, OutcomeForecast, Phase, Round,
};
pub use debate::{ArgumentTurn, CountedArgument, Debate, RubricScores, point_id};
pub use ensemble::{Engine, Ensemble, EnsembleRequest, MIN_RESOLVED, ensemble};
pub use input::{Input, crowd_forecast};
pub use overview::{Overview, history_report};
pub use replies::{Argument, Scoring, Synthesis};
pub use request::{Fault, MAX_OUTCOMES, MAX_ROUNDS, MIN_OUTCOMES};
pub use resolution::{Actual, Resolution, Scored, resolution_of, scored};
pub use result::{DebateResult, schema};
pub use rules::{ForecastContext, ForecastPlan, Rules, Settings, plan};
pub use scale::{Bound, Edge, QuantileValue, Scale, ScaleError};
pub use verdict::Verdict;

use crate::cast::Duty;
use crate::data::Data;
use crate::depth::Depth;
use crate::event::{End, Entry, Setup};
use crate::form::{FormField, Task};
use crate::prompt::given;
use crate::protocol::{Context, Conversation, Needs, Plan, Protocol, Request, Subject};
use crate::reply;
use crate::report::Report;
use crate::table::{Halt, Table, both, each};
use crate::transcript::capital;
use argue::{Attempt, request_argument};
use assessment::{apply_assessments, assess, assess_all};
use debate::{Role, Version};
use prompt_inputs::with_evidence;
use verdict::{Ending, RunInfo};

/// See the module's documentation.
#[derive(Debug)]
pub struct Forecast;

impl Protocol for Forecast {
    const NAME: &'static str = "forecast";
    const TITLE: &'static str = "Forecast";
    const COMMAND: &'static str = "forecast";
    const SUMMARY: &'static str =
        "Roles with different views forecast whether something will happen";
    const CAST: &'static str = "forecast";
    const ANSWER_PHASE: &'static str = "synthesis";
    const SUBJECT: Subject = Subject::Outcomes;
    const NEEDS: Needs = Needs {
        history: true,
        value: true,
        ..Needs::NONE
    };
    const TASK: Task = Task::Forecast;

    type Input = Input;
    type Rules = Rules;

    fn at_depth(input: Input, depth: Depth) -> Input {
        input::at_depth(input, depth)
    }

    fn validate(
        input: Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Rules>, Vec<crate::protocol::Fault>> {
        input::validate(&input, &request, context)
    }

    fn outline(rules: &Rules, setup: &Setup) -> Outline {
        outline::outline(rules, setup)
    }

    async fn play(table: &Table, rules: &Rules) -> Result<End, Halt> {
        let verdict = forecast(table, rules).await?;
        verdict.outcome().end(&verdict)
    }

    fn headline(result: &Value) -> Option<String> {
        let outcomes = result["probability_distribution"].as_array()?.iter();
        let likeliest = outcomes
            .filter_map(|outcome| {
                let probability = outcome["probability"].as_f64()?;
                Some((outcome["outcome_id"].as_str()?, probability))
            })
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let outcome = capital(&likeliest.0.replace(['_', '-'], " "));
        Some(format!("{outcome}: {}", percent(likeliest.1)))
    }

    fn report(entries: &[Entry]) -> Report {
        report::report(entries)
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        serde_json::to_value(DebateResult::of(id, timestamp, entries)?).ok()
    }

    fn record_schema() -> Option<Value> {
        Some(schema())
    }

    fn form(_: &Data) -> Vec<FormField> {
        input::form()
    }

    fn converse(
        input: Input,
        said: Conversation,
    ) -> Result<(String, Input), Vec<crate::protocol::Fault>> {
        input::converse(input, said)
    }
}

pub async fn forecast(table: &Table, rules: &Rules) -> Result<Verdict, Halt> {
    table.in_background(|| {
        reply::prepare::<Scoring>();
        reply::prepare::<Synthesis>();
    });
    let mut debate = Debate::new(rules, &table.setup().seats);
    let ending = match argue_and_synthesise(table, &mut debate).await {
        Ok(ending) => ending,
        Err(Halt::Budget(limit)) => Ending::Budget(limit.to_string()),
        Err(halt) => return Err(halt),
    };
    Ok(Verdict::of(&debate, RunInfo::at(table, ending)))
}

async fn argue_and_synthesise(table: &Table, debate: &mut Debate<'_>) -> Result<Ending, Halt> {
    let ending = argue(table, debate).await?;
    synthesise(table, debate).await?;
    Ok(ending)
}

/// The rounds. While one is argued, the one before is scored; only the judge's closing waits for the others.
async fn argue(table: &Table, debate: &mut Debate<'_>) -> Result<Ending, Halt> {
    let last = debate.rules().rounds;
    for round in 1..=last {
        if round > 1 {
            debate.set_person(table.interlude(&format!("r{round}")).await?);
        }
        table.round(round, debate.phase(round).name());
        let speakers = debate.speakers(round);
        argue_and_assess(table, debate, round, &speakers, round - 1).await?;
        if debate.arguments_in(round).is_empty() {
            // No role is left to continue with.
            return Ok(Ending::Played);
        }
        let value = value::measure(table, debate, round)?;
        if let Some(value) = value.filter(|value| value.stops && round < last) {
            let assessed = assess_all(table, debate, round).await;
            apply_assessments(debate, round, assessed)?;
            return Ok(Ending::Value(value.stop_text(last - round)));
        }
    }
    let judge = debate.judge().cloned();
    argue_and_assess(table, debate, last, judge.as_slice(), last).await?;
    if let Some(judge) = judge {
        let assessed = assess(table, debate, last, &judge.name).await;
        apply_assessments(debate, last, vec![assessed])?;
    }
    Ok(Ending::Played)
}

/// The speakers argue in `round` while the arguments of `assessed_round` are scored.
async fn argue_and_assess(
    table: &Table,
    debate: &mut Debate<'_>,
    round: u32,
    speakers: &[Role],
    assessed_round: u32,
) -> Result<(), Halt> {
    let ask = async |role: &Role| {
        let turn = request_argument(table, debate, role, round, Attempt::First).await?;
        Ok((role.name.clone(), turn))
    };
    let ((turns, halted), assessed) = both(
        each(speakers.iter().map(ask)),
        assess_all(table, debate, assessed_round),
    )
    .await;
    for (role, turn) in turns.into_iter().flatten() {
        if let Some(turn) = turn {
            debate.add_turn(round, &role, Version::First, turn);
        }
    }
    let applied = apply_assessments(debate, assessed_round, assessed);
    halted.and(applied)
}

/// After the rounds: the synthesizer's summary, disagreements and insights.
async fn synthesise(table: &Table, debate: &mut Debate<'_>) -> Result<(), Halt> {
    let Some(result) = verdict::combined(debate) else {
        return Ok(());
    };
    debate.set_person(table.interlude("synthesis").await?);
    let synthesizer = seat_for(table, Duty::Synthesis)?;
    let arguments: Vec<_> = debate
        .arguments()
        .iter()
        .map(|argument| {
            let reply = &argument.turn.reply;
            let scored = argument.scores().map_or_else(String::new, |scores| format!(", scored {:.2}", scores.composite));
            json!({
                "by": format!("{}, round {}, for {}{scored}", argument.role, argument.round, reply.supports),
                "text": with_evidence(reply),
            })
        })
        .collect();
    let turn = table
        .ask::<Synthesis>(&synthesizer, "synthesise")
        .in_phase("synthesis", debate.last_round())
        .prompt(
            "forecast/synthesise",
            merge_maps([
                prompt_inputs::frame(table, debate),
                given!({
                    "person": debate.person(),
                    "arguments": arguments,
                    "forecast": debate.shares(&result),
                }),
            ]),
        )
        .choices("role", debate.role_names())
        .choices("source_role", debate.role_names())
        .choices("affected_outcomes", debate.outcomes().to_vec())
        .last()
        .send()
        .await?;
    if let Some(turn) = turn {
        debate.set_synthesis(turn.reply);
    }
    Ok(())
}

fn seat_for(table: &Table, duty: Duty) -> Result<String, Halt> {
    let mut seats = table.setup().seats.iter().map(|seated| &seated.seat);
    let seat = seats.find(|seat| seat.duty == Some(duty));
    seat.map(|seat| seat.name.clone())
        .ok_or_else(|| Halt::NoModel {
            seat: format!("{duty:?}").to_lowercase(),
        })
}

#[cfg(test)]
mod tests;
