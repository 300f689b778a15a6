//! The settings of single protocols, in the form in which the protocols read them.

use std::collections::{BTreeMap, HashMap};

use roundtable_engine::protocols::modes::enhanced::DebatePolicy;
use roundtable_engine::protocols::{dialectic, modes};
use serde_json::{Value, json};

use super::{Config, Environment, ModelName, Origin, constitution};

/// Settings of the configuration, by seat.
pub(crate) type SeatSettings = BTreeMap<String, ConfiguredSeat>;

#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredSeat {
    pub model: Option<ModelName>,
    pub temperature: Option<f64>,
}

impl Config {
    /// The part of the configuration that is the protocol's own, in the form the protocol reads.
    pub(crate) fn settings_of(&self, protocol: &str, environment: &Environment) -> Value {
        let policy = constitution::read(environment);
        let (policy, policy_error) = match policy {
            Ok(policy) => (policy.unwrap_or_default(), None),
            Err(error) => (DebatePolicy::default(), Some(error.to_string())),
        };
        let all = json!({
            "dialectic": dialectic::Settings {
                min_rounds: self.dialectic.min_rounds,
                max_rounds: self.dialectic.max_rounds,
                early_stop_score: self.dialectic.early_stop_score,
            },
            "forecast": self.forecast,
            "modes": modes::Settings {
                algorithm: self.debate.algorithm.clone(),
                thresholds: self.convergence,
                policy,
                policy_error,
            },
        });
        all[protocol].clone()
    }

    /// The models and temperatures that the configuration sets for seats of the protocol. A temperature that is only the
    /// default here leaves the cast's own.
    pub(crate) fn seats_of(&self, protocol: &str) -> SeatSettings {
        let dialectic = &self.dialectic;
        let seats = [
            (
                "proposer",
                &dialectic.proposer_model,
                dialectic.proposer_temperature,
            ),
            (
                "skeptic",
                &dialectic.skeptic_model,
                dialectic.skeptic_temperature,
            ),
            (
                "synthesizer",
                &dialectic.synthesizer_model,
                dialectic.synthesizer_temperature,
            ),
        ];
        let seats = seats.map(|(seat, model, temperature)| {
            let key = format!("dialectic.{seat}_temperature");
            let is_set = self
                .settings
                .iter()
                .any(|setting| setting.key == key && matches!(setting.origin, Origin::File { .. }));
            let settings = ConfiguredSeat {
                model: model.clone(),
                temperature: is_set.then_some(temperature),
            };
            (seat.to_owned(), settings)
        });
        let mut all = HashMap::from([("dialectic", SeatSettings::from(seats))]);
        all.remove(protocol).unwrap_or_default()
    }
}
