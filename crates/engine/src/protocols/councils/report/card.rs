//! The verdict of a councils debate.

use roundtable_core::format::percent;

use crate::event::Entry;
use crate::protocols::councils::disagreements::Disagreement;
use crate::protocols::councils::rules::Rules;
use crate::protocols::councils::scorecard::{DimensionResult, overall_of};
use crate::protocols::councils::verdict::{self, Change};
use crate::protocols::outcome::unmarked;
use crate::protocols::verdict_header::{badge, draft_badge, header, title_of};
use crate::report::{
    Dissent, Fact, Tone, Verdict, VerdictAnswer, VerdictChange, VerdictConfidence,
};

/// The score so far.
pub(super) fn draft(entries: &[Entry], rules: &Rules, dimensions: &[DimensionResult]) -> Verdict {
    let verdict = header(entries);
    let panel = &rules.panel;
    let Some(overall) = overall_of(panel, dimensions, |result| result.final_score) else {
        return verdict;
    };
    let score = overall.score;
    let headline = format!(
        "{} {} of 100, {}",
        panel.overall,
        score.shown(),
        panel.tiers.of(score)
    );
    let scored = dimensions
        .iter()
        .filter(|result| result.final_score.is_some());
    let text = format!(
        "Draft: {} of {} dimensions scored",
        scored.count(),
        dimensions.len()
    );
    Verdict {
        badge: draft_badge(&verdict, &text, Tone::Quiet),
        answer: Some(VerdictAnswer::new(&headline).draft()),
        ..verdict
    }
}

pub(super) fn verdict(entries: &[Entry], result: &verdict::Verdict) -> Verdict {
    let verdict = header(entries);
    let score = result.overall.as_ref().map(|overall| {
        let score = overall.overall.score.shown();
        format!("{} {score} of 100, {}", overall.title, overall.tier)
    });
    let full = result.final_answer.clone().or_else(|| score.clone());
    let answer = full.map(|full| {
        let answer = VerdictAnswer::with_text(&full, unmarked(&full));
        match &score {
            Some(score) => answer.headed(score),
            None => answer,
        }
    });
    let left_out = result
        .overall
        .iter()
        .flat_map(|overall| &overall.overall.left_out);
    let left_out = left_out.map(|component| format!("'{component}' has no score"));
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
        caveats: left_out
            .chain(result.content.left_out.iter().cloned())
            .collect(),
        figures: figures(result),
        ending: (result.stop_reason == "budget")
            .then(|| format!("Stopped early: {}.", result.stop_explanation)),
        ..verdict
    }
}

fn figures(result: &verdict::Verdict) -> Vec<Fact> {
    let all = result.council_disagreements.len();
    let severe = result
        .council_disagreements
        .iter()
        .filter(|apart| apart.is_severe())
        .count();
    let value = match severe {
        0 => all.to_string(),
        severe => format!("{all} ({severe} severe)"),
    };
    let tone = if severe > 0 {
        Tone::Caution
    } else {
        Tone::Plain
    };
    let disagreements = (all > 0).then(|| Fact::new("Disagreements", value).toned(tone));
    disagreements.into_iter().collect()
}

fn confidence(result: &verdict::Verdict) -> Option<VerdictConfidence> {
    let confidence = result.confidence.as_ref()?;
    let value = confidence.value.value();
    let reason = confidence.adjustment_reason.clone();
    let reason = reason.unwrap_or_else(|| "that of the least certain dimension".to_owned());
    let shown = VerdictConfidence::new(value, percent(value)).because(Some(&reason));
    Some(match confidence.unlowered() {
        Some(whole) if value < whole.value() => shown.lowered_from(&percent(whole.value())),
        Some(_) | None => shown,
    })
}

fn changed(result: &verdict::Verdict) -> Option<VerdictChange> {
    let (blind, debated) = result
        .worth
        .blind
        .as_ref()
        .zip(result.worth.debated.as_ref())?;
    let from = format!("{} of 100, {}", blind.score.shown(), blind.tier);
    let text = match result.worth.changed? {
        Change::Unchanged => "Unchanged: the blind scores gave the same result".to_owned(),
        Change::Moved => format!(
            "Moved within its tier: {} blind, {} debated",
            blind.score.shown(),
            debated.score.shown()
        ),
        Change::AnotherTier => format!("Changed: the blind scores gave {from}"),
    };
    let is_changed = result.worth.changed == Some(Change::AnotherTier);
    Some(VerdictChange::new(is_changed, text).compared_with(Some(&from)))
}

/// For each disagreement the judge that is furthest from the result, the widest first.
fn dissent(entries: &[Entry], result: &verdict::Verdict) -> Vec<Dissent> {
    let mut all: Vec<&Disagreement> = result.council_disagreements.iter().collect();
    all.sort_by(|a, b| b.points.total_cmp(&a.points));
    let dissent = all.into_iter().filter_map(|apart| {
        let result = apart.consensus?;
        let distance = |score: f64| (score - result.value()).abs();
        let positions = apart.positions.iter();
        let furthest = positions
            .max_by(|a, b| distance(a.score.value()).total_cmp(&distance(b.score.value())))?;
        let position = format!(
            "{} {}, the result is {}",
            apart.title,
            furthest.score.shown(),
            result.shown()
        );
        let title = title_of(entries, &furthest.judge);
        Some(Dissent::new(
            &furthest.judge,
            title,
            &position,
            Some(&furthest.reasoning),
        ))
    });
    dissent.collect()
}
