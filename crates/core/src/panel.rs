//! The rules of a panel: several models answer blind, each ranks the others' anonymised answers, the ranks are pooled (N-02,
//! N-03), and a panel that agrees from the start may stop (N-05).
//!
//! Answers and readers are indices: reader `i` wrote answer `i`. A reader without an answer of its own has an index of at
//! least the number of answers.
//!
//! Pooling is a Borda count, normalised per reader. With 3 to 8 readers who never rank their own answer, it is the rule that
//! still works:
//! - Condorcet methods need a pairwise majority, but few readers compare any one pair (exactly one does if there are three
//!   answers), so most contests are ties or cycles.
//! - Instant-runoff voting counts first places only. Eight ballots hold too few of them, the reader who withholds a first place
//!   from its own answer shifts the count, and one ballot can change who is eliminated.
//! - A Borda score is a mean over the readers who could rank the answer, so missing self-ranks and failed readers change the
//!   number of observations but add no points. It uses every place of every ballot.
//!
//! Its known weakness, strategic ranking of strong rivals last, is limited by anonymised answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounded::Confidence;
use crate::convergence::same_option;
use crate::distinct::distinct;
use crate::random::SplitMix64;
use crate::spread::mean;
use crate::wording;

/// The lowest confidence at which agreeing blind answers end the panel early, unless configured otherwise.
pub const EARLY_STOP_CONFIDENCE: f64 = 0.8;

/// Fewer readers than this say nothing about positional bias.
const MIN_BIAS_READERS: usize = 3;

/// Scores closer than this are equal: means of the same fractions differ by rounding only.
const EQUAL_SCORES: f64 = 1e-9;

/// The order in which `reader` is shown the others' answers: every index below `count` except its own.
///
/// The same seed gives the same order on every platform. Each reader has its own draw, so that no answer is first for all.
pub fn shuffled_order(seed: u64, reader: usize, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).filter(|answer| *answer != reader).collect();
    SplitMix64::stream(seed, reader as u64).shuffle(&mut order);
    order
}

/// One reader's order of the answers it was shown. Every ranked answer has a place of its own; answers that a normalised
/// ranking leaves out are tied in the last place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    reader: usize,
    /// In the order shown.
    shown: Vec<usize>,
    /// The ranked answers, the best first.
    order: Vec<usize>,
}

/// Everything wrong with a ranking, each answer once and in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InvalidRanking {
    pub missing: Vec<usize>,
    pub duplicate: Vec<usize>,
    /// Not shown to this reader.
    pub unknown: Vec<usize>,
    /// The reader ranked its own answer.
    pub own: bool,
}

impl std::error::Error for InvalidRanking {}

impl std::fmt::Display for InvalidRanking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let listed = |label: &str, answers: &[usize]| {
            let numbers: Vec<String> = answers.iter().map(usize::to_string).collect();
            (!numbers.is_empty()).then(|| format!("{label}: {}", numbers.join(", ")))
        };
        let problems: Vec<String> = [
            listed("missing", &self.missing),
            listed("ranked more than once", &self.duplicate),
            listed("not among the answers shown", &self.unknown),
            self.own.then(|| "the reader's own answer is ranked".into()),
        ]
        .into_iter()
        .flatten()
        .collect();
        write!(f, "invalid ranking: {}", problems.join("; "))
    }
}

impl Ranking {
    /// `shown` is the order in which the answers were shown, `order` the reader's ranking with the best first.
    pub fn new(
        reader: usize,
        shown: Vec<usize>,
        order: Vec<usize>,
    ) -> Result<Self, InvalidRanking> {
        let sorted = |mut answers: Vec<usize>| {
            answers.sort_unstable();
            answers.dedup();
            answers
        };
        let times = |answer: &usize| order.iter().filter(|ranked| *ranked == answer).count();
        let select = |from: &[usize], keep: &dyn Fn(&usize) -> bool| {
            sorted(from.iter().copied().filter(keep).collect())
        };
        let problems = InvalidRanking {
            missing: select(&shown, &|answer| times(answer) == 0),
            duplicate: select(&order, &|answer| times(answer) > 1),
            unknown: select(&order, &|answer| {
                *answer != reader && !shown.contains(answer)
            }),
            own: order.contains(&reader),
        };
        if problems != InvalidRanking::default() {
            return Err(problems);
        }
        Ok(Self {
            reader,
            shown,
            order,
        })
    }

    /// The usable part of an invalid ranking: the first mention of an answer counts, answers that were not shown are dropped, and
    /// those left out are tied in the last place. `None` if it ranks none of the answers shown.
    pub fn normalised(reader: usize, shown: Vec<usize>, order: Vec<usize>) -> Option<Self> {
        let known = order.into_iter().filter(|answer| shown.contains(answer));
        let order = distinct(known);
        (!order.is_empty()).then_some(Self {
            reader,
            shown,
            order,
        })
    }

    pub const fn reader(&self) -> usize {
        self.reader
    }

    /// The ranked answers, the best first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The answers without a place of their own, in the order shown.
    pub fn unranked(&self) -> Vec<usize> {
        let shown = self.shown.iter().copied();
        shown
            .filter(|answer| !self.order.contains(answer))
            .collect()
    }

    /// From 1 for the best. Unranked answers share the place after the last ranked one. `None` if it was not shown.
    pub fn place(&self, answer: usize) -> Option<usize> {
        let ranked = self.order.iter().position(|ranked| *ranked == answer);
        let index = ranked.or_else(|| self.shown.contains(&answer).then_some(self.order.len()))?;
        Some(index + 1)
    }

    /// The share of the other answers that this reader places below `answer`: `(k - place) / (k - 1)` of `k` answers shown, 1
    /// for the best and 0 for the last. Unranked answers get the mean of the places they share, so every reader gives the
    /// same sum of scores. `None` if it was not shown or was the only one: one answer alone is not compared with anything, and
    /// a score of one half would pull it towards the middle.
    #[expect(clippy::cast_precision_loss, reason = "a panel has few answers")]
    pub fn score(&self, answer: usize) -> Option<f64> {
        let (count, ranked) = (self.shown.len(), self.order.len());
        let place = self.place(answer)?;
        let below = if place > ranked {
            (count - ranked - 1) as f64 / 2.0
        } else {
            (count - place) as f64
        };
        (count > 1).then(|| below / (count - 1) as f64)
    }
}

/// The panel's common order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pooled {
    /// One for each answer, in the order of their indices.
    pub answers: Vec<PooledAnswer>,
    /// Answers with equal scores, which share a place.
    pub ties: Vec<Vec<usize>>,
}

/// One answer's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PooledAnswer {
    pub answer: usize,
    /// From 0 to 1: the mean share of the other answers that its readers placed below it. `None` if no reader compared it
    /// with another, which is not the same as 0.
    pub score: Option<f64>,
    /// From 1 for the best. Ties share the better place and the next one is skipped (1, 2, 2, 4).
    pub place: Option<usize>,
    /// Readers whose ranking counts in the score.
    pub readers: usize,
}

impl Pooled {
    /// The answers in the first place: several if they are tied, none if nothing was compared.
    pub fn winners(&self) -> Vec<usize> {
        let first = self.answers.iter().filter(|pooled| pooled.place == Some(1));
        first.map(|pooled| pooled.answer).collect()
    }
}

/// Pools one ranking per reader over answers `0..count` by normalised Borda count: an answer's score is the mean of
/// [`Ranking::score`] over the readers who were shown it. For the choice of the rule see the [module](self).
pub fn pool(rankings: &[Ranking], count: usize) -> Pooled {
    let scored: Vec<(Option<f64>, usize)> = (0..count)
        .map(|answer| {
            let scores: Vec<f64> = rankings.iter().filter_map(|r| r.score(answer)).collect();
            (mean(&scores), scores.len())
        })
        .collect();
    let mut by_score: Vec<(usize, f64)> = scored
        .iter()
        .enumerate()
        .filter_map(|(answer, (score, _))| score.map(|score| (answer, score)))
        .collect();
    by_score.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut places = vec![None; count];
    let mut ties = Vec::new();
    let mut better = 0;
    for group in by_score.chunk_by(|a, b| a.1 - b.1 < EQUAL_SCORES) {
        for (answer, _) in group {
            places[*answer] = Some(better + 1);
        }
        if group.len() > 1 {
            let mut tied: Vec<usize> = group.iter().map(|(answer, _)| *answer).collect();
            tied.sort_unstable();
            ties.push(tied);
        }
        better += group.len();
    }
    let answers = scored
        .into_iter()
        .zip(places)
        .enumerate()
        .map(|(answer, ((score, readers), place))| PooledAnswer {
            answer,
            score,
            place,
            readers,
        })
        .collect();
    Pooled { answers, ties }
}

/// How far the readers agree, from -1 (opposite orders) to 1 (the same order): the mean of Kendall's tau over all pairs of
/// readers, each on the answers both ranked.
///
/// Kendall's W needs every reader to rank every answer, which a panel that excludes its own answers never has. `None` if no
/// two readers share two answers. With three models each ranking the other two that is always so, because every pair of
/// answers has a single reader; with four, two readers share exactly two answers.
pub fn agreement(rankings: &[Ranking]) -> Option<f64> {
    let mut taus = Vec::new();
    for (index, one) in rankings.iter().enumerate() {
        for other in &rankings[index + 1..] {
            taus.extend(kendall_tau(one, other));
        }
    }
    mean(&taus)
}

/// (concordant pairs - discordant pairs) / pairs (M. Kendall, "A new measure of rank correlation", Biometrika 1938).
#[expect(clippy::cast_precision_loss, reason = "a panel has few answers")]
fn kendall_tau(one: &Ranking, other: &Ranking) -> Option<f64> {
    let places = |answer: &usize| Some((one.place(*answer)?, other.place(*answer)?));
    let places: Vec<(usize, usize)> = one.shown.iter().filter_map(places).collect();
    let (mut concordant, mut pairs) = (0_usize, 0_usize);
    for (index, a) in places.iter().enumerate() {
        for b in &places[index + 1..] {
            // Two unranked answers of a reader are not compared.
            if a.0 != b.0 && a.1 != b.1 {
                concordant += usize::from((a.0 < b.0) == (a.1 < b.1));
                pairs += 1;
            }
        }
    }
    (pairs > 0).then(|| 2.0 * concordant as f64 / pairs as f64 - 1.0)
}

/// How much the position in which an answer was shown moved its rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PositionalBias {
    /// From -1 to 1: the mean score of the answers shown first minus that of those shown last. Above 0 being shown first helps,
    /// below 0 being shown last does.
    pub difference: f64,
    /// The standard error that the difference has if the position has no effect.
    pub standard_error: f64,
    /// Readers who ranked at least two answers.
    pub readers: usize,
}

impl PositionalBias {
    /// Whether the difference is at least two standard errors. At three models it never is: three readers of two answers each
    /// are too few.
    pub fn is_noteworthy(&self) -> bool {
        self.difference.abs() >= 2.0 * self.standard_error
    }
}

/// Positional bias over all readers. The orders are drawn at random, so without bias the expected difference is 0. `None` with
/// fewer than three readers who ranked at least two answers.
///
/// A reader of `k` answers without bias puts the first and the last on two random places. The variance of the difference is
/// then `k (k + 1) / (6 (k - 1)^2)`; less if answers are tied, so the error is not too small.
#[expect(clippy::cast_precision_loss, reason = "a panel has few readers")]
pub fn positional_bias(rankings: &[Ranking]) -> Option<PositionalBias> {
    let (mut differences, mut variance) = (Vec::new(), 0.0);
    for ranking in rankings {
        if let [first, .., last] = ranking.shown.as_slice()
            && let (Some(first), Some(last)) = (ranking.score(*first), ranking.score(*last))
        {
            let k = ranking.shown.len() as f64;
            differences.push(first - last);
            variance += k * (k + 1.0) / (6.0 * (k - 1.0).powi(2));
        }
    }
    let readers = differences.len();
    if readers < MIN_BIAS_READERS {
        return None;
    }
    Some(PositionalBias {
        difference: mean(&differences)?,
        standard_error: variance.sqrt() / readers as f64,
        readers,
    })
}

/// A blind answer as far as it is typed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlindAnswer<'a> {
    /// The answer in a few words, such as the name of an option.
    pub option: &'a str,
    pub confidence: Confidence,
}

/// Blind answers that agree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unanimous {
    /// In the words of the first answer.
    pub option: String,
    pub lowest_confidence: Confidence,
    pub answers: usize,
}

/// Whether blind answers agree from the start: there are at least two, every two of them name the same option
/// ([`same_option`]), and every confidence is at least `threshold` (by default [`EARLY_STOP_CONFIDENCE`]).
///
/// Every two are compared because sameness is not transitive: two answers may each extend a third and differ from each other.
/// An option without words agrees with nothing.
pub fn unanimous(answers: &[BlindAnswer<'_>], threshold: f64) -> Option<Unanimous> {
    let [first, _, ..] = answers else {
        return None;
    };
    let sure = |answer: &BlindAnswer<'_>| {
        answer.confidence.value() >= threshold && !wording::normal(answer.option).is_empty()
    };
    let agree = answers.iter().enumerate().all(|(index, one)| {
        let mut later = answers[index + 1..].iter();
        sure(one) && later.all(|other| same_option(one.option, other.option))
    });
    let lowest = answers
        .iter()
        .map(|answer| answer.confidence)
        .min_by(|a, b| a.value().total_cmp(&b.value()))?;
    agree.then(|| Unanimous {
        option: wording::one_line(first.option),
        lowest_confidence: lowest,
        answers: answers.len(),
    })
}

#[cfg(test)]
#[path = "panel_tests.rs"]
mod tests;
