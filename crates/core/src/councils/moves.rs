//! Limits on changes of a consensus score: 5 points by the exchange between councils (T-08), 10 for one finding of the critic
//! (T-10). A change beyond the limit is refused as a whole; clamping it would produce a score that no seat gave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::OutOfHundred;

use super::spread::distance;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A change in response to another council.
    Exchange,
    /// A change in response to one finding of the critic.
    Finding,
}

impl Limit {
    pub const fn points(self) -> f64 {
        match self {
            Self::Exchange => 5.0,
            Self::Finding => 10.0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Move {
    pub from: OutOfHundred,
    pub to: OutOfHundred,
}

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("from {} to {} is {} points; at most {limit} are allowed", exact(*from), exact(*to), exact((to - from).abs()))]
pub struct TooFar {
    from: f64,
    to: f64,
    limit: f64,
}

/// With as many decimals as tell two scores apart.
fn exact(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub fn moved(from: OutOfHundred, to: OutOfHundred, limit: Limit) -> Result<Move, TooFar> {
    if distance(from, to) <= limit.points() {
        Ok(Move { from, to })
    } else {
        Err(TooFar {
            from: from.value(),
            to: to.value(),
            limit: limit.points(),
        })
    }
}

/// The lowest and highest allowed score, with one decimal. Included in prompts, so that seats need not compute it.
pub fn reach(from: OutOfHundred, limit: Limit) -> (f64, f64) {
    let low = ((from.value() - limit.points()) * 10.0 - 1e-6).ceil() / 10.0;
    let high = ((from.value() + limit.points()) * 10.0 + 1e-6).floor() / 10.0;
    (low.max(0.0), high.min(100.0))
}

#[cfg(test)]
#[path = "moves_tests.rs"]
mod tests;
