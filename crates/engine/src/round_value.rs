//! The value of another round (B-10), measured after every round and journaled as a note. With a price limit it also ends the
//! debate.

use roundtable_core::value::{Movement, Record, RoundPrice, RoundValue};
use serde::{Deserialize, Serialize};

use crate::event::{Entry, Event, Spent};
use crate::report::{Block, Cell, Section, Table};

const SUFFIX: &str = "/value";

/// The journal key of a round's value.
pub fn key(round: u32) -> String {
    format!("r{round}{SUFFIX}")
}

/// The value of a note with this key.
pub fn of_note(key: &str, value: &serde_json::Value) -> Option<(u32, RoundValue)> {
    let round = key.strip_prefix('r')?.strip_suffix(SUFFIX)?.parse().ok()?;
    Some((round, RoundValue::deserialize(value).ok()?))
}

/// Records of finished debates of this installation about the value of another round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueHistory {
    #[serde(default, skip_serializing_if = "Record::is_empty")]
    pub record: Record,
    /// Of resolved forecasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub movements: Vec<Movement>,
}

/// How a debate judges the value of another round. Stored with its rules, so that a replay decides the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueRules {
    /// The worth of a change to the user, in US dollars. Without it, the value is only shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_price: Option<f64>,
    #[serde(flatten)]
    pub history: ValueHistory,
}

impl ValueRules {
    /// # Errors
    /// A price that is negative or not a number.
    pub fn new(max_price: Option<f64>, history: ValueHistory) -> Result<Self, &'static str> {
        if max_price.is_some_and(|price| !price.is_finite() || price < 0.0) {
            return Err("invalid price of a change: expected an amount in USD, such as 0.50");
        }
        Ok(Self { max_price, history })
    }
}

/// The price of another round: what these turns of the last one used.
pub fn price_of<'a>(turns: impl Iterator<Item = &'a Spent>) -> RoundPrice {
    let mut price = RoundPrice {
        tokens: 0,
        cost: Some(0.0),
    };
    for spent in turns {
        price.tokens += spent.usage.total();
        let cost = spent.cost.map(roundtable_core::usage::Money::dollars);
        price.cost = price.cost.zip(cost).map(|(sum, cost)| sum + cost);
    }
    price.cost = price.cost.map(|cost| (cost * 1e6).round() / 1e6);
    price
}

/// The values of all rounds, by round.
pub fn of_journal(entries: &[Entry]) -> Vec<(u32, RoundValue)> {
    let values = entries.iter().filter_map(|entry| match &entry.event {
        Event::Noted { key, value, .. } => of_note(key, value),
        _ => None,
    });
    values.collect()
}

/// The report section with a line for every round.
pub(crate) fn section(entries: &[Entry]) -> Option<Section> {
    let rows = of_journal(entries)
        .into_iter()
        .map(|(round, value)| vec![Cell::new(round.to_string()), Cell::new(value.to_text())]);
    let table = Table::of(
        "The chance that another round changes the answer, and its price, after each round",
        &["#Round", "Another round"],
        rows,
    );
    let section = || Section::side("Value of another round", vec![Block::Table(table.clone())]);
    (!table.rows.is_empty()).then(section)
}
