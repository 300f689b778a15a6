//! Questions of different difficulty, with a wrong answer that attracts several seats at once.

use super::quadrature::{expected, logistic, solve};
use crate::random::SplitMix64;

/// The distribution of questions, and the correlation of the seats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct World {
    /// Answers to choose from, at least two.
    pub options: u8,
    /// Standard deviation of the difficulty, which all seats share.
    pub difficulty: f64,
    /// Standard deviation of what only the seats of one model share. Differences between domains act the same way: one of 0.5 is
    /// a deviation of 0.5 here.
    pub model: f64,
    /// How often a wrong answer is the same wrong answer: mean and concentration of a Beta distribution.
    pub lure: (f64, f64),
}

impl World {
    /// Difficulty and lure of MMLU-Pro, for its ten best models; four options, nothing that only one model shares.
    pub const MMLU_PRO: Self = Self {
        options: 4,
        difficulty: 2.40,
        model: 0.0,
        lure: (0.535, 2.5),
    };
    /// The correlation of being wrong between two of the ten best models of MMLU-Pro.
    pub const BETWEEN_MODELS: f64 = 0.423;
    /// The same between two prompts of one strong model (`LLMBar`).
    pub const WITHIN_MODEL: f64 = 0.555;

    /// The deviations with which seats of this accuracy are wrong together as often as given: two seats of one model with the
    /// correlation `within`, two of different models with `between`. `None` unless 0 ≤ between ≤ within ≤ 0.9 and the accuracy
    /// lies between 0.02 and 0.98.
    #[must_use]
    pub fn with_correlations(self, seat: f64, within: f64, between: f64) -> Option<Self> {
        let is_valid = (0.02..=0.98).contains(&seat)
            && (0.0..=0.9).contains(&within)
            && (0.0..=within).contains(&between);
        if !is_valid {
            return None;
        }
        let shared_by_model = solve(within, 0.0, 40.0, |deviation| {
            let world = Self {
                difficulty: deviation,
                model: 0.0,
                ..self
            };
            correlation(&world, seat, Pair::SameModel)
        });
        let difficulty = solve(between, 0.0, shared_by_model, |deviation| {
            let world = Self {
                difficulty: deviation,
                model: rest(shared_by_model, deviation),
                ..self
            };
            correlation(&world, seat, Pair::DifferentModels)
        });
        Some(Self {
            difficulty,
            model: rest(shared_by_model, difficulty),
            ..self
        })
    }

    /// Of everything that makes a question hard for one model.
    pub(super) fn total(&self) -> f64 {
        self.difficulty.hypot(self.model)
    }
}

/// The part of a deviation that remains next to another.
fn rest(total: f64, part: f64) -> f64 {
    (total * total - part * part).max(0.0).sqrt()
}

/// The ability, on the scale of the difficulty, of a seat that is right this often.
pub fn ability(world: &World, accuracy_of_seat: f64) -> f64 {
    solve(accuracy_of_seat, -200.0, 200.0, |own| accuracy(world, own))
}

/// The share of questions that a seat of this ability answers rightly.
pub fn accuracy(world: &World, own: f64) -> f64 {
    expected(world.total(), |difficulty| logistic(own - difficulty))
}

/// Two seats of a panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    SameModel,
    DifferentModels,
}

/// The correlation (φ) of being wrong between two seats of the same accuracy.
pub fn correlation(world: &World, accuracy_of_seat: f64, pair: Pair) -> f64 {
    let own = ability(world, accuracy_of_seat);
    let both = match pair {
        Pair::SameModel => expected(world.total(), |hard| logistic(own - hard).powi(2)),
        Pair::DifferentModels => expected(world.difficulty, |hard| {
            expected(world.model, |more| logistic(own - hard - more)).powi(2)
        }),
    };
    let right = accuracy(world, own);
    (both - right * right) / (right * (1.0 - right))
}

/// One question as it is for every model of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub(super) lure: f64,
    shared: f64,
    /// By model.
    difficulty: Vec<f64>,
}

impl Question {
    pub fn draw(world: &World, models: usize, random: &mut SplitMix64) -> Self {
        let shared = world.difficulty * random.normal();
        let (mean, concentration) = world.lure;
        let lure = random.beta(mean * concentration, (1.0 - mean) * concentration);
        let of_model = |_| shared + world.model * random.normal();
        let difficulty = (0..models).map(of_model).collect();
        Self {
            lure,
            shared,
            difficulty,
        }
    }

    /// The question for one model: what all models share from `shared`, the rest from `own`.
    pub fn of_model(world: &World, shared: &mut SplitMix64, own: &mut SplitMix64) -> Self {
        let question = Self::draw(world, 0, shared);
        let hard = question.shared + world.model * own.normal();
        Self {
            difficulty: vec![hard],
            ..question
        }
    }

    /// The probability that a seat of this ability and model is right.
    pub fn probability(&self, own: f64, model: usize) -> f64 {
        let hard = self.difficulty.get(model).copied();
        logistic(own - hard.unwrap_or_default())
    }
}
