//! Chooses models for the tiers from a provider's list, and knows the family of a model. Model names are data (`families.toml`),
//! so this code does not age.

use std::cmp::Reverse;
use std::sync::OnceLock;
use std::time::SystemTime;

use roundtable_engine::cast::Tier;
use roundtable_engine::model::Ability;
use serde::Deserialize;

use super::wire::Listed;
use crate::config::Provider;

const BUILT_IN: &str = include_str!("../../data/families.toml");

/// The largest [small](Ability::Small) model, in billions of parameters.
const MAX_SMALL_BILLIONS: f64 = 4.0;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Families {
    no_chat: Patterns,
    #[serde(default)]
    sees: Patterns,
    #[serde(default)]
    tools: Patterns,
    #[serde(default)]
    names: Vec<FamilyName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Patterns {
    patterns: Vec<String>,
}

/// The patterns by which the models of a family are known.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FamilyName {
    name: String,
    patterns: Vec<String>,
}

/// A model that can take seats, with its product line: the number of its patterns in the order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suited<'l> {
    pub model: &'l Listed,
    pub line: u32,
}

/// Models of one line that take turns: the newest, and the one before.
const MAX_PER_LINE: usize = 2;

impl Patterns {
    fn match_any(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| matches(pattern, name))
    }
}

impl Families {
    pub(super) fn built_in() -> &'static Self {
        static FAMILIES: OnceLock<Families> = OnceLock::new();
        FAMILIES.get_or_init(|| toml::from_str(BUILT_IN).unwrap_or_default())
    }

    /// Whether a model of this name accepts images. Unknown models do not.
    pub(super) fn sees(&self, model: &str) -> bool {
        self.sees.match_any(&model.to_lowercase())
    }

    /// Whether a model of this name can call tools. Unknown models cannot.
    pub(super) fn calls_tools(&self, model: &str) -> bool {
        self.tools.match_any(&model.to_lowercase())
    }

    /// The family of a model, from its name: `claude`. The first word of the name if it is not known.
    pub(super) fn of(&self, model: &str) -> String {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        let mut known = self.names.iter();
        let known = known.find(|family| family.patterns.iter().any(|one| matches(one, &name)));
        known.map_or_else(
            || {
                let end = name.find(|c: char| !c.is_alphabetic());
                let word = &name[..end.unwrap_or(name.len())];
                if word.is_empty() { &name } else { word }.to_owned()
            },
            |family| family.name.clone(),
        )
    }

    /// All models that suit a tier, best first: the newest of each product line, or the largest of each family if the list has
    /// none of the known lines. An official list contains many models that are not for chat, so only known lines count there.
    pub(super) fn suited<'l>(
        &self,
        provider: &Provider,
        tier: Tier,
        list: &'l [Listed],
    ) -> Vec<Suited<'l>> {
        let mut suited = Vec::new();
        for (line, patterns) in (0..).zip(lines(provider, tier)) {
            let mut newest: Vec<&Listed> = list
                .iter()
                .filter(|model| is_of_line(patterns, provider, &model.id))
                .collect();
            newest.sort_by_key(|model| Reverse(recency(model)));
            let mut versions: Vec<&str> = Vec::new();
            newest.retain(|model| {
                let version = without_date(&model.id);
                let is_new = !versions.contains(&version);
                versions.push(version);
                is_new
            });
            newest.truncate(MAX_PER_LINE);
            suited.extend(newest.into_iter().map(|model| Suited { model, line }));
        }
        if suited.is_empty() && !provider.is_official() {
            return self.suited_by_size(tier, list);
        }
        suited
    }

    pub(super) fn is_of_known_line(provider: &Provider, tier: Tier, model: &Listed) -> bool {
        let mut lines = lines(provider, tier).iter();
        lines.any(|patterns| is_of_line(patterns, provider, &model.id))
    }

    /// The largest model of each family, without those that are much smaller than the first.
    fn suited_by_size<'l>(&self, tier: Tier, list: &'l [Listed]) -> Vec<Suited<'l>> {
        let Some(first) = self.by_size(tier, list) else {
            return Vec::new();
        };
        let is_comparable = |model: &Listed| match tier {
            Tier::Deliberate => size(model) >= size(first) / 4.0,
            Tier::Fast => (size(first) / 4.0..=size(first) * 2.0).contains(&size(model)),
        };
        let is_chat = |model: &&Listed| !self.no_chat.match_any(&model.id);
        let mut models: Vec<&Listed> = list.iter().filter(is_chat).collect();
        models.retain(|model| is_comparable(model));
        models.sort_by(|a, b| size(b).total_cmp(&size(a)));
        models.insert(0, first);
        let mut families: Vec<String> = Vec::new();
        models.retain(|model| {
            let family = self.of(&model.id);
            let is_new = !families.contains(&family);
            families.push(family);
            is_new
        });
        let suited = models.into_iter().map(|model| Suited { model, line: 0 });
        suited.collect()
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

/// The product lines of a provider.
fn lines(provider: &Provider, tier: Tier) -> &[Vec<String>] {
    match tier {
        Tier::Deliberate => &provider.deliberate,
        Tier::Fast => &provider.fast,
    }
}

/// Whether a model is of a product line. Compatible servers may put the vendor before the name: `anthropic/claude-sonnet-4.5`.
fn is_of_line(patterns: &[String], provider: &Provider, model: &str) -> bool {
    let name = match model.rsplit_once('/') {
        Some((_, name)) if !provider.is_official() => name,
        _ => model,
    };
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// `claude-sonnet-4-5` for `claude-sonnet-4-5-20250929`, which is the same model.
fn without_date(model: &str) -> &str {
    const DIGITS: usize = 8;
    let name = model.split(':').next().unwrap_or(model);
    match name.rsplit_once('-') {
        Some((rest, date))
            if date.len() == DIGITS && date.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            rest
        }
        _ => name.strip_suffix("-preview").unwrap_or(name),
    }
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
