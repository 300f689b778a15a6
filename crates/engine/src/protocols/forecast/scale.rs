//! Questions that ask for a number or a date. Their outcomes are bins; the result also has quantiles.

use jiff::ToSpan;
use jiff::civil::{Date, date};
use roundtable_core::forecast::{
    Bins, BinsError, Distribution, Extent, OpenEnds, QUANTILES, Quantile,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contract::Outcome;

/// The number or date that is asked for, in bins. A bin holds its lower edge and not its upper one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ForecastScale")]
pub struct Scale {
    /// Rising numbers, or rising dates such as 2027-06-30.
    pub edges: Vec<Edge>,
    /// The unit of the numbers, such as %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Whether values below the first edge are possible; they have a bin of their own. Defaults to true.
    #[serde(default = "yes")]
    pub open_below: bool,
    /// Whether values from the last edge on are possible; they have a bin of their own. Defaults to true.
    #[serde(default = "yes")]
    pub open_above: bool,
}

const fn yes() -> bool {
    true
}

/// A number or a date.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Edge {
    Number(f64),
    Date(#[schemars(with = "String")] Date),
}

/// A quantile of the forecast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantileValue {
    /// The probability of a value of at most this one.
    pub quantile: f64,
    pub value: Edge,
    pub bound: Bound,
}

/// What is known of a quantile: beyond an open end only that it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    At,
    Below,
    AtOrAbove,
}

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ScaleError {
    #[error("the edges are numbers and dates; give only one of them")]
    Mixed,
    #[error(transparent)]
    Bins(#[from] BinsError),
}

const EPOCH: Date = date(1970, 1, 1);

impl Edge {
    /// Dates are days since 1970.
    pub fn position(self) -> f64 {
        match self {
            Self::Number(number) => number,
            Self::Date(day) => f64::from((day - EPOCH).get_days()),
        }
    }

    /// A number, or a date with or without a time.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let day = || text.get(..10).unwrap_or(text).parse().ok().map(Self::Date);
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Self::Number).or_else(day)
    }

    const fn is_date(self) -> bool {
        matches!(self, Self::Date(_))
    }

    /// The same kind of value at another position.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "days within the range of dates"
    )]
    fn at(self, position: f64) -> Self {
        match self {
            Self::Number(_) => Self::Number(rounded(position)),
            Self::Date(_) => Self::Date(EPOCH.saturating_add((position.floor() as i64).days())),
        }
    }

    /// As it is recorded: [`Edge::parse`] reads it.
    pub fn recorded(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Date(day) => day.to_string(),
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::Number(number) => format!("{}{unit}", rounded(number)),
            Self::Date(day) => day.to_string(),
        }
    }
}

/// To nine significant digits, so that no rounding error is shown.
fn rounded(number: f64) -> f64 {
    format!("{number:.8e}").parse().unwrap_or(number)
}

impl Scale {
    /// # Errors
    /// [`ScaleError`] for edges that make no bins.
    pub fn bins(&self) -> Result<Bins, ScaleError> {
        let dates = self.edges.iter().filter(|edge| edge.is_date()).count();
        if dates > 0 && dates < self.edges.len() {
            return Err(ScaleError::Mixed);
        }
        let positions = self.edges.iter().map(|edge| edge.position()).collect();
        let open = OpenEnds {
            below: self.open_below,
            above: self.open_above,
        };
        Ok(Bins::new(positions, open)?)
    }

    fn is_of_dates(&self) -> bool {
        self.edges.first().is_some_and(|edge| edge.is_date())
    }

    /// `%` directly after the number, other units after a space.
    fn suffix(&self) -> String {
        match self.unit.as_deref().map(str::trim) {
            None | Some("") => String::new(),
            Some("%") => "%".to_owned(),
            Some(unit) => format!(" {unit}"),
        }
    }

    /// The bins as labels, from the lowest to the highest.
    ///
    /// # Errors
    /// [`ScaleError`] for edges that make no bins.
    pub fn labels(&self) -> Result<Vec<String>, ScaleError> {
        let unit = self.suffix();
        let extents = self.bins()?.extents();
        let last = extents.len() - 1;
        let first = self.edges.first().copied().unwrap_or(Edge::Number(0.0));
        let text = |position: f64| first.at(position).text(&unit);
        let labels = extents.into_iter().enumerate().map(|(index, extent)| {
            let is_closed = index == last && !self.open_above;
            match (extent, self.is_of_dates()) {
                (Extent { from: None, to }, true) => {
                    format!("Before {}", to.map_or_else(String::new, text))
                }
                (Extent { from: None, to }, false) => {
                    format!("Below {}", to.map_or_else(String::new, text))
                }
                (
                    Extent {
                        from: Some(from),
                        to: None,
                    },
                    true,
                ) => format!("On {} or later", text(from)),
                (
                    Extent {
                        from: Some(from),
                        to: None,
                    },
                    false,
                ) => format!("{} or more", text(from)),
                (
                    Extent {
                        from: Some(from),
                        to: Some(to),
                    },
                    true,
                ) if is_closed => {
                    format!("From {} to {}", text(from), text(to))
                }
                (
                    Extent {
                        from: Some(from),
                        to: Some(to),
                    },
                    true,
                ) => {
                    format!("From {}, before {}", text(from), text(to))
                }
                (
                    Extent {
                        from: Some(from),
                        to: Some(to),
                    },
                    false,
                ) if is_closed => {
                    format!("{} to {}", text(from), text(to))
                }
                (
                    Extent {
                        from: Some(from),
                        to: Some(to),
                    },
                    false,
                ) => {
                    format!("{} to below {}", text(from), text(to))
                }
            }
        });
        Ok(labels.collect())
    }

    /// A number, with or without the unit, or a date, as the scale asks for.
    pub fn value_of(&self, text: &str) -> Option<Edge> {
        let value = Edge::parse(text.trim().trim_end_matches(self.suffix().trim()))?;
        (value.is_date() == self.is_of_dates()).then_some(value)
    }

    /// The outcome that a value belongs to.
    pub fn outcome_of<'o>(&self, value: Edge, outcomes: &'o [Outcome]) -> Option<&'o Outcome> {
        outcomes.get(self.bins().ok()?.bin_of(value.position())?)
    }

    /// The quantiles of a forecast over the bins.
    pub fn quantiles(&self, forecast: &Distribution) -> Vec<QuantileValue> {
        let (Ok(bins), Some(first)) = (self.bins(), self.edges.first()) else {
            return Vec::new();
        };
        let quantiles = QUANTILES.into_iter().filter_map(|share| {
            let (position, bound) = match bins.quantile(forecast, share)? {
                Quantile::At(position) => (position, Bound::At),
                Quantile::Below(position) => (position, Bound::Below),
                Quantile::Above(position) => (position, Bound::AtOrAbove),
            };
            Some(QuantileValue {
                quantile: share,
                value: first.at(position),
                bound,
            })
        });
        quantiles.collect()
    }

    /// `5%: below 0%`
    pub(super) fn shown(&self, quantile: &QuantileValue) -> String {
        let value = match quantile.value {
            Edge::Number(number) => {
                let short: f64 = format!("{number:.3e}").parse().unwrap_or(number);
                Edge::Number(short)
            }
            day @ Edge::Date(_) => day,
        };
        let value = value.text(&self.suffix());
        match quantile.bound {
            Bound::At => value,
            Bound::Below => format!("below {value}"),
            Bound::AtOrAbove => format!("{value} or more"),
        }
    }
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
