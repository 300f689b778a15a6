//! What stopping by value (B-10) would have done: on a record of forecasts before and after deliberation, and on simulated panels.
//! Deterministic; docs/cost.md has the results.
//!
//! `zcat deliberation_before_after.csv.gz | cargo run --release -p roundtable-core --example stop_by_value`
//!
//! The record has the columns `question_id,outcome,condition,model,information,position,before,after` (202 questions of
//! `priorb-source/delib-ai-wisdom`). Without one on standard input, only the simulation is run.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small counts, and random numbers"
)]

use std::collections::BTreeMap;
use std::io::{Read, Write};

use roundtable_core::value::{Leading, Record, RoundPrice, efficiency_of, of_answers, of_movement};

/// What a changed answer is worth, in units of the price of a round.
const WORTHS: [f64; 5] = [1e9, 20.0, 5.0, 3.0, 0.0];
const DRAWS: usize = 2000;

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut out = std::io::stdout().lock();
    deliberation(&text, &mut out)?;
    simulation(&mut out)
}

/// A panel of three before and after its seats read each other.
#[derive(Default)]
struct Panel {
    outcome: f64,
    before: Vec<f64>,
    after: Vec<f64>,
}

fn deliberation(text: &str, out: &mut impl Write) -> std::io::Result<()> {
    let mut conditions: BTreeMap<&str, BTreeMap<&str, Panel>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [question, outcome, condition, .., before, after] = fields.as_slice() else {
            continue;
        };
        let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        let panel = conditions
            .entry(condition)
            .or_default()
            .entry(question)
            .or_default();
        panel.outcome = number(outcome);
        panel.before.push(number(before));
        panel.after.push(number(after));
    }
    for (condition, panels) in &conditions {
        let families = if condition.starts_with("diverse") {
            3
        } else {
            1
        };
        let scored: Vec<([f64; 3], bool)> = panels
            .values()
            .map(|panel| scores(panel, families))
            .collect();
        let mean = |part: usize| {
            scored.iter().map(|(scores, _)| scores[part]).sum::<f64>() / scored.len() as f64
        };
        let [low, high] = interval(&scored, |(scores, _)| scores[2] - scores[1]);
        let stopped = scored.iter().filter(|(_, stops)| *stops);
        writeln!(
            out,
            "{condition}: Brier before {:.4}, after {:.4}, stop by value {:.4} (against after {:+.4} [{low:+.4}, {high:+.4}]), \
             rounds saved {:.0}%",
            mean(0),
            mean(1),
            mean(2),
            mean(2) - mean(1),
            100.0 * stopped.count() as f64 / scored.len() as f64,
        )?;
    }
    Ok(())
}

/// Brier score of the panel's mean before and after, and by the rule with a change worth 20 rounds; whether the rule stopped.
fn scores(panel: &Panel, families: usize) -> ([f64; 3], bool) {
    let brier = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (mean - panel.outcome).powi(2)
    };
    let (before, after) = (brier(&panel.before), brier(&panel.after));
    let sides = panel
        .before
        .iter()
        .map(|p| if *p >= 0.5 { "yes" } else { "no" });
    let price = RoundPrice {
        tokens: 1,
        cost: Some(1.0),
    };
    let moved = (None, efficiency_of(families, &[]));
    let stops = Leading::of(sides, panel.before.len())
        .and_then(|leading| of_movement(leading, &Record::new(), moved, price, Some(20.0)))
        .is_some_and(|value| value.stops);
    let by_rule = if stops { before } else { after };
    ([before, after, by_rule], stops)
}

/// The 95% interval of the mean of paired differences, by a bootstrap over questions.
fn interval<T>(items: &[T], difference: impl Fn(&T) -> f64) -> [f64; 2] {
    let mut random = Random(11);
    let differences: Vec<f64> = items.iter().map(difference).collect();
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn =
                (0..differences.len()).map(|_| differences[random.below(differences.len())]);
            drawn.sum::<f64>() / differences.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    [means[DRAWS / 40], means[DRAWS - 1 - DRAWS / 40]]
}

const QUESTIONS: usize = 4000;
const SEATS: usize = 5;
const ROUNDS: usize = 3;
const OPTIONS: [&str; 4] = ["right", "lure", "third", "fourth"];
/// An accuracy of 60% at difficulties with a standard deviation of 2.4.
const ABILITY: f64 = 0.750_091;

/// The vote after each of three rounds, for simulated panels of five with an accuracy of 60%.
fn simulation(out: &mut impl Write) -> std::io::Result<()> {
    let mut random = Random(7);
    let panels: Vec<Vec<Vec<usize>>> = (0..QUESTIONS).map(|_| simulated(&mut random)).collect();
    writeln!(
        out,
        "simulated, {QUESTIONS} panels of {SEATS}: worth of a change in rounds, mean rounds, calls saved, vote, against {ROUNDS} rounds"
    )?;
    for worth in WORTHS {
        let played: Vec<(usize, f64, f64)> = panels
            .iter()
            .map(|rounds| {
                let last = (1..ROUNDS)
                    .find(|round| stops(&rounds[round - 1], worth))
                    .unwrap_or(ROUNDS);
                (
                    last,
                    is_right(&rounds[last - 1]),
                    is_right(&rounds[ROUNDS - 1]),
                )
            })
            .collect();
        let count = played.len() as f64;
        let rounds = played.iter().map(|(last, ..)| *last as f64).sum::<f64>() / count;
        let vote = played.iter().map(|(_, vote, _)| vote).sum::<f64>() / count;
        let all = played.iter().map(|(.., all)| all).sum::<f64>() / count;
        let [low, high] = interval(&played, |(_, vote, all)| vote - all);
        writeln!(
            out,
            "{worth}: {rounds:.2}, {:.0}%, {vote:.4}, {:+.4} [{low:+.4}, {high:+.4}]",
            100.0 * (1.0 - rounds / ROUNDS as f64),
            vote - all
        )?;
    }
    Ok(())
}

fn stops(answers: &[usize], worth: f64) -> bool {
    let price = RoundPrice {
        tokens: 1,
        cost: Some(1.0),
    };
    let named = answers.iter().map(|answer| OPTIONS[*answer]);
    Leading::of(named, SEATS)
        .and_then(|leading| of_answers(leading, &Record::new(), price, Some(worth)))
        .is_some_and(|value| value.stops)
}

/// Ties go to the option named first, as in the program.
fn is_right(answers: &[usize]) -> f64 {
    let leading = Leading::of(answers.iter().map(|answer| OPTIONS[*answer]), SEATS);
    f64::from(u8::from(
        leading.is_some_and(|leading| leading.answer == OPTIONS[0]),
    ))
}

/// The answers of all seats after each round: a shared difficulty, a shared lure, and seats that read each other. The parameters
/// are fitted to published answers and debates; what debate adds to the truth is slightly overstated (about +.01).
fn simulated(random: &mut Random) -> Vec<Vec<usize>> {
    let difficulty = 2.4 * random.normal();
    let lure = random.beta(0.535 * 2.5, 0.465 * 2.5);
    let first = |random: &mut Random| {
        if random.uniform() < logistic(ABILITY - difficulty) {
            0
        } else if random.uniform() < lure {
            1
        } else {
            1 + random.below(OPTIONS.len() - 1)
        }
    };
    let mut rounds = vec![(0..SEATS).map(|_| first(random)).collect::<Vec<_>>()];
    for round in 1..ROUNDS {
        let before = rounds[round - 1].clone();
        let after = (0..SEATS).map(|seat| revised(&before, seat, random));
        let after = after.collect();
        rounds.push(after);
    }
    rounds
}

fn revised(before: &[usize], seat: usize, random: &mut Random) -> usize {
    let others: Vec<usize> = (0..SEATS)
        .filter(|other| *other != seat)
        .map(|other| before[other])
        .collect();
    let support = |option: usize| {
        let alike = others.iter().filter(|other| **other == option);
        alike.count() as f64 / others.len() as f64
    };
    let own = before[seat];
    // On a tie the answer named first; the order of the options must not count, because the first one is right.
    let named = others.iter().rev().copied();
    let lead = named.max_by(|a, b| support(*a).total_cmp(&support(*b)));
    let lead = lead.unwrap_or(own);
    if own == lead {
        let is_unanimous = others.iter().all(|other| *other == own);
        let leaves = if is_unanimous {
            0.0175
        } else {
            0.40 * (1.0 - support(own))
        };
        return if random.uniform() >= leaves {
            own
        } else if random.uniform() < 0.8 {
            others[random.below(others.len())]
        } else {
            random.below(OPTIONS.len())
        };
    }
    if random.uniform() < 0.18 {
        return if random.uniform() < 0.20 {
            0
        } else {
            1 + random.below(OPTIONS.len() - 1)
        };
    }
    let right = |option: usize| f64::from(u8::from(option == 0));
    let pull =
        -0.95 + 1.84 * (support(lead) - support(own)) + 0.63 * right(lead) - 0.60 * right(own);
    if random.uniform() < logistic(pull) {
        lead
    } else {
        own
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `SplitMix64`, seeded: the same figures on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound - 1)
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Jöhnk's method.
    fn beta(&mut self, a: f64, b: f64) -> f64 {
        loop {
            let (x, y) = (self.uniform().powf(1.0 / a), self.uniform().powf(1.0 / b));
            if x + y > 0.0 && x + y <= 1.0 {
                return x / (x + y);
            }
        }
    }
}
