//! Accuracy of each agent in a domain: by proper scores if it stated a confidence, otherwise by its evidence.

use schemars::JsonSchema;
use serde::Serialize;

use super::Weighed;
use super::beta::{Estimate, posterior};
use super::lesson::AgentScore;

/// Weight of the prior: ten debates at the mean of all agents, as for forecasts. A new agent starts there.
const PSEUDO_DEBATES: f64 = 10.0;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AgentStanding {
    pub agent: String,
    pub debates: usize,
    /// How accurate its positions were, shrunk towards the mean of all agents of the domain.
    pub accuracy: Estimate,
    /// The number of debates in which only its evidence could be judged.
    pub by_evidence: usize,
    /// The Brier score of its stated confidence (lower is better), shrunk the same way; `None` if none of its judged
    /// positions had a confidence.
    pub brier: Option<f64>,
    /// Mean confidence minus mean accuracy.
    pub overconfidence: Option<f64>,
}

pub(super) fn standings(weighed: &[Weighed<'_>]) -> Vec<AgentStanding> {
    let all: Vec<(&str, AgentScore, f64)> = weighed
        .iter()
        .flat_map(|weighed| {
            let agents = weighed.lesson.agents.iter();
            agents.map(|seen| (seen.agent.as_str(), seen.score, weighed.count))
        })
        .collect();
    let mean_right = mean(all.iter().map(|(_, score, count)| (score.right(), *count)));
    let mean_brier = mean(
        all.iter()
            .filter_map(|(_, score, count)| Some((score.brier()?, *count))),
    );
    let mut names: Vec<&str> = all.iter().map(|(agent, ..)| *agent).collect();
    names.sort_unstable();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let own: Vec<(AgentScore, f64)> = all
                .iter()
                .filter(|(agent, ..)| *agent == name)
                .map(|(_, score, count)| (*score, *count))
                .collect();
            standing(name, &own, mean_right.unwrap_or(0.5), mean_brier)
        })
        .collect()
}

fn standing(
    name: &str,
    own: &[(AgentScore, f64)],
    mean_right: f64,
    mean_brier: Option<f64>,
) -> AgentStanding {
    let rights: Vec<(f64, f64)> = own
        .iter()
        .map(|(score, count)| (score.right(), *count))
        .collect();
    let (sum, count) = weighted_sum(
        own.iter()
            .filter_map(|(score, count)| Some((score.brier()?, *count))),
    );
    let brier = mean_brier
        .filter(|_| count > 0.0)
        .map(|overall| (sum + PSEUDO_DEBATES * overall) / (count + PSEUDO_DEBATES));
    let by_evidence = own
        .iter()
        .filter(|(score, _)| matches!(score, AgentScore::Evidence { .. }));
    let gaps = own.iter().filter_map(|(score, count)| match score {
        AgentScore::Probability { confidence, right } => {
            Some((confidence.value() - right.value(), *count))
        }
        AgentScore::Verdict { .. } | AgentScore::Evidence { .. } => None,
    });
    AgentStanding {
        agent: name.to_owned(),
        debates: own.len(),
        accuracy: posterior(mean_right, PSEUDO_DEBATES, &rights),
        by_evidence: by_evidence.count(),
        brier,
        overconfidence: mean(gaps),
    }
}

fn mean(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, count) = weighted_sum(values);
    (count > 0.0).then(|| sum / count)
}

/// Of values with their counts: the sum, and the total count.
fn weighted_sum(values: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    values.fold((0.0, 0.0), |(sum, total), (value, count)| {
        (sum + value * count, total + count)
    })
}
