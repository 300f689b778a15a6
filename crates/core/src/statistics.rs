//! Statistics for comparing answers with a known truth: intervals, paired tests and the bootstrap.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random::SplitMix64;
use crate::spread::{mean, real};

/// Two-sided 95%.
pub const Z: f64 = 1.959_963_984_540_054;
/// One-sided 80%, the usual power.
pub const POWER_Z: f64 = 0.841_621_233_572_914;
/// Resamples of a bootstrap.
const DRAWS: usize = 2_000;
/// Fixed, so that the same data give the same interval.
const SEED: u64 = 20_260_101;

/// A 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// Wilson score interval of a share: unlike the normal approximation it stays within 0 and 1 and holds for small samples.
pub fn wilson(hits: usize, count: usize) -> Interval {
    let n = real(count);
    let share = real(hits) / n;
    let scale = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Interval {
        low: (middle - half).max(0.0),
        high: (middle + half).min(1.0),
    }
}

/// The standard error of the mean of values that belong together in clusters; `None` with fewer than two clusters.
pub fn clustered_error(clusters: &[Vec<f64>]) -> Option<f64> {
    let all: Vec<f64> = clusters.iter().flatten().copied().collect();
    let centre = mean(&all)?;
    let groups = clusters.len();
    if groups < 2 {
        return None;
    }
    let squares = clusters.iter().map(|values| {
        let deviation: f64 = values.iter().map(|value| value - centre).sum();
        deviation.powi(2)
    });
    let factor = real(groups) / real(groups - 1);
    Some((factor * squares.sum::<f64>()).sqrt() / real(all.len()))
}

/// The same questions answered by two arms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Paired {
    pub both: usize,
    pub only_first: usize,
    pub only_second: usize,
    pub neither: usize,
}

impl Paired {
    pub fn of(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        for pair in pairs {
            let count = match pair {
                (true, true) => &mut counts.both,
                (true, false) => &mut counts.only_first,
                (false, true) => &mut counts.only_second,
                (false, false) => &mut counts.neither,
            };
            *count += 1;
        }
        counts
    }

    pub fn questions(&self) -> usize {
        self.both + self.only_first + self.only_second + self.neither
    }

    /// The share of the first arm minus that of the second.
    pub fn difference(&self) -> f64 {
        (real(self.only_first) - real(self.only_second)) / real(self.questions())
    }

    /// Newcombe's method 10 for the difference of two paired shares.
    pub fn interval(&self) -> Interval {
        let n = self.questions();
        let (first, second) = (self.both + self.only_first, self.both + self.only_second);
        let (one, two) = (wilson(first, n), wilson(second, n));
        let (share_one, share_two) = (real(first) / real(n), real(second) / real(n));
        let product =
            real(self.both) * real(self.neither) - real(self.only_first) * real(self.only_second);
        let totals = [first, n - first, second, n - second];
        let scale = totals.into_iter().map(real).product::<f64>().sqrt();
        let phi = if scale > 0.0 { product / scale } else { 0.0 };
        let half = |x: f64, y: f64| (x * x - 2.0 * phi * x * y + y * y).max(0.0).sqrt();
        let difference = self.difference();
        Interval {
            low: difference - half(share_one - one.low, two.high - share_two),
            high: difference + half(one.high - share_one, share_two - two.low),
        }
    }

    /// The probability of a difference at least this large if both arms are equally good: a sign test on the questions on
    /// which they differ (`McNemar`), with the mid-p correction.
    pub fn mid_p(&self) -> f64 {
        self.mcnemar(0.5)
    }

    /// The same without the correction.
    pub fn exact_p(&self) -> f64 {
        self.mcnemar(1.0)
    }

    /// Twice the binomial tail, in which the observed value itself counts with `own`.
    fn mcnemar(&self, own: f64) -> f64 {
        let n = self.only_first + self.only_second;
        let low = self.only_first.min(self.only_second);
        if self.only_first == self.only_second {
            return 1.0;
        }
        let mut term = -real(n) * std::f64::consts::LN_2;
        let mut tail = 0.0;
        for k in 0..=low {
            tail += term.exp() * if k == low { own } else { 1.0 };
            term += (real(n - k) / real(k + 1)).ln();
        }
        (2.0 * tail).min(1.0)
    }
}

/// Holm's correction: the adjusted probabilities of several comparisons, in the given order.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut largest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        let scaled = probabilities[index] * real(probabilities.len() - rank);
        largest = largest.max(scaled.min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

/// The smallest difference that a comparison of this many questions finds with 80% power, if arms disagree on this share of
/// them.
pub fn smallest_difference(questions: usize, discordant: f64) -> f64 {
    (Z + POWER_Z) * (discordant / real(questions)).sqrt()
}

/// The number of questions with which a difference is found with 80% power.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive count"
)]
pub fn questions_for(difference: f64, discordant: f64) -> usize {
    let ratio = (Z + POWER_Z) / difference;
    (ratio * ratio * discordant).ceil() as usize
}

/// The bootstrap interval of the mean of paired differences, resampled by cluster; `None` without values.
pub fn bootstrap(clusters: &[Vec<f64>]) -> Option<Interval> {
    let sums: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|values| !values.is_empty())
        .map(|values| (values.iter().sum(), real(values.len())))
        .collect();
    bootstrap_ratio(&sums)
}

/// The bootstrap interval of a sum divided by another, resampled by cluster; `None` if the divisor is 0.
pub fn bootstrap_ratio(clusters: &[(f64, f64)]) -> Option<Interval> {
    let clusters: Vec<([f64; 1], f64)> = clusters.iter().map(|&(sum, by)| ([sum], by)).collect();
    bootstrap_ratios(&clusters).map(|[interval]| interval)
}

/// The same for several sums with one divisor. They are resampled together, so each interval is that of its sum alone.
pub fn bootstrap_ratios<const SUMS: usize>(
    clusters: &[([f64; SUMS], f64)],
) -> Option<[Interval; SUMS]> {
    if clusters.iter().all(|(_, divisor)| *divisor == 0.0) {
        return None;
    }
    let mut random = SplitMix64::new(SEED);
    let mut means: [Vec<f64>; SUMS] = std::array::from_fn(|_| Vec::with_capacity(DRAWS));
    for _ in 0..DRAWS {
        let (mut sums, mut divisor) = ([0.0; SUMS], 0.0);
        for _ in 0..clusters.len() {
            let (own, size) = &clusters[random.below(clusters.len())];
            for (sum, own) in sums.iter_mut().zip(own) {
                *sum += own;
            }
            divisor += size;
        }
        if divisor != 0.0 {
            for (means, sum) in means.iter_mut().zip(sums) {
                means.push(sum / divisor);
            }
        }
    }
    let tail = means.first()?.len() / 40;
    let mut intervals = [Interval {
        low: 0.0,
        high: 0.0,
    }; SUMS];
    for (interval, means) in intervals.iter_mut().zip(&mut means) {
        means.sort_by(f64::total_cmp);
        *interval = Interval {
            low: *means.get(tail)?,
            high: *means.get(means.len().checked_sub(tail + 1)?)?,
        };
    }
    Some(intervals)
}

/// The probability of a deviation of at least this many standard errors in either direction, if there is no effect.
pub fn two_sided(standard_errors: f64) -> f64 {
    let x = standard_errors.abs() / std::f64::consts::SQRT_2;
    // The complementary error function, by Chebyshev fitting (Press et al., "Numerical Recipes", section 6.2); relative error
    // below 1.2e-7.
    let t = 1.0 / (1.0 + 0.5 * x);
    let coefficients = [
        0.170_872_77,
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ];
    let sum = coefficients.iter().fold(0.0, |sum, c| sum * t + c);
    (t * (sum - x * x).exp()).min(1.0)
}

/// The probability that the most frequent of `k` samples is the right one, over all ways to draw `k` of the recorded samples;
/// equally frequent ones share it. `counts` says how often each answer was given. `None` if there are fewer than `k` samples.
pub fn vote_of(k: usize, counts: &[usize], right: usize) -> Option<f64> {
    let samples = counts.iter().sum::<usize>();
    if k == 0 || k > samples || right >= counts.len() {
        return None;
    }
    let mut drawn = Vec::with_capacity(counts.len());
    Some(votes(k, counts, right, &mut drawn) / choose(samples, k))
}

/// The number of draws of `k` more samples that the right answer wins.
fn votes(k: usize, counts: &[usize], right: usize, drawn: &mut Vec<usize>) -> f64 {
    let Some((&count, rest)) = counts.split_at(drawn.len()).1.split_first() else {
        let most = drawn.iter().copied().max().unwrap_or(0);
        let leaders = drawn.iter().filter(|own| **own == most).count();
        let wins = k == 0 && drawn.get(right) == Some(&most);
        return if wins { 1.0 / real(leaders) } else { 0.0 };
    };
    let left: usize = rest.iter().sum();
    let mut total = 0.0;
    for own in k.saturating_sub(left)..=count.min(k) {
        drawn.push(own);
        total += choose(count, own) * votes(k - own, counts, right, drawn);
        drawn.pop();
    }
    total
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).fold(1.0, |product, i| product * real(n - i) / real(i + 1))
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
