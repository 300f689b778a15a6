//! How united a panel was, what that says about its answer, and what further rounds changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{Record, leaders};
use crate::spread::real;
use crate::statistics::{Interval, bootstrap_ratio, wilson};
use crate::value::{Movement, Unity};

/// Larger panels are described by shares instead of counts.
const MAX_COUNTED: usize = 9;

/// The questions on which this number of seats gave the leading answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgreementRow {
    /// `3 of 5`, or `up to 60%`.
    pub agreement: String,
    pub questions: usize,
    /// The accuracy of the leading answer; ties share it.
    pub accuracy: f64,
    /// 95%.
    pub interval: Interval,
}

/// Agreement in the first round against accuracy, the least united first.
pub fn agreement(record: &Record) -> Vec<AgreementRow> {
    if record.is_forecast() {
        return Vec::new();
    }
    let mut rows: Vec<((usize, Option<Unity>), usize, f64)> = Vec::new();
    let largest = (0..record.questions.len())
        .map(|question| record.row(question, 0).iter().flatten().count())
        .max()
        .unwrap_or(0);
    for question in 0..record.questions.len() {
        let row = record.row(question, 0);
        let seats = row.iter().flatten().count();
        let leaders = leaders(row, |_| 1.0);
        let supporters = leaders.first().map_or(0, |leader| {
            let own = row.iter().flatten();
            own.filter(|cell| cell.answer == Some(*leader)).count()
        });
        if seats < 2 || supporters == 0 {
            continue;
        }
        let is_counted = largest <= MAX_COUNTED && seats == largest;
        let key = if is_counted {
            (supporters, None)
        } else {
            (0, Unity::of(supporters, seats))
        };
        let truth = record.truth(question);
        let credit = if leaders.contains(&truth) {
            1.0 / real(leaders.len())
        } else {
            0.0
        };
        match rows.iter_mut().find(|(own, ..)| *own == key) {
            Some((_, count, right)) => {
                *count += 1;
                *right += credit;
            }
            None => rows.push((key, 1, credit)),
        }
    }
    rows.sort_by_key(|(key, ..)| *key);
    rows.into_iter()
        .map(|((supporters, unity), questions, right)| AgreementRow {
            agreement: match unity {
                None => format!("{supporters} of {largest}"),
                Some(Unity::Scattered) => "up to 40%".to_owned(),
                Some(Unity::Divided) => "up to 60%".to_owned(),
                Some(Unity::Leaning) => "up to 80%".to_owned(),
                Some(Unity::AlmostUnanimous) => "below 100%".to_owned(),
                Some(Unity::Unanimous) => "unanimous".to_owned(),
            },
            questions,
            accuracy: right / real(questions),
            interval: wilson(whole(right), questions),
        })
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of credits is at most the number of questions"
)]
fn whole(value: f64) -> usize {
    value.round() as usize
}

/// Changes from one round to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moves {
    pub kept_right: usize,
    pub kept_wrong: usize,
    /// Wrong, then right.
    pub corrected: usize,
    /// Right, then wrong.
    pub collapsed: usize,
    /// Wrong, then wrong in another way.
    pub still_wrong: usize,
}

impl Moves {
    /// Counts one question.
    pub fn add(&mut self, before: Option<u32>, after: Option<u32>, truth: u32) {
        let count = match (before == Some(truth), after == Some(truth)) {
            (true, true) => &mut self.kept_right,
            (true, false) => &mut self.collapsed,
            (false, true) => &mut self.corrected,
            (false, false) if before == after => &mut self.kept_wrong,
            (false, false) => &mut self.still_wrong,
        };
        *count += 1;
    }
}

/// The effect of one round on the panel's leading answer and on its seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundMoves {
    /// The round after which the answers were compared with those before it; from 2.
    pub round: usize,
    pub panel: Moves,
    pub seats: Moves,
}

/// Collapses and corrections of every round after the first. Of tied answers the first counts; of a forecast, its side of 50%.
pub fn moves(record: &Record) -> Vec<RoundMoves> {
    (1..record.rounds)
        .map(|round| {
            let (mut panel, mut seats) = (Moves::default(), Moves::default());
            for question in 0..record.questions.len() {
                let truth = record.truth(question);
                let (before, after) =
                    (record.row(question, round - 1), record.row(question, round));
                panel.add(
                    led(record, question, round - 1),
                    led(record, question, round),
                    truth,
                );
                for (before, after) in before.iter().zip(after) {
                    if let (Some(before), Some(after)) = (before, after) {
                        let of = |cell: &super::Cell| match cell.probability {
                            Some(p) if record.is_forecast() => Some(u32::from(p > 0.5)),
                            _ => cell.answer,
                        };
                        seats.add(of(before), of(after), truth);
                    }
                }
            }
            RoundMoves {
                round: round + 1,
                panel,
                seats,
            }
        })
        .collect()
}

/// The panel's answer after a round.
fn led(record: &Record, question: usize, round: usize) -> Option<u32> {
    let row = record.row(question, round);
    if !record.is_forecast() {
        return leaders(row, |_| 1.0).first().copied();
    }
    let all: Vec<f64> = row
        .iter()
        .flatten()
        .filter_map(|cell| cell.probability)
        .collect();
    crate::spread::mean(&all).map(|p| u32::from(p > 0.5))
}

/// The worth of movement: 1 if all of it was information, 0 if it was worth nothing, −1 if all of it was noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Movements {
    pub round: usize,
    /// Gain in the Brier score divided by the squared movement. `None` if nothing moved.
    pub efficiency: Option<f64>,
    /// 95%, by a bootstrap over clusters.
    pub interval: Option<Interval>,
    pub squared: f64,
    pub gain: f64,
}

/// The efficiency of the seats' moves in a record of forecasts, of the panel's vote shares in one of answers.
pub fn movements(record: &Record) -> Vec<Movements> {
    let clusters = record.clusters();
    let count = clusters.iter().max().map_or(0, |last| last + 1);
    (1..record.rounds)
        .map(|round| {
            let mut sums = vec![(0.0, 0.0); count];
            for (question, cluster) in clusters.iter().enumerate() {
                for movement in moved(record, question, round) {
                    sums[*cluster].0 += movement.gain;
                    sums[*cluster].1 += movement.squared;
                }
            }
            let (gain, squared) = sums
                .iter()
                .fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
            Movements {
                round: round + 1,
                efficiency: (squared > 0.0).then(|| gain / squared),
                interval: bootstrap_ratio(&sums),
                squared,
                gain,
            }
        })
        .collect()
}

fn moved(record: &Record, question: usize, round: usize) -> Vec<Movement> {
    let (before, after) = (record.row(question, round - 1), record.row(question, round));
    let truth = record.truth(question);
    if record.is_forecast() {
        let pairs = before.iter().zip(after);
        return pairs
            .filter_map(|(before, after)| {
                let (p, q) = (before.as_ref()?.probability?, after.as_ref()?.probability?);
                Movement::of(&[1.0 - p, p], &[1.0 - q, q], usize::try_from(truth).ok()?)
            })
            .collect();
    }
    let mut answers: Vec<u32> = vec![truth];
    let given = before.iter().chain(after).flatten();
    for answer in given.filter_map(|cell| cell.answer) {
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    let shares = |row: &[Option<super::Cell>]| -> Vec<f64> {
        let all: Vec<u32> = row
            .iter()
            .flatten()
            .filter_map(|cell| cell.answer)
            .collect();
        let of = |answer: &u32| all.iter().filter(|own| *own == answer).count();
        let count = real(all.len().max(1));
        answers
            .iter()
            .map(|answer| real(of(answer)) / count)
            .collect()
    };
    Movement::of(&shares(before), &shares(after), 0)
        .into_iter()
        .collect()
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
mod tests;
