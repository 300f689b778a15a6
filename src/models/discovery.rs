//! Model discovery (C-04): chooses a model for each tier from the configuration, API keys in the environment, an Ollama
//! server or the embedded model, in this order. Reports the choice with its reason, the alternatives, and advice.
//!
//! A provider that the user configured or has a key for is never replaced silently (C-18): if it cannot be used, the search
//! ends there, unless the user allows the embedded model as a fallback.

use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpStream;

use super::ModelRegistry;
use super::families::{Families, Tier, first_listed};
use super::wire::Listed;
use crate::config::{Config, Kind, ModelName, Provider};
use crate::format::counted;

/// For the check whether an Ollama server is running.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);

/// Preferences in addition to the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelPreferences {
    /// `--model`, for both tiers.
    pub model: Option<ModelName>,
    /// Models that the cast prefers if the server has them, best first.
    pub deliberate: Vec<String>,
    pub fast: Vec<String>,
    /// `--fallback-local`, in addition to the configuration.
    pub fallback_local: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// Stop when both tiers have a model.
    FirstFit,
    /// Query every provider, for display.
    Everything,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub model: ModelName,
    /// One sentence.
    pub why: String,
}

/// The result for one provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub provider: String,
    pub note: String,
    /// As the provider lists them; empty if it was not queried or did not answer.
    pub models: Vec<String>,
}

/// The models of one provider for the two tiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TierModels {
    pub deliberate: ModelName,
    pub fast: ModelName,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub deliberate: Option<Choice>,
    pub fast: Option<Choice>,
    pub findings: Vec<Finding>,
    /// What each queried provider would serve the tiers with, in the order of the search.
    pub options: Vec<TierModels>,
    pub advice: Option<String>,
    /// Why the first configured or keyed provider cannot be used. The tiers are empty, or have the embedded model as the
    /// allowed fallback.
    pub unavailable: Option<String>,
}

impl Discovery {
    /// Says that the embedded model replaces an unavailable provider.
    pub(crate) fn substitution(&self) -> Option<String> {
        let reason = self.unavailable.as_ref()?;
        self.deliberate.as_ref()?;
        Some(format!("{reason}; the embedded model answers instead"))
    }

    /// The model that a single seat prefers, if the provider of the deliberate tier has it.
    pub(crate) fn granted(&self, preferred: &str) -> Option<ModelName> {
        let chosen = self.deliberate.as_ref()?.model.provider();
        let finding = self
            .findings
            .iter()
            .find(|finding| finding.provider == chosen)?;
        finding
            .models
            .iter()
            .find(|id| *id == preferred || id.strip_suffix(":latest") == Some(preferred))
            .map(|id| ModelName::new(chosen, id))
    }

    fn is_complete(&self) -> bool {
        self.deliberate.is_some() && self.fast.is_some()
    }

    fn note(&mut self, provider: &str, note: impl Into<String>, models: Vec<String>) {
        self.findings.push(Finding {
            provider: provider.to_owned(),
            note: note.into(),
            models,
        });
    }
}

/// Like [`discover`] with every provider, for pages: without an answer in time, only what the configuration names. The
/// providers' lists are then available to a later request.
pub(crate) async fn discover_within(registry: &ModelRegistry, limit: Duration) -> Discovery {
    let preferences = ModelPreferences::default();
    let search = discover(registry, &preferences, Search::Everything);
    tokio::time::timeout(limit, search)
        .await
        .unwrap_or_else(|_| Discovery {
            advice: Some(
                "a provider has not sent its list of models yet: reload the page".to_owned(),
            ),
            ..explicit_choices(&registry.config, &preferences)
        })
}

/// Chooses models for the tiers. If the user names them, no provider is queried.
pub(crate) async fn discover(
    registry: &ModelRegistry,
    preferences: &ModelPreferences,
    search: Search,
) -> Discovery {
    let mut discovery = explicit_choices(&registry.config, preferences);
    if search == Search::Everything {
        // All at the same time; the lists are cached for the loop below.
        let all = candidates(&registry.config).into_iter();
        join_all(all.map(|candidate| registry.list(&candidate.provider.name))).await;
    }
    for candidate in candidates(&registry.config) {
        let is_settled = discovery.is_complete() || discovery.unavailable.is_some();
        if search == Search::FirstFit && is_settled {
            if let Some(note) = candidate.note_if_skipped {
                discovery.note(&candidate.provider.name, note, Vec::new());
            }
            continue;
        }
        let problem = match registry.list(&candidate.provider.name).await {
            Ok(list) => fill_tiers(&mut discovery, &candidate, &list, preferences),
            Err(reason) => {
                let problem = format!("{}, but {reason}", candidate.reason);
                discovery.note(&candidate.provider.name, reason, Vec::new());
                Some(problem)
            }
        };
        if candidate.is_required && !is_settled {
            discovery.unavailable = problem;
        }
    }
    if registry.has_embedded_model() {
        add_embedded(&mut discovery, registry, preferences);
    }
    discovery.advice = advice(registry, &discovery);
    discovery
}

fn add_embedded(
    discovery: &mut Discovery,
    registry: &ModelRegistry,
    preferences: &ModelPreferences,
) {
    discovery.note(
        Kind::Local.name(),
        "the embedded model is built in",
        Vec::new(),
    );
    let auto = ModelName::new(Kind::Local.name(), "auto");
    discovery.options.push(TierModels {
        deliberate: auto.clone(),
        fast: auto.clone(),
    });
    let may_fall_back = registry.config.local.fallback || preferences.fallback_local;
    let why = match &discovery.unavailable {
        None => "the embedded model runs in this process and needs no setup".to_owned(),
        Some(reason) if may_fall_back => format!("fallback: {reason}"),
        Some(_) => return,
    };
    let embedded = || Choice {
        model: auto.clone(),
        why: why.clone(),
    };
    discovery.deliberate.get_or_insert_with(embedded);
    discovery.fast.get_or_insert_with(embedded);
}

/// The models that the user names. A single named tier also serves the other, rather than a model of another provider.
fn explicit_choices(config: &Config, preferences: &ModelPreferences) -> Discovery {
    let deliberate = ("deliberate", config.tiers.deliberate.as_ref());
    let fast = ("fast", config.tiers.fast.as_ref());
    let choose = |(tier, own), (other_tier, other)| {
        let (model, why) = match (preferences.model.as_ref(), own, other) {
            (Some(model), _, _) => (model, "--model names it".to_owned()),
            (None, Some(model), _) => (model, format!("tiers.{tier} names it")),
            (None, None, Some(model)) => (
                model,
                format!("tiers.{other_tier} names it and tiers.{tier} is not set"),
            ),
            (None, None, None) => return None,
        };
        let model = ModelName::clone(model);
        Some(Choice { model, why })
    };
    Discovery {
        deliberate: choose(deliberate, fast),
        fast: choose(fast, deliberate),
        ..Discovery::default()
    }
}

/// A provider that may serve the tiers.
struct Candidate<'c> {
    provider: &'c Provider,
    reason: String,
    note_if_skipped: Option<String>,
    /// The user configured it or set its key, so no other provider may replace it.
    is_required: bool,
}

/// In the order of C-04.
fn candidates(config: &Config) -> Vec<Candidate<'_>> {
    let built_in = |kind: Kind| {
        config
            .providers
            .get(kind.name())
            .filter(|provider| !provider.configured)
    };
    let configured = config
        .providers
        .values()
        // A program may be billed in another way than its owner expects, so it is used only if it is named.
        .filter(|provider| provider.configured && provider.kind != Kind::Command)
        .map(|provider| Candidate {
            provider,
            reason: format!("[providers.{}] is configured", provider.name),
            note_if_skipped: Some(format!("configured at {}", provider.base_url)),
            is_required: true,
        });
    let with_key = Kind::ALL
        .into_iter()
        .filter_map(built_in)
        .filter_map(|provider| {
            let variable = &provider.key.as_ref()?.variable;
            Some(Candidate {
                provider,
                reason: format!("{variable} is set"),
                note_if_skipped: Some(format!("{variable} is set")),
                is_required: true,
            })
        });
    let ollama = built_in(Kind::Ollama).map(|provider| Candidate {
        provider,
        reason: format!("an Ollama server answers at {}", provider.base_url),
        note_if_skipped: None,
        is_required: false,
    });
    configured.chain(with_key).chain(ollama).collect()
}

pub(super) async fn accepts_connections(base_url: &str) -> bool {
    let Some(address) = reqwest::Url::parse(base_url).ok().and_then(|url| {
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        Some((host, url.port_or_known_default()?))
    }) else {
        return false;
    };
    matches!(
        tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await,
        Ok(Ok(_))
    )
}

/// Fills the tiers that have no model yet from a provider's list. Returns the reason if it has no suitable model.
fn fill_tiers(
    discovery: &mut Discovery,
    candidate: &Candidate<'_>,
    list: &[Listed],
    preferences: &ModelPreferences,
) -> Option<String> {
    let provider = candidate.provider;
    let families = Families::built_in();
    let choose = |tier: Tier, preferred: &[String]| {
        let (model, reason) = choose(&families, provider, tier, preferred, list)?;
        Some(Choice {
            model: ModelName::new(&provider.name, &model.id),
            why: format!("{}, and {reason}", candidate.reason),
        })
    };
    let deliberate = choose(Tier::Deliberate, &preferences.deliberate);
    let fast = choose(Tier::Fast, &preferences.fast).or_else(|| deliberate.clone());
    let note = match (&deliberate, list.len()) {
        (_, 0) => format!("{}, but it has no models", candidate.reason),
        (None, 1) => format!("{}, but its only model is not suitable", candidate.reason),
        (None, count) => format!(
            "{}, but none of its {count} models is suitable",
            candidate.reason
        ),
        (Some(_), count) => format!("{}; it has {}", candidate.reason, counted(count, "model")),
    };
    let problem = deliberate.is_none().then(|| note.clone());
    discovery.note(
        &provider.name,
        note,
        list.iter().map(|model| model.id.clone()).collect(),
    );
    if let Some((deliberate, fast)) = deliberate.zip(fast) {
        discovery.options.push(TierModels {
            deliberate: deliberate.model.clone(),
            fast: fast.model.clone(),
        });
        if discovery.unavailable.is_none() {
            discovery.deliberate.get_or_insert(deliberate);
            discovery.fast.get_or_insert(fast);
        }
    }
    problem
}

fn choose<'l>(
    families: &Families,
    provider: &Provider,
    tier: Tier,
    preferred: &[String],
    list: &'l [Listed],
) -> Option<(&'l Listed, &'static str)> {
    if let Some(model) = first_listed(preferred, list) {
        return Some((model, "the cast prefers this model"));
    }
    if let Some(model) = families.newest(provider.kind, tier, list) {
        return Some((model, "this is its newest model of the preferred family"));
    }
    // An official list contains many models that are not for chat, so only known families count there.
    let by_size = families
        .by_size(tier, list)
        .filter(|_| !provider.is_official())?;
    let is_only = families.by_size(Tier::Deliberate, list) == families.by_size(Tier::Fast, list);
    Some(match tier {
        _ if is_only => (by_size, "this is its model for chat"),
        Tier::Deliberate => (by_size, "this is its largest model"),
        Tier::Fast => (by_size, "this is a smaller one of its models"),
    })
}

fn advice(registry: &ModelRegistry, discovery: &Discovery) -> Option<String> {
    const KEYS: &str = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY";
    const OLLAMA: &str = "run Ollama (https://ollama.com) with a model such as qwen3:4b-instruct (with 32 GB of memory qwen3:30b-a3b)";
    let Some(choice) = &discovery.deliberate else {
        return Some(match &discovery.unavailable {
            None => format!("no model found: {KEYS}, or {OLLAMA}"),
            Some(_) if registry.has_embedded_model() => {
                "fix the provider, choose a model of another one with --model, or allow the embedded model with --fallback-local".to_owned()
            }
            Some(_) => "fix the provider, or choose a model of another one with --model".to_owned(),
        });
    };
    let kind = registry
        .config
        .providers
        .get(choice.model.provider())
        .map(|provider| provider.kind);
    match kind {
        Some(Kind::Local) => Some(format!(
            "the embedded model is small; for reliable answers, {KEYS}, or {OLLAMA}"
        )),
        Some(Kind::Ollama) => Some(format!("a hosted model would argue better: {KEYS}")),
        Some(Kind::OpenAi | Kind::Anthropic | Kind::Gemini | Kind::Command) | None => None,
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
