//! What models cost. Built in is a dated list of public prices; the user's own `prices.toml` goes before it. A price
//! that is not known is `None` and never zero.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roundtable_core::usage::Price;
use serde::Deserialize;

use crate::config::{Kind, Provider};

const BUILT_IN: &str = include_str!("../../data/prices.toml");

/// Prices by provider, or by kind of provider, and then by the beginning of the model's name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prices {
    /// The day they were read.
    pub as_of: Option<String>,
    #[serde(default, rename = "prices")]
    by_provider: BTreeMap<String, BTreeMap<String, Price>>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot use the prices in {}: {reason}", path.display())]
pub(crate) struct PricesError {
    path: PathBuf,
    reason: String,
}

impl Prices {
    pub(super) fn built_in() -> Self {
        toml::from_str(BUILT_IN).unwrap_or_default()
    }

    /// The user's own; none where there is no such file.
    pub(super) fn from_file(path: &Path) -> Result<Self, PricesError> {
        let failed = |reason: String| PricesError {
            path: path.to_path_buf(),
            reason,
        };
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            read => read.map_err(|error| failed(error.to_string()))?,
        };
        let prices: Self = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        match prices.senseless() {
            Some(name) => Err(failed(format!(
                "the price of {name} is negative or no number"
            ))),
            None => Ok(prices),
        }
    }

    fn senseless(&self) -> Option<&str> {
        let fair = |amount: f64| amount.is_finite() && amount >= 0.0;
        self.by_provider
            .values()
            .flatten()
            .find(|(_, price)| {
                !(fair(price.input) && fair(price.output) && price.cached.is_none_or(fair))
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
        Kind::Ollama | Kind::Local => Some(Price::FREE),
        // Another server may call a model by the same name and charge what it likes.
        Kind::OpenAi | Kind::Anthropic | Kind::Gemini if !provider.is_official() => None,
        Kind::OpenAi | Kind::Anthropic | Kind::Gemini => built_in.find(provider.kind.name(), model),
    })
}

/// A name covers the dated and preview forms of itself, but not a variant or a later version, which has its own price;
/// one that ends in `*` covers all that begins like it.
fn covers(name: &str, model: &str) -> bool {
    if let Some(beginning) = name.strip_suffix('*') {
        return model.starts_with(beginning);
    }
    let Some(rest) = model.strip_prefix(name) else {
        return false;
    };
    let is_form = |part: &str| {
        matches!(part, "latest" | "preview" | "exp")
            || (part.len() >= 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    rest.is_empty()
        || rest
            .strip_prefix('-')
            .is_some_and(|rest| rest.split('-').all(is_form))
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
