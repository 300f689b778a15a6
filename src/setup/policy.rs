//! Whether a debate is an enhanced one, and by which algorithm: what is asked for goes before the project's constitution,
//! and that before the configuration (E-21).

use roundtable_engine::algorithm::{self, Algorithm, EndsBy, Evidence};
use roundtable_engine::protocols::modes::enhanced::{Enhanced, Learning};

use crate::app_context::AppContext;
use crate::config::DebatePolicy;
use crate::failure::Fault;

/// `None` for a plain debate.
pub(super) fn enhanced(
    app: &AppContext,
    wanted: Option<bool>,
    named: Option<&str>,
    faults: &mut Vec<Fault>,
) -> Option<Enhanced> {
    if wanted == Some(false) {
        return None;
    }
    let policy = DebatePolicy::read(&app.environment)
        .map_err(|error| faults.push(Fault::new("/rules/enhanced", error.to_string())))
        .ok()?
        .unwrap_or_default();
    let configured = app.config.debate.algorithm.as_deref();
    let choice = Choice::of(wanted, named.or(configured), policy)?;
    let algorithm = Algorithm::load(&app.data, &choice.algorithm)
        .map_err(|error| faults.push(Fault::new("/rules/algorithm", error.to_string())))
        .ok()?;
    Some(choice.enhanced(algorithm, app))
}

/// What the three together come to.
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
        // What was asked for outright is never less than the whole.
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

    fn enhanced(self, algorithm: Algorithm, app: &AppContext) -> Enhanced {
        let by_algorithm = Enhanced::by(algorithm);
        Enhanced {
            evidence: self.evidence.unwrap_or(by_algorithm.evidence),
            ends_by: self.ends_by.unwrap_or(by_algorithm.ends_by),
            thresholds: app.config.convergence,
            learning: self.learning,
            ..by_algorithm
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
