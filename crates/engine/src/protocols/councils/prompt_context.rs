//! What each prompt is filled with. Everything here is data for templates; the words are in `prompts/councils`.

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{BiasFigures, Limit, reach};
use roundtable_core::forensics::LIMITS;
use serde_json::{Value, json};

use super::council_state::{Bench, CouncilState};
use super::replies::{Critique, finding_id};
use super::rules::{Mode, Rules};
use super::scorecard::DimensionResult;
use super::verdict::Disagreement;
use crate::cast::councils::{Judge, Part};
use crate::event::{Setup, Words};

/// What all seats share: it comes first and is the same in every prompt of the debate, so that caches hit (C-13).
fn shared(rules: &Rules) -> Value {
    let package = &rules.package;
    let parts: Vec<Value> = package
        .parts
        .iter()
        .map(|part| json!({ "kind": part.kind.title(), "name": part.name, "text": part.text }))
        .collect();
    json!({
        "subject": rules.panel.subject,
        "overall": rules.panel.overall,
        "title": package.title,
        "parts": parts,
        "left_out": package.left_out(),
        "images": package.images.iter().map(|image| &image.name).collect::<Vec<_>>(),
    })
}

/// Where the councils meet, they hear what the person who asked has said meanwhile.
pub(super) fn heard(context: Value, person: &[Words]) -> Value {
    with(context, json!({ "person": person }))
}

fn with(mut context: Value, more: Value) -> Value {
    if let (Some(context), Value::Object(more)) = (context.as_object_mut(), more) {
        context.extend(more);
    }
    context
}

fn rubric(rules: &Rules, judge: &Judge) -> Vec<Value> {
    let dimensions = judge.dimensions.iter();
    dimensions
        .filter_map(|name| rules.panel.dimension(name))
        .map(|dimension| json!(dimension))
        .collect()
}

pub(super) fn evaluate(rules: &Rules, sitting: &CouncilState<'_>, judge: &Judge) -> Value {
    let figures = (judge.part == Part::Authenticity).then(|| figures(rules));
    with(
        shared(rules),
        json!({
            "council": sitting.council,
            "dimensions": rubric(rules, judge),
            "sub_scores": judge.sub_scores,
            "is_scored": judge.is_scored(),
            "figures": figures,
            "limits": LIMITS,
        }),
    )
}

/// One text, because runs of words that the content repeats are in it: they must not get out of their quote.
fn figures(rules: &Rules) -> String {
    let figures = rules.package.forensics.explained().into_iter();
    let lines = figures.map(|it| format!("{}: {} ({})", it.name, it.value, it.meaning));
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn revise(
    rules: &Rules,
    sitting: &CouncilState<'_>,
    bench: &Bench<'_>,
    peers: &[&Bench<'_>],
) -> Value {
    let text = |bench: &Bench<'_>| bench.first.as_ref().map(|turn| turn.text.clone());
    let read: Vec<Value> = peers
        .iter()
        .map(|peer| json!({ "seat": peer.judge.seat, "text": text(peer) }))
        .collect();
    with(
        evaluate(rules, sitting, bench.judge),
        json!({ "own_first": text(bench), "peers": read }),
    )
}

/// The numbers of a council as a table for a prompt.
fn numbers(results: &[DimensionResult]) -> Vec<Value> {
    let line = |result: &DimensionResult| {
        let judges: Vec<Value> = result
            .judges
            .iter()
            .map(|it| json!({ "judge": it.judge, "round_1": rounded(it.round_1), "round_2": rounded(it.round_2), "confidence": it.confidence }))
            .collect();
        json!({
            "dimension": result.dimension,
            "title": result.title,
            "score": rounded(result.final_score),
            "confidence": result.consensus.as_ref().map(|it| tenth_of_a_percent(it.confidence.value())),
            "apart": result.spread.as_ref().map(|it| it.points),
            "exchange": result.exchange.as_ref().map(|it| json!({ "from": rounded(Some(it.change.from)), "to": rounded(Some(it.change.to)), "reason": it.reason })),
            "judges": judges,
        })
    };
    results.iter().map(line).collect()
}

fn rounded(score: Option<OutOfHundred>) -> Option<f64> {
    score.map(|it| (it.value() * 10.0).round() / 10.0)
}

fn tenth_of_a_percent(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// How far each number may be moved.
fn reaches(results: &[DimensionResult], limit: Limit) -> Vec<Value> {
    let scored = results.iter();
    scored
        .filter_map(|it| {
            let score = it.final_score?;
            let (low, high) = reach(score, limit);
            Some(json!({ "dimension": it.dimension, "score": rounded(Some(score)), "low": low, "high": high }))
        })
        .collect()
}

/// Every judge's last word.
fn words(sitting: &CouncilState<'_>) -> Vec<Value> {
    let present = sitting.present();
    present
        .map(|bench| {
            let text = bench.said().map(|said| said.text.to_owned());
            json!({ "judge": bench.judge.seat, "text": text, "is_scored": bench.judge.is_scored() })
        })
        .collect()
}

pub(super) fn narrate(
    rules: &Rules,
    sitting: &CouncilState<'_>,
    results: &[DimensionResult],
) -> Value {
    with(
        shared(rules),
        json!({ "council": sitting.council, "numbers": numbers(results), "judges": words(sitting) }),
    )
}

fn transcript(sitting: &CouncilState<'_>, results: &[DimensionResult]) -> Value {
    json!({
        "council": sitting.council,
        "narrative": sitting.narrative.as_ref().map(|turn| turn.text.clone()),
        "numbers": numbers(results),
    })
}

pub(super) fn respond(
    rules: &Rules,
    own: (&CouncilState<'_>, &[DimensionResult]),
    others: &[(&CouncilState<'_>, &[DimensionResult])],
) -> Value {
    let others: Vec<Value> = others
        .iter()
        .map(|(sitting, results)| transcript(sitting, results))
        .collect();
    with(
        shared(rules),
        json!({
            "council": own.0.council,
            "own": transcript(own.0, own.1),
            "others": others,
            "tension": rules.panel.tension,
            "reaches": reaches(own.1, Limit::Exchange),
        }),
    )
}

/// Everything that the councils said, for those who come after them.
fn proceedings(
    rules: &Rules,
    sittings: &[CouncilState<'_>],
    cards: &[Vec<DimensionResult>],
) -> Vec<Value> {
    let councils = sittings.iter().zip(cards);
    councils
        .map(|(sitting, results)| {
            with(
                transcript(sitting, results),
                json!({
                    "judges": words(sitting),
                    "response": sitting.response.as_ref().map(|turn| turn.text.clone()),
                    "rounds": if rules.mode == Mode::Full { 2 } else { 1 },
                }),
            )
        })
        .collect()
}

pub(super) fn criticise(
    rules: &Rules,
    sittings: &[CouncilState<'_>],
    cards: &[Vec<DimensionResult>],
    disagreements: &[Disagreement],
    figures: &BiasFigures,
) -> Value {
    with(
        shared(rules),
        json!({
            "councils": proceedings(rules, sittings, cards),
            "disagreements": disagreements,
            "bias": figures,
        }),
    )
}

pub(super) fn synthesise(
    rules: &Rules,
    sittings: &[CouncilState<'_>],
    cards: &[Vec<DimensionResult>],
    disagreements: &[Disagreement],
    critique: Option<&Critique>,
) -> Value {
    let findings: Vec<Value> = critique
        .iter()
        .flat_map(|critique| critique.findings.iter().enumerate())
        .map(|(index, finding)| with(json!(finding), json!({ "id": finding_id(index) })))
        .collect();
    let all: Vec<DimensionResult> = cards.iter().flatten().cloned().collect();
    with(
        shared(rules),
        json!({
            "councils": proceedings(rules, sittings, cards),
            "disagreements": disagreements,
            "review": critique.map(|critique| critique.review.clone()),
            "findings": findings,
            "reaches": reaches(&all, Limit::Finding),
            "extras": rules.panel.extras,
        }),
    )
}

/// What people call a seat.
pub(super) fn seat_title(setup: &Setup, seat: &str) -> String {
    let known = setup.seats.iter().find(|it| it.seat.name == seat);
    known.map_or_else(|| seat.to_owned(), |it| it.seat.title.clone())
}
