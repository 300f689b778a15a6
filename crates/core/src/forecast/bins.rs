//! Numeric and date questions as bins, which are the outcomes of a debate, and as quantiles.
//!
//! A bin holds its lower edge and not its upper one; the last bin of a closed range also holds the upper end. An open end has a
//! bin of its own for everything beyond it.

use super::distribution::{Distribution, DistributionError};
use crate::spread::real;

/// The quantiles that a forecast of a number is shown with.
pub const QUANTILES: [f64; 5] = [0.05, 0.25, 0.50, 0.75, 0.95];

/// The bins of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct Bins {
    edges: Vec<f64>,
    /// Whether values below the first edge are possible.
    is_open_below: bool,
    is_open_above: bool,
}

/// Which ends of a range are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenEnds {
    pub below: bool,
    pub above: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BinsError {
    #[error("edge {place} is not a number")]
    NotANumber { place: usize },
    #[error("edge {place} is {value}, but edges must rise")]
    NotRising { place: usize, value: f64 },
    #[error("there are fewer than two bins")]
    TooFew,
    #[error("the zero point {zero} must be outside of the range")]
    ZeroPoint { zero: f64 },
}

/// The extent of one bin; `None` is an open end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    pub from: Option<f64>,
    pub to: Option<f64>,
}

/// A point of a forecast's distribution. Beyond an open end only the bound is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantile {
    At(f64),
    Below(f64),
    Above(f64),
}

impl Bins {
    /// # Errors
    /// [`BinsError`] if the edges do not rise, or make fewer than two bins.
    pub fn new(edges: Vec<f64>, open: OpenEnds) -> Result<Self, BinsError> {
        for (place, &value) in (1..).zip(&edges) {
            if !value.is_finite() {
                return Err(BinsError::NotANumber { place });
            }
            if place > 1 && value <= edges[place - 2] {
                return Err(BinsError::NotRising { place, value });
            }
        }
        let bins = Self {
            edges,
            is_open_below: open.below,
            is_open_above: open.above,
        };
        if bins.edges.is_empty() || bins.count() < 2 {
            return Err(BinsError::TooFew);
        }
        Ok(bins)
    }

    /// `count` bins between the ends of a range. With a zero point they are equal in the logarithm of the distance to it.
    ///
    /// # Errors
    /// [`BinsError`] for an empty range, or a zero point within it.
    pub fn spaced(
        (from, to): (f64, f64),
        count: usize,
        zero: Option<f64>,
        open: OpenEnds,
    ) -> Result<Self, BinsError> {
        if let Some(zero) = zero
            && (!zero.is_finite() || (from - zero) * (to - zero) <= 0.0)
        {
            return Err(BinsError::ZeroPoint { zero });
        }
        let at = |place: usize| {
            if place == 0 {
                return from;
            }
            if place == count {
                return to;
            }
            let share = real(place) / real(count);
            match zero {
                None => from + (to - from) * share,
                Some(zero) => zero + (from - zero) * ((to - zero) / (from - zero)).powf(share),
            }
        };
        Self::new((0..=count).map(at).collect(), open)
    }

    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    pub fn count(&self) -> usize {
        let open = usize::from(self.is_open_below) + usize::from(self.is_open_above);
        self.edges.len() - 1 + open
    }

    /// From the lowest bin to the highest.
    pub fn extents(&self) -> Vec<Extent> {
        let first = self.edges.first().copied();
        let last = self.edges.last().copied();
        let below = self.is_open_below.then_some(Extent {
            from: None,
            to: first,
        });
        let above = self.is_open_above.then_some(Extent {
            from: last,
            to: None,
        });
        let inner = self.edges.windows(2).map(|ends| Extent {
            from: Some(ends[0]),
            to: Some(ends[1]),
        });
        below.into_iter().chain(inner).chain(above).collect()
    }

    /// The bin of a value; `None` beyond a closed end.
    pub fn bin_of(&self, value: f64) -> Option<usize> {
        let (first, last) = (*self.edges.first()?, *self.edges.last()?);
        let inner = self.edges.len() - 1;
        let offset = usize::from(self.is_open_below);
        if value.is_nan() {
            None
        } else if value < first {
            self.is_open_below.then_some(0)
        } else if value > last || (value >= last && self.is_open_above) {
            self.is_open_above.then_some(offset + inner)
        } else {
            let above = self.edges.iter().filter(|edge| **edge <= value).count();
            // The upper end of a closed range belongs to the last bin.
            Some(offset + above.min(inner) - 1)
        }
    }

    /// The quantile of a distribution over the bins, in which the probability of a bin is spread evenly. `None` if there are
    /// other numbers of bins, or if `share` is not between 0 and 1.
    pub fn quantile(&self, forecast: &Distribution, share: f64) -> Option<Quantile> {
        if forecast.outcomes() != self.count() || !(share > 0.0 && share < 1.0) {
            return None;
        }
        let mut before = 0.0;
        for (extent, value) in self.extents().into_iter().zip(forecast.values()) {
            let after = before + value;
            if share <= after + ROUNDING && *value > 0.0 {
                return Some(match extent {
                    Extent { from: None, to } => Quantile::Below(to?),
                    Extent { from, to: None } => Quantile::Above(from?),
                    Extent {
                        from: Some(from),
                        to: Some(to),
                    } => Quantile::At(from + (to - from) * ((share - before) / value).min(1.0)),
                });
            }
            before = after;
        }
        None
    }

    /// The width of the range between the first and the last edge.
    pub fn width(&self) -> f64 {
        let ends = self.edges.first().zip(self.edges.last());
        ends.map_or(0.0, |(first, last)| last - first)
    }

    /// The continuous ranked probability score within the range: ∫ (F(x) − 1{x ≥ value})² dx between the first and the last edge, in
    /// their unit; lower is better. F is the cumulative distribution, in which the probability of a bin is spread evenly. Beyond the
    /// ends a forecast does not say where its probability lies, so nothing is counted there. `None` for other numbers of bins, or a
    /// value that is not a number.
    pub fn crps(&self, forecast: &Distribution, value: f64) -> Option<f64> {
        if forecast.outcomes() != self.count() || value.is_nan() {
            return None;
        }
        let mut below = 0.0;
        let mut score = 0.0;
        for (extent, share) in self.extents().into_iter().zip(forecast.values()) {
            let (start, end) = (below, below + share);
            below = end;
            let (Some(from), Some(to)) = (extent.from, extent.to) else {
                continue;
            };
            let cut = value.clamp(from, to);
            let at_cut = start + share * (cut - from) / (to - from);
            score += squares(cut - from, start, at_cut);
            score += squares(to - cut, 1.0 - at_cut, 1.0 - end);
        }
        Some(score)
    }

    /// The probability of each bin by a cumulative distribution: points of a value and the probability of being at most that
    /// value, which rise in both. Between points it is a line. A closed end is a point itself. Beyond the outermost point
    /// towards an open end, half of the remaining probability is beyond the end.
    ///
    /// # Errors
    /// [`CdfError`] for points that are not a cumulative distribution.
    pub fn of_cdf(&self, points: &[(f64, f64)]) -> Result<Distribution, CdfError> {
        check(points)?;
        let (first, last) = match (self.edges.first(), self.edges.last()) {
            (Some(first), Some(last)) => (*first, *last),
            _ => return Err(CdfError::Empty),
        };
        let low = points[0];
        let high = points[points.len() - 1];
        let mut line = Vec::with_capacity(points.len() + 2);
        if low.0 > first {
            line.push((first, if self.is_open_below { low.1 / 2.0 } else { 0.0 }));
        }
        line.extend_from_slice(points);
        if high.0 < last {
            let beyond = (1.0 - high.1) / 2.0;
            line.push((
                last,
                if self.is_open_above {
                    1.0 - beyond
                } else {
                    1.0
                },
            ));
        }
        let mut shares = Vec::with_capacity(self.count());
        let mut before = 0.0;
        for extent in self.extents() {
            let is_end = |edge: f64| edge >= last && !self.is_open_above;
            let after = match extent.to {
                Some(edge) if !is_end(edge) => at(&line, edge),
                Some(_) | None => 1.0,
            };
            shares.push((after - before).max(0.0));
            before = after;
        }
        Ok(Distribution::normalised(&shares)?)
    }
}

/// The integral of the square of a line that goes from one height to another over this width.
fn squares(width: f64, from: f64, to: f64) -> f64 {
    width * (from * from + from * to + to * to) / 3.0
}

/// Rounding error of a sum of probabilities.
const ROUNDING: f64 = 1e-12;

#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CdfError {
    #[error("there are no points")]
    Empty,
    #[error("point {place} is not a number with a probability from 0 to 1")]
    Invalid { place: usize },
    #[error("point {place} is below the one before it; values and probabilities must rise")]
    NotRising { place: usize },
    #[error("none of the probability is within the range")]
    Nothing(#[from] DistributionError),
}

fn check(points: &[(f64, f64)]) -> Result<(), CdfError> {
    if points.is_empty() {
        return Err(CdfError::Empty);
    }
    for (place, &(value, share)) in (1..).zip(points) {
        if !value.is_finite() || !(0.0..=1.0).contains(&share) {
            return Err(CdfError::Invalid { place });
        }
        if place > 1 {
            let (previous, below) = points[place - 2];
            if value <= previous || share < below {
                return Err(CdfError::NotRising { place });
            }
        }
    }
    Ok(())
}

/// The value of a line at a place; before its first point and after its last one those of the points.
fn at(line: &[(f64, f64)], place: f64) -> f64 {
    let next = line.partition_point(|(value, _)| *value < place);
    let before = next.checked_sub(1).map(|index| line[index]);
    match (before, line.get(next)) {
        (Some((low, from)), Some(&(high, to))) => from + (to - from) * (place - low) / (high - low),
        (None, Some(&(_, share))) | (Some((_, share)), None) => share,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
#[path = "bins_tests.rs"]
mod tests;
