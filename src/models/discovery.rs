//! Finds a model for each tier by itself (C-04): what the user configured; API keys in the environment; an Ollama server;
//! the embedded model. It says what it took and why, what else there is, and what would serve better.

use std::time::Duration;

use tokio::net::TcpStream;

use super::ModelRegistry;
use super::families::{Families, Tier, wished};
use super::wire::Listed;
use crate::config::{Config, Kind, ModelName, Provider};

/// A server that does not take a connection within this time is not there.
const KNOCK: Duration = Duration::from_millis(300);

/// What is asked for, beyond the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelPreferences {
    /// `--model`: for everything.
    pub model: Option<ModelName>,
    /// Models that the cast would like where the server has them, best first.
    pub deliberate: Vec<String>,
    pub fast: Vec<String>,
}

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// Until both tiers are served.
    FirstFit,
    /// At everything, to show what there is.
    Everything,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub model: ModelName,
    /// One sentence.
    pub why: String,
}

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub provider: String,
    pub note: String,
    /// As the provider lists them; empty where it was not asked or did not answer.
    pub models: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Discovery {
    pub deliberate: Option<Choice>,
    pub fast: Option<Choice>,
    pub findings: Vec<Finding>,
    pub advice: Option<String>,
}

impl Discovery {
    /// The wish of a single seat, where the provider that serves its tier has that model.
    pub(crate) fn granted(&self, wish: &str) -> Option<ModelName> {
        let chosen = self.deliberate.as_ref()?.model.provider();
        let finding = self
            .findings
            .iter()
            .find(|finding| finding.provider == chosen)?;
        finding
            .models
            .iter()
            .find(|id| *id == wish || id.strip_suffix(":latest") == Some(wish))
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

/// Models for the tiers. Where the user names them nobody is asked for a list.
pub(crate) async fn discover(
    registry: &ModelRegistry,
    wishes: &ModelPreferences,
    search: Search,
) -> Discovery {
    let mut discovery = named(&registry.config, wishes);
    for candidate in candidates(&registry.config) {
        if search == Search::FirstFit && discovery.is_complete() {
            // Not worth a call, but worth a word.
            if let Some(note) = candidate.at_hand {
                discovery.note(&candidate.provider.name, note, Vec::new());
            }
            continue;
        }
        match look(registry, candidate.provider).await {
            Ok(list) => consider(&mut discovery, &candidate, &list, wishes),
            Err(why_not) => discovery.note(&candidate.provider.name, why_not, Vec::new()),
        }
    }
    if registry.has_embedded_model() {
        let embedded = || Choice {
            model: ModelName::new(Kind::Local.name(), "auto"),
            why: "the embedded model runs in this program and needs nothing else".to_owned(),
        };
        discovery.deliberate.get_or_insert_with(embedded);
        discovery.fast.get_or_insert_with(embedded);
        discovery.note(
            Kind::Local.name(),
            "the embedded model is built in",
            Vec::new(),
        );
    }
    discovery.advice = advice(&registry.config, &discovery);
    discovery
}

/// What the user says outright. One named tier serves the other too: who names one does not want a stranger for the other.
fn named(config: &Config, wishes: &ModelPreferences) -> Discovery {
    let choice = |model: &ModelName, why: &str| {
        Some(Choice {
            model: model.clone(),
            why: why.to_owned(),
        })
    };
    let tiers = &config.tiers;
    let (deliberate, fast) = match (&wishes.model, &tiers.deliberate, &tiers.fast) {
        (Some(model), _, _) => (
            choice(model, "--model names it"),
            choice(model, "--model names it"),
        ),
        (None, Some(deliberate), Some(fast)) => (
            choice(deliberate, "tiers.deliberate names it"),
            choice(fast, "tiers.fast names it"),
        ),
        (None, Some(one), None) => (
            choice(one, "tiers.deliberate names it"),
            choice(one, "tiers.deliberate names it and tiers.fast nothing else"),
        ),
        (None, None, Some(one)) => (
            choice(one, "tiers.fast names it and tiers.deliberate nothing else"),
            choice(one, "tiers.fast names it"),
        ),
        (None, None, None) => (None, None),
    };
    Discovery {
        deliberate,
        fast,
        ..Discovery::default()
    }
}

/// Somewhere to look.
struct Candidate<'c> {
    provider: &'c Provider,
    reason: String,
    /// What to say of it without asking it anything.
    at_hand: Option<String>,
}

/// Where to look, in the order of C-04.
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
        .filter(|provider| provider.configured)
        .map(|provider| Candidate {
            provider,
            reason: format!("[providers.{}] is configured", provider.name),
            at_hand: Some(format!("configured at {}", provider.base_url)),
        });
    let with_key = [Kind::Anthropic, Kind::OpenAi, Kind::Gemini]
        .into_iter()
        .filter_map(built_in)
        .filter_map(|provider| {
            let variable = &provider.key.as_ref()?.variable;
            Some(Candidate {
                provider,
                reason: format!("{variable} is set"),
                at_hand: Some(format!("{variable} is set")),
            })
        });
    let ollama = built_in(Kind::Ollama).map(|provider| Candidate {
        provider,
        reason: format!("an Ollama server answers at {}", provider.base_url),
        at_hand: None,
    });
    configured.chain(with_key).chain(ollama).collect()
}

async fn look(registry: &ModelRegistry, provider: &Provider) -> Result<Vec<Listed>, String> {
    if provider.kind == Kind::Ollama && !knock(&provider.base_url).await {
        return Err(format!("no Ollama server at {}", provider.base_url));
    }
    let list = registry.list(&provider.name).await;
    list.map_err(|error| error.to_string())
}

async fn knock(base_url: &str) -> bool {
    let Some(address) = reqwest::Url::parse(base_url).ok().and_then(|url| {
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        Some((host, url.port_or_known_default()?))
    }) else {
        return false;
    };
    matches!(
        tokio::time::timeout(KNOCK, TcpStream::connect(address)).await,
        Ok(Ok(_))
    )
}

/// Fills the tiers that are still open from a provider's list.
fn consider(
    discovery: &mut Discovery,
    candidate: &Candidate<'_>,
    list: &[Listed],
    wishes: &ModelPreferences,
) {
    let provider = candidate.provider;
    let families = Families::built_in();
    let choose = |tier: Tier, wishes: &[String]| {
        let (model, because) = choose(&families, provider, tier, wishes, list)?;
        Some(Choice {
            model: ModelName::new(&provider.name, &model.id),
            why: format!("{}, and {because}", candidate.reason),
        })
    };
    let deliberate = choose(Tier::Deliberate, &wishes.deliberate);
    let fast = choose(Tier::Fast, &wishes.fast).or_else(|| deliberate.clone());
    let note = match (&deliberate, list.len()) {
        (_, 0) => format!("{}, but it has no models", candidate.reason),
        (None, count) => format!("{}; none of its {count} models fits", candidate.reason),
        (Some(_), count) => format!("{}; it has {count} models", candidate.reason),
    };
    discovery.note(
        &provider.name,
        note,
        list.iter().map(|model| model.id.clone()).collect(),
    );
    if let (Some(deliberate), Some(fast)) = (deliberate, fast) {
        discovery.deliberate.get_or_insert(deliberate);
        discovery.fast.get_or_insert(fast);
    }
}

fn choose<'l>(
    families: &Families,
    provider: &Provider,
    tier: Tier,
    wishes: &[String],
    list: &'l [Listed],
) -> Option<(&'l Listed, &'static str)> {
    if let Some(model) = wished(wishes, list) {
        return Some((model, "the cast prefers this model"));
    }
    if let Some(model) = families.newest(provider.kind, tier, list) {
        return Some((model, "this is the newest model of its family there"));
    }
    // The company's own list is full of things that are no chat models: there only families count.
    let by_size = families
        .by_size(tier, list)
        .filter(|_| !provider.is_official())?;
    Some(match tier {
        Tier::Deliberate => (by_size, "this is its largest model"),
        Tier::Fast => (by_size, "this is a smaller model of it"),
    })
}

fn advice(config: &Config, discovery: &Discovery) -> Option<String> {
    const KEYS: &str = "set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY";
    const OLLAMA: &str = "run Ollama (https://ollama.com) with a model such as qwen3:32b";
    let Some(choice) = &discovery.deliberate else {
        return Some(format!("no model was found: {KEYS}, or {OLLAMA}"));
    };
    let kind = config
        .providers
        .get(choice.model.provider())
        .map(|provider| provider.kind);
    match kind {
        Some(Kind::Local) => Some(format!(
            "the embedded model is small; for answers to rely on, {KEYS}, or {OLLAMA}"
        )),
        Some(Kind::Ollama) => Some(format!("a hosted model would argue better: {KEYS}")),
        Some(Kind::OpenAi | Kind::Anthropic | Kind::Gemini) | None => None,
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
