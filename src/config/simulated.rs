//! The settings of a provider of simulated models.

use std::time::Duration;

use super::document::Section;

/// How simulated seats answer, and how fast. Parameters of the model: [`roundtable_core::simulation`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Simulation {
    /// The share of questions on which a seat is right.
    pub accuracy: f64,
    /// How firmly it keeps its answer.
    pub stubbornness: f64,
    /// How strongly it follows the others.
    pub conformity: f64,
    /// Added to the log-odds of its confidence; 0 is calibrated.
    pub overconfidence: f64,
    /// Time to the first token.
    pub latency: Duration,
    /// Speed of the reply; 0 sends it at once.
    pub tokens_per_second: f64,
    /// Together with the seed of the debate it determines every reply.
    pub seed: u64,
}

impl Default for Simulation {
    fn default() -> Self {
        Self {
            accuracy: 0.6,
            stubbornness: 0.95,
            conformity: 1.84,
            overconfidence: 0.0,
            latency: Duration::ZERO,
            tokens_per_second: 0.0,
            seed: 0,
        }
    }
}

pub(super) fn read(section: &mut Section<'_, '_>) -> Simulation {
    let default = Simulation::default();
    Simulation {
        accuracy: section.number_or("accuracy", 0.02..=0.98, default.accuracy),
        stubbornness: section.number_or("stubbornness", -10.0..=10.0, default.stubbornness),
        conformity: section.number_or("conformity", -10.0..=10.0, default.conformity),
        overconfidence: section.number_or("overconfidence", -10.0..=10.0, default.overconfidence),
        latency: Duration::from_millis(section.whole_or("latency_ms", 0..=600_000, 0)),
        tokens_per_second: section.number_or("tokens_per_second", 0.0..=1e6, 0.0),
        seed: section.whole_or("seed", 0..=u64::from(u32::MAX), default.seed),
    }
}
