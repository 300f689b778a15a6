//! Model prices: a dated built-in list of public prices, overridden by the user's `prices.toml`. An unknown price is `None`,
//! never zero.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roundtable_core::usage::Price;
use roundtable_engine::data::{DataError, Text};
use serde::Deserialize;

use crate::config::{Kind, Provider};

const BUILT_IN: &str = include_str!("../../data/prices.toml");

/// Prices by name or kind of provider, then by the start of the model's name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    /// The date on which the prices were collected.
    pub as_of: Option<String>,
    #[serde(default, rename = "prices")]
    by_provider: BTreeMap<String, BTreeMap<String, Price>>,
}

#[derive(Debug, thiserror::Error)]
#[error("invalid prices: {0}")]
pub(crate) struct PricesError(String);

impl Prices {
    pub(super) fn built_in() -> Self {
        toml::from_str(BUILT_IN).unwrap_or_default()
    }

    /// The user's own prices. Later files take precedence; files that do not exist are skipped.
    pub(super) fn from_files(paths: &[PathBuf]) -> Result<Self, PricesError> {
        let mut all = Self::default();
        for path in paths.iter().filter(|path| path.exists()) {
            for (provider, models) in Self::from_file(path)?.by_provider {
                all.by_provider.entry(provider).or_default().extend(models);
            }
        }
        Ok(all)
    }

    fn from_file(path: &Path) -> Result<Self, PricesError> {
        let failed = |error: DataError| PricesError(error.to_string());
        let text = Text::read(path).map_err(failed)?;
        let prices: Self = text.parse().map_err(failed)?;
        match prices.first_invalid() {
            Some(name) => {
                let line = text.content.lines().position(|line| line.contains(name));
                let message = format!("the price of {name} is negative or not a number");
                Err(failed(text.broken(line.map_or(1, |at| at + 1), message)))
            }
            None => Ok(prices),
        }
    }

    pub(super) fn providers(&self) -> impl Iterator<Item = &String> {
        self.by_provider.keys()
    }

    fn first_invalid(&self) -> Option<&str> {
        let valid = |amount: f64| amount.is_finite() && amount >= 0.0;
        self.by_provider
            .values()
            .flatten()
            .find(|(_, price)| {
                !(valid(price.input) && valid(price.output) && price.cached.is_none_or(valid))
            })
            .map(|(name, _)| name.as_str())
    }

    fn find(&self, provider: &str, model: &str) -> Option<Price> {
        self.by_provider
            .get(provider)?
            .iter()
            .filter(|(name, _)| covers(name, model))
            .max_by_key(|(name, _)| name.len())
            .map(|(_, price)| *price)
    }
}

/// The price of a typical call per million tokens, to compare models: it has three times as much input as output.
pub(crate) fn typical_price(input: f64, output: f64) -> f64 {
    (3.0 * input + output) / 4.0
}

pub(super) fn price(
    own: &Prices,
    built_in: &Prices,
    provider: &Provider,
    model: &str,
) -> Option<Price> {
    let by_user = own
        .find(&provider.name, model)
        .or_else(|| own.find(provider.kind.name(), model));
    by_user.or_else(|| match provider.kind {
        Kind::Ollama | Kind::Local | Kind::Simulated => Some(Price::FREE),
        // A subscription may cover its calls, or they may be billed: only the user knows.
        Kind::Command => provider
            .command
            .as_ref()
            .filter(|command| command.is_free)
            .map(|_| Price::FREE),
        // Another server may use the same model name at another price.
        Kind::OpenAi | Kind::Anthropic | Kind::Gemini if !provider.is_official() => None,
        Kind::OpenAi | Kind::Anthropic | Kind::Gemini => built_in.find(provider.kind.name(), model),
    })
}

/// A name covers its dated and preview releases, but not variants or later versions, which have their own prices. A name
/// that ends in `*` covers every model that starts with it.
fn covers(name: &str, model: &str) -> bool {
    if let Some(beginning) = name.strip_suffix('*') {
        return model.starts_with(beginning);
    }
    let Some(rest) = model.strip_prefix(name) else {
        return false;
    };
    let is_release_suffix = |part: &str| {
        matches!(part, "latest" | "preview" | "exp")
            || (part.len() >= 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .is_some_and(|rest| rest.split('-').all(is_release_suffix))
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
