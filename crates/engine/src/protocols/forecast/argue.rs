//! One role's argument, and its rewrite if it was too weak (F-04, F-06).

use minijinja::value::merge_maps;
use serde::Serialize;

use super::checks::{
    contradiction, no_rebuttal, too_few_precedents, too_long, wrong_rebuttals, wrong_references,
};
use super::contract::Phase;
use super::debate::{Debate, Role};
use super::prompt_inputs::{self, GIST_WORDS, last_forecast, with_evidence, words_for};
use super::replies::Argument;
use crate::cast::Duty;
use crate::prompt::given;
use crate::table::{Halt, Table, Turn};

pub(super) enum Attempt {
    First,
    Rewrite(WeakArgument),
}

/// The first attempt, its score, and the scorer's reason.
#[derive(Debug, Serialize)]
pub(super) struct WeakArgument {
    score: String,
    reason: String,
    text: String,
}

impl WeakArgument {
    pub(super) fn new(reply: &Argument, score: f64, reason: &str) -> Self {
        Self {
            score: format!("{score:.2}"),
            reason: reason.to_owned(),
            text: with_evidence(reply),
        }
    }
}

/// Asks a role for its argument, or for a rewrite if the first was too weak.
pub(super) async fn request_argument(
    table: &Table,
    debate: &Debate<'_>,
    role: &Role,
    round: u32,
    attempt: Attempt,
) -> Result<Option<Turn<Argument>>, Halt> {
    let max_tokens = u64::from(debate.rules().request.config.max_argument_length);
    let phase = debate.phase(round);
    let outcomes = debate.outcomes();
    let ids = debate.point_ids(round);
    let owes_precedents = debate.owes_precedents(role);
    let mut others = debate.role_names();
    others.retain(|other| *other != role.name);
    let verb = match attempt {
        Attempt::First => "argue",
        Attempt::Rewrite(_) => "rewrite",
    };
    let mut ask = table
        .ask::<Argument>(&role.name, verb)
        .in_round(round)
        .prompt(
            "forecast/argue",
            context(table, debate, role, round, &attempt),
        )
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
    ask.demand(|reply: &Argument| reply.unusable(outcomes))
        .check(move |reply: &Argument| {
            let mut broken = too_long(&reply.argument, max_tokens);
            broken.extend(wrong_rebuttals(reply, &others));
            broken.extend(no_rebuttal(reply, &others, phase));
            broken.extend(contradiction(reply, outcomes));
            broken.extend(wrong_references(reply, &ids, phase));
            if owes_precedents {
                broken.extend(too_few_precedents(reply));
            }
            broken
        })
        .send()
        .await
}

fn context(
    table: &Table,
    debate: &Debate<'_>,
    role: &Role,
    round: u32,
    attempt: &Attempt,
) -> minijinja::Value {
    let rules = debate.rules();
    let is_judge = role.duty == Some(Duty::Judge);
    let latest = if is_judge && round == rules.rounds {
        debate.closings(round)
    } else {
        Vec::new()
    };
    let weak = match attempt {
        Attempt::First => None,
        Attempt::Rewrite(weak) => Some(weak),
    };
    let own = given!({
        "person": debate.person(),
        "points": prompt_inputs::points(table, debate, round),
        "latest": latest,
        "example": debate.point_ids(round).first(),
        "last_forecast": last_forecast(debate, &role.name, round),
        "round": round,
        "rounds": rules.rounds,
        "phase": debate.phase(round).name(),
        "is_judge": is_judge,
        "precedents": debate.owes_precedents(role),
        "weak": weak,
        "words": words_for(rules.request.config.max_argument_length),
        "gist_words": GIST_WORDS,
    });
    merge_maps([prompt_inputs::frame(table, debate), own])
}
