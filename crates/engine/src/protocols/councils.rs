//! The councils protocol (T-01 … T-13): councils of judges score content and keep their disagreements.
//!
//! 1. The judges of a council score independently, then revise after reading each other.
//! 2. The lead of each council writes a narrative; the program computes the consensus and keeps every disagreement.
//! 3. The councils respond to each other.
//! 4. A critic reviews the judgement; an orchestrator answers the critic and writes the result.

mod council_state;
mod disagreements;
mod findings;
mod input;
mod judge_results;
mod outline;
mod package;
mod prompt_context;
mod record;
mod replies;
mod report;
mod rules;
mod scorecard;
mod verdict;

use roundtable_core::councils::{BiasFigures, bias_figures};
use roundtable_core::estimate::Outline;
use serde_json::Value;

pub use input::Input;
pub use package::{Given, Kind, Package};
pub use record::{Record, schema};
pub use replies::{Critique, Evaluation, Narrative, Response, Revision, Synthesis};
pub use rules::{Mode, Rules, RulesError};
pub use scorecard::{DimensionResult, JudgeScore, ScoreBasis};
pub use verdict::Verdict;

use crate::cast::councils::{CRITIC, Judge, ORCHESTRATOR};
use crate::depth::Depth;
use crate::event::{End, Entry, Setup, Words};
use crate::form::Task;
use crate::protocol::{Context, Conversation, Fault, Plan, Protocol, Request, Subject};
use crate::reply;
use crate::report::Report;
use crate::table::{Halt, Table, Turn, all, each};
use council_state::{
    CouncilState, CouncilTurn, JudgeState, faults_of_evaluation, faults_of_narrative,
    faults_of_revision,
};
use disagreements::disagreements;
use findings::resolve_findings;
use scorecard::{faults_of_changes, finals, scorecard};
use verdict::Ending;

/// See the module's documentation.
#[derive(Debug)]
pub struct Councils;

impl Protocol for Councils {
    const NAME: &'static str = "councils";
    const TITLE: &'static str = "Judgement";
    const COMMAND: &'static str = "judge";
    const SUMMARY: &'static str = "Councils of judges score a text and say why";
    const CAST: &'static str = "themis";
    const ANSWER_PHASE: &'static str = "synthesis";
    const TASK: Task = Task::Judge;
    const PARTS: Option<&'static str> = Some("parts");
    const SUBJECT: Subject = Subject::Text;

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
        input::validate(input, &request, &context)
    }

    fn outline(rules: &Rules, setup: &Setup) -> Outline {
        outline::outline(rules, setup)
    }

    async fn play(table: &Table, rules: &Rules) -> Result<End, Halt> {
        let verdict = councils(table, rules).await?;
        verdict.outcome().end(&verdict)
    }

    fn headline(result: &Value) -> Option<String> {
        let overall = &result["overall"];
        let (title, tier) = (overall["title"].as_str()?, overall["tier"].as_str()?);
        let score = overall["score"].as_f64()?;
        Some(format!("{title} {score:.0} of 100, {tier}"))
    }

    fn report(entries: &[Entry]) -> Report {
        report::report(entries)
    }

    fn record(id: &str, timestamp: String, entries: &[Entry]) -> Option<Value> {
        serde_json::to_value(Record::of(id, timestamp, entries)?).ok()
    }

    fn record_schema() -> Option<Value> {
        Some(schema())
    }

    fn converse(input: Input, said: Conversation) -> Result<(String, Input), Vec<Fault>> {
        Ok(input::converse(input, said))
    }
}

pub async fn councils(table: &Table, rules: &Rules) -> Result<Verdict, Halt> {
    table.in_background(|| {
        reply::prepare::<Revision>();
        reply::prepare::<Narrative>();
        reply::prepare::<Response>();
        reply::prepare::<Critique>();
        reply::prepare::<Synthesis>();
    });
    let mut deliberation = Deliberation {
        councils: rules.panel.councils.iter().map(CouncilState::new).collect(),
        critique: None,
        synthesis: None,
        person: Vec::new(),
    };
    let ending = match run_phases(table, rules, &mut deliberation).await {
        Ok(()) => Ending::Complete,
        Err(Halt::Budget(limit)) => Ending::Budget(limit.to_string()),
        Err(halt) => return Err(halt),
    };
    Ok(Verdict::of(table, rules, &deliberation, &ending))
}

/// Every turn so far. Kept if a budget limit ends the debate.
pub(crate) struct Deliberation<'r> {
    councils: Vec<CouncilState<'r>>,
    critique: Option<Turn<Critique>>,
    synthesis: Option<Turn<Synthesis>>,
    /// Messages of the person who asked. The seats get them after the councils have deliberated separately.
    person: Vec<Words>,
}

async fn run_phases(
    table: &Table,
    rules: &Rules,
    deliberation: &mut Deliberation<'_>,
) -> Result<(), Halt> {
    // The councils run in parallel until the exchange.
    all(deliberation
        .councils
        .iter_mut()
        .map(|council| deliberate(table, rules, council)))
    .await?;
    if deliberation.is_empty() {
        return Ok(());
    }
    if rules.mode == Mode::Full {
        deliberation.person = table.interlude("exchange").await?;
        exchange(table, rules, deliberation).await?;
    }
    if rules.mode != Mode::Quick {
        deliberation.person = table.interlude("critic").await?;
        deliberation.critique = criticise(table, rules, deliberation).await?;
    }
    deliberation.person = table.interlude("synthesis").await?;
    deliberation.synthesis = synthesise(table, rules, deliberation).await?;
    Ok(())
}

/// One council by itself: an independent round, a round after the judges have read each other, then the lead's narrative.
async fn deliberate(
    table: &Table,
    rules: &Rules,
    council: &mut CouncilState<'_>,
) -> Result<(), Halt> {
    table.round(1, "independent evaluation");
    let spec = council.spec;
    let judges = spec.judges.iter();
    let (evaluations, halted) =
        each(judges.map(|judge| evaluate(table, rules, council, judge))).await;
    for (judge, turn) in spec.judges.iter().zip(evaluations) {
        if let Some(turn) = turn.flatten() {
            council.apply(&judge.seat, CouncilTurn::Evaluation(turn));
        }
    }
    halted?;
    let present: Vec<&str> = council
        .present()
        .map(|judge| judge.spec.seat.as_str())
        .collect();
    // A single judge has no peers to read.
    if rules.mode == Mode::Full && present.len() > 1 {
        table.round(2, "informed revision");
        let judges = council.present();
        let (revisions, halted) =
            each(judges.map(|judge| revise(table, rules, council, judge))).await;
        for (seat, revision) in present.into_iter().zip(revisions) {
            if let Some(turn) = revision {
                council.apply(seat, CouncilTurn::Revision(turn));
            }
        }
        halted?;
    }
    if let Some(turn) = narrate(table, rules, council).await? {
        council.apply(&spec.lead, CouncilTurn::Narrative(turn));
    }
    Ok(())
}

async fn evaluate(
    table: &Table,
    rules: &Rules,
    council: &CouncilState<'_>,
    judge: &Judge,
) -> Result<Option<Turn<Evaluation>>, Halt> {
    table
        .ask(&judge.seat, "evaluate")
        .in_round(1)
        .images(&rules.package.images)
        .prompt(
            "councils/evaluate",
            prompt_context::evaluate(rules, council, judge),
        )
        .choices("dimension", judge.dimensions.clone())
        .items("scores", judge.dimensions.len())
        .choices("name", judge.sub_scores.clone())
        .items("sub_scores", judge.sub_scores.len())
        .check(|reply: &Evaluation| faults_of_evaluation(judge, reply))
        .send()
        .await
}

async fn revise(
    table: &Table,
    rules: &Rules,
    council: &CouncilState<'_>,
    judge: &JudgeState<'_>,
) -> Result<Option<Turn<Revision>>, Halt> {
    let spec = judge.spec;
    let peers = council.peers_of(judge, table.setup().seed);
    table
        .ask(&spec.seat, "revise")
        .in_round(2)
        .images(&rules.package.images)
        .prompt(
            "councils/revise",
            prompt_context::revise(rules, council, judge, &peers),
        )
        .choices("dimension", spec.dimensions.clone())
        .choices(
            "peer",
            peers.iter().map(|peer| peer.spec.seat.clone()).collect(),
        )
        .items("scores", spec.dimensions.len())
        .choices("name", spec.sub_scores.clone())
        .items("sub_scores", spec.sub_scores.len())
        .check(|reply: &Revision| faults_of_revision(&rules.panel, judge, &peers, reply))
        .send()
        .await
}

/// The lead merges the judges' observations. The program computes the scores and keeps every disagreement.
async fn narrate(
    table: &Table,
    rules: &Rules,
    council: &CouncilState<'_>,
) -> Result<Option<Turn<Narrative>>, Halt> {
    let judges: Vec<String> = council
        .present()
        .map(|judge| judge.spec.seat.clone())
        .collect();
    if judges.is_empty() {
        return Ok(None);
    }
    let (results, _) = scorecard(&rules.panel, council);
    table
        .ask(&council.spec.lead, "narrate")
        .in_phase("consensus", last_round(rules))
        .prompt(
            "councils/narrate",
            prompt_context::narrate(rules, council, &results),
        )
        .choices("judge", judges)
        .check(|reply: &Narrative| faults_of_narrative(council, reply))
        .send()
        .await
}

/// Each lead gets the other councils' consensus, answers three questions and may move a score by up to five points.
async fn exchange(
    table: &Table,
    rules: &Rules,
    deliberation: &mut Deliberation<'_>,
) -> Result<(), Halt> {
    let scorecards = deliberation.scorecards(rules);
    let leads =
        (0..scorecards.len()).map(|own| respond(table, rules, deliberation, &scorecards, own));
    let (responses, halted) = each(leads).await;
    for (council, response) in deliberation.councils.iter_mut().zip(responses) {
        if let Some(turn) = response.flatten() {
            council.apply(&council.spec.lead, CouncilTurn::Response(turn));
        }
    }
    halted
}

async fn respond(
    table: &Table,
    rules: &Rules,
    deliberation: &Deliberation<'_>,
    scorecards: &[Vec<DimensionResult>],
    own: usize,
) -> Result<Option<Turn<Response>>, Halt> {
    let councils = &deliberation.councils;
    let others: Vec<_> = (0..councils.len())
        .filter(|index| *index != own && !councils[*index].is_empty())
        .map(|index| (&councils[index], scorecards[index].as_slice()))
        .collect();
    let (council, results) = (&councils[own], &scorecards[own]);
    if others.is_empty() || council.is_empty() {
        return Ok(None);
    }
    let movable = finals(results).into_keys().collect();
    table
        .ask(&council.spec.lead, "respond")
        .in_phase("exchange", last_round(rules))
        .prompt(
            "councils/respond",
            prompt_context::with_person(
                prompt_context::respond(rules, (council, results), &others),
                &deliberation.person,
            ),
        )
        .choices("dimension", movable)
        .check(|reply: &Response| {
            let mut faults = faults_of_changes(results, &reply.changes);
            for (name, text) in [("tensions", &reply.tensions), ("missed", &reply.missed)] {
                if text.trim().is_empty() {
                    faults.push(format!("'{name}' is empty."));
                }
            }
            faults
        })
        .send()
        .await
}

/// The critic must answer every severe disagreement, and list what it checked if it found nothing.
async fn criticise(
    table: &Table,
    rules: &Rules,
    deliberation: &Deliberation<'_>,
) -> Result<Option<Turn<Critique>>, Halt> {
    let scorecards = deliberation.scorecards(rules);
    let kept = disagreements(&scorecards, None);
    let figures = deliberation.bias(table, &scorecards);
    let severe: Vec<String> = kept
        .iter()
        .filter(|disagreement| disagreement.is_severe())
        .map(|disagreement| disagreement.id.clone())
        .collect();
    table
        .ask(CRITIC, "criticise")
        .in_phase("critic", last_round(rules))
        .prompt(
            "councils/criticise",
            prompt_context::with_person(
                prompt_context::criticise(
                    rules,
                    &deliberation.councils,
                    &scorecards,
                    &kept,
                    &figures,
                ),
                &deliberation.person,
            ),
        )
        .choices(
            "disagreement",
            kept.iter()
                .map(|disagreement| disagreement.id.clone())
                .collect(),
        )
        .check(|reply: &Critique| findings::faults_of_critique(reply, &severe))
        .send()
        .await
}

/// The orchestrator answers every finding and writes the summary for the person who asked.
async fn synthesise(
    table: &Table,
    rules: &Rules,
    deliberation: &Deliberation<'_>,
) -> Result<Option<Turn<Synthesis>>, Halt> {
    let scorecards = deliberation.scorecards(rules);
    let critique = deliberation.critique.as_ref().map(|turn| &turn.reply);
    let kept = disagreements(&scorecards, critique);
    let findings = critique.map_or(&[][..], |critique| &critique.findings);
    let scores = finals(&scorecards.concat());
    let ids = (0..findings.len()).map(replies::finding_id).collect();
    let extras = &rules.panel.extras;
    table
        .ask(ORCHESTRATOR, "synthesise")
        .in_phase("synthesis", last_round(rules))
        .prompt(
            "councils/synthesise",
            prompt_context::with_person(
                prompt_context::synthesise(
                    rules,
                    &deliberation.councils,
                    &scorecards,
                    &kept,
                    critique,
                ),
                &deliberation.person,
            ),
        )
        .choices("finding", ids)
        .choices("dimension", scores.keys().cloned().collect())
        .choices(
            "name",
            extras.iter().map(|extra| extra.name.clone()).collect(),
        )
        .items("answers", findings.len())
        .items("extras", extras.len())
        .check(|reply: &Synthesis| {
            let mut faults = resolve_findings(findings, &reply.answers, scores.clone()).faults;
            faults.extend(verdict::faults_of_extras(extras, &reply.extras));
            faults
        })
        .last()
        .send()
        .await
}

fn last_round(rules: &Rules) -> u32 {
    match rules.mode {
        Mode::Full => 2,
        Mode::Fast | Mode::Quick => 1,
    }
}

impl Deliberation<'_> {
    /// Whether no judge has answered.
    fn is_empty(&self) -> bool {
        self.councils.iter().all(CouncilState::is_empty)
    }

    fn scorecards(&self, rules: &Rules) -> Vec<Vec<DimensionResult>> {
        let councils = self.councils.iter();
        councils
            .map(|council| scorecard(&rules.panel, council).0)
            .collect()
    }

    fn bias(&self, table: &Table, scorecards: &[Vec<DimensionResult>]) -> BiasFigures {
        let seed = table.setup().seed;
        let judgements: Vec<_> = self
            .councils
            .iter()
            .flat_map(|council| council.judgements(seed))
            .collect();
        let scores = scorecards
            .iter()
            .flatten()
            .flat_map(|result| &result.judges);
        let last: Vec<_> = scores.filter_map(JudgeScore::last).collect();
        bias_figures(&judgements, &last)
    }
}

#[cfg(test)]
mod test_support;

#[cfg(test)]
mod tests;
