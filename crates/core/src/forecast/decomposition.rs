//! Murphy's decomposition of the Brier score: calibration, discrimination, and how hard the questions were.
//!
//! Each event is the probability of one outcome and whether it happened. A question with two outcomes is one event of weight 1; with more
//! outcomes, each is an event of weight ½. So the weighted mean squared error is the mean of half the sum of the squared errors
//! per question, the Brier score as it is defined everywhere else.

use schemars::JsonSchema;
use serde::Serialize;

use super::distribution::Distribution;
use crate::spread::real;

/// The probability of an outcome and whether it happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    pub probability: f64,
    pub happened: bool,
    pub weight: f64,
}

/// Brier score = reliability − resolution + uncertainty + within bins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Decomposition {
    pub questions: usize,
    pub brier: f64,
    /// How far probabilities are from the frequencies that followed; lower is better.
    pub reliability: f64,
    /// How far the frequencies of the bins are from the base rate; higher is better.
    pub resolution: f64,
    /// The Brier score of always saying the base rate.
    pub uncertainty: f64,
    /// The part that is lost by sorting probabilities into bins.
    pub within_bins: f64,
    /// The variance of the probabilities: 0 for a forecaster who always says the same.
    pub sharpness: f64,
    /// The mean probability of the likeliest outcome.
    pub mean_highest: f64,
}

impl Event {
    /// The events of a question. `None` for an outcome that is not in the distribution.
    pub fn of(forecast: &Distribution, happened: usize) -> Option<Vec<Self>> {
        forecast.get(happened)?;
        let (count, weight) = match forecast.outcomes() {
            2 => (1, 1.0),
            count => (count, 0.5),
        };
        let events = forecast.values().iter().enumerate().take(count);
        Some(
            events
                .map(|(index, value)| Self {
                    probability: *value,
                    happened: index == happened,
                    weight,
                })
                .collect(),
        )
    }
}

#[derive(Clone, Copy, Default)]
struct Sums {
    weight: f64,
    probability: f64,
    happened: f64,
}

impl Sums {
    fn add(&mut self, event: &Event) {
        self.weight += event.weight;
        self.probability += event.weight * event.probability;
        self.happened += event.weight * f64::from(u8::from(event.happened));
    }
}

/// The decomposition over `bins` bins of equal width. `None` without questions.
pub fn decompose(questions: &[(Distribution, usize)], bins: usize) -> Option<Decomposition> {
    let events = questions
        .iter()
        .map(|(forecast, happened)| Event::of(forecast, *happened));
    let events: Vec<Event> = events.collect::<Option<Vec<_>>>()?.concat();
    let count = real(questions.len());
    let mut all = Sums::default();
    let mut by_bin = vec![Sums::default(); bins.max(1)];
    for event in &events {
        all.add(event);
        by_bin[bin_of(event.probability, bins.max(1))].add(event);
    }
    if all.weight <= 0.0 {
        return None;
    }
    let base_rate = all.happened / all.weight;
    let mean = all.probability / all.weight;
    let over_bins = |term: fn(f64, f64, f64) -> f64| {
        let filled = by_bin.iter().filter(|bin| bin.weight > 0.0);
        let terms = filled.map(|bin| {
            let (said, seen) = (bin.probability / bin.weight, bin.happened / bin.weight);
            bin.weight * term(said, seen, base_rate)
        });
        terms.sum::<f64>() / count
    };
    let sum = |term: &dyn Fn(&Event) -> f64| {
        let terms = events.iter().map(|event| event.weight * term(event));
        terms.sum::<f64>()
    };
    let truth = |event: &Event| f64::from(u8::from(event.happened));
    let brier = sum(&|event| (event.probability - truth(event)).powi(2)) / count;
    let reliability = over_bins(|said, seen, _| (said - seen).powi(2));
    let resolution = over_bins(|_, seen, base| (seen - base).powi(2));
    let uncertainty = all.weight * base_rate * (1.0 - base_rate) / count;
    let highest = questions
        .iter()
        .filter_map(|(forecast, _)| forecast.get(forecast.likeliest()));
    Some(Decomposition {
        questions: questions.len(),
        brier,
        reliability,
        resolution,
        uncertainty,
        within_bins: brier - (reliability - resolution + uncertainty),
        sharpness: sum(&|event| (event.probability - mean).powi(2)) / all.weight,
        mean_highest: highest.sum::<f64>() / count,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a probability times the number of bins is a small positive number"
)]
fn bin_of(probability: f64, bins: usize) -> usize {
    ((probability * real(bins)).floor() as usize).min(bins - 1)
}

#[cfg(test)]
#[path = "decomposition_tests.rs"]
mod tests;
