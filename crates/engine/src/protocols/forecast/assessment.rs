//! What an argument is worth by the rubric, and what becomes of one that is worth too little (F-05, F-06).

use roundtable_core::forecast::WEAK;

use super::debate::{Debate, Marks, Version};
use super::prompt_inputs::Material;
use super::replies::{Argument, Scoring};
use super::{Attempt, put, seat_for};
use crate::cast::Duty;
use crate::prompt::given;
use crate::table::{Halt, Table, Turn, join_all};

/// What became of one argument before the rubric.
pub(super) struct Assessed {
    role: String,
    first: Option<Scoring>,
    rewritten: Option<Turn<Argument>>,
    again: Option<Scoring>,
    halt: Option<Halt>,
}

pub(super) async fn assess_all(table: &Table, debate: &Debate<'_>, round: u32) -> Vec<Assessed> {
    let heard = debate.heard_in(round);
    let chains = heard.iter().map(|it| assess(table, debate, round, it.role));
    join_all(chains).await
}

/// Scores an argument; one under 0.2 is written again once and scored again (F-06).
pub(super) async fn assess(table: &Table, debate: &Debate<'_>, round: u32, role: &str) -> Assessed {
    let mut assessed = Assessed {
        role: role.to_owned(),
        first: None,
        rewritten: None,
        again: None,
        halt: None,
    };
    if let Err(halt) = assess_into(table, debate, round, &mut assessed).await {
        assessed.halt = Some(halt);
    }
    assessed
}

async fn assess_into(
    table: &Table,
    debate: &Debate<'_>,
    round: u32,
    assessed: &mut Assessed,
) -> Result<(), Halt> {
    let role = assessed.role.clone();
    let Some(first) = debate.first_of(round, &role) else {
        return Ok(());
    };
    assessed.first = score(table, debate, round, &role, Version::First, &first.reply).await?;
    let marks = assessed.first.as_ref();
    let marks = marks.and_then(|scoring| Marks::of(scoring, debate.rules()));
    let Some(weak) = marks.map(|marks| marks.composite).filter(|it| *it < WEAK) else {
        return Ok(());
    };
    let Some(known) = debate.roles().iter().find(|it| it.name == role) else {
        return Ok(());
    };
    let material = Material::of(table, debate, round);
    assessed.rewritten = put(table, debate, known, round, &material, Attempt::Again(weak)).await?;
    if let Some(turn) = &assessed.rewritten {
        assessed.again = score(table, debate, round, &role, Version::Again, &turn.reply).await?;
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
        Version::Again => format!("rescore-{role}"),
    };
    let criteria = rules.criteria.names();
    let mut text = argument.argument.clone();
    if !argument.evidence.is_empty() {
        text = format!("{text}\nEvidence: {}", argument.evidence.join("; "));
    }
    let turn = table
        .ask::<Scoring>(&scorer, &verb)
        .in_round(round)
        .prompt(
            "forecast/score",
            given!({
                "question": table.setup().question,
                "outcomes": rules.request.prediction_context.outcomes,
                "facts": Vec::<String>::new(),
                "context": None::<String>,
                "rubric": rules.rubric,
                "supports": argument.supports,
                "argument": text,
            }),
        )
        .keys("scores", criteria.clone())
        .demand(move |reply: &Scoring| {
            let missing = criteria.iter().filter(|it| !reply.scores.contains_key(*it));
            missing
                .map(|it| format!("the score for '{it}' is missing"))
                .collect()
        })
        .send()
        .await?;
    Ok(turn.map(|turn| turn.reply))
}

/// Writes into the debate what was found out about a round's arguments. Returns why it has to stop, where it has to.
pub(super) fn settle(debate: &mut Debate<'_>, round: u32, all: Vec<Assessed>) -> Option<Halt> {
    let mut halt = None;
    for assessed in all {
        let role = &assessed.role;
        if let Some(scoring) = &assessed.first {
            debate.mark(round, role, Version::First, scoring);
        }
        if let Some(turn) = assessed.rewritten {
            debate.remark(round, role, &turn.remarks);
            debate.hear(round, role, Version::Again, turn.reply, turn.spent);
        }
        if let Some(scoring) = &assessed.again {
            debate.mark(round, role, Version::Again, scoring);
        }
        halt = halt.or(assessed.halt);
    }
    halt
}
