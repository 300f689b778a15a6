//! The base rate as a forecaster: the frequencies of earlier outcomes among questions with the same outcomes.

use std::collections::BTreeMap;

use roundtable_core::forecast::Distribution;
use roundtable_core::spread::real;

use super::super::resolution::{Score, Scored};

/// With fewer earlier outcomes there is no base rate.
const MIN_EARLIER: usize = 5;

/// The scores of the base rate, which knows only what had resolved before each forecast. Each outcome counts once more than it
/// happened, so that none has a probability of 0.
pub(super) fn base_rates(debates: &[Scored]) -> Vec<Option<Score>> {
    let by = |key: fn(&Scored) -> u64| {
        let mut order: Vec<usize> = (0..debates.len()).collect();
        order.sort_by_key(|&index| key(&debates[index]));
        order
    };
    let known = by(|debate| debate.known_at);
    let mut known = known.into_iter().peekable();
    let mut counts: BTreeMap<&[String], Vec<usize>> = BTreeMap::new();
    let mut scores = vec![None; debates.len()];
    for index in by(|debate| debate.forecast_at) {
        let debate = &debates[index];
        while let Some(earlier) =
            known.next_if(|&earlier| debates[earlier].known_at < debate.forecast_at)
        {
            let earlier = &debates[earlier];
            let counts = counts.entry(&earlier.outcomes);
            let counts = counts.or_insert_with(|| vec![0; earlier.outcomes.len()]);
            counts[earlier.happened] += 1;
        }
        let counts = counts.get(debate.outcomes.as_slice());
        scores[index] = counts.and_then(|counts| {
            let seen: usize = counts.iter().sum();
            let total = real(seen + counts.len());
            let shares: Vec<f64> = counts.iter().map(|count| real(count + 1) / total).collect();
            let rate = Distribution::normalised(&shares).ok()?;
            let score = Score::of(&rate, debate.happened, debate.actual.as_ref());
            score.filter(|_| seen >= MIN_EARLIER)
        });
    }
    scores
}
