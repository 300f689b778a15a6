//! Calibration of cosine similarities (C-16). The same cosine means different things for different embedders, so a scale maps
//! one embedder's raw values to those the thresholds were chosen for: piecewise linear and monotonic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScaleError {
    #[error("a scale needs at least two points")]
    TooFewPoints,
    #[error("the points of a scale must be increasing: {0:?} is followed by {1:?}")]
    NotRising([f64; 2], [f64; 2]),
}

/// Pairs of raw and scaled cosine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<[f64; 2]>", into = "Vec<[f64; 2]>")]
pub struct Scale {
    points: Vec<[f64; 2]>,
}

/// A similarity as the embedder returned it and on the scale of the thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Similarity {
    pub raw: f64,
    pub scaled: f64,
}

impl Scale {
    pub fn new(points: Vec<[f64; 2]>) -> Result<Self, ScaleError> {
        if points.len() < 2 {
            return Err(ScaleError::TooFewPoints);
        }
        for pair in points.windows(2) {
            let (low, high) = (pair[0], pair[1]);
            let rising = high[0] > low[0] && high[1] >= low[1];
            if !rising {
                return Err(ScaleError::NotRising(low, high));
            }
        }
        Ok(Self { points })
    }

    /// For embedders whose values the thresholds were chosen for.
    pub fn identity() -> Self {
        Self {
            points: vec![[-1.0, -1.0], [1.0, 1.0]],
        }
    }

    pub fn read(&self, raw: f64) -> Similarity {
        let segment = self
            .points
            .windows(2)
            .find(|pair| raw <= pair[1][0])
            .or_else(|| self.points.windows(2).last());
        let scaled = segment.map_or(raw, |pair| {
            let [x0, y0] = pair[0];
            let [x1, y1] = pair[1];
            y0 + (raw.clamp(x0, x1) - x0) * (y1 - y0) / (x1 - x0)
        });
        Similarity { raw, scaled }
    }
}

impl TryFrom<Vec<[f64; 2]>> for Scale {
    type Error = ScaleError;

    fn try_from(points: Vec<[f64; 2]>) -> Result<Self, ScaleError> {
        Self::new(points)
    }
}

impl From<Scale> for Vec<[f64; 2]> {
    fn from(scale: Scale) -> Self {
        scale.points
    }
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
