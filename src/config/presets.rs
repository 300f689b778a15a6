//! The providers that need no configuration, as data (`data/providers.toml`): one table per provider.

use std::sync::OnceLock;

use roundtable_core::glob;
use serde::{Deserialize, Deserializer};

use super::Environment;
use super::provider::Kind;

const BUILT_IN: &str = include_str!("../../data/providers.toml");

/// Something that a service needs from the first call on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quirk {
    MaxCompletionTokens,
    StrictSchema,
    JsonObject,
    NoSeed,
    NoStreamOptions,
}

impl Quirk {
    const ALL: [Self; 5] = [
        Self::MaxCompletionTokens,
        Self::StrictSchema,
        Self::JsonObject,
        Self::NoSeed,
        Self::NoStreamOptions,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::StrictSchema => "strict_schema",
            Self::JsonObject => "json_object",
            Self::NoSeed => "no_seed",
            Self::NoStreamOptions => "no_stream_options",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|quirk| quirk.name() == name)
    }

    pub(super) fn names() -> [&'static str; 5] {
        Self::ALL.map(Self::name)
    }
}

/// The built-in settings of a provider. The keys are described in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preset {
    pub name: String,
    #[serde(deserialize_with = "kind")]
    pub kind: Kind,
    pub base_url: String,
    #[serde(default)]
    pub base_url_env: Option<String>,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(default)]
    pub api_key_env: Vec<String>,
    #[serde(default)]
    pub key_header: Option<String>,
    #[serde(default)]
    pub query: Option<String>,
    pub max_concurrent: u32,
    #[serde(default)]
    pub models: Option<Vec<String>>,
    #[serde(default)]
    pub deliberate: Vec<Vec<String>>,
    #[serde(default)]
    pub fast: Vec<Vec<String>>,
    #[serde(default)]
    pub quirks: Vec<Quirk>,
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    let name = String::deserialize(deserializer)?;
    let mut all = Kind::ALL.into_iter();
    all.find(|kind| kind.name() == name)
        .ok_or_else(|| serde::de::Error::custom("unknown kind"))
}

/// All presets, in the order in which discovery prefers them.
pub(super) fn presets() -> &'static [Preset] {
    #[derive(Deserialize)]
    struct File {
        providers: Vec<Preset>,
    }
    static PRESETS: OnceLock<Vec<Preset>> = OnceLock::new();
    // A test parses the file.
    PRESETS.get_or_init(|| {
        toml::from_str(BUILT_IN).map_or_else(|_| Vec::new(), |file: File| file.providers)
    })
}

impl Preset {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        presets().iter().find(|preset| preset.name == name)
    }

    /// The address, in this environment. Empty if its beginning is in a variable that is not set.
    pub(super) fn url(&self, environment: &Environment) -> String {
        let Some(variable) = &self.base_url_env else {
            return self.base_url.clone();
        };
        let start = environment.variable(variable);
        start.map_or_else(String::new, |start| {
            format!("{}{}", start.trim_end_matches('/'), self.base_url)
        })
    }

    /// A service of a vendor rejects calls without a key; a server of the user's may do without.
    pub(super) fn needs_key(&self) -> bool {
        !self.hosts.is_empty()
    }

    /// Whether the key may be sent to the address that the preset has in this environment.
    pub(super) fn may_send_key_to(&self, url: &str) -> bool {
        self.base_url_env.is_none() && url == self.base_url || self.is_vendor_address(url)
    }

    /// Whether this is an address of the vendor, encrypted.
    pub(super) fn is_vendor_address(&self, url: &str) -> bool {
        let url = reqwest::Url::parse(url).ok();
        url.filter(|url| url.scheme() == "https")
            .is_some_and(|url| {
                let host = url.host_str().unwrap_or_default();
                self.hosts.iter().any(|known| glob::matches(known, host))
            })
    }
}

#[cfg(test)]
#[path = "presets_tests.rs"]
mod tests;
