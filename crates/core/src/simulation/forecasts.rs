//! Forecasters of a yes-or-no question: they share one opinion of it, which is itself not calibrated, and add noise of their own.

use schemars::JsonSchema;
use serde::Serialize;

use super::quadrature::logistic;
use crate::random::SplitMix64;
use crate::spread::{mean, real};

/// Of the noise of a seat, the part that seats of one model share (a record of 30 samples of 6 models).
const SHARED_NOISE: f64 = 0.43;

/// Probabilities are pooled as if they were at least this far from 0 and 1.
const FLOOR: f64 = 0.01;

/// A kind of forecaster, on the scale of log-odds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecasters {
    /// `models`
    pub name: &'static str,
    /// The record that it was fitted to.
    pub source: &'static str,
    /// Mean and standard deviation of the shared opinion of questions.
    pub opinion: (f64, f64),
    /// The truth: yes with the log-odds `slope · opinion + offset`. A slope of 1 and an offset of 0 are calibrated.
    pub truth: (f64, f64),
    /// Standard deviation of how strongly a seat follows the opinion, around 1.
    pub sway: f64,
    /// Standard deviation of a seat's constant bias.
    pub bias: f64,
    /// A seat's noise: median, and standard deviation of its logarithm.
    pub noise: (f64, f64),
}

/// The fitted kinds.
pub const FORECASTERS: [Forecasters; 4] = [
    Forecasters {
        name: "models",
        source: "15 configurations of language models",
        opinion: (-0.73, 1.25),
        truth: (1.15, -0.10),
        sway: 0.29,
        bias: 0.60,
        noise: (0.74, 0.33),
    },
    Forecasters {
        name: "models-2",
        source: "12 configurations of language models on other questions",
        opinion: (-0.66, 0.95),
        truth: (1.36, -0.98),
        sway: 0.30,
        bias: 0.43,
        noise: (0.65, 0.22),
    },
    Forecasters {
        name: "samples",
        source: "6 language models, five samples each",
        opinion: (-0.44, 1.42),
        truth: (0.81, -0.83),
        sway: 0.09,
        bias: 0.24,
        noise: (0.62, 0.08),
    },
    Forecasters {
        name: "professionals",
        source: "professional forecasters",
        opinion: (-1.24, 2.21),
        truth: (0.74, -0.10),
        sway: 0.06,
        bias: 0.11,
        noise: (0.49, 0.41),
    },
];

/// The results of one panel of forecasters. Brier scores are (p − outcome)²; lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ForecastRow {
    pub seats: usize,
    pub families: usize,
    pub one_seat: f64,
    pub mean: f64,
    pub log_odds_mean: f64,
    /// The correlation of the seats' errors; `None` of one seat.
    pub correlation: Option<f64>,
    /// As many independent seats would be as good.
    pub effective_seats: f64,
}

/// One row for each panel of (seats, families). `sharpness` multiplies every seat's log-odds: above 1 they are overconfident.
pub fn forecast_study(
    kind: &Forecasters,
    sharpness: f64,
    panels: &[(usize, usize)],
    (questions, seed): (usize, u64),
) -> Vec<ForecastRow> {
    let row = |&(seats, families): &(usize, usize)| {
        let mut sums = Sums::default();
        for number in 0..questions {
            let stream = |part: u64| SplitMix64::stream(seed, 2 * number as u64 + part);
            let (opinion, outcome) = kind.question(&mut stream(0));
            let seats = kind.seats(opinion, (seats, families), &mut stream(1));
            let seats: Vec<f64> = seats.iter().map(|own| sharpness * own).collect();
            sums.add(&seats, outcome);
        }
        sums.row((seats, families), questions)
    };
    panels.iter().map(row).collect()
}

impl Forecasters {
    pub fn named(name: &str) -> Option<&'static Self> {
        FORECASTERS.iter().find(|kind| kind.name == name)
    }

    /// The shared opinion, and what will happen.
    pub fn question(&self, random: &mut SplitMix64) -> (f64, bool) {
        let opinion = self.opinion.0 + self.opinion.1 * random.normal();
        let (slope, offset) = self.truth;
        (opinion, random.chance(logistic(slope * opinion + offset)))
    }

    /// The log-odds of a panel; the seats take the families in turn. Seats of one family differ by noise only.
    pub fn seats(
        &self,
        opinion: f64,
        (seats, families): (usize, usize),
        random: &mut SplitMix64,
    ) -> Vec<f64> {
        let own: Vec<(f64, f64)> = (0..families.max(1))
            .map(|_| {
                let sway = 1.0 + self.sway * random.normal();
                let bias = self.bias * random.normal();
                let noise = self.noise.0 * (self.noise.1 * random.normal()).exp();
                let centre = self.opinion.0 + sway * (opinion - self.opinion.0) + bias;
                let shared = SHARED_NOISE.sqrt() * noise * random.normal();
                (centre + shared, (1.0 - SHARED_NOISE).sqrt() * noise)
            })
            .collect();
        (0..seats)
            .map(|seat| {
                let (centre, noise) = own[seat % own.len()];
                centre + noise * random.normal()
            })
            .collect()
    }
}

#[derive(Debug, Default)]
struct Sums {
    one_seat: f64,
    mean: f64,
    log_odds_mean: f64,
    /// Products of the errors of two seats, and squares.
    pairs: f64,
}

impl Sums {
    fn add(&mut self, log_odds: &[f64], outcome: bool) {
        let truth = f64::from(u8::from(outcome));
        let probabilities: Vec<f64> = log_odds.iter().copied().map(logistic).collect();
        let errors: Vec<f64> = probabilities.iter().map(|p| truth - p).collect();
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        let sum: f64 = errors.iter().sum();
        let seats = real(log_odds.len());
        self.one_seat += squares / seats;
        if seats > 1.0 {
            self.pairs += (sum * sum - squares) / (seats * (seats - 1.0));
        }
        self.mean += (sum / seats).powi(2);
        let bound = ((1.0 - FLOOR) / FLOOR).ln();
        let floored: Vec<f64> = log_odds
            .iter()
            .map(|own| own.clamp(-bound, bound))
            .collect();
        let pooled = logistic(mean(&floored).unwrap_or_default());
        self.log_odds_mean += (truth - pooled).powi(2);
    }

    fn row(&self, (seats, families): (usize, usize), questions: usize) -> ForecastRow {
        let questions = real(questions);
        let correlation = (seats > 1).then(|| (self.pairs / self.one_seat).clamp(0.0, 1.0));
        let n = real(seats);
        ForecastRow {
            seats,
            families,
            one_seat: self.one_seat / questions,
            mean: self.mean / questions,
            log_odds_mean: self.log_odds_mean / questions,
            correlation,
            effective_seats: n / (1.0 + (n - 1.0) * correlation.unwrap_or_default()),
        }
    }
}
