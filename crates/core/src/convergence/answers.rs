//! The typed answers of seats: option, vote, stance, probability (E-19), their agreement, and the majority (E-21).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reversal::is_reversed;
use crate::opposition::are_opposed;
use crate::stance::Stance;
use crate::votes::Vote;
use crate::wording;

/// The typed answer of a seat, with its position in words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub seat: String,
    /// The answer it supports, in a few words.
    pub option: Option<String>,
    pub vote: Vote,
    pub stance: Option<Stance>,
    /// `None` if the seat gave no probability.
    pub probability: Option<f64>,
    pub position: String,
}

/// Answers that exclude each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "contradiction")]
pub enum Contradiction {
    Options {
        groups: Vec<Group>,
    },
    Votes {
        agree: Vec<String>,
        block: Vec<String>,
    },
    Stances {
        yes: Vec<String>,
        no: Vec<String>,
    },
    /// On opposite sides of 0.5.
    Probabilities {
        above: Vec<String>,
        below: Vec<String>,
    },
    /// Opposites in words: nearly the same wording reversed, or without a typed answer the opposite said.
    Words {
        one: String,
        other: String,
    },
}

impl Contradiction {
    pub fn shown(&self) -> String {
        match self {
            Self::Options { groups } => {
                let each: Vec<String> = groups
                    .iter()
                    .map(|group| format!("\"{}\" ({})", group.option, group.seats.join(", ")))
                    .collect();
                format!("they stand for different answers: {}", each.join(", "))
            }
            Self::Votes { agree, block } => format!(
                "{} would accept and {} would not",
                agree.join(", "),
                block.join(", ")
            ),
            Self::Stances { yes, no } => {
                format!("{} say YES and {} say NO", yes.join(", "), no.join(", "))
            }
            Self::Probabilities { above, below } => format!(
                "{} are above 0.5 and {} below",
                above.join(", "),
                below.join(", ")
            ),
            Self::Words { one, other } => {
                format!("{one} and {other} say the opposite of each other")
            }
        }
    }
}

/// Seats that support the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    pub option: String,
    pub seats: Vec<String>,
}

/// Agreement of the typed answers: the share of the largest side, by kind. `None` if no seat gave an answer of the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    pub option: Option<f64>,
    pub vote: Option<f64>,
    pub stance: Option<f64>,
    /// One minus the range of the probabilities.
    pub probability: Option<f64>,
    pub contradictions: Vec<Contradiction>,
}

impl Agreement {
    pub fn of(answers: &[Answer]) -> Self {
        let options = groups(answers);
        let (agree, block) = split(answers, |answer| Some(answer.vote.agrees()));
        let (yes, no) = split(answers, |answer| match answer.stance {
            Some(Stance::Yes) => Some(true),
            Some(Stance::No) => Some(false),
            Some(Stance::Neutral) | None => None,
        });
        let (above, below) = split(answers, |answer| {
            let value = answer.probability?;
            // Exactly 0.5 is on neither side.
            let side = value - 0.5;
            (side.abs() > 1e-9).then_some(side > 0.0)
        });
        let probabilities: Vec<f64> = answers.iter().filter_map(|a| a.probability).collect();
        let largest = options.iter().map(|group| group.seats.len()).max();
        let stated: usize = options.iter().map(|group| group.seats.len()).sum();
        let stances = answers.iter().filter(|a| a.stance.is_some()).count();
        let neutral = stances - yes.len() - no.len();
        let agreement = Self {
            option: largest.map(|largest| share(largest, stated)),
            vote: (!answers.is_empty()).then(|| share(agree.len().max(block.len()), answers.len())),
            stance: (stances > 0).then(|| share(yes.len().max(no.len()).max(neutral), stances)),
            probability: range(&probabilities).map(|range| 1.0 - range),
            contradictions: Vec::new(),
        };
        let mut contradictions = Vec::new();
        if options.len() > 1 {
            contradictions.push(Contradiction::Options { groups: options });
        }
        if !agree.is_empty() && !block.is_empty() {
            contradictions.push(Contradiction::Votes { agree, block });
        }
        if !yes.is_empty() && !no.is_empty() {
            contradictions.push(Contradiction::Stances { yes, no });
        }
        if !above.is_empty() && !below.is_empty() {
            contradictions.push(Contradiction::Probabilities { above, below });
        }
        contradictions.extend(opposite_words(answers));
        Self {
            contradictions,
            ..agreement
        }
    }

    /// Whether there is an answer besides votes, and all answers agree.
    pub fn is_unanimous(&self) -> bool {
        let full = |share: Option<f64>| share.is_none_or(|share| share >= 1.0);
        self.contradictions.is_empty()
            && (self.option.is_some() || self.stance.is_some() || self.probability.is_some())
            && full(self.option)
            && full(self.vote)
            && full(self.stance)
    }

    /// The lowest share of any kind.
    pub fn lowest(&self) -> Option<f64> {
        [self.option, self.vote, self.stance, self.probability]
            .into_iter()
            .flatten()
            .min_by(f64::total_cmp)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a panel has few seats")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn range(values: &[f64]) -> Option<f64> {
    let highest = values.iter().copied().max_by(f64::total_cmp)?;
    let lowest = values.iter().copied().min_by(f64::total_cmp)?;
    Some(highest - lowest)
}

fn split(answers: &[Answer], side: impl Fn(&Answer) -> Option<bool>) -> (Vec<String>, Vec<String>) {
    let on = |wanted: bool| {
        let matching = answers.iter().filter(|a| side(a) == Some(wanted));
        matching.map(|a| a.seat.clone()).collect()
    };
    (on(true), on(false))
}

/// Seats grouped by the option they support, the largest group first; ties go to the option named first.
pub fn groups(answers: &[Answer]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for answer in answers {
        let Some(option) = answer
            .option
            .as_deref()
            .filter(|option| !wording::normal(option).is_empty())
        else {
            continue;
        };
        match groups
            .iter_mut()
            .find(|group| same_option(&group.option, option))
        {
            Some(group) => group.seats.push(answer.seat.clone()),
            None => groups.push(Group {
                option: wording::one_line(option),
                seats: vec![answer.seat.clone()],
            }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.seats.len()));
    groups
}

/// Whether two options are the same: the same words, or all words of one within the other, unless the extra words reverse the
/// meaning. Words such as "use", "the" or "with" do not matter.
pub fn same_option(a: &str, b: &str) -> bool {
    let (first, second): (Vec<String>, Vec<String>) =
        (wording::words(a).collect(), wording::words(b).collect());
    let is_same = first == second
        || is_within(&first, &second)
        || is_within(&option_words(&first), &option_words(&second));
    is_same && !is_reversed(a, b) && !are_opposed(a, b)
}

fn is_within(a: &[String], b: &[String]) -> bool {
    const MIN_WORDS: usize = 2;
    let (shorter, longer) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let is_long = match shorter {
        [] => false,
        [answer] if answer == "yes" || answer == "no" => longer.first() == Some(answer),
        words => words.len() >= MIN_WORDS || longer.len() == words.len(),
    };
    let mut added = longer.iter().filter(|word| !shorter.contains(word));
    is_long
        && shorter.iter().all(|word| longer.contains(word))
        && !added.any(|word| word.chars().any(|c| c.is_ascii_digit()))
}

/// The words that tell options apart. The last word always does: it may be the label of "option A".
fn option_words(words: &[String]) -> Vec<String> {
    const LIGHT: [&str; 20] = [
        "a", "an", "the", "we", "it", "our", "should", "use", "using", "adopt", "choose", "go",
        "take", "with", "for", "to", "of", "in", "as", "by",
    ];
    let Some((last, head)) = words.split_last() else {
        return Vec::new();
    };
    let kept = head.iter().filter(|word| !LIGHT.contains(&word.as_str()));
    kept.chain([last]).cloned().collect()
}

/// Whether a seat reversed its answer, regardless of how similar the wording is.
pub fn changed_sides(before: &Answer, now: &Answer) -> bool {
    let options = match (&before.option, &now.option) {
        (Some(before), Some(now)) => !same_option(before, now),
        (Some(_) | None, _) => false,
    };
    let crossed = match (before.probability, now.probability) {
        (Some(before), Some(now)) => (before - 0.5) * (now - 0.5) < 0.0,
        (Some(_) | None, _) => false,
    };
    let stances = before.stance.is_some() && now.stance.is_some() && before.stance != now.stance;
    options
        || crossed
        || stances
        || before.vote.agrees() != now.vote.agrees()
        || says_opposite(before, now)
}

/// Opposites in words count where a typed answer is missing; a reversal by one word always does.
fn says_opposite(a: &Answer, b: &Answer) -> bool {
    let is_untyped = a.option.is_none() || b.option.is_none();
    is_reversed(&a.position, &b.position) || is_untyped && are_opposed(&a.position, &b.position)
}

fn opposite_words(answers: &[Answer]) -> Option<Contradiction> {
    let pairs = answers.iter().enumerate().flat_map(|(index, a)| {
        let later = answers.iter().skip(index + 1);
        later.map(move |b| (a, b))
    });
    let mut opposite = pairs.filter(|(a, b)| says_opposite(a, b));
    opposite.next().map(|(a, b)| Contradiction::Words {
        one: a.seat.clone(),
        other: b.seat.clone(),
    })
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Majority {
    pub option: Option<String>,
    pub seats: Vec<String>,
    /// All other seats with their options, including seats that block or give no answer.
    pub minority: Vec<(String, Option<String>)>,
}

/// The largest group of seats that support one option and accept the outcome; all other seats are the minority. A seat that
/// accepts without naming an option is with the others if there is only one option, unless it says the opposite.
pub fn majority(answers: &[Answer]) -> Majority {
    let accepting: Vec<Answer> = answers
        .iter()
        .filter(|answer| answer.vote.agrees())
        .cloned()
        .collect();
    let groups = groups(&accepting);
    let seats = match groups.as_slice() {
        [] | [_] => largest_side(&accepting),
        [largest, ..] => largest.seats.clone(),
    };
    let largest = groups.into_iter().next();
    let minority = answers
        .iter()
        .filter(|answer| !seats.contains(&answer.seat))
        .map(|answer| (answer.seat.clone(), answer.option.clone()))
        .collect();
    Majority {
        option: largest.map(|group| group.option),
        seats,
        minority,
    }
}

/// The largest group of seats of which none says the opposite of the first.
fn largest_side(answers: &[Answer]) -> Vec<String> {
    let sides = answers.iter().map(|one| -> Vec<String> {
        let alike = answers.iter().filter(|other| !says_opposite(one, other));
        alike.map(|answer| answer.seat.clone()).collect()
    });
    // On a tie the first; `max_by_key` takes the last.
    let largest = sides.rev().max_by_key(Vec::len);
    largest.unwrap_or_default()
}

/// The option that more seats support than any other; `None` in a tie.
pub fn leading_option(answers: &[Answer]) -> Option<String> {
    match groups(answers).as_slice() {
        [first, second, ..] if first.seats.len() == second.seats.len() => None,
        [first, ..] => Some(first.option.clone()),
        [] => None,
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
