//! The name of a model: `provider:model`.

use std::fmt;

use roundtable_core::characters::is_deceptive;
use serde::{Serialize, Serializer};

/// `lab:qwen3:32b` is the model `qwen3:32b` of the provider `lab`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ModelName {
    provider: String,
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NameError {
    #[error("invalid model '{text}': no provider; write provider:model, such as ollama:{text}")]
    NoProvider { text: String },
    #[error("invalid model '{text}': no model after the colon; write provider:model")]
    NoModel { text: String },
    #[error(
        "invalid model '{text}': expected at most {MAX_LENGTH} characters, without control characters"
    )]
    Characters { text: String },
    #[error("unknown provider '{provider}' in '{text}'; known providers: {}{}", known.join(", "), hint(nearest.as_deref()))]
    UnknownProvider {
        text: String,
        provider: String,
        known: Vec<String>,
        nearest: Option<String>,
    },
}

/// In characters.
const MAX_LENGTH: usize = 200;

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

impl ModelName {
    /// For a provider that is known to exist.
    pub(crate) fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
        }
    }

    pub(crate) fn parse<'a>(
        text: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, NameError> {
        let text = text.trim();
        if !Self::is_valid(text) {
            return Err(NameError::Characters {
                text: text
                    .chars()
                    .filter(|c| !is_unprintable(*c))
                    .take(80)
                    .collect(),
            });
        }
        let Some((provider, model)) = text.split_once(':') else {
            return Err(NameError::NoProvider {
                text: text.to_owned(),
            });
        };
        let (provider, model) = (provider.trim(), model.trim());
        if model.is_empty() {
            return Err(NameError::NoModel {
                text: text.to_owned(),
            });
        }
        let known: Vec<&str> = known.into_iter().collect();
        if known.contains(&provider) {
            return Ok(Self::new(provider, model));
        }
        Err(NameError::UnknownProvider {
            text: text.to_owned(),
            provider: provider.to_owned(),
            nearest: nearest(provider, known.iter().copied())
                .map(str::to_owned)
                .or_else(|| is_ollama_tag(model).then(|| format!("ollama:{text}"))),
            known: known.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Whether this can be part of a name, and be printed.
    pub(crate) fn is_valid(text: &str) -> bool {
        text.chars().count() <= MAX_LENGTH && !text.contains(is_unprintable)
    }

    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    /// The provider's name for the model.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }
}

fn is_unprintable(c: char) -> bool {
    c.is_control() || is_deceptive(c)
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

impl Serialize for ModelName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// `32b` in `qwen3:32b`, Ollama's name of a model.
fn is_ollama_tag(text: &str) -> bool {
    text == "latest" || text.starts_with(|c: char| c.is_ascii_digit())
}

/// The valid word most similar to a wrong one, if any is similar enough.
pub(super) fn nearest<'a>(
    wrong: &str,
    valid: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const MIN_SIMILARITY: f64 = 0.8;
    valid
        .into_iter()
        .map(|word| {
            // One typo in a short word lowers the similarity a lot, so it counts as similar anyway.
            let is_typo = strsim::damerau_levenshtein(wrong, word) <= 1;
            let least = if is_typo { MIN_SIMILARITY } else { 0.0 };
            (strsim::jaro_winkler(wrong, word).max(least), word)
        })
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, word)| word)
}
