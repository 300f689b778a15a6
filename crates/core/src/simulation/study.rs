//! The effect of seats, model families and rounds: the same simulated questions for every panel (B-17).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::questions::{Question, World, ability};
use super::rounds::{Answer, Debater, RIGHT, leading};
use crate::random::SplitMix64;
use crate::spread::real;
use crate::statistics::{Interval, Paired, wilson};
use crate::usage::{Price, Usage};

/// A larger panel is refused by the command.
pub const MAX_SEATS: usize = 64;

/// A panel to study, and for how many rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Panel {
    pub seats: usize,
    /// Different models; the seats take them in turn.
    pub families: usize,
    /// The first one is blind.
    pub rounds: usize,
}

impl Panel {
    /// One call: what every panel is compared with.
    pub const ONE_CALL: Self = Self {
        seats: 1,
        families: 1,
        rounds: 1,
    };

    pub const fn calls(&self) -> usize {
        self.seats * self.rounds
    }
}

/// The settings of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    pub world: World,
    /// By family, repeated if there are more families.
    pub accuracies: Vec<f64>,
    /// The manner of all seats; ability and model come from the family.
    pub seat: Debater,
    pub questions: usize,
    pub seed: u64,
    /// Of the question and the instructions.
    pub prompt_tokens: u64,
    pub reply_tokens: u64,
    /// By family, repeated if there are more families; empty if prices do not matter.
    pub prices: Vec<Price>,
}

/// The results of one panel.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    #[serde(flatten)]
    pub panel: Panel,
    pub calls: usize,
    /// The share of questions on which the vote is right; ties go to the answer named first.
    pub accuracy: f64,
    pub interval: Interval,
    /// The accuracy minus that of one call on the same questions.
    pub gain: f64,
    pub gain_interval: Interval,
    /// The mean accuracy of the seats in the last round.
    pub one_seat: f64,
    /// The share of questions on which at least one seat is right.
    pub any_right: f64,
    /// The share of questions on which all seats agree, and how often they are right then.
    pub unanimous: f64,
    pub unanimous_accuracy: Option<f64>,
    /// The share of questions on which the last round changed the leading answer; `None` of one round.
    pub changed: Option<f64>,
    /// Per question, if every prompt contains all replies of the round before.
    pub tokens: u64,
    /// In US dollars per question; `None` without prices.
    pub cost: Option<f64>,
    pub cost_per_right_answer: Option<f64>,
}

/// The counts of one panel while it plays.
#[derive(Debug, Default)]
struct Counts {
    right: Vec<bool>,
    seats_right: usize,
    any_right: usize,
    unanimous: usize,
    unanimous_right: usize,
    changed: usize,
}

impl Study {
    /// One row for each panel, in the given order.
    pub fn run(&self, panels: &[Panel]) -> Vec<Row> {
        let base = self.play(1, 1, &[1]);
        let base = base.first().map(|counts| counts.right.clone());
        let base = base.unwrap_or_default();
        let mut played: BTreeMap<Panel, Counts> = BTreeMap::new();
        for panel in panels {
            if played.contains_key(panel) {
                continue;
            }
            // All rounds of a panel at once: they share the same answers.
            let is_same = |one: &&Panel| (one.seats, one.families) == (panel.seats, panel.families);
            let same: Vec<Panel> = panels.iter().filter(is_same).copied().collect();
            let rounds: Vec<usize> = same.iter().map(|one| one.rounds).collect();
            let counts = self.play(panel.seats, panel.families, &rounds);
            played.extend(same.into_iter().zip(counts));
        }
        let row = |panel: &Panel| Some(self.row(*panel, played.get(panel)?, &base));
        panels.iter().filter_map(row).collect()
    }

    /// The counts after each of these rounds.
    fn play(&self, seats: usize, families: usize, rounds: &[usize]) -> Vec<Counts> {
        let debaters = self.debaters(seats, families);
        let last = rounds.iter().copied().max().unwrap_or_default();
        let mut counts: Vec<Counts> = rounds.iter().map(|_| Counts::default()).collect();
        for number in 0..self.questions {
            self.debate(number, &debaters, last, |round, answers, before| {
                for (counts, _) in counts
                    .iter_mut()
                    .zip(rounds)
                    .filter(|(_, own)| **own == round)
                {
                    counts.add(answers, before);
                }
            });
        }
        counts
    }

    /// Plays one of the questions, and calls `each` after every round with its number, its answers and those before.
    pub fn debate(
        &self,
        number: usize,
        debaters: &[Debater],
        rounds: usize,
        mut each: impl FnMut(usize, &[Answer], Option<&[Answer]>),
    ) {
        let stream = |part: u64| SplitMix64::stream(self.seed, 2 * number as u64 + part);
        let models = debaters.iter().map(|debater| debater.model + 1).max();
        let question = Question::draw(&self.world, models.unwrap_or_default(), &mut stream(0));
        let mut random = stream(1);
        let (mut answers, mut before) = (vec![None; debaters.len()], vec![None; debaters.len()]);
        for round in 1..=rounds {
            std::mem::swap(&mut answers, &mut before);
            for (seat, debater) in debaters.iter().enumerate() {
                answers[seat] = if round == 1 {
                    debater.first(&self.world, &question, &mut random)
                } else {
                    debater.revised(&self.world, &question, (&before, seat), &mut random)
                };
            }
            each(round, &answers, (round > 1).then_some(before.as_slice()));
        }
    }

    /// The seats of a panel; they take the families in turn.
    pub fn debaters(&self, seats: usize, families: usize) -> Vec<Debater> {
        let families = families.clamp(1, seats.max(1));
        let abilities: Vec<f64> = (0..families)
            .map(|family| ability(&self.world, nth(&self.accuracies, family).unwrap_or(0.5)))
            .collect();
        let seat = |at: usize| Debater {
            ability: abilities[at % families],
            model: at % families,
            ..self.seat
        };
        (0..seats).map(seat).collect()
    }

    fn row(&self, panel: Panel, counts: &Counts, base: &[bool]) -> Row {
        let questions = counts.right.len();
        let share = |count: usize| real(count) / real(questions);
        let right = counts.right.iter().filter(|right| **right).count();
        let pairs = counts.right.iter().copied().zip(base.iter().copied());
        let paired = Paired::of(pairs);
        let (tokens, cost) = self.price(panel);
        Row {
            panel,
            calls: panel.calls(),
            accuracy: share(right),
            interval: wilson(right, questions),
            gain: paired.difference(),
            gain_interval: paired.interval(),
            one_seat: share(counts.seats_right) / real(panel.seats),
            any_right: share(counts.any_right),
            unanimous: share(counts.unanimous),
            unanimous_accuracy: (counts.unanimous > 0)
                .then(|| real(counts.unanimous_right) / real(counts.unanimous)),
            changed: (panel.rounds > 1).then(|| share(counts.changed)),
            tokens,
            cost,
            cost_per_right_answer: cost.filter(|_| right > 0).map(|cost| cost / share(right)),
        }
    }

    /// Tokens and cost of a question. From the second round on, a prompt contains the replies of all seats.
    fn price(&self, panel: Panel) -> (u64, Option<f64>) {
        let (seats, rounds) = (panel.seats as u64, panel.rounds as u64);
        let seen = seats * self.reply_tokens * rounds.saturating_sub(1);
        let usage = Usage {
            input: rounds * self.prompt_tokens + seen,
            output: rounds * self.reply_tokens,
            cached: 0,
        };
        let families = panel.families.clamp(1, panel.seats.max(1));
        let costs = (0..panel.seats).map(|seat| {
            let price = nth(&self.prices, seat % families)?;
            Some(price.of(usage).dollars())
        });
        (seats * usage.total(), costs.sum())
    }
}

/// The item of a family; families repeat the list.
fn nth<T: Copy>(items: &[T], family: usize) -> Option<T> {
    items.get(family % items.len().max(1)).copied()
}

impl Counts {
    fn add(&mut self, answers: &[Answer], before: Option<&[Answer]>) {
        let vote = leading(answers);
        let is_right = vote == Some(RIGHT);
        let seats_right = answers.iter().filter(|own| **own == Some(RIGHT)).count();
        let is_unanimous = vote.is_some() && answers.iter().all(|own| *own == vote);
        self.right.push(is_right);
        self.seats_right += seats_right;
        self.any_right += usize::from(seats_right > 0);
        self.unanimous += usize::from(is_unanimous);
        self.unanimous_right += usize::from(is_unanimous && is_right);
        self.changed += usize::from(before.is_some_and(|before| leading(before) != vote));
    }
}

/// Differences below this are within the misfit of the model.
const TRUSTED: f64 = 0.02;

impl Row {
    /// The panel with the fewest tokens (with prices: the lowest cost) whose accuracy is within the model's misfit of the best.
    pub fn cheapest_good(rows: &[Self]) -> Option<&Self> {
        let best = rows.iter().map(|row| row.accuracy).fold(0.0, f64::max);
        let good = rows.iter().filter(|row| row.accuracy >= best - TRUSTED);
        good.min_by(|a, b| {
            let (one, two) = (a.cost.unwrap_or_default(), b.cost.unwrap_or_default());
            one.total_cmp(&two).then(a.tokens.cmp(&b.tokens))
        })
    }
}
