//! Whether a debate is enhanced, and by which algorithm. The request takes precedence over the project's constitution, and
//! that over the configuration (E-21).

use serde::{Deserialize, Serialize};

use super::rules::{EnhancedRules, Learning};
use crate::algorithm::{self, Algorithm, EndsBy, Evidence};
use crate::data::Data;
use crate::protocol::Fault;
use crate::protocols::modes::Settings;

/// `debate_policy` of a project's constitution. Anything left out keeps its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebatePolicy {
    pub require_evidence: Option<bool>,
    pub track_convergence: Option<bool>,
    pub enable_learning: Option<bool>,
}

/// `None` for a plain debate.
pub(in crate::protocols::modes) fn enhanced(
    wanted: Option<bool>,
    named: Option<&str>,
    settings: &Settings,
    data: &Data,
    faults: &mut Vec<Fault>,
) -> Option<EnhancedRules> {
    if wanted == Some(false) {
        return None;
    }
    if let Some(error) = &settings.policy_error {
        faults.push(Fault::new("/rules/enhanced", error.clone()));
        return None;
    }
    let named = named.or(settings.algorithm.as_deref());
    let choice = Choice::of(wanted, named, settings.policy)?;
    let algorithm = Algorithm::load(data, &choice.algorithm)
        .map_err(|error| faults.push(Fault::new("/rules/algorithm", error.to_string())))
        .ok()?;
    let defaults = EnhancedRules::new(algorithm);
    Some(EnhancedRules {
        evidence: choice.evidence.unwrap_or(defaults.evidence),
        ends_by: choice.ends_by.unwrap_or(defaults.ends_by),
        thresholds: settings.thresholds,
        learning: choice.learning,
        ..defaults
    })
}

/// A note for the user if neither the request nor its algorithm made the debate an enhanced one.
pub(in crate::protocols::modes) fn why_enhanced(
    wanted: Option<bool>,
    named: Option<&str>,
    settings: &Settings,
) -> Option<String> {
    if wanted.is_some() || named.is_some() {
        return None;
    }
    if let Some(algorithm) = &settings.algorithm {
        return Some(format!(
            "Enhanced debate: the configuration sets the algorithm {algorithm}; --no-enhanced turns it off"
        ));
    }
    let policy = settings.policy;
    let asked: Vec<&str> = [
        (policy.require_evidence, "require_evidence"),
        (policy.track_convergence, "track_convergence"),
    ]
    .into_iter()
    .filter(|(value, _)| *value == Some(true))
    .map(|(_, name)| name)
    .collect();
    (!asked.is_empty()).then(|| {
        format!(
            "Enhanced debate: constitution.yaml sets {}; --no-enhanced turns it off",
            asked.join(" and ")
        )
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    algorithm: String,
    evidence: Option<Evidence>,
    ends_by: Option<EndsBy>,
    learning: Learning,
}

impl Choice {
    fn of(wanted: Option<bool>, algorithm: Option<&str>, policy: DebatePolicy) -> Option<Self> {
        let is_wanted = wanted == Some(true);
        let asks = [policy.require_evidence, policy.track_convergence];
        let is_policy = asks.contains(&Some(true));
        if !is_wanted && !is_policy && algorithm.is_none() {
            return None;
        }
        // An explicit request takes precedence over the policy.
        let evidence = match (is_wanted, policy.require_evidence) {
            (true, _) | (false, Some(true)) => Some(Evidence::Required),
            (false, Some(false)) => Some(Evidence::Optional),
            (false, None) => None,
        };
        let ends_by = match (is_wanted, policy.track_convergence) {
            (true, _) | (false, Some(true)) => Some(EndsBy::Convergence),
            (false, Some(false)) => Some(EndsBy::Votes),
            (false, None) => None,
        };
        Some(Self {
            algorithm: algorithm.unwrap_or(algorithm::ENHANCED).to_owned(),
            evidence,
            ends_by,
            learning: match policy.enable_learning {
                Some(false) => Learning::Disabled,
                Some(true) | None => Learning::Enabled,
            },
        })
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
