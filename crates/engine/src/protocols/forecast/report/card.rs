//! The verdict of a forecast.

use roundtable_core::format::percent;

use super::{label, likeliest, notes_on_roles};
use crate::event::{Entry, State};
use crate::protocols::forecast::contract::OutcomeForecast;
use crate::protocols::forecast::resolution::resolution_of;
use crate::protocols::forecast::result::ForecastSnapshot;
use crate::protocols::forecast::rules::Rules;
use crate::protocols::forecast::verdict;
use crate::protocols::outcome::unmarked;
use crate::protocols::verdict_header::{badge, draft_badge, header, title_of};
use crate::report::{
    Dissent, Fact, Tone, Verdict, VerdictAnswer, VerdictChange, VerdictConfidence,
};

/// Outcomes that are listed.
const MAX_OUTCOMES: usize = 6;

pub(super) fn verdict(entries: &[Entry], snapshot: &ForecastSnapshot<'_>) -> Verdict {
    let verdict = header(entries);
    let ForecastSnapshot {
        rules,
        verdict: result,
        state,
        ..
    } = snapshot;
    let Some(best) = likeliest(result) else {
        return verdict;
    };
    let headline = format!(
        "{}: {}",
        label(rules, &best.outcome_id),
        percent(best.probability)
    );
    let mut figures = outcomes(rules, result);
    let full = result.final_answer.clone();
    let full = full.unwrap_or_else(|| {
        let others = figures.iter().skip(1);
        let others = others.map(|fact| format!("{}: {}", fact.name, fact.value));
        others.collect::<Vec<_>>().join(" · ")
    });
    if let Some(resolution) = resolution_of(entries) {
        figures.insert(0, Fact::new("Outcome", label(rules, &resolution.outcome)));
    }
    let answer = VerdictAnswer::with_text(&full, unmarked(&full)).headed(&headline);
    // A forecast that was stopped has probabilities, but nothing is final.
    let is_final = matches!(state, State::Complete | State::Partial);
    let rounds = result.debate_log.rounds.len();
    let draft = format!("Draft after round {rounds}");
    Verdict {
        badge: if is_final {
            badge(result.roundtable.scrutiny.as_ref())
        } else {
            draft_badge(&verdict, &draft, Tone::Plain)
        },
        answer: Some(if is_final { answer } else { answer.draft() }),
        confidence: confidence(result),
        changed: changed(rules, result).filter(|_| rounds > 1),
        dissent: dissent(entries, rules, result, best),
        caveats: notes_on_roles(&result.roundtable)
            .iter()
            .filter_map(|note| Some(note.caution()?.to_owned()))
            .collect(),
        figures,
        ending: is_final.then(|| ending(result)),
        ..verdict
    }
}

fn ending(result: &verdict::Verdict) -> String {
    let rounds = result.debate_log.rounds.len();
    match &result.roundtable.ending {
        verdict::Ending::Budget(limit) => format!("Stopped after round {rounds}: {limit}."),
        _ => format!("All {rounds} rounds were played."),
    }
}

/// The probabilities, the likeliest first.
fn outcomes(rules: &Rules, result: &verdict::Verdict) -> Vec<Fact> {
    let mut all: Vec<&OutcomeForecast> = result.probability_distribution.iter().collect();
    all.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let shown = all.into_iter().take(MAX_OUTCOMES);
    let facts = shown.map(|outcome| {
        Fact::new(
            label(rules, &outcome.outcome_id),
            percent(outcome.probability),
        )
    });
    facts.collect()
}

fn confidence(result: &verdict::Verdict) -> Option<VerdictConfidence> {
    let extras = &result.roundtable;
    let value = extras.confidence?.value();
    let agreement = result.consensus_score;
    let agreement = agreement.map(|share| format!("the roles agree to {}", percent(share)));
    let confidence = VerdictConfidence::new(value, percent(value)).because(agreement.as_deref());
    Some(match extras.confidence_stated {
        Some(stated) if value < stated.value() => confidence.lowered_from(&percent(stated.value())),
        Some(_) | None => confidence,
    })
}

fn changed(rules: &Rules, result: &verdict::Verdict) -> Option<VerdictChange> {
    let worth = result.roundtable.worth.as_ref()?;
    let blind = label(rules, &worth.blind.likeliest);
    let text = if worth.changed_the_likeliest {
        format!("Changed: the blind first round said {blind}")
    } else {
        format!(
            "Unchanged: the likeliest outcome of the blind first round; {} moved",
            percent(worth.moved)
        )
    };
    Some(VerdictChange::new(worth.changed_the_likeliest, text).compared_with(Some(blind)))
}

/// Roles that hold another outcome for the likeliest.
fn dissent(
    entries: &[Entry],
    rules: &Rules,
    result: &verdict::Verdict,
    best: &OutcomeForecast,
) -> Vec<Dissent> {
    let roles = best
        .role_assessments
        .iter()
        .map(|assessment| assessment.role.as_str());
    let dissent = roles.filter_map(|role| {
        let of = |outcome: &OutcomeForecast| {
            let mut own = outcome.role_assessments.iter();
            own.find(|assessment| assessment.role == role)
                .map(|own| own.probability)
        };
        let held = result.probability_distribution.iter();
        let held = held.filter_map(|outcome| Some((outcome, of(outcome)?)));
        let (outcome, probability) = held.max_by(|a, b| a.1.total_cmp(&b.1))?;
        if outcome.outcome_id == best.outcome_id || Some(probability) == of(best) {
            return None;
        }
        let label = label(rules, &outcome.outcome_id);
        let position = format!("{label}: {}", percent(probability));
        let mut notes = result.roundtable.arguments.iter().rev();
        let gist = notes
            .find(|note| note.role == role)
            .map(|note| note.gist.as_str());
        Some(Dissent::new(role, title_of(entries, role), &position, gist))
    });
    dissent.collect()
}
