//! The verdict of a panel.

use roundtable_core::convergence::same_option;
use roundtable_core::format::percent;
use roundtable_core::wording::one_line;

use crate::event::Entry;
use crate::protocols::outcome::unmarked;
use crate::protocols::panel::state::PanelState;
use crate::protocols::panel::verdict;
use crate::protocols::verdict_header::{badge, draft_badge, header, title_of};
use crate::report::{
    Dissent, Fact, Tone, Verdict, VerdictAnswer, VerdictChange, VerdictConfidence,
};

/// The best answer so far.
pub(super) fn draft(entries: &[Entry], state: &PanelState) -> Verdict {
    let verdict = header(entries);
    let Some(best) = state.best() else {
        return verdict;
    };
    let (answers, seats) = (state.answers().len(), state.panelists().len());
    let text = if state.rankings().is_empty() {
        format!("{answers} of {seats} blind answers, not compared yet")
    } else {
        format!("{} of {answers} seats have ranked", state.rankings().len())
    };
    let answer = VerdictAnswer::new(&best.reply.answer).headed(&best.reply.position);
    Verdict {
        badge: draft_badge(&verdict, &text, Tone::Quiet),
        answer: Some(answer.draft()),
        ..verdict
    }
}

pub(super) fn verdict(entries: &[Entry], result: &verdict::Verdict, stopped: &str) -> Verdict {
    let verdict = header(entries);
    let position = result.position.as_deref();
    let answer = result.final_answer.as_deref().map(|full| {
        let answer = VerdictAnswer::with_text(full, unmarked(full));
        match position {
            Some(position) => answer.headed(position),
            None => answer,
        }
    });
    let ranking = result.ranking.as_ref();
    let agreement = ranking.and_then(|ranking| ranking.agreement);
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
            .blind_spots
            .iter()
            .map(|point| one_line(&point.text))
            .collect(),
        figures: agreement
            .map(|agreement| Fact::new("Agreement of ranks", format!("{agreement:.2}")))
            .into_iter()
            .collect(),
        ending: Some(stopped.to_owned()),
        ..verdict
    }
}

fn confidence(result: &verdict::Verdict) -> Option<VerdictConfidence> {
    let value = result.confidence?.value();
    let (votes, answers) = (result.worth.blind_votes, result.answers.len());
    let reason = format!("{votes} of {answers} blind answers agree");
    let confidence = VerdictConfidence::new(value, percent(value)).because(Some(&reason));
    Some(match result.confidence_stated {
        Some(stated) if value < stated.value() => confidence.lowered_from(&percent(stated.value())),
        Some(_) | None => confidence,
    })
}

fn changed(result: &verdict::Verdict) -> Option<VerdictChange> {
    let blind = result.worth.blind_position.as_deref()?;
    let votes = format!("{} of {}", result.worth.blind_votes, result.answers.len());
    let is_changed = result.worth.changed?;
    let text = if is_changed {
        format!(
            "Changed: the leading blind answer ({votes}) was {}",
            one_line(blind)
        )
    } else {
        format!("Unchanged: the leading blind answer ({votes}) said the same")
    };
    Some(VerdictChange::new(is_changed, text).compared_with(Some(blind)))
}

/// Seats whose blind answer differs. They are not asked again after the chair's answer.
fn dissent(entries: &[Entry], result: &verdict::Verdict) -> Vec<Dissent> {
    let Some(position) = result.position.as_deref() else {
        return Vec::new();
    };
    let apart = result
        .answers
        .iter()
        .filter(|answer| !same_option(&answer.position, position));
    let dissent = apart.map(|answer| {
        let title = title_of(entries, &answer.seat);
        Dissent::new(&answer.seat, title, &answer.position, Some(&answer.answer))
    });
    dissent.collect()
}
