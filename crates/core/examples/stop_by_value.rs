//! The effect that stopping by value (B-10) would have had: on a record of forecasts before and after deliberation, and on simulated panels.
//! Deterministic; docs/cost.md has the results.
//!
//! `zcat deliberation_before_after.csv.gz | cargo run --release -p roundtable-core --example stop_by_value`
//!
//! The record has the columns `question_id,outcome,condition,model,information,position,before,after` (202 questions of
//! `priorb-source/delib-ai-wisdom`). Without one on standard input, only the simulation is run.

#![expect(clippy::cast_precision_loss, reason = "small counts")]

use std::collections::BTreeMap;
use std::io::{Read, Write};

use roundtable_core::random::SplitMix64;
use roundtable_core::simulation::{Answer, Debater, RIGHT, Study, World, leading};
use roundtable_core::value::{Leading, Record, RoundPrice, efficiency_of, of_answers, of_movement};

/// The worth of a changed answer, in units of the price of a round.
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
    let mut random = SplitMix64::new(11);
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

/// The vote after each of three rounds, for simulated panels of five with an accuracy of 60%.
fn simulation(out: &mut impl Write) -> std::io::Result<()> {
    let panels = simulated();
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

/// The answers of all seats after each round.
fn simulated() -> Vec<Vec<Vec<Answer>>> {
    let study = Study {
        world: World::MMLU_PRO,
        accuracies: vec![0.6],
        seat: Debater::new(0.0, 0),
        questions: QUESTIONS,
        seed: 7,
        prompt_tokens: 0,
        reply_tokens: 0,
        prices: Vec::new(),
    };
    let seats = study.debaters(SEATS, SEATS);
    let debate = |number| {
        let mut rounds = Vec::with_capacity(ROUNDS);
        study.debate(number, &seats, ROUNDS, |_, answers, _| {
            rounds.push(answers.to_vec());
        });
        rounds
    };
    (0..QUESTIONS).map(debate).collect()
}

fn stops(answers: &[Answer], worth: f64) -> bool {
    let price = RoundPrice {
        tokens: 1,
        cost: Some(1.0),
    };
    let named = answers.iter().flatten();
    let named = named.map(|answer| OPTIONS[usize::from(*answer)]);
    Leading::of(named, SEATS)
        .and_then(|leading| of_answers(leading, &Record::new(), price, Some(worth)))
        .is_some_and(|value| value.stops)
}

fn is_right(answers: &[Answer]) -> f64 {
    f64::from(u8::from(leading(answers) == Some(RIGHT)))
}
