//! The value of another round (B-10): how likely it is to change the leading answer, and what movement of probabilities has
//! been worth so far.
//!
//! Both are learned from this installation's own debates. The prior for the leading answer comes from 502 published debates of
//! three rounds; the prior for probabilities is "not known to be worth anything".

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::convergence::same_option;
use crate::format::{grouped, percent};
use crate::learning::beta::{Estimate, posterior};
use crate::wording::one_line;

/// The chance of a change below which another round is not played, unless configured otherwise.
pub const MIN_CHANCE: f64 = 0.05;

/// How many recorded rounds the prior counts as.
const PRIOR_STRENGTH: f64 = 10.0;

/// The squared movement of the next round over that of the last.
const PERSISTENCE: f64 = 0.46;

/// Squared movement that the prior of the efficiency counts as.
const EFFICIENCY_STRENGTH: f64 = 0.2;

/// How united a panel is, by the share of its leading answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Unity {
    /// Up to 40%.
    Scattered,
    /// Up to 60%.
    Divided,
    /// Up to 80%.
    Leaning,
    /// Below 100%.
    AlmostUnanimous,
    Unanimous,
}

impl Unity {
    /// `leading` of `seats` gave the leading answer. `None` without answers.
    pub fn of(leading: usize, seats: usize) -> Option<Self> {
        if seats == 0 || leading > seats {
            return None;
        }
        // In whole fifths, so that no bound depends on rounding.
        Some(match leading * 5 {
            _ if leading == seats => Self::Unanimous,
            fifths if fifths <= seats * 2 => Self::Scattered,
            fifths if fifths <= seats * 3 => Self::Divided,
            fifths if fifths <= seats * 4 => Self::Leaning,
            _ => Self::AlmostUnanimous,
        })
    }

    /// The share of rounds that changed the leading answer in the published debates.
    const fn prior(self) -> f64 {
        match self {
            Self::Scattered => 0.60,
            Self::Divided => 0.25,
            Self::Leaning => 0.15,
            Self::AlmostUnanimous => 0.04,
            Self::Unanimous => 0.005,
        }
    }
}

/// Recorded rounds of one kind of debate that began equally united.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    pub played: usize,
    /// Those after which another answer led.
    pub changed: usize,
}

/// The probability that another round changes the leading answer, with its 95% credible interval.
pub fn chance_of_change(unity: Unity, record: Rounds) -> Estimate {
    let seen: Vec<(f64, f64)> = (0..record.played)
        .map(|round| (f64::from(u8::from(round < record.changed)), 1.0))
        .collect();
    posterior(unity.prior(), PRIOR_STRENGTH, &seen)
}

/// A resolved debate's movement from one probability distribution to the next, and what it gained.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Movement {
    /// Half the sum of the squared changes, over all outcomes.
    pub squared: f64,
    /// The improvement of the half Brier score.
    pub gain: f64,
}

impl Movement {
    /// `None` if the distributions differ in length or the outcome is not among them.
    pub fn of(before: &[f64], after: &[f64], outcome: usize) -> Option<Self> {
        if before.len() != after.len() || outcome >= before.len() {
            return None;
        }
        let squared = |from: &[f64], to: &dyn Fn(usize) -> f64| -> f64 {
            let squares = from.iter().enumerate().map(|(i, p)| (p - to(i)).powi(2));
            squares.sum::<f64>() / 2.0
        };
        let truth = |i: usize| f64::from(u8::from(i == outcome));
        Some(Self {
            squared: squared(before, &|i| after[i]),
            gain: squared(before, &truth) - squared(after, &truth),
        })
    }
}

/// The worth of movement: 1 if all of it was information, 0 if it was worth nothing, −1 if all of it was noise. Shrunk towards
/// 0 while little has resolved.
pub fn efficiency(movements: &[Movement]) -> f64 {
    let gain: f64 = movements.iter().map(|movement| movement.gain).sum();
    let squared: f64 = movements.iter().map(|movement| movement.squared).sum();
    // An empty sum is −0; adding 0 makes it 0.
    gain / (squared + EFFICIENCY_STRENGTH) + 0.0
}

/// The expected squared movement of the next round after one of `last`.
pub fn next_movement(last: f64) -> f64 {
    PERSISTENCE * last
}

/// The conditions under which another round is worth paying for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Threshold {
    /// The lowest chance of a change for which another round is played.
    pub min_chance: f64,
    /// The worth of a right answer, in the currency of the prices.
    pub worth: Option<f64>,
}

impl Default for Threshold {
    fn default() -> Self {
        Self {
            min_chance: MIN_CHANCE,
            worth: None,
        }
    }
}

/// Whether another round is worth its price. `price` is `None` if unknown; then only the chance counts.
pub fn is_worth_playing(
    chance: f64,
    efficiency: f64,
    price: Option<f64>,
    threshold: &Threshold,
) -> bool {
    let pays = match (threshold.worth, price) {
        (Some(worth), Some(price)) => chance * worth * efficiency.max(0.0) >= price,
        _ => true,
    };
    chance >= threshold.min_chance && pays
}

/// The squared movement of the first round in which seats read each other, while this installation has none of its own: the mean
/// of 1,212 panels of three forecasters before and after they read each other (`priorb-source/delib-ai-wisdom`).
const FIRST_MOVEMENT: f64 = 0.005;

/// Records of this installation, by how united a panel was. The prior is added to them.
pub type Record = BTreeMap<Unity, Rounds>;

/// The leading answers of the rounds of finished debates, one list for each debate: every round but the last has one after it that
/// changed the leading answer or not.
pub fn record(debates: &[Vec<Leading>]) -> Record {
    let mut record = Record::new();
    for pair in debates.iter().flat_map(|rounds| rounds.windows(2)) {
        let Some(unity) = pair[0].unity() else {
            continue;
        };
        let rounds = record.entry(unity).or_default();
        rounds.played += 1;
        rounds.changed += usize::from(!same_option(&pair[0].answer, &pair[1].answer));
    }
    record
}

/// The answer that most seats give after a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leading {
    pub answer: String,
    /// The seats that give it.
    pub supporters: usize,
    pub seats: usize,
}

impl Leading {
    /// Of the typed answers of all `seats`; on a tie the one named first. `None` without answers.
    pub fn of<'a>(answers: impl IntoIterator<Item = &'a str>, seats: usize) -> Option<Self> {
        let mut groups: Vec<(&str, usize)> = Vec::new();
        for answer in answers {
            match groups
                .iter_mut()
                .find(|(known, _)| same_option(known, answer))
            {
                Some((_, count)) => *count += 1,
                None => groups.push((answer, 1)),
            }
        }
        // `max_by_key` takes the last of equals.
        let (answer, supporters) = groups.into_iter().rev().max_by_key(|(_, count)| *count)?;
        Some(Self {
            answer: one_line(answer),
            supporters,
            seats: seats.max(supporters),
        })
    }

    pub fn unity(&self) -> Option<Unity> {
        Unity::of(self.supporters, self.seats)
    }
}

/// The expected usage of another round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RoundPrice {
    pub tokens: u64,
    /// In US dollars; `None` if a price is unknown.
    pub cost: Option<f64>,
}

/// The expected gain and cost of another round (B-10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundValue {
    #[serde(flatten)]
    pub leading: Leading,
    pub unity: Unity,
    /// The probability that another round changes the leading answer.
    pub chance: Estimate,
    /// From 0 to 1: the chance of another answer; of a forecast, the expected useful movement of the probabilities.
    pub expected_change: f64,
    /// The tokens of another round: those of the last one.
    pub tokens: u64,
    /// In US dollars; `null` if a price is unknown.
    pub cost: Option<f64>,
    /// The cost of another round over the expected change; `null` if a price is unknown or no change is expected.
    pub cost_per_change: Option<f64>,
    /// Whether the debate stops here because another round is not worth its price.
    pub stops: bool,
}

/// The value of another round for a panel with typed answers. `max_price` is what a changed answer is worth to the user; without
/// it, nothing stops.
pub fn of_answers(
    leading: Leading,
    record: &Record,
    price: RoundPrice,
    max_price: Option<f64>,
) -> Option<RoundValue> {
    let unity = leading.unity()?;
    let chance = chance_of_change(unity, record.get(&unity).copied().unwrap_or_default());
    let threshold = Threshold {
        worth: max_price,
        ..Threshold::default()
    };
    Some(valued(
        leading,
        (unity, chance),
        chance.mean,
        price,
        threshold,
    ))
}

/// The same for probabilities: `last` is the squared movement of the last round, `None` after the first one.
pub fn of_movement(
    leading: Leading,
    record: &Record,
    (last, efficiency): (Option<f64>, f64),
    price: RoundPrice,
    max_price: Option<f64>,
) -> Option<RoundValue> {
    let unity = leading.unity()?;
    let chance = chance_of_change(unity, record.get(&unity).copied().unwrap_or_default());
    let next = last.map_or(FIRST_MOVEMENT, next_movement);
    // Movement of unknown worth does not justify its price.
    let useful = rounded(next.max(0.0).sqrt() * efficiency.clamp(0.0, 1.0));
    // Probabilities may move although all agree on what is likeliest.
    let threshold = Threshold {
        min_chance: 0.0,
        worth: max_price,
    };
    Some(valued(leading, (unity, chance), useful, price, threshold))
}

fn valued(
    leading: Leading,
    (unity, chance): (Unity, Estimate),
    expected_change: f64,
    RoundPrice { tokens, cost }: RoundPrice,
    threshold: Threshold,
) -> RoundValue {
    let efficiency = expected_change / chance.mean;
    let is_worth = is_worth_playing(chance.mean, efficiency, cost, &threshold);
    RoundValue {
        leading,
        unity,
        chance,
        expected_change,
        tokens,
        cost,
        cost_per_change: cost
            .filter(|_| expected_change > 0.0)
            .map(|cost| rounded(cost / expected_change)),
        stops: threshold.worth.is_some() && !is_worth,
    }
}

/// The worth of movement for a new panel: 1 with several model families, 0 with copies of one model, until there are records. The same
/// record as [`FIRST_MOVEMENT`]: three families gained from reading each other, three copies of one model lost.
pub fn efficiency_of(families: usize, movements: &[Movement]) -> f64 {
    let prior = if families > 1 { 1.0 } else { 0.0 };
    let (mut gain, mut squared) = (prior * EFFICIENCY_STRENGTH, EFFICIENCY_STRENGTH);
    for movement in movements {
        gain += movement.gain;
        squared += movement.squared;
    }
    gain / squared
}

/// Half the sum of the squared changes.
pub fn squared_movement(before: &[f64], after: &[f64]) -> f64 {
    let squares = before.iter().zip(after).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>() / 2.0
}

impl RoundValue {
    /// `Another round would change the leading answer with probability 16% (95% 11–22%); it costs about 6,200 tokens, $0.0400`
    pub fn to_text(&self) -> String {
        let cost = self
            .cost
            .map_or_else(String::new, |cost| format!(", ${cost:.4}"));
        let change = if (self.expected_change - self.chance.mean).abs() > f64::EPSILON {
            format!(
                "; the probabilities would move usefully by about {}",
                percent(self.expected_change)
            )
        } else {
            String::new()
        };
        let stops = if self.stops {
            ". It is not worth it"
        } else {
            ""
        };
        format!(
            "{} of {} give the leading answer; another round would change it with probability {} (95% {} to {}){change}; it costs \
             about {} tokens{cost}{stops}",
            self.leading.supporters,
            self.leading.seats,
            percent(self.chance.mean),
            percent(self.chance.low),
            percent(self.chance.high),
            grouped(self.tokens),
        )
    }

    /// Why the debate stopped, what that saved and at which risk.
    pub fn stop_text(&self, rounds_left: u32) -> String {
        let rounds = if rounds_left == 1 { "round" } else { "rounds" };
        let saved = self.tokens.saturating_mul(u64::from(rounds_left));
        let cost = self.cost.map_or_else(String::new, |cost| {
            format!(", ${:.4}", cost * f64::from(rounds_left))
        });
        format!(
            "another round was not worth its price: it would have changed the leading answer with probability {} (95% {} to {}). \
             Saved: up to {rounds_left} {rounds}, about {} tokens{cost}",
            percent(self.chance.mean),
            percent(self.chance.low),
            percent(self.chance.high),
            grouped(saved),
        )
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
