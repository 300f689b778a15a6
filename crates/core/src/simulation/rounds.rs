//! Answers of a seat: its own, and what it makes of those of the others.

use super::quadrature::logistic;
use super::questions::{Question, World};
use crate::random::SplitMix64;
use crate::spread::real;

/// An option, or `None` of a seat that did not answer.
pub type Answer = Option<u8>;

/// The right option. Nothing but the truth terms of [`Debater::adoption`] looks at it.
pub const RIGHT: u8 = 0;
/// The wrong option that attracts several seats.
pub const LURE: u8 = 1;

/// The pull of the share of the others that give an answer: 1.84 [1.29, 2.63].
const CONFORMITY: f64 = 1.84;
/// The weight of a seat's own answer: 0.95 [0.59, 1.36]; 0.08 to 2.18 by model.
const STUBBORNNESS: f64 = 0.95;
/// The pull of the truth: .63 [.05, 1.20] and .60 [.06, 1.18].
const LEAD_IS_RIGHT: f64 = 0.63;
const OWN_IS_RIGHT: f64 = 0.60;
/// A seat that agrees with all others gives another answer; one that only agrees with the lead does so this often, times the
/// share of the others that disagree.
const LEAVES_ALL: f64 = 0.0175;
const LEAVES_LEAD: f64 = 0.40;
/// A seat that leaves takes an answer that is on the table.
const LEAVES_TO_ANOTHER_SEAT: f64 = 0.8;
/// A seat that disagrees with the lead gives a third answer, which is right this often.
const THIRD: f64 = 0.18;
const THIRD_IS_RIGHT: f64 = 0.20;
/// A seat without an answer still has none, or adopts the lead; otherwise it answers by itself.
const STAYS_ABSENT: f64 = 0.67;
const ABSENT_ADOPTS: f64 = 0.25;

/// Which of two answers is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Lead,
    Own,
    Neither,
}

/// A seat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Debater {
    /// See [`ability`](super::ability).
    pub ability: f64,
    pub model: usize,
    pub stubbornness: f64,
    pub conformity: f64,
    /// How often it has no answer of its own.
    pub absence: f64,
}

impl Debater {
    /// A seat that reacts like those of the published debates.
    pub const fn new(ability: f64, model: usize) -> Self {
        Self {
            ability,
            model,
            stubbornness: STUBBORNNESS,
            conformity: CONFORMITY,
            absence: 0.0,
        }
    }

    /// The probability that it takes the leading answer over its own. `support` is the share of the others that give the leading
    /// answer minus the share that give its own.
    pub fn adoption(&self, support: f64, right: Side) -> f64 {
        let truth = match right {
            Side::Lead => LEAD_IS_RIGHT,
            Side::Own => -OWN_IS_RIGHT,
            Side::Neither => 0.0,
        };
        logistic(self.conformity * support - self.stubbornness + truth)
    }

    /// Its answer before it has seen the others.
    pub fn first(&self, world: &World, question: &Question, random: &mut SplitMix64) -> Answer {
        (self.absence <= 0.0 || !random.chance(self.absence))
            .then(|| self.answer(world, question, random))
    }

    fn answer(&self, world: &World, question: &Question, random: &mut SplitMix64) -> u8 {
        if random.chance(question.probability(self.ability, self.model)) {
            RIGHT
        } else if random.chance(question.lure) {
            LURE
        } else {
            wrong(world, random)
        }
    }

    /// Its next answer, after it has seen all answers of the last round, its own at `seat`.
    pub fn revised(
        &self,
        world: &World,
        question: &Question,
        (answers, seat): (&[Answer], usize),
        random: &mut SplitMix64,
    ) -> Answer {
        let own = answers.get(seat).copied().flatten();
        let others = Others::of(answers, seat);
        let Some(lead) = others.lead else {
            return own.or_else(|| self.without_answer(world, question, None, random));
        };
        let Some(own) = own else {
            return self.without_answer(world, question, Some(lead), random);
        };
        if own == lead {
            return Some(others.agreed(world, own, random));
        }
        if random.chance(THIRD) {
            let is_right = random.chance(THIRD_IS_RIGHT);
            return Some(if is_right {
                RIGHT
            } else {
                wrong(world, random)
            });
        }
        let right = match (lead, own) {
            (RIGHT, _) => Side::Lead,
            (_, RIGHT) => Side::Own,
            _ => Side::Neither,
        };
        let support = others.share(lead) - others.share(own);
        let adopts = random.chance(self.adoption(support, right));
        Some(if adopts { lead } else { own })
    }

    fn without_answer(
        &self,
        world: &World,
        question: &Question,
        lead: Answer,
        random: &mut SplitMix64,
    ) -> Answer {
        let drawn = random.uniform();
        if drawn < STAYS_ABSENT {
            return None;
        }
        if drawn < STAYS_ABSENT + ABSENT_ADOPTS && lead.is_some() {
            return lead;
        }
        Some(self.answer(world, question, random))
    }
}

/// The answer that most seats give; on a tie the one named first. `None` without answers.
pub fn leading(answers: &[Answer]) -> Answer {
    Others::of(answers, answers.len()).lead
}

/// The answers that a seat reads: those of all others.
struct Others<'a> {
    answers: &'a [Answer],
    seat: usize,
    counts: [u16; 256],
    answered: usize,
    lead: Answer,
}

impl<'a> Others<'a> {
    fn of(answers: &'a [Answer], seat: usize) -> Self {
        let mut others = Self {
            answers,
            seat,
            counts: [0; 256],
            answered: 0,
            lead: None,
        };
        for answer in others.named() {
            others.counts[usize::from(answer)] += 1;
            others.answered += 1;
        }
        // In seat order and not by option: the right one is the first option.
        let mut most = 0;
        for answer in others.named() {
            let count = others.counts[usize::from(answer)];
            if count > most {
                most = count;
                others.lead = Some(answer);
            }
        }
        others
    }

    fn named(&self) -> impl Iterator<Item = u8> + use<'a> {
        let seat = self.seat;
        let others = self.answers.iter().enumerate();
        others.filter_map(move |(other, answer)| answer.filter(|_| other != seat))
    }

    fn share(&self, option: u8) -> f64 {
        real(usize::from(self.counts[usize::from(option)])) / real(self.answered)
    }

    /// The next answer of a seat that agrees with the lead.
    fn agreed(&self, world: &World, own: u8, random: &mut SplitMix64) -> u8 {
        let support = self.share(own);
        let is_unanimous = usize::from(self.counts[usize::from(own)]) == self.answered;
        let leaves = if is_unanimous {
            LEAVES_ALL
        } else {
            LEAVES_LEAD * (1.0 - support)
        };
        if !random.chance(leaves) {
            return own;
        }
        let different = || self.named().filter(|answer| *answer != own);
        let count = different().count();
        if count > 0 && random.chance(LEAVES_TO_ANOTHER_SEAT) {
            return different().nth(random.below(count)).unwrap_or(own);
        }
        // Any other option.
        let drawn = option(random.below(usize::from(world.options) - 1));
        if drawn >= own { drawn + 1 } else { drawn }
    }
}

/// Any wrong option.
fn wrong(world: &World, random: &mut SplitMix64) -> u8 {
    1 + option(random.below(usize::from(world.options) - 1))
}

fn option(index: usize) -> u8 {
    u8::try_from(index).unwrap_or_default()
}
