//! Scores arguments by the rubric and has weak ones rewritten once (F-05, F-06).

use minijinja::value::merge_maps;
use roundtable_core::forecast::WEAK;

use super::argue::{Attempt, WeakArgument, request_argument};
use super::debate::{Debate, RubricScores, Version};
use super::prompt_inputs::{self, with_evidence};
use super::replies::{Argument, Scoring};
use super::seat_for;
use crate::cast::Duty;
use crate::prompt::given;
use crate::table::{Halt, Table, Turn, join_all};

/// The scores of one argument and of its rewrite.
#[derive(Default)]
pub(super) struct Assessment {
    role: String,
    first: Option<Scoring>,
    rewrite: Option<Turn<Argument>>,
    second: Option<Scoring>,
    halt: Option<Halt>,
}

pub(super) async fn assess_all(table: &Table, debate: &Debate<'_>, round: u32) -> Vec<Assessment> {
    let arguments = debate.arguments_in(round);
    let chains = arguments
        .iter()
        .map(|argument| assess(table, debate, round, argument.role));
    join_all(chains).await
}

/// Scores an argument. One under 0.2 is rewritten once and scored again (F-06).
pub(super) async fn assess(
    table: &Table,
    debate: &Debate<'_>,
    round: u32,
    role: &str,
) -> Assessment {
    let mut assessed = Assessment {
        role: role.to_owned(),
        ..Assessment::default()
    };
    let done = assess_into(table, debate, round, &mut assessed).await;
    assessed.halt = done.err();
    assessed
}

async fn assess_into(
    table: &Table,
    debate: &Debate<'_>,
    round: u32,
    assessed: &mut Assessment,
) -> Result<(), Halt> {
    if !debate.rules().is_scored {
        return Ok(());
    }
    let role = assessed.role.clone();
    let Some(first) = debate.first_version(round, &role) else {
        return Ok(());
    };
    assessed.first = score(table, debate, round, &role, Version::First, &first.reply).await?;
    let scores = assessed.first.as_ref();
    let scores = scores.and_then(|scoring| RubricScores::of(scoring, debate.rules()));
    if let Some(scores) = scores.filter(|scores| scores.composite < WEAK)
        && let Some(known) = debate.roles().iter().find(|known| known.name == role)
    {
        let weak = WeakArgument::new(&first.reply, scores.composite, &scores.reason);
        let rewrite = Attempt::Rewrite(weak);
        assessed.rewrite = request_argument(table, debate, known, round, rewrite).await?;
    }
    if let Some(turn) = &assessed.rewrite {
        assessed.second = score(table, debate, round, &role, Version::Rewrite, &turn.reply).await?;
    }
    Ok(())
}

async fn score(
    table: &Table,
    debate: &Debate<'_>,
    round: u32,
    role: &str,
    version: Version,
    argument: &Argument,
) -> Result<Option<Scoring>, Halt> {
    let rules = debate.rules();
    let scorer = seat_for(table, Duty::Score)?;
    let verb = match version {
        Version::First => format!("score-{role}"),
        Version::Rewrite => format!("rescore-{role}"),
    };
    let criteria = rules.criteria.names();
    let turn = table
        .ask::<Scoring>(&scorer, &verb)
        .in_round(round)
        .prompt(
            "forecast/score",
            merge_maps([
                prompt_inputs::frame(table, debate),
                given!({
                    "rubric": rules.rubric,
                    "supports": argument.supports,
                    "argument": with_evidence(argument),
                }),
            ]),
        )
        .keys("scores", criteria.clone())
        .demand(move |reply: &Scoring| {
            let missing = criteria
                .iter()
                .filter(|name| !reply.scores.contains_key(*name));
            missing
                .map(|name| format!("the score for '{name}' is missing"))
                .collect()
        })
        .send()
        .await?;
    Ok(turn.map(|turn| turn.reply))
}

/// Adds the scores and rewrites of a round to the debate. Fails with the first reason to stop, if there is one.
pub(super) fn apply_assessments(
    debate: &mut Debate<'_>,
    round: u32,
    all: Vec<Assessment>,
) -> Result<(), Halt> {
    let mut halt = None;
    for assessed in all {
        let role = &assessed.role;
        if let Some(scoring) = &assessed.first {
            debate.add_scores(round, role, Version::First, scoring);
        }
        if let Some(turn) = assessed.rewrite {
            debate.add_turn(round, role, Version::Rewrite, turn);
        }
        if let Some(scoring) = &assessed.second {
            debate.add_scores(round, role, Version::Rewrite, scoring);
        }
        halt = halt.or(assessed.halt);
    }
    halt.map_or(Ok(()), Err)
}
