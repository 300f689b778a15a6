//! The forecasting debate (F): five roles argue three rounds about what will happen, every argument is scored while the next
//! round is already being argued, the judge speaks last, and a distribution comes out that can be scored later.

mod calibration;
mod contract;
mod debate;
mod facts;
mod replies;
mod report;
mod request;
mod resolution;
mod result;
mod rules;
mod verdict;
mod words;

use roundtable_core::forecast::WEAK;
use serde_json::json;

pub use calibration::{Calibration, Record, calibration_report};
pub use contract::{DebateRequest, Outcome, Phase, Round};
pub use debate::{Debate, Heard, Marks, Spoken, point_id};
pub use replies::{Argument, Scoring, Synthesis};
pub use report::report;
pub use request::{Fault, LEAST_OUTCOMES, MOST_OUTCOMES, MOST_ROUNDS};
pub use resolution::{Resolution, Scored, observations, resolution_of, scored};
pub use result::DebateResult;
pub use rules::{Before, Opening, Rules, open};
pub use verdict::Verdict;

use crate::cast::Duty;
use crate::table::{Halt, Table, Turn, both, each};
use crate::tokens;
use debate::{PRECEDENTS, Points, Role, Version};
use verdict::{Circumstances, Ending};
use words::{share, weight};

pub async fn forecast(table: &Table, rules: &Rules) -> Result<Verdict, Halt> {
    let mut debate = Debate::new(rules, &table.setup().seats);
    let argued = argue(table, &mut debate).await;
    let summed_up = match argued {
        Ok(()) => sum_up(table, &mut debate).await,
        Err(halt) => Err(halt),
    };
    let ending = match summed_up {
        Ok(()) => Ending::Played,
        Err(Halt::Budget(limit)) => Ending::Budget(limit.to_string()),
        Err(halt) => return Err(halt),
    };
    Ok(Verdict::of(&debate, Circumstances::at(table, ending)))
}

/// The rounds. While one is being argued, the one before is being scored; only the judge's last word waits for the others.
async fn argue(table: &Table, debate: &mut Debate<'_>) -> Result<(), Halt> {
    let last = debate.rules().rounds;
    for round in 1..=last {
        if round > 1 {
            debate.listen(table.interlude(&format!("r{round}")).await?);
        }
        table.round(round, debate.phase(round).name()).await;
        let ((spoken, halted), assessed) = both(
            each(
                debate
                    .speakers(round)
                    .into_iter()
                    .map(|role| speak(table, debate, role, round)),
            ),
            assess_all(table, debate, round - 1),
        )
        .await;
        for (role, turn) in spoken.into_iter().flatten() {
            hear(debate, round, &role, turn);
        }
        let stopped = settle(debate, round - 1, assessed);
        halted?;
        if let Some(halt) = stopped {
            return Err(halt);
        }
        if debate.heard_in(round).is_empty() {
            // Nobody is there to go on with.
            return Ok(());
        }
    }
    let judge = debate.judge().cloned();
    let ((spoken, halted), assessed) = both(
        each(judge.iter().map(|judge| speak(table, debate, judge, last))),
        assess_all(table, debate, last),
    )
    .await;
    for (role, turn) in spoken.into_iter().flatten() {
        hear(debate, last, &role, turn);
    }
    let stopped = settle(debate, last, assessed);
    halted?;
    if let Some(halt) = stopped {
        return Err(halt);
    }
    if let Some(judge) = judge {
        let assessed = assess(table, debate, last, &judge.name).await;
        let stopped = settle(debate, last, vec![assessed]);
        return stopped.map_or(Ok(()), Err);
    }
    Ok(())
}

type Answer = (String, Option<Turn<Argument>>);

fn hear(debate: &mut Debate<'_>, round: u32, role: &str, turn: Option<Turn<Argument>>) {
    if let Some(turn) = turn {
        debate.remark(round, role, &turn.remarks);
        debate.hear(round, role, Version::First, turn.reply, turn.spent);
    }
}

async fn speak(
    table: &Table,
    debate: &Debate<'_>,
    role: &Role,
    round: u32,
) -> Result<Answer, Halt> {
    let turn = put(table, debate, role, round, Attempt::First).await?;
    Ok((role.name.clone(), turn))
}

#[derive(Clone, Copy)]
enum Attempt {
    First,
    /// With the score of the first.
    Again(f64),
}

/// Asks a role for its argument, or for another one where the first was too weak.
async fn put(
    table: &Table,
    debate: &Debate<'_>,
    role: &Role,
    round: u32,
    attempt: Attempt,
) -> Result<Option<Turn<Argument>>, Halt> {
    let rules = debate.rules();
    let config = &rules.request.config;
    let phase = debate.phase(round);
    let outcomes = debate.outcomes();
    let is_judge = role.duty == Some(Duty::Judge);
    let waited = is_judge && round == rules.rounds;
    let Material { facts, points } = Material::of(table, debate, round);
    let latest = if waited { points.latest } else { Vec::new() };
    let ids = debate.point_ids(round);
    let owes_precedents = debate.owes_precedents(role);
    let others: Vec<String> = debate
        .role_names()
        .into_iter()
        .filter(|other| *other != role.name)
        .collect();
    let (verb, weak) = match attempt {
        Attempt::First => ("argue", None),
        Attempt::Again(score) => ("rewrite", Some(format!("{score:.2}"))),
    };
    let context = json!({
        "question": table.setup().question,
        "outcomes": rules.request.prediction_context.outcomes,
        "facts": facts,
        "context": rules.context,
        "person": debate.person(),
        "points": points.earlier,
        "latest": latest,
        "example": ids.first(),
        "last_forecast": last_forecast(debate, &role.name, round),
        "round": round,
        "rounds": rules.rounds,
        "phase": phase.name(),
        "is_judge": is_judge,
        "precedents": owes_precedents,
        "rewrite": weak,
        "words": words_for(config.max_argument_length),
        "gist_words": GIST_WORDS,
    });
    let mut ask = table
        .ask::<Argument>(&role.name, verb)
        .in_round(round)
        .prompt("forecast/argue", context)
        .choices("supports", outcomes.to_vec())
        .keys("probabilities", outcomes.to_vec());
    if phase == Phase::Opening {
        ask = ask.without("rebuts").without("refers_to");
    } else {
        ask = ask
            .choices("rebuts", others.clone())
            .choices("refers_to", ids.clone());
    }
    if !owes_precedents {
        ask = ask.without("precedents");
    }
    let most = u64::from(config.max_argument_length);
    ask.demand(|reply: &Argument| reply.unusable(outcomes))
        .check(move |reply: &Argument| {
            let mut broken = too_long(&reply.argument, most);
            broken.extend(wrong_rebuttals(reply, &others));
            broken.extend(wrong_references(reply, &ids, phase));
            if owes_precedents {
                broken.extend(too_few_precedents(reply));
            }
            broken
        })
        .send()
        .await
}

/// A gist is one line of the later prompts.
const GIST_WORDS: usize = 12;

/// What an argument call may take in (F-15).
const INPUT: u64 = 600;
/// About what the words take that stand in every prompt, whatever is asked.
const STANDING: u64 = 262;

/// What grows with the request and the debate, fitted into what is left. The same for all roles of a round, so that they
/// share the beginning of their prompts.
struct Material {
    facts: Vec<String>,
    points: Points,
}

impl Material {
    fn of(table: &Table, debate: &Debate<'_>, round: u32) -> Self {
        let request = &debate.rules().request;
        let outcomes = request.prediction_context.outcomes.iter();
        let named =
            outcomes.map(|it| 4 + weight(&it.id) * 2 + weight(&it.label) + weight(&it.description));
        let frame = weight(&table.setup().question) + named.sum::<u64>();
        let left = INPUT.saturating_sub(STANDING + frame);
        let facts = match debate.phase(round) {
            Phase::Opening => facts::facts(request, left),
            Phase::Rebuttal => facts::facts(request, left / 2),
            Phase::Closing => facts::brief(request, left / 2),
        };
        let taken: u64 = facts.iter().map(|line| weight(line)).sum();
        Self {
            points: debate.points(round, left.saturating_sub(taken)),
            facts,
        }
    }
}

/// A token is about three quarters of a word, and the argument shares its reply with the rest of it.
fn words_for(tokens: u32) -> u32 {
    tokens * 36 / 100
}

fn last_forecast(debate: &Debate<'_>, role: &str, round: u32) -> Option<String> {
    let heard = debate.heard().into_iter();
    let last = heard.rev().find(|it| it.role == role && it.round < round)?;
    let pairs = debate
        .outcomes()
        .iter()
        .zip(last.spoken.distribution.values());
    let shares: Vec<_> = pairs
        .map(|(id, value)| format!("{id} {}", share(*value)))
        .collect();
    Some(shares.join(", "))
}

fn too_long(argument: &str, most: u64) -> Vec<String> {
    // A token has at least one byte, so a short text needs no counting.
    if argument.len() as u64 <= most {
        return Vec::new();
    }
    let count = tokens::count(argument);
    if count <= most {
        return Vec::new();
    }
    vec![format!(
        "The argument has {count} tokens; at most {most} are allowed."
    )]
}

fn wrong_rebuttals(reply: &Argument, others: &[String]) -> Vec<String> {
    let wrong = reply.rebuts.iter().filter(|role| !others.contains(role));
    wrong
        .map(|role| {
            let others = others.join(", ");
            format!("'{role}' cannot be rebutted; the other roles are: {others}.")
        })
        .collect()
}

/// F-13: a closing that refers to nothing said before is no closing.
fn wrong_references(reply: &Argument, ids: &[String], phase: Phase) -> Vec<String> {
    let wrong = reply.refers_to.iter().filter(|id| !ids.contains(id));
    let mut broken: Vec<String> = wrong
        .map(|id| format!("There is no point '{id}'."))
        .collect();
    let refers = reply.refers_to.iter().any(|id| ids.contains(id));
    if phase == Phase::Closing && !refers && !ids.is_empty() {
        broken.push(
            "A closing argument names in 'refers_to' the ids of earlier points it builds on."
                .into(),
        );
    }
    broken
}

/// F-12
fn too_few_precedents(reply: &Argument) -> Vec<String> {
    let dated = reply.precedents.iter().filter(|it| it.is_dated()).count();
    if dated >= PRECEDENTS {
        return Vec::new();
    }
    vec![format!(
        "{dated} precedent(s) with a date and an outcome; at least {PRECEDENTS} are needed. Name only events that happened."
    )]
}

/// What became of one argument before the rubric.
struct Assessed {
    role: String,
    first: Option<Scoring>,
    rewritten: Option<Turn<Argument>>,
    again: Option<Scoring>,
    halt: Option<Halt>,
}

async fn assess_all(table: &Table, debate: &Debate<'_>, round: u32) -> Vec<Assessed> {
    let heard = debate.heard_in(round);
    let chains = heard.iter().map(|it| assess(table, debate, round, it.role));
    futures::future::join_all(chains).await
}

/// Scores an argument; one under 0.2 is written again once and scored again (F-06).
async fn assess(table: &Table, debate: &Debate<'_>, round: u32, role: &str) -> Assessed {
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
    assessed.rewritten = put(table, debate, known, round, Attempt::Again(weak)).await?;
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
            json!({
                "question": table.setup().question,
                "outcomes": rules.request.prediction_context.outcomes,
                "facts": Vec::<String>::new(),
                "context": null,
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
fn settle(debate: &mut Debate<'_>, round: u32, all: Vec<Assessed>) -> Option<Halt> {
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

/// After the rounds: where the roles differ, what came to light, and what it comes to.
async fn sum_up(table: &Table, debate: &mut Debate<'_>) -> Result<(), Halt> {
    let Some(result) = verdict::combined(debate) else {
        return Ok(());
    };
    debate.listen(table.interlude("synthesis").await?);
    let rules = debate.rules();
    let synthesizer = seat_for(table, Duty::Synthesis)?;
    let heard = debate.heard();
    let arguments: Vec<_> = heard
        .iter()
        .map(|it| {
            let reply = &it.spoken.reply;
            let marks = it.spoken.marks.as_ref();
            let scored =
                marks.map_or_else(String::new, |it| format!(", scored {:.2}", it.composite));
            json!({
                "by": format!("{}, round {}, for {}{scored}", it.role, it.round, reply.supports),
                "text": reply.argument,
            })
        })
        .collect();
    let pairs = debate.outcomes().iter().zip(result.values());
    let shares: Vec<_> = pairs
        .map(|(id, value)| format!("{id} {}", share(*value)))
        .collect();
    let turn = table
        .ask::<Synthesis>(&synthesizer, "synthesise")
        .in_phase("synthesis", debate.last_round())
        .prompt(
            "forecast/synthesise",
            json!({
                "question": table.setup().question,
                "outcomes": rules.request.prediction_context.outcomes,
                "facts": Vec::<String>::new(),
                "context": null,
                "person": debate.person(),
                "arguments": arguments,
                "forecast": shares.join(", "),
            }),
        )
        .choices("role", debate.role_names())
        .choices("source_role", debate.role_names())
        .choices("affected_outcomes", debate.outcomes().to_vec())
        .send()
        .await?;
    if let Some(turn) = turn {
        debate.sum_up(turn.reply);
    }
    Ok(())
}

fn seat_for(table: &Table, duty: Duty) -> Result<String, Halt> {
    let seats = &table.setup().seats;
    let seated = seats.iter().find(|seated| seated.seat.duty == Some(duty));
    seated
        .map(|seated| seated.seat.name.clone())
        .ok_or_else(|| Halt::NoModel {
            seat: format!("{duty:?}").to_lowercase(),
        })
}

#[cfg(test)]
#[path = "forecast_tests.rs"]
mod tests;
