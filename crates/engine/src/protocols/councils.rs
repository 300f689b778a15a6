//! Councils of judges that keep their disagreements (T-01 … T-13): each council judges blind, reads itself, agrees on numbers
//! where it can and keeps its differences where it cannot; the councils read each other; a critic examines how they judged; an
//! orchestrator answers the critic and writes the result.

mod council_state;
mod findings;
mod input;
mod package;
mod prompt_context;
mod record;
mod replies;
mod report;
mod rules;
mod scorecard;
mod verdict;

use roundtable_core::councils::{BiasFigures, bias_figures};
use serde_json::Value;

pub use input::Input;
pub use package::{Given, Kind, Package};
pub use record::{Record, schema};
pub use replies::{Critique, Evaluation, Narrative, Response, Revision, Synthesis};
pub use rules::{Mode, Rules, RulesError};
pub use scorecard::{DimensionResult, JudgeScore, Standing};
pub use verdict::Verdict;

use crate::cast::councils::{CRITIC, ORCHESTRATOR};
use crate::event::{End, Entry, Words};
use crate::protocol::{Context, Fault, Needs, Plan, Protocol, Request, end_of};
use crate::reply;
use crate::report::Report;
use crate::table::{Halt, Table, Turn, all, each};
use council_state::{
    Bench, CouncilState, Second, faults_of_evaluation, faults_of_narrative, faults_of_revision,
};
use findings::settle;
use scorecard::{card, faults_of_changes, finals};
use verdict::{Ending, disagreements};

/// See the module's documentation.
#[derive(Debug)]
pub struct Councils;

impl Protocol for Councils {
    const NAME: &'static str = "councils";
    const TITLE: &'static str = "Judgement";
    const CAST: &'static str = "themis";
    const ANSWER_PHASE: &'static str = "synthesis";
    const NEEDS: Needs = Needs {
        library: false,
        history: false,
        sources: false,
    };

    type Input = Input;
    type Rules = Rules;

    fn validate(
        input: Input,
        request: Request,
        context: Context<'_>,
    ) -> Result<Plan<Rules>, Vec<Fault>> {
        input::validate(input, &request, &context)
    }

    async fn play(table: &Table, rules: &Rules) -> Result<End, Halt> {
        let verdict = councils(table, rules).await?;
        end_of(verdict.state(), verdict.reason(), &verdict)
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
}

pub async fn councils(table: &Table, rules: &Rules) -> Result<Verdict, Halt> {
    table.in_background(|| {
        reply::prepare::<Revision>();
        reply::prepare::<Narrative>();
        reply::prepare::<Response>();
        reply::prepare::<Critique>();
        reply::prepare::<Synthesis>();
    });
    let mut hearing = Hearing {
        sittings: rules.panel.councils.iter().map(CouncilState::new).collect(),
        critique: None,
        synthesis: None,
        person: Vec::new(),
    };
    let ending = match hear(table, rules, &mut hearing).await {
        Ok(()) => Ending::Heard,
        Err(Halt::Budget(limit)) => Ending::Budget(limit.to_string()),
        Err(halt) => return Err(halt),
    };
    Ok(Verdict::of(table, rules, &hearing, &ending))
}

/// All that is said, kept whatever ends it.
pub(crate) struct Hearing<'r> {
    sittings: Vec<CouncilState<'r>>,
    critique: Option<Turn<Critique>>,
    synthesis: Option<Turn<Synthesis>>,
    /// What the person who asked has said so far. The councils sit apart; it is heard where they meet.
    person: Vec<Words>,
}

async fn hear(table: &Table, rules: &Rules, hearing: &mut Hearing<'_>) -> Result<(), Halt> {
    // No council waits for another before there is something to exchange.
    all(hearing
        .sittings
        .iter_mut()
        .map(|sitting| deliberate(table, rules, sitting)))
    .await?;
    if hearing.is_empty() {
        return Ok(());
    }
    if rules.mode == Mode::Full {
        hearing.person = table.interlude("exchange").await?;
        exchange(table, rules, hearing).await?;
    }
    hearing.person = table.interlude("critic").await?;
    hearing.critique = criticise(table, rules, hearing).await?;
    hearing.person = table.interlude("synthesis").await?;
    hearing.synthesis = synthesise(table, rules, hearing).await?;
    Ok(())
}

/// One council for itself: round 1 blind, round 2 after having read each other, then the lead's transcript of both.
async fn deliberate(
    table: &Table,
    rules: &Rules,
    sitting: &mut CouncilState<'_>,
) -> Result<(), Halt> {
    table.round(1, "independent evaluation");
    let judges = sitting
        .benches
        .iter()
        .map(|bench| evaluate(table, rules, sitting, bench));
    let (evaluations, halted) = each(judges).await;
    for (bench, evaluation) in sitting.benches.iter_mut().zip(evaluations) {
        bench.first = evaluation.flatten();
    }
    halted?;
    // One judge alone has nobody to read.
    if rules.mode == Mode::Full && sitting.present().count() > 1 {
        table.round(2, "informed revision");
        let judges = sitting
            .benches
            .iter()
            .map(|bench| revise(table, rules, sitting, bench));
        let (revisions, halted) = each(judges).await;
        for (bench, revision) in sitting.benches.iter_mut().zip(revisions) {
            bench.second = revision.unwrap_or(Second::NotAsked);
        }
        halted?;
    }
    sitting.narrative = narrate(table, rules, sitting).await?;
    Ok(())
}

async fn evaluate(
    table: &Table,
    rules: &Rules,
    sitting: &CouncilState<'_>,
    bench: &Bench<'_>,
) -> Result<Option<Turn<Evaluation>>, Halt> {
    let judge = bench.judge;
    table
        .ask(&judge.seat, "evaluate")
        .in_round(1)
        .images(&rules.package.images)
        .prompt(
            "councils/evaluate",
            prompt_context::evaluate(rules, sitting, judge),
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
    sitting: &CouncilState<'_>,
    bench: &Bench<'_>,
) -> Result<Second, Halt> {
    // Who was absent has nothing to revise.
    if bench.first.is_none() {
        return Ok(Second::NotAsked);
    }
    let judge = bench.judge;
    let peers = sitting.read_by(bench, table.setup().seed);
    let turn = table
        .ask(&judge.seat, "revise")
        .in_round(2)
        .images(&rules.package.images)
        .prompt(
            "councils/revise",
            prompt_context::revise(rules, sitting, bench, &peers),
        )
        .choices("dimension", judge.dimensions.clone())
        .choices(
            "peer",
            peers.iter().map(|peer| peer.judge.seat.clone()).collect(),
        )
        .items("scores", judge.dimensions.len())
        .choices("name", judge.sub_scores.clone())
        .items("sub_scores", judge.sub_scores.len())
        .check(|reply: &Revision| faults_of_revision(bench, &peers, reply))
        .send()
        .await?;
    Ok(turn.map_or(Second::Absent, |turn| Second::Given(Box::new(turn))))
}

/// The lead merges what its judges observed. The numbers are the program's: weighted, with every disagreement kept.
async fn narrate(
    table: &Table,
    rules: &Rules,
    sitting: &CouncilState<'_>,
) -> Result<Option<Turn<Narrative>>, Halt> {
    let judges: Vec<String> = sitting
        .present()
        .map(|bench| bench.judge.seat.clone())
        .collect();
    if judges.is_empty() {
        return Ok(None);
    }
    let (results, _) = card(&rules.panel, sitting);
    table
        .ask(&sitting.council.lead, "narrate")
        .in_phase("consensus", last_round(rules))
        .images(&rules.package.images)
        .prompt(
            "councils/narrate",
            prompt_context::narrate(rules, sitting, &results),
        )
        .choices("judge", judges)
        .check(|reply: &Narrative| faults_of_narrative(sitting, reply))
        .send()
        .await
}

/// Each council gets the others' consensus and answers three questions; its lead may move a number by five points.
async fn exchange(table: &Table, rules: &Rules, hearing: &mut Hearing<'_>) -> Result<(), Halt> {
    let cards = hearing.cards(rules);
    let leads = (0..cards.len()).map(|own| respond(table, rules, hearing, &cards, own));
    let (responses, halted) = each(leads).await;
    for (sitting, response) in hearing.sittings.iter_mut().zip(responses) {
        sitting.response = response.flatten();
    }
    halted
}

async fn respond(
    table: &Table,
    rules: &Rules,
    hearing: &Hearing<'_>,
    cards: &[Vec<DimensionResult>],
    own: usize,
) -> Result<Option<Turn<Response>>, Halt> {
    let sittings = &hearing.sittings;
    let heard = |sitting: &CouncilState<'_>| sitting.present().next().is_some();
    let others: Vec<_> = (0..sittings.len())
        .filter(|index| *index != own && heard(&sittings[*index]))
        .map(|index| (&sittings[index], cards[index].as_slice()))
        .collect();
    let (sitting, results) = (&sittings[own], &cards[own]);
    if others.is_empty() || !heard(sitting) {
        return Ok(None);
    }
    let movable = finals(results).into_keys().collect();
    table
        .ask(&sitting.council.lead, "respond")
        .in_phase("exchange", last_round(rules))
        .images(&rules.package.images)
        .prompt(
            "councils/respond",
            prompt_context::heard(
                prompt_context::respond(rules, (sitting, results), &others),
                &hearing.person,
            ),
        )
        .choices("dimension", movable)
        .check(|reply: &Response| {
            let changes = reply
                .changes
                .iter()
                .map(|it| (it.dimension.as_str(), it.to));
            faults_of_changes(results, changes)
        })
        .send()
        .await
}

/// The critic must answer every grave disagreement, and say what it checked where it found nothing.
async fn criticise(
    table: &Table,
    rules: &Rules,
    hearing: &Hearing<'_>,
) -> Result<Option<Turn<Critique>>, Halt> {
    let cards = hearing.cards(rules);
    let kept = disagreements(&cards, None);
    let figures = hearing.bias(table, &cards);
    let grave: Vec<String> = kept
        .iter()
        .filter(|it| it.is_severe())
        .map(|it| it.id.clone())
        .collect();
    table
        .ask(CRITIC, "criticise")
        .in_phase("critic", last_round(rules))
        .images(&rules.package.images)
        .prompt(
            "councils/criticise",
            prompt_context::heard(
                prompt_context::criticise(rules, &hearing.sittings, &cards, &kept, &figures),
                &hearing.person,
            ),
        )
        .choices(
            "disagreement",
            kept.iter().map(|it| it.id.clone()).collect(),
        )
        .check(|reply: &Critique| verdict::faults_of_critique(reply, &grave))
        .send()
        .await
}

/// The orchestrator answers every finding and writes for whoever asked.
async fn synthesise(
    table: &Table,
    rules: &Rules,
    hearing: &Hearing<'_>,
) -> Result<Option<Turn<Synthesis>>, Halt> {
    let cards = hearing.cards(rules);
    let critique = hearing.critique.as_ref().map(|turn| &turn.reply);
    let kept = disagreements(&cards, critique);
    let findings = critique.map_or(&[][..], |critique| &critique.findings);
    let standing = finals(&cards.concat());
    let ids = (0..findings.len()).map(replies::finding_id).collect();
    let extras = &rules.panel.extras;
    table
        .ask(ORCHESTRATOR, "synthesise")
        .in_phase("synthesis", last_round(rules))
        .images(&rules.package.images)
        .prompt(
            "councils/synthesise",
            prompt_context::heard(
                prompt_context::synthesise(rules, &hearing.sittings, &cards, &kept, critique),
                &hearing.person,
            ),
        )
        .choices("finding", ids)
        .choices("dimension", standing.keys().cloned().collect())
        .choices(
            "name",
            extras.iter().map(|extra| extra.name.clone()).collect(),
        )
        .items("answers", findings.len())
        .items("extras", extras.len())
        .check(|reply: &Synthesis| {
            let mut faults = settle(findings, &reply.answers, standing.clone()).faults;
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
        Mode::Fast => 1,
    }
}

impl Hearing<'_> {
    /// Nobody said anything: there is nothing to examine.
    fn is_empty(&self) -> bool {
        self.sittings
            .iter()
            .all(|sitting| sitting.present().next().is_none())
    }

    fn cards(&self, rules: &Rules) -> Vec<Vec<DimensionResult>> {
        let sittings = self.sittings.iter();
        sittings
            .map(|sitting| card(&rules.panel, sitting).0)
            .collect()
    }

    fn bias(&self, table: &Table, cards: &[Vec<DimensionResult>]) -> BiasFigures {
        let seed = table.setup().seed;
        let judgements: Vec<_> = self
            .sittings
            .iter()
            .flat_map(|it| it.judgements(seed))
            .collect();
        let scores = cards.iter().flatten().flat_map(|it| &it.judges);
        let last: Vec<_> = scores.filter_map(JudgeScore::last).collect();
        bias_figures(&judgements, &last)
    }
}

#[cfg(test)]
mod test_support;

#[cfg(test)]
#[path = "councils_tests.rs"]
mod tests;
