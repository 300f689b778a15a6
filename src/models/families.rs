//! Chooses a model for a tier from a provider's list. Model names are data (`families.toml`), so this code does not age.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::SystemTime;

use roundtable_engine::model::Ability;
use serde::Deserialize;

use super::wire::Listed;
use crate::config::Kind;

const BUILT_IN: &str = include_str!("../../data/families.toml");

/// The largest [small](Ability::Small) model, in billions of parameters.
const MAX_SMALL_BILLIONS: f64 = 4.0;

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

impl Patterns {
    fn match_any(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| matches(pattern, name))
    }
}

impl Families {
    pub(super) fn built_in() -> Self {
        toml::from_str(BUILT_IN).unwrap_or_default()
    }

    /// Whether a model of this name accepts images. Unknown models do not.
    pub(super) fn sees(&self, model: &str) -> bool {
        self.sees.match_any(&model.to_lowercase())
    }

    /// Whether a model of this name can call tools. Unknown models cannot.
    pub(super) fn calls_tools(&self, model: &str) -> bool {
        self.tools.match_any(&model.to_lowercase())
    }

    /// The newest model of the first family in the list.
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
                .filter(|model| patterns.iter().any(|pattern| matches(pattern, &model.id)))
                .max_by_key(|model| recency(model))
        })
    }

    /// For servers that run models of any name: the largest model to deliberate, one at most a quarter as large to be fast.
    pub(super) fn by_size<'l>(&self, tier: Tier, list: &'l [Listed]) -> Option<&'l Listed> {
        let chat = || {
            list.iter()
                .filter(|model| !self.no_chat.match_any(&model.id))
        };
        // Among equals the first, because servers sort the list by last use.
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

/// The first preferred model in the list. Ollama's `:latest` may be omitted.
pub(super) fn first_listed<'l>(preferred: &[String], list: &'l [Listed]) -> Option<&'l Listed> {
    preferred.iter().find_map(|name| {
        list.iter()
            .find(|model| model.id == *name || model.id.strip_suffix(":latest") == Some(name))
    })
}

/// Greater for newer models; at the same age, for the shorter name.
fn recency(model: &Listed) -> (Option<SystemTime>, Vec<u64>, Reverse<usize>) {
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

/// Billions of parameters, if the name contains them: `qwen3:32b`, `smollm2-135m`.
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
        Some(billions) if billions <= MAX_SMALL_BILLIONS => Ability::Small,
        Some(_) | None => Ability::Full,
    }
}

/// `*` matches any text, `#` a version: numbers separated by dots.
fn matches(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else {
        return name.is_empty();
    };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' => (0..=name.len())
            .filter(|at| name.is_char_boundary(*at))
            .any(|at| matches(rest, &name[at..])),
        '#' => {
            let end = name
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(name.len());
            let version = &name[..end];
            !version.is_empty()
                && version.split('.').all(|number| !number.is_empty())
                && matches(rest, &name[end..])
        }
        letter => name
            .strip_prefix(letter)
            .is_some_and(|name| matches(rest, name)),
    }
}

#[cfg(test)]
#[path = "families_tests.rs"]
mod tests;
