//! The template data of each prompt. The text is in `prompts/councils`.

use roundtable_core::bounded::OutOfHundred;
use roundtable_core::councils::{BiasFigures, Limit, reach};
use roundtable_core::forensics::LIMITS;
use serde_json::{Value, json};

use super::council_state::{CouncilState, JudgeState, SecondRound};
use super::disagreements::Disagreement;
use super::replies::{Critique, finding_id};
use super::rules::{Mode, Rules};
use super::scorecard::DimensionResult;
use crate::cast::councils::{Judge, Part};
use crate::event::{Setup, Words};

/// The part that all prompts of the debate begin with, so that prompt caches hit (C-13).
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
        // Pictures are sent to judges only: the others work with what the judges say.
        "sees_images": false,
    })
}

/// Adds the messages of the person who asked.
pub(super) fn with_person(context: Value, person: &[Words]) -> Value {
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

pub(super) fn evaluate(rules: &Rules, council: &CouncilState<'_>, judge: &Judge) -> Value {
    let figures = (judge.part == Part::Authenticity).then(|| figures(rules));
    with(
        shared(rules),
        json!({
            "sees_images": true,
            "council": council.spec,
            "dimensions": rubric(rules, judge),
            "sub_scores": judge.sub_scores,
            "is_scored": judge.is_scored(),
            "figures": figures,
            "limits": LIMITS,
        }),
    )
}

/// One text, because it repeats words of the content, which must stay inside one quote.
fn figures(rules: &Rules) -> String {
    let figures = rules.package.forensics.explained().into_iter();
    let lines =
        figures.map(|figure| format!("{}: {} ({})", figure.name, figure.value, figure.meaning));
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn revise(
    rules: &Rules,
    council: &CouncilState<'_>,
    judge: &JudgeState<'_>,
    peers: &[&JudgeState<'_>],
) -> Value {
    let text = |judge: &JudgeState<'_>| judge.first.as_ref().map(|turn| turn.text.clone());
    let read: Vec<Value> = peers
        .iter()
        .map(|peer| json!({ "seat": peer.spec.seat, "text": text(peer) }))
        .collect();
    with(
        evaluate(rules, council, judge.spec),
        json!({ "own_first": text(judge), "peers": read }),
    )
}

/// A council's scores as a table for a prompt.
fn numbers(results: &[DimensionResult]) -> Vec<Value> {
    let line = |result: &DimensionResult| {
        let judges: Vec<Value> = result
            .judges
            .iter()
            .map(|judge| json!({ "judge": judge.judge, "round_1": rounded(judge.round_1), "round_2": rounded(judge.round_2), "confidence": judge.confidence }))
            .collect();
        json!({
            "dimension": result.dimension,
            "title": result.title,
            "score": rounded(result.final_score),
            "confidence": result.consensus.as_ref().map(|consensus| tenth_of_a_percent(consensus.confidence.value())),
            "apart": result.spread.as_ref().map(|spread| spread.points),
            "exchange": result.exchange.as_ref().map(|exchange| json!({ "from": rounded(Some(exchange.change.from)), "to": rounded(Some(exchange.change.to)), "reason": exchange.reason })),
            "judges": judges,
        })
    };
    results.iter().map(line).collect()
}

fn rounded(score: Option<OutOfHundred>) -> Option<f64> {
    score.map(|score| (score.value() * 10.0).round() / 10.0)
}

fn tenth_of_a_percent(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The range within which each score may be moved.
fn reaches(results: &[DimensionResult], limit: Limit) -> Vec<Value> {
    let scored = results.iter();
    scored
        .filter_map(|result| {
            let score = result.final_score?;
            let (low, high) = reach(score, limit);
            Some(json!({ "dimension": result.dimension, "score": rounded(Some(score)), "low": low, "high": high }))
        })
        .collect()
}

/// Every judge's last opinion.
fn last_opinions(council: &CouncilState<'_>) -> Vec<Value> {
    let present = council.present();
    present
        .map(|judge| {
            let text = judge.last_opinion().map(|opinion| opinion.text.to_owned());
            json!({ "judge": judge.spec.seat, "text": text, "is_scored": judge.spec.is_scored() })
        })
        .collect()
}

/// The first opinion of every judge that gave a second one.
fn first_opinions(council: &CouncilState<'_>) -> Vec<Value> {
    let revised = council
        .judges
        .iter()
        .filter(|judge| matches!(judge.second, SecondRound::Given(_)));
    revised
        .filter_map(|judge| {
            let text = &judge.first.as_ref()?.text;
            Some(json!({ "judge": judge.spec.seat, "text": text, "is_scored": judge.spec.is_scored() }))
        })
        .collect()
}

pub(super) fn narrate(
    rules: &Rules,
    council: &CouncilState<'_>,
    results: &[DimensionResult],
) -> Value {
    with(
        shared(rules),
        json!({ "council": council.spec, "numbers": numbers(results), "judges": last_opinions(council) }),
    )
}

fn summary(council: &CouncilState<'_>, results: &[DimensionResult]) -> Value {
    json!({
        "council": council.spec,
        "narrative": council.narrative.as_ref().map(|turn| turn.text.clone()),
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
        .map(|(council, results)| summary(council, results))
        .collect();
    with(
        shared(rules),
        json!({
            "council": own.0.spec,
            "own": summary(own.0, own.1),
            "others": others,
            "tension": rules.panel.tension,
            "reaches": reaches(own.1, Limit::Exchange),
        }),
    )
}

/// Everything that the councils said, for critic and orchestrator.
fn proceedings(
    rules: &Rules,
    councils: &[CouncilState<'_>],
    scorecards: &[Vec<DimensionResult>],
) -> Vec<Value> {
    let councils = councils.iter().zip(scorecards);
    councils
        .map(|(council, results)| {
            with(
                summary(council, results),
                json!({
                    "judges": last_opinions(council),
                    "first_round": [],
                    "response": council.response.as_ref().map(|turn| turn.text.clone()),
                    "rounds": if rules.mode == Mode::Full { 2 } else { 1 },
                }),
            )
        })
        .collect()
}

pub(super) fn criticise(
    rules: &Rules,
    councils: &[CouncilState<'_>],
    scorecards: &[Vec<DimensionResult>],
    disagreements: &[Disagreement],
    figures: &BiasFigures,
) -> Value {
    with(
        shared(rules),
        json!({
            "councils": proceedings(rules, councils, scorecards),
            "disagreements": disagreements,
            "bias": figures,
        }),
    )
}

pub(super) fn synthesise(
    rules: &Rules,
    councils: &[CouncilState<'_>],
    scorecards: &[Vec<DimensionResult>],
    disagreements: &[Disagreement],
    critique: Option<&Critique>,
) -> Value {
    let findings: Vec<Value> = critique
        .iter()
        .flat_map(|critique| critique.findings.iter().enumerate())
        .map(|(index, finding)| with(json!(finding), json!({ "id": finding_id(index) })))
        .collect();
    let all: Vec<DimensionResult> = scorecards.iter().flatten().cloned().collect();
    let mut proceedings = proceedings(rules, councils, scorecards);
    for (council, state) in proceedings.iter_mut().zip(councils) {
        council["first_round"] = first_opinions(state).into();
    }
    with(
        shared(rules),
        json!({
            "councils": proceedings,
            "disagreements": disagreements,
            "review": critique.map(|critique| critique.review.clone()),
            "findings": findings,
            "reaches": reaches(&all, Limit::Finding),
            "extras": rules.panel.extras,
        }),
    )
}

/// The display name of a seat.
pub(super) fn seat_title(setup: &Setup, seat: &str) -> String {
    let known = setup.seats.iter().find(|seated| seated.seat.name == seat);
    known.map_or_else(|| seat.to_owned(), |seated| seated.seat.title.clone())
}
