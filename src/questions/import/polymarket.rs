//! Markets and events of the Gamma API of Polymarket. Each market of an event is a question of its own.

use serde_json::Value;

use super::{Parsed, day, number, text};
use crate::questions::{Kind, Question, YES_NO};

pub(super) fn parse(json: &Value, parsed: &mut Parsed) {
    for (number, item) in (1..).zip(items(json)) {
        let place = format!("item {number}");
        match item.get("markets").and_then(Value::as_array) {
            None => market(item, None, &place, parsed),
            Some(markets) => {
                for (index, one) in (1..).zip(markets) {
                    market(one, Some(item), &format!("{place}, market {index}"), parsed);
                }
            }
        }
    }
}

/// An event has its markets inside, so it is an item itself.
fn items(json: &Value) -> Vec<&Value> {
    match json.as_array().or_else(|| json.get("data")?.as_array()) {
        Some(items) => items.iter().collect(),
        None => vec![json],
    }
}

fn market(item: &Value, event: Option<&Value>, place: &str, parsed: &mut Parsed) {
    if item.get("outcomes").is_none_or(Value::is_null) {
        parsed.leave_out("markets without outcomes");
        return;
    }
    let is_closed = item.get("closed").and_then(Value::as_bool) == Some(true);
    let question = question(item, event, is_closed);
    parsed.add(place, question);
}

fn question(item: &Value, event: Option<&Value>, is_closed: bool) -> Result<Question, String> {
    let id = text(item, "id")
        .or_else(|| text(item, "conditionId"))
        .ok_or("it has no id")?;
    let asked = text(item, "question").ok_or("it has no question")?;
    let outcomes: Vec<String> = list(item.get("outcomes"))
        .ok_or("its outcomes are not a list")?
        .iter()
        .map(|label| label.as_str().unwrap_or_default().trim().to_owned())
        .collect();
    let prices = list(item.get("outcomePrices"));
    let prices: Option<Vec<f64>> = prices.and_then(|prices| prices.iter().map(number).collect());
    let won = prices.as_ref().filter(|_| is_closed).and_then(|prices| {
        let place = prices.iter().position(|price| *price > 0.99)?;
        outcomes.get(place).cloned()
    });
    let is_binary = outcomes.len() == 2
        && YES_NO
            .iter()
            .zip(&outcomes)
            .all(|(name, label)| label.eq_ignore_ascii_case(name));
    let from_event = |name: &str| event.and_then(|event| text(event, name));
    let slug = text(item, "slug");
    Ok(Question {
        criteria: text(item, "description").or_else(|| from_event("description")),
        url: slug.map(|slug| format!("https://polymarket.com/market/{slug}")),
        resolves_on: [
            item.get("endDate"),
            item.get("endDateIso"),
            event.and_then(|event| event.get("endDate")),
        ]
        .into_iter()
        .flatten()
        .find_map(day),
        domain: text(item, "category")
            .or_else(|| from_event("category"))
            .or_else(|| tag(item))
            .or_else(|| tag(event?)),
        // The prices of a closed market are its outcome; those of a market without trades are 0.
        crowd: prices.filter(|prices| !is_closed && prices.iter().any(|price| *price > 0.0)),
        resolution: won,
        ..Question::new(
            &id,
            "polymarket",
            &asked,
            if is_binary {
                Kind::Binary
            } else {
                Kind::MultipleChoice { outcomes }
            },
        )
    })
}

/// The first topic.
fn tag(item: &Value) -> Option<String> {
    text(item.get("tags")?.as_array()?.first()?, "label")
}

/// A list, or a text that contains one as JSON, as the API has it.
fn list(value: Option<&Value>) -> Option<Vec<Value>> {
    match value? {
        Value::Array(items) => Some(items.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}
