//! Arms compared question by question: with one baseline, or with themselves in another bench.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arms::{Arm, Clusters, Measure, Question, is_whole, paired};
use crate::spread::{mean, real};
use crate::statistics::{
    Interval, POWER_Z, Paired, Z, bootstrap, clustered_error, holm, smallest_difference, two_sided,
};

/// Adjusted probabilities below this are decided.
const LEVEL: f64 = 0.05;

/// How the probability of a comparison was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// `McNemar`'s test on the questions that only one of the two answered rightly, with the mid-p correction.
    McnemarMidP,
    /// The difference divided by its clustered standard error: for scores, shared ties and questions in clusters.
    ClusteredZ,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Better,
    Worse,
    NotDecided,
}

/// An arm against the baseline, question by question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    pub arm: String,
    pub questions: usize,
    /// The arm minus the baseline.
    pub difference: f64,
    /// 95%, by a bootstrap over clusters.
    pub interval: Option<Interval>,
    /// 95%, by Newcombe's method 10; only for right and wrong answers without clusters.
    pub newcombe: Option<Interval>,
    /// Questions that only the arm, and only the baseline, answered rightly.
    pub only_arm: usize,
    pub only_baseline: usize,
    pub test: Test,
    pub p: f64,
    /// Holm's correction over all comparisons of the bench.
    pub adjusted_p: f64,
    /// The smallest difference that this comparison would have found with 80% power.
    pub smallest_difference: Option<f64>,
    pub decision: Decision,
}

/// Every arm against the baseline, with Holm's correction over all of them. Empty if there is no such baseline.
pub fn compare(
    questions: &[Question],
    arms: &[Arm],
    baseline: &str,
    measure: Measure,
) -> Vec<Comparison> {
    let clusters = Clusters::of(questions);
    let Some(base) = arms.iter().find(|arm| arm.name == baseline) else {
        return Vec::new();
    };
    let others = arms.iter().filter(|arm| arm.name != baseline);
    corrected(
        others
            .filter_map(|arm| comparison(&clusters, arm, base, measure))
            .collect(),
        measure,
    )
}

/// Every arm in one bench against the arm in another that it is paired with, with Holm's correction over all of them. The
/// outcomes of both are those of `questions`.
pub fn compare_pairs(
    questions: &[Question],
    pairs: &[(Arm, Arm)],
    measure: Measure,
) -> Vec<Comparison> {
    let clusters = Clusters::of(questions);
    corrected(
        pairs
            .iter()
            .filter_map(|(before, after)| comparison(&clusters, after, before, measure))
            .collect(),
        measure,
    )
}

fn corrected(mut comparisons: Vec<Comparison>, measure: Measure) -> Vec<Comparison> {
    let probabilities: Vec<f64> = comparisons.iter().map(|one| one.p).collect();
    for (one, adjusted) in comparisons.iter_mut().zip(holm(&probabilities)) {
        one.adjusted_p = adjusted;
        one.decision = decide(one, measure);
    }
    comparisons
}

fn comparison(clusters: &Clusters, arm: &Arm, base: &Arm, measure: Measure) -> Option<Comparison> {
    let pairs = paired(arm, base, measure);
    let differences = pairs.iter().map(|(question, a, b)| (*question, a - b));
    let groups = clusters.group(differences);
    let all: Vec<f64> = groups.iter().flatten().copied().collect();
    let difference = mean(&all)?;
    let error = clustered_error(&groups);
    let is_binary =
        measure == Measure::Accuracy && pairs.iter().all(|(_, a, b)| is_whole(*a) && is_whole(*b));
    let right = |value: f64| measure == Measure::Accuracy && value > 0.5;
    let counts = Paired::of(pairs.iter().map(|(_, a, b)| (right(*a), right(*b))));
    let is_simple = is_binary && clusters.are_single();
    let (test, p) = if is_simple {
        (Test::McnemarMidP, counts.mid_p())
    } else {
        // A difference that is 0 everywhere has no error, and is none.
        let deviations = error.map_or(0.0, |error| difference / error);
        let deviations = if deviations.is_nan() { 0.0 } else { deviations };
        (Test::ClusteredZ, two_sided(deviations))
    };
    let discordant = real(counts.only_first + counts.only_second) / real(pairs.len());
    Some(Comparison {
        arm: arm.name.clone(),
        questions: pairs.len(),
        difference,
        interval: bootstrap(&groups),
        newcombe: is_simple.then(|| counts.interval()),
        only_arm: counts.only_first,
        only_baseline: counts.only_second,
        test,
        p,
        adjusted_p: p,
        smallest_difference: if is_simple {
            Some(smallest_difference(pairs.len(), discordant))
        } else {
            error.map(|error| (Z + POWER_Z) * error)
        }
        .filter(|smallest| *smallest > 0.0),
        decision: Decision::NotDecided,
    })
}

fn decide(comparison: &Comparison, measure: Measure) -> Decision {
    let Some(interval) = comparison
        .interval
        .filter(|_| comparison.adjusted_p < LEVEL)
    else {
        return Decision::NotDecided;
    };
    let sign = measure.direction();
    if (sign * interval.low).min(sign * interval.high) > 0.0 {
        Decision::Better
    } else if (sign * interval.low).max(sign * interval.high) < 0.0 {
        Decision::Worse
    } else {
        Decision::NotDecided
    }
}

/// The conclusion in one sentence. `than` completes "better" and "worse".
pub fn conclusion(comparisons: &[Comparison], than: &str, measure: Measure) -> String {
    let unit = |value: f64| match measure {
        Measure::Accuracy => format!("{:.1} points", 100.0 * value.abs()),
        Measure::Brier => format!("{:.4} (Brier score)", value.abs()),
    };
    let decided = |decision: Decision, word: &str| -> Vec<String> {
        let which = comparisons.iter().filter(|one| one.decision == decision);
        which
            .map(|one| {
                let arm = &one.arm;
                format!("{arm} is {word} {than} by {}", unit(one.difference))
            })
            .collect()
    };
    let mut parts = decided(Decision::Better, "better");
    parts.extend(decided(Decision::Worse, "worse"));
    let open: Vec<&Comparison> = comparisons
        .iter()
        .filter(|one| one.decision == Decision::NotDecided)
        .collect();
    let smallest = open
        .iter()
        .filter_map(|one| one.smallest_difference)
        .fold(0.0_f64, f64::max);
    let smallest = match smallest {
        0.0 => String::new(),
        smallest => format!("; differences below {} could not be seen", unit(smallest)),
    };
    match (parts.is_empty(), open.is_empty()) {
        (true, true) => "Not decided: there is nothing to compare.".to_owned(),
        (true, false) => {
            format!("Not decided: no arm is better or worse {than} beyond chance{smallest}.")
        }
        (false, true) => format!("{}.", parts.join("; ")),
        (false, false) => {
            let open: Vec<&str> = open.iter().map(|one| one.arm.as_str()).collect();
            let parts = parts.join("; ");
            format!("{parts}. Not decided: {}{smallest}.", open.join(", "))
        }
    }
}
