//! Markets of the API of Manifold.

use roundtable_core::forecast::{Bins, OpenEnds};
use roundtable_engine::protocols::forecast::{Edge, Scale};
use serde_json::Value;

use super::{Parsed, day, items, number, text};
use crate::questions::{Kind, Question};

/// The bins of a market with a range.
const BINS: usize = 10;

pub(super) fn parse(json: &Value, parsed: &mut Parsed) {
    for (number, item) in (1..).zip(items(json)) {
        let place = format!("market {number}");
        match text(item, "outcomeType").as_deref() {
            Some("BINARY") => {
                let crowd = item.get("probability").and_then(super::number);
                let question = market(item, Kind::Binary).map(|question| Question {
                    crowd: crowd.map(|share| vec![share]),
                    ..question
                });
                parsed.add(&place, question);
            }
            Some("MULTIPLE_CHOICE" | "FREE_RESPONSE" | "NUMBER" | "DATE" | "MULTI_NUMERIC") => {
                choices(item, &place, parsed);
            }
            Some("PSEUDO_NUMERIC") => parsed.add(&place, numeric(item)),
            Some(other) => parsed.leave_out(&format!("markets of the type {other}")),
            None => parsed
                .faults
                .push(format!("{place}: it has no outcomeType")),
        }
    }
}

fn market(item: &Value, kind: Kind) -> Result<Question, String> {
    let id = text(item, "id")
        .or_else(|| text(item, "slug"))
        .ok_or("it has no id")?;
    let asked = text(item, "question").ok_or("it has no question")?;
    let is_resolved = item.get("isResolved").and_then(Value::as_bool) == Some(true);
    let topic = item.get("groupSlugs").and_then(Value::as_array);
    let topic = topic.and_then(|topics| topics.first()?.as_str());
    Ok(Question {
        criteria: text(item, "textDescription").or_else(|| text(item, "description")),
        url: text(item, "url"),
        resolves_on: item.get("closeTime").and_then(day),
        domain: topic.map(str::to_owned),
        resolution: text(item, "resolution").filter(|_| is_resolved),
        ..Question::new(&id, "manifold", &asked, kind)
    })
}

/// One question if exactly one answer is right, otherwise one for each answer.
fn choices(item: &Value, place: &str, parsed: &mut Parsed) {
    let answers = item.get("answers").and_then(Value::as_array);
    let Some(answers) = answers.filter(|answers| !answers.is_empty()) else {
        // Lists of markets have no answers; the market itself does.
        parsed.leave_out("markets whose answers are not in the file");
        return;
    };
    let label = |answer: &Value| text(answer, "text").unwrap_or_default();
    let share = |answer: &Value| {
        ["probability", "prob"]
            .iter()
            .find_map(|name| number(answer.get(*name)?))
    };
    if item.get("shouldAnswersSumToOne").and_then(Value::as_bool) != Some(false) {
        let outcomes = answers.iter().map(label).collect();
        let question = market(item, Kind::MultipleChoice { outcomes }).map(|question| {
            let won = answers
                .iter()
                .find(|answer| text(answer, "id") == question.resolution);
            Question {
                crowd: answers.iter().map(share).collect(),
                // Several answers that share the market are no outcome.
                resolution: question
                    .resolution
                    .map(|_| won.map_or_else(|| "MKT".to_owned(), label)),
                ..question
            }
        });
        parsed.add(place, question);
        return;
    }
    for (index, answer) in (1..).zip(answers) {
        let place = format!("{place}, answer {index}");
        let question = market(item, Kind::Binary).map(|question| Question {
            id: format!(
                "{}/{}",
                question.id,
                text(answer, "id").unwrap_or_else(|| index.to_string())
            ),
            question: format!("{} — {}", question.question, label(answer)),
            crowd: share(answer).map(|share| vec![share]),
            resolution: text(answer, "resolution"),
            ..question
        });
        parsed.add(&place, question);
    }
}

/// The crowd's number is a single value, not a distribution, so it is a fact and not a forecast.
fn numeric(item: &Value) -> Result<Question, String> {
    let end = |name: &str| {
        item.get(name)
            .and_then(number)
            .ok_or_else(|| format!("it has no {name}"))
    };
    let (from, to) = (end("min")?, end("max")?);
    let is_log = item.get("isLogScale").and_then(Value::as_bool) == Some(true);
    let bins = Bins::spaced(
        (from, to),
        BINS,
        is_log.then_some(from - 1.0),
        OpenEnds::default(),
    );
    let bins = bins.map_err(|error| error.to_string())?;
    let scale = Scale {
        edges: bins
            .edges()
            .iter()
            .map(|edge| Edge::Number(*edge))
            .collect(),
        unit: None,
        open_below: false,
        open_above: false,
    };
    // The market resolves to a probability, which is a place on its scale.
    let share = item.get("resolutionProbability").and_then(number);
    let resolution = share.map(|share| {
        if is_log {
            (to - from + 1.0).powf(share) + from - 1.0
        } else {
            from + (to - from) * share
        }
    });
    let question = market(item, Kind::Scale { scale })?;
    Ok(Question {
        resolution: resolution
            .filter(|_| question.resolution.as_deref() == Some("MKT"))
            .map(|value| value.to_string())
            .or(question.resolution),
        base_rates: text(item, "value")
            .map(|value| format!("The market's value is {value}"))
            .into_iter()
            .collect(),
        ..question
    })
}
