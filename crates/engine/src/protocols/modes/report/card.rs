//! The verdict of a debate.

use roundtable_core::format::{counted, percent};
use roundtable_core::state::DebateState;
use roundtable_core::usage::Usage;

use crate::event::Entry;
use crate::protocols::modes::contradiction::contradicted;
use crate::protocols::modes::debate::Debate;
use crate::protocols::modes::verdict::{self, Worth};
use crate::protocols::verdict_header::{badge, draft_badge, header, title_of};
use crate::report::{
    Dissent, Fact, Tone, Verdict, VerdictAnswer, VerdictChange, VerdictConfidence,
};

/// The answer that leads after the last turn.
pub(super) fn draft(entries: &[Entry], debate: &Debate) -> Verdict {
    let verdict = header(entries);
    let worth = Worth::of(debate, Usage::default(), None);
    let (poll, when) = if worth.debated.answers.is_empty() {
        (&worth.blind, "Blind vote".to_owned())
    } else {
        let round = debate.rounds.last().map_or(1, |round| round.number);
        (&worth.debated, format!("Round {round}"))
    };
    let Some(summary) = poll.summary() else {
        return verdict;
    };
    let seats: usize = poll.answers.iter().map(|share| share.seats).sum();
    let lead = poll.answers.first().map_or(0, |share| share.seats);
    let blockers = debate.state.open_blockers().count();
    let (blocked, tone) = match blockers {
        0 => (String::new(), Tone::Plain),
        blockers => (
            format!(", {} open", counted(blockers, "blocker")),
            Tone::Critical,
        ),
    };
    let text = if poll.answer.is_some() {
        format!("{when}: {lead} of {seats} for this answer{blocked}")
    } else {
        format!("{when}: divided{blocked}")
    };
    Verdict {
        badge: draft_badge(&verdict, &text, tone),
        answer: Some(VerdictAnswer::new(&summary).draft()),
        dissent: blockers_of(entries, &debate.state),
        ..verdict
    }
}

pub(super) fn verdict(entries: &[Entry], result: &verdict::Verdict) -> Verdict {
    let verdict = header(entries);
    let full = result.final_answer.as_deref();
    let decision = result.resolution.as_ref();
    let decision = decision.and_then(|resolution| resolution.decision.as_deref());
    let answer = full.map(|full| {
        let text = result.answer.as_deref().unwrap_or(full);
        let answer = VerdictAnswer::with_text(full, text);
        match decision {
            Some(decision) => answer.headed(decision),
            None => answer,
        }
    });
    Verdict {
        badge: if answer.is_some() {
            badge(result.scrutiny.as_ref())
        } else {
            verdict.badge
        },
        answer,
        confidence: confidence(result),
        changed: changed(result),
        dissent: dissent(entries, result),
        caveats: result
            .open_points
            .iter()
            .chain(&result.remarks)
            .cloned()
            .collect(),
        figures: figures(result),
        ending: Some(ending(result)),
        ..verdict
    }
}

fn figures(result: &verdict::Verdict) -> Vec<Fact> {
    let by_person = result
        .resolution
        .as_ref()
        .is_some_and(|resolution| resolution.by_person);
    let person = by_person.then(|| Fact::new("Decided by", "a person").toned(Tone::Caution));
    let estimate = result.estimates.as_ref();
    let estimate = estimate.map(|spread| Fact::new("Estimate", super::significant(spread.median)));
    person.into_iter().chain(estimate).collect()
}

/// `Stopped after round 2: the panel agrees, 4 of 4 accept and nobody blocks.`
pub(super) fn ending(result: &verdict::Verdict) -> String {
    let statuses = &result.state.agent_status;
    let accepting = statuses
        .iter()
        .filter(|status| status.vote.agrees())
        .count();
    let why = match result.stop_reason.as_str() {
        "consensus" => {
            format!(
                "the panel agrees, {accepting} of {} accept and nobody blocks",
                statuses.len()
            )
        }
        "majority" => format!(
            "a majority stands for one answer, {accepting} of {} accept and nobody blocks",
            statuses.len()
        ),
        "plateau" => "two rounds in a row changed almost nothing".to_owned(),
        "seats_absent" => "no seat answered in two rounds in a row".to_owned(),
        _ => result.stop_explanation.clone(),
    };
    format!("Stopped after round {}: {why}.", result.total_rounds)
}

fn confidence(result: &verdict::Verdict) -> Option<VerdictConfidence> {
    let value = result.confidence?;
    let stated = result
        .state
        .agent_status
        .iter()
        .map(|status| status.confidence.value());
    let low = stated.clone().reduce(f64::min)?;
    let high = stated.reduce(f64::max)?;
    let seats = counted(result.state.agent_status.len(), "seat");
    let reason = if percent(low) == percent(high) {
        format!("{seats}, all at {}", percent(high))
    } else {
        format!(
            "mean of {seats}, from {} to {}",
            percent(low),
            percent(high)
        )
    };
    let confidence = VerdictConfidence::new(value, percent(value)).because(Some(&reason));
    Some(match result.confidence_stated {
        Some(stated) if value < stated => confidence.lowered_from(&percent(stated)),
        Some(_) | None => confidence,
    })
}

fn changed(result: &verdict::Verdict) -> Option<VerdictChange> {
    let is_changed = result.worth.changed?;
    let blind = result.worth.blind.answer.as_deref();
    let text = match (is_changed, blind) {
        (true, Some(blind)) => format!("Changed: the blind votes were for {blind}"),
        (true, None) => "Changed: the blind votes were divided".to_owned(),
        (false, Some(blind)) => format!("Unchanged: the blind votes were for {blind}"),
        (false, None) => "Unchanged: no other majority than in the blind votes".to_owned(),
    };
    Some(VerdictChange::new(is_changed, text).compared_with(blind))
}

/// Seats that hold another answer than the decision; all of them if there is no decision.
fn dissent(entries: &[Entry], result: &verdict::Verdict) -> Vec<Dissent> {
    let mut dissent = blockers_of(entries, &result.state);
    let resolution = result.resolution.as_ref();
    let is_decided = resolution.is_some_and(|resolution| resolution.decision.is_some());
    let is_known = |dissent: &[Dissent], seat: &str| dissent.iter().any(|known| known.seat == seat);
    if is_decided {
        for apart in resolution
            .into_iter()
            .flat_map(|resolution| &resolution.dissenters)
        {
            if !is_known(&dissent, &apart.agent) {
                let position = apart.answer.as_deref().unwrap_or("no answer of its own");
                let title = title_of(entries, &apart.agent);
                let reason = Some(apart.position.as_str());
                dissent.push(Dissent::new(&apart.agent, title, position, reason));
            }
        }
        return dissent;
    }
    let answer = result.answer.as_deref().unwrap_or_default();
    for status in contradicted(&result.state, answer).0 {
        if !is_known(&dissent, &status.agent) {
            let title = title_of(entries, &status.agent);
            dissent.push(Dissent::new(&status.agent, title, &status.position, None));
        }
    }
    let leading = result.worth.debated.answer.as_deref();
    for status in &result.state.agent_status {
        let answer = status.debate_alignment.as_deref();
        if let Some(answer) = answer
            && Some(answer) != leading
            && !is_known(&dissent, &status.agent)
        {
            let title = title_of(entries, &status.agent);
            let reason = Some(status.position.as_str());
            dissent.push(Dissent::new(&status.agent, title, answer, reason));
        }
    }
    dissent
}

fn blockers_of(entries: &[Entry], state: &DebateState) -> Vec<Dissent> {
    let open = state.open_blockers();
    let dissent = open.map(|blocker| {
        let title = title_of(entries, &blocker.seat);
        Dissent::new(
            &blocker.seat,
            title,
            "blocks the answer",
            Some(&blocker.text),
        )
    });
    dissent.collect()
}
