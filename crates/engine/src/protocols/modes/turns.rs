//! The turns of seats: contributions, blind votes, the safety evaluation and the conclusion.

use futures::future::join;
use roundtable_core::labels::Label;
use roundtable_core::verification::{HIGH_STAKES, Stakes, UNIVERSAL};
use serde_json::{Value, json};

use super::checks::ReplyChecker;
use super::contradiction;
use super::debate::{BlindVote, Debate, RoundKind};
use super::replies::{Ballot, Conclusion, Contribution, Evaluation};
use super::resolution::Resolution;
use super::rules::Rules;
use super::verdict::Ending;
use crate::algorithm::Veto;
use crate::mode::{Estimates, SpeakingOrder, Stances, Visibility};
use crate::model::Ability;
use crate::safety::Alarm;
use crate::table::{Halt, Table, Turn, all};

/// The labels of claims that need no citation.
const UNCITED: [Label; 2] = [Label::Infer, Label::Assume];

/// Asks the groups of a round in the mode's order, the seats of a group in parallel. If round 1 is not blind, blind votes are
/// taken at the same time.
pub(super) async fn speak_in_turn(
    table: &Table,
    debate: &mut Debate,
    round: u32,
) -> Result<(), Halt> {
    let order = debate.rules.order();
    for (index, group) in debate.panel.groups(order).into_iter().enumerate() {
        let turns = all(group.iter().map(|seat| speak(table, debate, seat, round)));
        let turns = if round == 1 && index == 0 && order != SpeakingOrder::Parallel {
            let (ballots, turns) = join(vote_blindly(table, debate), turns).await;
            let turns = turns?;
            debate.ballots = ballots?;
            turns
        } else {
            turns.await?
        };
        debate.add_turns(group.into_iter().zip(turns));
    }
    Ok(())
}

/// `None` if the seat is absent.
async fn speak(
    table: &Table,
    debate: &Debate,
    seat: &str,
    round: u32,
) -> Result<Option<Turn<Contribution>>, Halt> {
    let Some(me) = debate.panel.seat(seat) else {
        return Ok(None);
    };
    let rules = &debate.rules;
    let mode = &rules.mode;
    let kind = debate
        .rounds
        .last()
        .map_or(RoundKind::Ordinary, |round| round.kind);
    let checker = ReplyChecker {
        mode,
        question: &debate.question,
        stakes: rules.stakes,
        round,
        kind,
        seat: me,
        state: &debate.state,
        sources: &rules.sources,
        peers: &debate.peers_of(seat),
        evidence: debate
            .enhanced
            .as_ref()
            .filter(|enhanced| enhanced.rules.wants_evidence())
            .map(|enhanced| &enhanced.ledger),
    };
    let mut ask = omitted_properties(rules, me.ability)
        .into_iter()
        .fold(table.ask(seat, "speak"), |ask, property| {
            ask.without(property)
        });
    if me.ability == Ability::Small {
        // Without references there is nothing to cite, and a FACT needs a citation.
        ask = ask.choices(
            "label",
            UNCITED.map(|label| label.name().to_owned()).to_vec(),
        );
        ask = ask.choices("citations", vec![String::new()]);
    }
    ask.in_round(round)
        .prompt(
            "modes/speak",
            json!({
                "question": debate.question, "person": debate.user_input, "mode": mode, "me": me, "kind": kind.name(),
                "focus": rules.focus.get(&round), "context": debate.context(), "current": debate.current_turns(),
                "mine": debate.last_position(seat), "sections": mode.structure_of(round), "round": round,
                "max_rounds": rules.max_rounds, "questions": verification_questions(rules),
                "anonymous": mode.visibility == Visibility::Anonymous, "enhanced": debate.prompt_evidence,
                "sources": sources_for(debate, seat),
            }),
        )
        .tools(debate.toolbox_of(seat))
        .choices("claim", debate.claim_ids())
        .choices("retracts", debate.claim_ids())
        .choices("supports", debate.supportable_ids())
        .check(|reply: &Contribution| checker.faults(reply))
        .send()
        .await
}

/// The user's sources as a seat's prompt names them, with the passages found for a seat without tools.
fn sources_for(debate: &Debate, seat: &str) -> Value {
    let sources = debate.rules.sources.list().iter();
    let names: Vec<&str> = sources.map(|source| source.name.as_str()).collect();
    json!({
        "names": names,
        "tools": debate.toolbox_of(seat).is_some(),
        "passages": debate.passages_for(seat),
    })
}

/// The verification questions with their names (M-10).
fn verification_questions(rules: &Rules) -> Vec<Value> {
    let of_mode = [
        ("mode_first", rules.mode.verification.first.as_str()),
        ("mode_second", rules.mode.verification.second.as_str()),
    ];
    let high_stakes = match rules.stakes {
        Stakes::Ordinary => None,
        Stakes::High => Some(("high_stakes", HIGH_STAKES)),
    };
    UNIVERSAL
        .into_iter()
        .chain(of_mode)
        .chain(high_stakes)
        .map(|(name, text)| json!({ "name": name, "text": text }))
        .collect()
}

/// Properties left out of the reply's schema: those the mode does not use, and those too much for a small model.
fn omitted_properties(rules: &Rules, ability: Ability) -> Vec<&'static str> {
    let mut omitted = Vec::new();
    // An assigned stance is known; a reply states it only so that the program can check that the seat keeps it.
    if rules.mode.stances == Stances::None || ability == Ability::Small {
        omitted.push("stance");
    }
    if rules.mode.estimates == Estimates::None {
        omitted.push("estimate");
    }
    let enhanced = rules.enhanced.as_ref();
    if !enhanced.is_some_and(|enhanced| enhanced.algorithm.veto == Veto::Security) {
        omitted.push("security_objection");
    }
    match enhanced {
        Some(enhanced) if enhanced.wants_evidence() && ability == Ability::Full => {
            omitted.push("opposes");
        }
        Some(enhanced) if enhanced.wants_evidence() => omitted.push("critiques"),
        Some(_) | None => omitted.extend(["backing", "critiques"]),
    }
    if ability == Ability::Small {
        omitted.extend([
            "debate_alignment",
            "blocker",
            "references",
            "retracts",
            "decisions",
            "moved_by",
            "steelman",
            "concern",
            "alternatives",
            "risks",
            "uncertainty",
            "verification",
        ]);
    }
    omitted
}

/// Asks each seat for its answer without a debate (C-17).
async fn vote_blindly(table: &Table, debate: &Debate) -> Result<Vec<BlindVote>, Halt> {
    let ballots = debate.panel.seats.iter().map(|me| async move {
        let ask = match me.ability {
            Ability::Full => table.ask(&me.name, "ballot"),
            Ability::Small => table.ask(&me.name, "ballot").without("debate_alignment"),
        };
        let turn: Option<Turn<Ballot>> = ask
            .in_round(0)
            .prompt(
                "modes/ballot",
                json!({ "question": debate.question, "me": me }),
            )
            .send()
            .await?;
        Ok(turn.map(|turn| BlindVote {
            seat: me.name.clone(),
            ballot: turn.reply,
            spent: turn.spent,
        }))
    });
    Ok(all(ballots).await?.into_iter().flatten().collect())
}

/// The third tier of safety (M-09): after an alarm, an evaluator reviews each round until it finds one clear.
pub(super) async fn evaluate_safety(
    table: &Table,
    debate: &mut Debate,
    round: u32,
) -> Result<(), Halt> {
    let has_turns = debate
        .rounds
        .last()
        .is_some_and(|round| !round.turns.is_empty());
    let Some(evaluator) = debate.panel.evaluator.clone() else {
        return Ok(());
    };
    if !debate.is_watched || !has_turns {
        return Ok(());
    }
    let reasons: Vec<String> = debate.alarms.iter().map(Alarm::reason).collect();
    let turn: Option<Turn<Evaluation>> = table
        .ask(&evaluator, "evaluate")
        .in_round(round)
        .prompt(
            "modes/evaluate",
            json!({ "question": debate.question, "reasons": reasons, "round": round, "turns": debate.turns_for_evaluator() }),
        )
        .check(|reply: &Evaluation| unknown_seats(debate, &reply.withhold))
        .send()
        .await?;
    if let Some(turn) = turn {
        debate.apply_evaluation(turn.reply);
    }
    Ok(())
}

fn unknown_seats(debate: &Debate, named: &[String]) -> Vec<String> {
    let unknown = named
        .iter()
        .filter(|name| debate.panel.seat(name).is_none());
    unknown
        .map(|name| {
            format!(
                "There is no seat '{name}'; there are: {}.",
                debate.panel.names().join(", ")
            )
        })
        .collect()
}

/// The chair's conclusion, written for a reader who did not follow the debate. `None` if the panel said nothing, the budget is
/// used up or the chair is absent.
pub(super) async fn conclude(
    table: &Table,
    debate: &mut Debate,
    ending: &Ending,
) -> Result<Option<Turn<Conclusion>>, Halt> {
    let Some(chair) = debate.panel.chair.clone() else {
        return Ok(None);
    };
    if debate.state.agent_status.is_empty() || matches!(ending, Ending::Budget(_)) {
        return Ok(None);
    }
    debate.set_user_input(table.interlude("conclusion").await?);
    let last = debate.rounds.last().map_or(1, |round| round.number);
    let context = debate.closing_context();
    let resolution = Resolution::of(debate, ending);
    let by_person = resolution.by_person;
    let decided = resolution.decision.filter(|_| by_person);
    table
        .ask(&chair, "conclude")
        .in_phase("conclusion", last)
        .prompt(
            "modes/conclude",
            json!({
                "question": debate.question, "person": debate.user_input, "context": context,
                "ending": if decided.is_some() { "a person decided".to_owned() } else { debate.explained(ending) },
                "decided": decided,
            }),
        )
        .check(|reply: &Conclusion| {
            // A person may decide against the panel.
            let fault = contradiction::fault(&debate.state, &reply.answer);
            fault.filter(|_| !by_person).into_iter().collect()
        })
        .last()
        .send()
        .await
}
