//! Recorded answers of several seats to the same questions, and the arms that can be computed from them without a model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arms::{Arm, Outcome, Question, Spent};
use super::independence::{Independence, Shrinkage, independence};
use crate::spread::{mean, real};

/// Seats and weights are chosen on the questions of the other parts.
const PARTS: usize = 10;
/// Probabilities are this far from 0 and 1 in log scores and log-odds.
const MARGIN: f64 = 0.01;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    pub name: String,
    pub family: Option<String>,
}

/// One answer. Equal numbers are equal answers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cell {
    pub answer: Option<u32>,
    /// Of the answer; of "yes" in a record without answers.
    pub probability: Option<f64>,
    pub spent: Spent,
}

/// The score of a tie in a vote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// Tied answers share the credit, as if one of them were drawn.
    #[default]
    Shared,
    /// The answer of the first of their seats wins.
    First,
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub questions: Vec<Question>,
    /// The right answer of each question; in a record of forecasts 1 for yes and 0 for no.
    truth: Vec<u32>,
    pub seats: Vec<Seat>,
    pub rounds: usize,
    is_forecast: bool,
    /// By question, round and seat.
    cells: Vec<Option<Cell>>,
}

/// How often a seat was right, on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeatFigures {
    pub seat: String,
    pub family: Option<String>,
    pub questions: usize,
    pub accuracy: f64,
    pub brier: Option<f64>,
    pub unanswered: f64,
}

impl Record {
    /// `is_forecast`: there are probabilities of yes instead of answers.
    pub fn new(
        questions: Vec<(Question, u32)>,
        seats: Vec<Seat>,
        rounds: usize,
        is_forecast: bool,
    ) -> Self {
        let cells = vec![None; questions.len() * seats.len() * rounds];
        let (questions, truth) = questions.into_iter().unzip();
        Self {
            questions,
            truth,
            seats,
            rounds,
            is_forecast,
            cells,
        }
    }

    /// Stores an answer; returns the one that was there before. Rounds begin at 0.
    pub fn set(&mut self, question: usize, round: usize, seat: usize, cell: Cell) -> Option<Cell> {
        let place = (question * self.rounds + round) * self.seats.len() + seat;
        self.cells.get_mut(place)?.replace(cell)
    }

    /// The record with some of its seats, in the given order.
    #[must_use]
    pub fn with_seats(&self, kept: &[usize]) -> Self {
        let rows = self.cells.chunks(self.seats.len().max(1));
        Self {
            questions: self.questions.clone(),
            truth: self.truth.clone(),
            seats: kept.iter().map(|seat| self.seats[*seat].clone()).collect(),
            rounds: self.rounds,
            is_forecast: self.is_forecast,
            cells: rows
                .flat_map(|row| kept.iter().map(|seat| row[*seat]))
                .collect(),
        }
    }

    /// The most accurate seats, best first: by Brier score in a record of forecasts.
    pub fn best_seats(&self, count: usize) -> Vec<usize> {
        let mut scores: Vec<(usize, f64)> = (0..self.seats.len())
            .map(|seat| {
                let own = self.alone(seat).into_iter().flatten();
                let own: Vec<f64> = own
                    .map(|one| match one.brier {
                        Some(brier) if self.is_forecast => -brier,
                        _ => one.credit,
                    })
                    .collect();
                (seat, mean(&own).unwrap_or(f64::NEG_INFINITY))
            })
            .collect();
        scores.sort_by(|a, b| b.1.total_cmp(&a.1));
        scores
            .into_iter()
            .take(count)
            .map(|(seat, _)| seat)
            .collect()
    }

    pub fn is_forecast(&self) -> bool {
        self.is_forecast
    }

    pub fn truth(&self, question: usize) -> u32 {
        self.truth[question]
    }

    /// The answers after a round, in the order of the seats. Without any, those of the last round that has some.
    pub fn row(&self, question: usize, round: usize) -> &[Option<Cell>] {
        let seats = self.seats.len();
        let of = |round: usize| {
            let from = (question * self.rounds + round) * seats;
            &self.cells[from..from + seats]
        };
        let last = (0..=round)
            .rev()
            .find(|round| of(*round).iter().any(Option::is_some));
        of(last.unwrap_or(0))
    }

    /// Whether all seats are copies of one model family.
    pub fn is_one_family(&self) -> bool {
        let first = self.seats.first().and_then(|seat| seat.family.as_ref());
        first.is_some() && self.seats.iter().all(|seat| seat.family.as_ref() == first)
    }

    /// The score of a single answer.
    fn judged(&self, question: usize, cell: &Cell) -> Outcome {
        let truth = self.truth[question];
        if self.is_forecast {
            return forecast(cell.probability, truth, cell.spent);
        }
        let is_right = cell.answer == Some(truth);
        let credit = f64::from(u8::from(is_right));
        let brier = cell.probability.map(|p| (p - credit).powi(2));
        let happened = cell.probability.map(|p| if is_right { p } else { 1.0 - p });
        Outcome {
            credit,
            is_answered: cell.answer.is_some(),
            brier,
            log: happened.map(|p| -p.clamp(MARGIN, 1.0 - MARGIN).ln()),
            spent: cell.spent,
        }
    }

    /// A seat alone, in the first round.
    fn alone(&self, seat: usize) -> Vec<Option<Outcome>> {
        let questions = 0..self.questions.len();
        questions
            .map(|question| {
                let cell = self.row(question, 0)[seat]?;
                Some(self.judged(question, &cell))
            })
            .collect()
    }

    pub fn seat_figures(&self) -> Vec<SeatFigures> {
        let seats = self.seats.iter().enumerate();
        seats
            .filter_map(|(index, seat)| {
                let own: Vec<Outcome> = self.alone(index).into_iter().flatten().collect();
                let share = |of: &dyn Fn(&Outcome) -> f64| {
                    let all: Vec<f64> = own.iter().map(of).collect();
                    mean(&all)
                };
                let briers: Vec<f64> = own.iter().filter_map(|one| one.brier).collect();
                Some(SeatFigures {
                    seat: seat.name.clone(),
                    family: seat.family.clone(),
                    questions: own.len(),
                    accuracy: share(&|one| one.credit)?,
                    brier: mean(&briers),
                    unanswered: share(&|one| f64::from(u8::from(!one.is_answered)))?,
                })
            })
            .collect()
    }

    /// All arms that the record has answers for; the first is the usual baseline.
    pub fn arms(&self, ties: Ties) -> Vec<Arm> {
        let alone: Vec<Vec<Option<Outcome>>> =
            (0..self.seats.len()).map(|seat| self.alone(seat)).collect();
        let skills = Skills::of(self, &alone);
        let mut arms = if self.is_forecast {
            vec![
                self.arm("mean", |question| self.mean_forecast(question, 0)),
                self.arm("log-odds mean", |question| self.log_odds_mean(question, 0)),
            ]
        } else {
            vec![
                self.arm("vote", |question| self.vote(question, 0, ties, |_| 1.0)),
                self.arm("weighted vote", |question| {
                    let weights = skills.weights(self.part(question));
                    self.vote(question, 0, ties, |seat| weights[seat])
                }),
            ]
        };
        for round in 1..self.rounds {
            let name = if self.is_forecast { "mean" } else { "vote" };
            let name = format!("{name} after round {}", round + 1);
            arms.push(self.arm(&name, |question| {
                if self.is_forecast {
                    self.mean_forecast(question, round)
                } else {
                    self.vote(question, round, ties, |_| 1.0)
                }
            }));
        }
        arms.push(self.arm("best seat", |question| {
            skills.best(self.part(question), |seat| alone[seat][question])
        }));
        arms.push(self.arm("one seat", |question| {
            average(alone.iter().filter_map(|seat| seat[question]))
        }));
        arms
    }

    fn arm(&self, name: &str, of: impl Fn(usize) -> Option<Outcome>) -> Arm {
        Arm {
            name: name.to_owned(),
            outcomes: (0..self.questions.len()).map(of).collect(),
        }
    }

    /// Questions of one cluster are in one part.
    fn part(&self, question: usize) -> usize {
        let bytes = self.questions[question].cluster.bytes();
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        usize::try_from((hash >> 32) % PARTS as u64).unwrap_or(0)
    }

    /// The usage of the seats up to a round.
    fn spent(&self, question: usize, round: usize) -> Spent {
        let seats = self.seats.len();
        let from = question * self.rounds * seats;
        let cells = &self.cells[from..from + (round + 1) * seats];
        Spent::sum(cells.iter().flatten().map(|cell| cell.spent))
    }

    fn vote(
        &self,
        question: usize,
        round: usize,
        ties: Ties,
        weight: impl Fn(usize) -> f64,
    ) -> Option<Outcome> {
        let row = self.row(question, round);
        row.iter().flatten().next()?;
        let leaders = leaders(row, weight);
        let credit = match ties {
            Ties::Shared if leaders.contains(&self.truth[question]) => 1.0 / real(leaders.len()),
            Ties::First if leaders.first() == Some(&self.truth[question]) => 1.0,
            Ties::Shared | Ties::First => 0.0,
        };
        Some(Outcome {
            credit,
            is_answered: !leaders.is_empty(),
            brier: None,
            log: None,
            spent: self.spent(question, round),
        })
    }

    fn probabilities(&self, question: usize, round: usize) -> Vec<f64> {
        let cells = self.row(question, round).iter().flatten();
        cells.filter_map(|cell| cell.probability).collect()
    }

    fn mean_forecast(&self, question: usize, round: usize) -> Option<Outcome> {
        let centre = mean(&self.probabilities(question, round))?;
        let spent = self.spent(question, round);
        Some(forecast(Some(centre), self.truth[question], spent))
    }

    fn log_odds_mean(&self, question: usize, round: usize) -> Option<Outcome> {
        let odds = self.probabilities(question, round).into_iter().map(|p| {
            let p = p.clamp(MARGIN, 1.0 - MARGIN);
            (p / (1.0 - p)).ln()
        });
        let centre = mean(&odds.collect::<Vec<_>>())?;
        let p = 1.0 / (1.0 + (-centre).exp());
        let spent = self.spent(question, round);
        Some(forecast(Some(p), self.truth[question], spent))
    }

    /// The share of questions that at least one seat answered rightly.
    pub fn any_right(&self) -> Option<f64> {
        let any: Vec<f64> = (0..self.questions.len())
            .map(|question| {
                let cells = self.row(question, 0).iter().flatten();
                let right = cells.map(|cell| self.judged(question, cell).credit);
                right.fold(0.0, f64::max).floor()
            })
            .collect();
        mean(&any)
    }

    /// How far the seats err together in the first round.
    pub fn independence(&self) -> Option<Independence> {
        let errors: Vec<Vec<Option<f64>>> = (0..self.questions.len())
            .map(|question| {
                let row = self.row(question, 0).iter();
                row.map(|cell| self.error(question, cell.as_ref()?))
                    .collect()
            })
            .collect();
        let one_model = self.is_one_family();
        let shrinkage = if self.is_forecast {
            Shrinkage::of_forecasts(one_model)
        } else {
            Shrinkage::of_choices(one_model)
        };
        independence(&errors, &self.clusters(), !self.is_forecast, shrinkage)
    }

    fn error(&self, question: usize, cell: &Cell) -> Option<f64> {
        if self.is_forecast {
            return Some(f64::from(self.truth[question]) - cell.probability?);
        }
        Some(1.0 - self.judged(question, cell).credit)
    }

    /// The cluster of each question as a number.
    pub fn clusters(&self) -> Vec<usize> {
        let mut known = std::collections::HashMap::new();
        let clusters = self.questions.iter().map(|question| {
            let next = known.len();
            *known.entry(question.cluster.as_str()).or_insert(next)
        });
        clusters.collect()
    }
}

/// A probability of yes: right if it is on the side of the outcome.
pub(super) fn forecast(probability: Option<f64>, truth: u32, spent: Spent) -> Outcome {
    let outcome = f64::from(truth);
    let credit = match probability {
        Some(p) if (p - 0.5).abs() < 1e-12 => 0.5,
        Some(p) => f64::from(u8::from((p > 0.5) == (truth == 1))),
        None => 0.0,
    };
    let happened = probability.map(|p| if truth == 1 { p } else { 1.0 - p });
    Outcome {
        credit,
        is_answered: probability.is_some(),
        brier: probability.map(|p| (p - outcome).powi(2)),
        log: happened.map(|p| -p.clamp(MARGIN, 1.0 - MARGIN).ln()),
        spent,
    }
}

/// The answers with the most weight, in the order of their first seats.
pub(super) fn leaders(row: &[Option<Cell>], weight: impl Fn(usize) -> f64) -> Vec<u32> {
    let mut sums: Vec<(u32, f64)> = Vec::new();
    for (seat, cell) in row.iter().enumerate() {
        let Some(answer) = cell.as_ref().and_then(|cell| cell.answer) else {
            continue;
        };
        match sums.iter_mut().find(|(own, _)| *own == answer) {
            Some((_, sum)) => *sum += weight(seat),
            None => sums.push((answer, weight(seat))),
        }
    }
    let most = sums.iter().map(|(_, sum)| *sum).fold(0.0, f64::max);
    // Sums of the same weights in another order may differ in the last bit.
    sums.retain(|(_, sum)| *sum >= most - 1e-9);
    sums.into_iter().map(|(answer, _)| answer).collect()
}

/// The mean of several outcomes: a seat drawn at random.
fn average(outcomes: impl Iterator<Item = Outcome>) -> Option<Outcome> {
    let all: Vec<Outcome> = outcomes.collect();
    let share = |of: &dyn Fn(&Outcome) -> f64| mean(&all.iter().map(of).collect::<Vec<_>>());
    let known =
        |of: &dyn Fn(&Outcome) -> Option<f64>| mean(&all.iter().filter_map(of).collect::<Vec<_>>());
    let spent: Vec<Spent> = all.iter().map(|one| one.spent).collect();
    Some(Outcome {
        credit: share(&|one| one.credit)?,
        is_answered: all.iter().any(|one| one.is_answered),
        brier: known(&|one| one.brier),
        log: known(&|one| one.log),
        spent: Spent::mean(&spent),
    })
}

/// How good each seat was on the questions outside of each part, in the first round.
struct Skills {
    /// By part and seat; higher is better. `None` for a seat that was not asked there.
    scores: Vec<Vec<Option<f64>>>,
    accuracies: Vec<Vec<f64>>,
}

impl Skills {
    fn of(record: &Record, alone: &[Vec<Option<Outcome>>]) -> Self {
        let mut sums = vec![vec![(0.0, 0.0, 0.0); alone.len()]; PARTS];
        for question in 0..record.questions.len() {
            let part = &mut sums[record.part(question)];
            for (sum, own) in part.iter_mut().zip(alone) {
                if let Some(one) = own[question] {
                    let score = if record.is_forecast {
                        -one.brier.unwrap_or(1.0)
                    } else {
                        one.credit
                    };
                    *sum = (sum.0 + one.credit, sum.1 + score, sum.2 + 1.0);
                }
            }
        }
        let outside = |part: usize, seat: usize| {
            let others = (0..PARTS).filter(|other| *other != part);
            others.fold((0.0, 0.0, 0.0), |sum, other| {
                let own = sums[other][seat];
                (sum.0 + own.0, sum.1 + own.1, sum.2 + own.2)
            })
        };
        let by_part = |part: usize| (0..alone.len()).map(move |seat| (part, seat));
        Self {
            scores: (0..PARTS)
                .map(|part| {
                    let seats = by_part(part).map(|(part, seat)| outside(part, seat));
                    seats
                        .map(|(_, score, count)| (count > 0.0).then(|| score / count))
                        .collect()
                })
                .collect(),
            accuracies: (0..PARTS)
                .map(|part| {
                    let seats = by_part(part).map(|(part, seat)| outside(part, seat));
                    seats
                        .map(|(right, _, count)| (right + 1.0) / (count + 2.0))
                        .collect()
                })
                .collect(),
        }
    }

    /// The log-odds of being right: the best weights for independent seats. A seat that is right less than half the time counts
    /// for almost nothing instead of against its answer.
    fn weights(&self, part: usize) -> Vec<f64> {
        let accuracies = self.accuracies[part].iter();
        accuracies
            .map(|share| (share / (1.0 - share)).ln().max(1e-6))
            .collect()
    }

    /// The outcome of the best seat that was asked.
    fn best(&self, part: usize, of: impl Fn(usize) -> Option<Outcome>) -> Option<Outcome> {
        let scores = self.scores[part].iter().enumerate();
        let asked = scores.filter_map(|(seat, score)| Some((score.as_ref()?, of(seat)?)));
        // Of equals the first.
        let best = asked.reduce(|best, one| if one.0 > best.0 { one } else { best });
        best.map(|(_, outcome)| outcome)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
