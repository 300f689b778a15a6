//! Debates in one of seven modes (M-01 … M-14).
//!
//! A mode is data: speaking order, visibility, prompts. The program keeps the state of the debate ([`Debate`]), checks replies,
//! limits the prompts and decides after each round what follows. A replay folds the journal into the same [`Debate`].

mod checks;
mod contradiction;
mod debate;
mod decision;
mod diversity;
pub mod enhanced;
mod input;
mod outline;
mod panel;
mod record;
mod references;
mod replay;
mod replies;
mod report;
mod resolution;
mod rules;
mod turns;
mod verdict;

use std::ops::ControlFlow;

use roundtable_core::estimate::Outline;
use roundtable_core::learning::Domain;
use roundtable_core::value::{self, Leading, RoundValue};
use serde_json::Value;

pub use debate::{BlindVote, Debate, NextStep, Round, RoundKind, SeatTurn};
pub use decision::PanelDecision;
pub use input::{DEFAULT_MODE, Focus, Input, Settings};
pub use panel::{Panel, Panelist};
pub(super) use record::apply_resolution;
pub use record::{Record, record};
pub use replies::{Ballot, Conclusion, Contribution, Evaluation, RiskLevel};
pub use resolution::{MinorityPosition, Resolution};
pub use rules::{Edition, EscalationPolicy, MAX_ROUNDS, Rules, RulesError};
pub use verdict::{Ending, Groupthink, Poll, Verdict, Worth};

use crate::data::Data;
use crate::depth::Depth;
use crate::event::{End, Entry, Setup};
use crate::form::{FormField, Task};
use crate::mode::SpeakingOrder;
use crate::protocol::{
    BlindAnswers, Context, Conversation, Fault, Needs, Plan, Protocol, Request, Variant, end_of,
};
use crate::reply;
use crate::report::{Report, Section};
use crate::round_value;
use crate::table::{Halt, Table};
use crate::tokens;
use enhanced::{Escalation, OVERRIDE, PersonDecision};

/// A person's choice to end the debate with the majority's answer.
pub const ACCEPT: &str = "accept";
/// A person's choice to let the debate continue, past the round limit if necessary.
pub const ANOTHER_ROUND: &str = "another-round";

/// See the module's documentation.
#[derive(Debug)]
pub struct Modes;

impl Protocol for Modes {
    const NAME: &'static str = "modes";
    const TITLE: &'static str = "Debate";
    const COMMAND: &'static str = "debate";
    const SUMMARY: &'static str = "A panel debates a question over several rounds";
    const CAST: &'static str = "modes";
    const ANSWER_PHASE: &'static str = "conclusion";
    const PHASE_NAMES_EVENTS: bool = false;
    const NEEDS: Needs = Needs {
        sources: true,
        value: true,
        ..Needs::NONE
    };
    const TASK: Task = Task::Debate;

    type Input = Input;
    type Rules = Rules;

    fn at_depth(input: Input, depth: Depth) -> Input {
        input::at_depth(input, depth)
    }

    fn validate(
        input: Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Rules>, Vec<Fault>> {
        input::validate(input, request, context)
    }

    fn blind(rules: &Rules) -> Option<BlindAnswers> {
        // Seats that speak at the same time are blind in round 1; others vote blindly before it, and nobody reads that.
        let is_parallel = rules.order() == SpeakingOrder::Parallel;
        Some(BlindAnswers {
            verb: if is_parallel { "speak" } else { "ballot" },
            field: "debate_alignment",
            round: u32::from(is_parallel),
            are_read: is_parallel,
            again: Some("speak"),
        })
    }

    fn outline(rules: &Rules, setup: &Setup) -> Outline {
        outline::outline(rules, setup)
    }

    async fn play(table: &Table, rules: &Rules) -> Result<End, Halt> {
        let verdict = run(table, rules).await?;
        end_of(verdict.outcome(), verdict.reason(), &verdict)
    }

    fn headline(result: &Value) -> Option<String> {
        result["resolution"]["decision"].as_str().map(str::to_owned)
    }

    fn report(entries: &[Entry]) -> Report {
        report::report(entries)
    }

    fn domain(input: &Input) -> Option<Domain> {
        input::domain_of(input)
    }

    fn progress(entries: &[Entry]) -> Option<Section> {
        report::progress(entries)
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        serde_json::to_value(record::record(id, timestamp, entries)?).ok()
    }

    fn record_schema() -> Option<Value> {
        Some(record::schema())
    }

    fn form(data: &Data) -> Vec<FormField> {
        input::form(data)
    }

    fn variants(data: &Data) -> Vec<Variant<Input>> {
        input::variants(data)
    }

    fn converse(input: Input, said: Conversation) -> Result<(String, Input), Vec<Fault>> {
        input::converse(input, said)
    }
}

async fn run(table: &Table, rules: &Rules) -> Result<Verdict, Halt> {
    let mut debate = Debate::new(table.setup(), rules);
    let mut groupthink = Vec::new();
    let ending = match play_rounds(table, &mut debate, &mut groupthink).await {
        Ok(ending) => ending,
        Err(Halt::Budget(limit)) => Ending::Budget(limit.to_string()),
        Err(halt) => return Err(halt),
    };
    let (conclusion, ending) = match turns::conclude(table, &mut debate, &ending).await {
        Ok(conclusion) => (conclusion, ending),
        Err(Halt::Budget(limit)) => (None, Ending::Budget(limit.to_string())),
        Err(halt) => return Err(halt),
    };
    Ok(Verdict::of(
        table,
        &debate,
        &ending,
        groupthink,
        conclusion.as_ref(),
    ))
}

/// Plays rounds until an exit criterion holds or a person ends the debate.
async fn play_rounds(
    table: &Table,
    debate: &mut Debate,
    groupthink: &mut Vec<Groupthink>,
) -> Result<Ending, Halt> {
    table.in_background(|| {
        reply::prepare::<Ballot>();
        reply::prepare::<Evaluation>();
        reply::prepare::<Conclusion>();
        // Prompts are measured in tokens from round 2 on.
        tokens::load();
    });
    let sources = debate.rules.sources.clone();
    if !sources.is_empty() {
        table.off_runtime(move || sources.prepare()).await;
    }
    let mut max_rounds = debate.rules.max_rounds;
    let mut kind = RoundKind::Ordinary;
    let mut round = 0;
    loop {
        round += 1;
        if round > 1 {
            debate.set_user_input(table.interlude(&format!("r{round}")).await?);
        }
        table.round(round, kind.name());
        debate.prepare_prompts(round);
        debate.start_round(round, kind);
        turns::speak_in_turn(table, debate, round).await?;
        turns::evaluate_safety(table, debate, round).await?;
        let diversity = diversity::measure(table, debate, round).await?;
        let measured = enhanced::measure(table, debate, round).await?;
        debate.finish_round(diversity, measured);
        if debate.is_silent() {
            return Ok(Ending::SeatsAbsent);
        }
        let value = measure_value(table, debate, round)?;
        match after_round(table, debate, groupthink, &mut max_rounds).await? {
            ControlFlow::Break(ending) => return Ok(ending),
            // An objection round is played in any case, as before every other ending.
            ControlFlow::Continue(RoundKind::Ordinary)
                if value.as_ref().is_some_and(|v| v.stops) =>
            {
                let left = max_rounds.saturating_sub(round);
                let why = value.map(|value| value.stop_text(left));
                return Ok(Ending::NotWorthIt(why.unwrap_or_default()));
            }
            ControlFlow::Continue(next) => kind = next,
        }
    }
}

/// The value of another round (B-10). `None` without typed answers.
fn measure_value(table: &Table, debate: &Debate, round: u32) -> Result<Option<RoundValue>, Halt> {
    let last = debate.rounds.last();
    let Some((rules, last)) = debate.rules.value.as_ref().zip(last) else {
        return Ok(None);
    };
    let leading = last.figures.as_ref().and_then(|figures| {
        let answers = figures.answers();
        let options = answers.iter().filter_map(|answer| answer.option.as_deref());
        Leading::of(options, figures.seats())
    });
    let price = round_value::price_of(last.turns.iter().map(|turn| &turn.spent));
    let record = &rules.history.record;
    let value =
        leading.and_then(|leading| value::of_answers(leading, record, price, rules.max_price));
    crate::protocols::note_value(table, round, value)
}

/// Ends the debate or names the kind of the next round. Asks a person if the panel cannot settle it (E-09).
async fn after_round(
    table: &Table,
    debate: &mut Debate,
    groupthink: &mut Vec<Groupthink>,
    max_rounds: &mut u32,
) -> Result<ControlFlow<Ending, RoundKind>, Halt> {
    let last = debate.rounds.last();
    let (round, diversity) = last.map_or((0, None), |last| (last.number, last.diversity));
    loop {
        let escalation = match debate.next_step(*max_rounds) {
            NextStep::Round(kind) => return Ok(ControlFlow::Continue(kind)),
            NextStep::End(ending) => return Ok(ControlFlow::Break(ending)),
            NextStep::Object(trigger) => {
                groupthink.push(Groupthink::suspected(round, trigger, diversity));
                return Ok(ControlFlow::Continue(RoundKind::Objection));
            }
            NextStep::Ask(escalation) => escalation,
        };
        let query = escalation.query(round, debate);
        let options: Vec<&str> = query.options.iter().map(String::as_str).collect();
        let decision = table
            .decision(&query.key, &query.question, &options)
            .await?;
        if escalation == Escalation::Groupthink {
            Groupthink::decided(groupthink, &decision.choice);
        }
        debate.add_decision(PersonDecision::of(round, escalation, &decision));
        match decision.choice.as_str() {
            ANOTHER_ROUND => {
                *max_rounds = (*max_rounds).max(round + 1);
                return Ok(ControlFlow::Continue(RoundKind::Ordinary));
            }
            ACCEPT => return Ok(ControlFlow::Break(Ending::Accepted)),
            // The objection no longer blocks; the next step is worked out again without it.
            OVERRIDE if escalation == Escalation::SecurityObjection => {}
            OVERRIDE => return Ok(ControlFlow::Break(Ending::BlockerOverridden)),
            answer => return Ok(ControlFlow::Break(Ending::Chosen(answer.to_owned()))),
        }
    }
}

#[cfg(test)]
mod tests;
