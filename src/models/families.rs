//! Which of the models that a provider lists serves which tier. Names of models are data, so none in this code ages.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::SystemTime;

use roundtable_engine::model::Ability;
use serde::Deserialize;

use super::wire::Listed;
use crate::config::Kind;

const BUILT_IN: &str = include_str!("../../data/families.toml");

/// In billions of parameters: up to here a model is a small one.
const SMALL: f64 = 4.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tier {
    Deliberate,
    Fast,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Families {
    no_chat: Patterns,
    #[serde(default)]
    sees: Patterns,
    #[serde(default)]
    tools: Patterns,
    #[serde(flatten)]
    by_kind: BTreeMap<String, Tiers>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patterns {
    patterns: Vec<String>,
}

/// Families in order of preference, each a list of patterns.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tiers {
    deliberate: Vec<Vec<String>>,
    fast: Vec<Vec<String>>,
}

impl Families {
    pub(super) fn built_in() -> Self {
        toml::from_str(BUILT_IN).unwrap_or_default()
    }

    /// Whether a model of this name can be sent pictures. What is not known to see does not.
    pub(super) fn sees(&self, model: &str) -> bool {
        let model = model.to_lowercase();
        self.sees
            .patterns
            .iter()
            .any(|pattern| fits(pattern, &model))
    }

    /// Whether a model of this name can be offered tools. What is not known to use them does not.
    pub(super) fn calls_tools(&self, model: &str) -> bool {
        let model = model.to_lowercase();
        self.tools
            .patterns
            .iter()
            .any(|pattern| fits(pattern, &model))
    }

    /// The newest of the first family that the provider has.
    pub(super) fn newest<'l>(
        &self,
        kind: Kind,
        tier: Tier,
        list: &'l [Listed],
    ) -> Option<&'l Listed> {
        let tiers = self.by_kind.get(kind.name())?;
        let families = match tier {
            Tier::Deliberate => &tiers.deliberate,
            Tier::Fast => &tiers.fast,
        };
        families.iter().find_map(|patterns| {
            list.iter()
                .filter(|model| patterns.iter().any(|pattern| fits(pattern, &model.id)))
                .max_by_key(|model| age(model))
        })
    }

    /// For servers that run what their owner put there: the largest to deliberate, and a much smaller one to be fast.
    pub(super) fn by_size<'l>(&self, tier: Tier, list: &'l [Listed]) -> Option<&'l Listed> {
        let chat = || {
            list.iter().filter(|model| {
                let patterns = &self.no_chat.patterns;
                !patterns.iter().any(|pattern| fits(pattern, &model.id))
            })
        };
        // Of equals the first in the list, which servers sort by last use.
        let largest = chat()
            .enumerate()
            .max_by(|(i, a), (j, b)| size(a).total_cmp(&size(b)).then(j.cmp(i)))?;
        let largest = largest.1;
        match tier {
            Tier::Deliberate => Some(largest),
            Tier::Fast => {
                let quarter = size(largest) / 4.0;
                chat()
                    .filter(|model| size(model) <= quarter && size(model) > 0.0)
                    .max_by(|a, b| size(a).total_cmp(&size(b)))
                    .or_else(|| chat().min_by(|a, b| size(a).total_cmp(&size(b))))
            }
        }
    }
}

/// The first wish that the server can fulfil. Ollama leaves out `:latest`.
pub(super) fn wished<'l>(wishes: &[String], list: &'l [Listed]) -> Option<&'l Listed> {
    wishes.iter().find_map(|wish| {
        list.iter()
            .find(|model| model.id == *wish || model.id.strip_suffix(":latest") == Some(wish))
    })
}

/// Newer is greater; of the same age, the plainer name.
fn age(model: &Listed) -> (Option<SystemTime>, Vec<u64>, Reverse<usize>) {
    let numbers = model
        .id
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect();
    (model.created, numbers, Reverse(model.id.len()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sizes are compared, not counted"
)]
fn size(model: &Listed) -> f64 {
    model.bytes.map_or_else(
        || parameters(&model.id).unwrap_or(0.0),
        |bytes| bytes as f64,
    )
}

/// Billions of parameters, where the name tells: `qwen3:32b`, `smollm2-135m`.
fn parameters(model: &str) -> Option<f64> {
    model
        .to_ascii_lowercase()
        .split(['-', ':', '_', '/'])
        .filter_map(|part| {
            let billions = |digits: &str, unit: f64| {
                let digits = digits.strip_prefix('e').unwrap_or(digits);
                digits.parse::<f64>().ok().map(|number| number * unit)
            };
            let in_billions = part.strip_suffix('b').and_then(|d| billions(d, 1.0));
            in_billions.or_else(|| part.strip_suffix('m').and_then(|d| billions(d, 0.001)))
        })
        .max_by(f64::total_cmp)
}

pub(super) fn ability(model: &str) -> Ability {
    match parameters(model) {
        Some(billions) if billions <= SMALL => Ability::Small,
        Some(_) | None => Ability::Full,
    }
}

/// `*` is anything, `#` a version: numbers with dots between.
fn fits(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return name.is_empty();
    };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' => (0..=name.len())
            .filter(|at| name.is_char_boundary(*at))
            .any(|at| fits(rest, &name[at..])),
        '#' => {
            let end = name
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(name.len());
            let version = &name[..end];
            !version.is_empty()
                && version.split('.').all(|number| !number.is_empty())
                && fits(rest, &name[end..])
        }
        letter => name
            .strip_prefix(letter)
            .is_some_and(|name| fits(rest, name)),
    }
}

#[cfg(test)]
#[path = "families_tests.rs"]
mod tests;
