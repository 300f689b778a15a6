//! Model discovery (C-04): finds the usable models of the configured providers and of those with an API key in the environment;
//! if there are none, of an Ollama server; then the embedded model. Reports the first choice for each tier with its reason, all
//! models that can take seats, and advice.
//!
//! A provider that the user configured, or the only one with a key, is never replaced silently (C-18): if it cannot be used, no
//! model is chosen, unless the user allows the embedded model as a fallback. One of several with a key is left out, and reported.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;
use roundtable_core::usage::Money;
use roundtable_engine::cast::Tier;
use roundtable_engine::cast::dealing::Diversity;
use tokio::net::TcpStream;

use super::ModelRegistry;
use super::families::{Families, first_listed};
use super::list_cache::Listing;
use super::wire::Listed;
use crate::config::{Config, Kind, ModelName, Provider};
use crate::format::counted;

/// For the check whether an Ollama server is running.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
/// For the list of a provider that a debate can start without.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

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
    /// Query the providers whose models a debate would use.
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
    /// The models that each queried provider has for the tiers, in the order of the search.
    pub options: Vec<TierModels>,
    pub advice: Option<String>,
    /// Why a configured provider, or the only one with a key, cannot be used. The tiers are empty, or have the embedded model as
    /// the allowed fallback.
    pub unavailable: Option<String>,
    /// The models that can take seats, best first. Empty if the user names the models of the tiers.
    pub offers: Vec<Offer>,
    /// Providers that a debate starts without, each with the reason.
    pub left_out: Vec<String>,
}

/// A model that can take seats of a tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    pub model: ModelName,
    pub family: String,
    pub tier: Tier,
    /// The product line within the provider's models, best first.
    pub line: u32,
    /// The typical price as reported by the provider.
    pub listed_price: Option<Money>,
    is_local: bool,
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

    /// Whether a debate needs nothing from this candidate.
    fn is_settled_for(&self, candidate: &Candidate<'_>, config: &Config) -> bool {
        let is_extra = match candidate.standing {
            Standing::LastResort => config.seating.mix_local,
            Standing::Required | Standing::Expected | Standing::Extra | Standing::Unneeded => {
                config.seating.diversity != Diversity::One
            }
        };
        self.unavailable.is_some() || self.is_complete() && !is_extra
    }

    /// Drops what a debate must not use: everything if a required provider is unavailable, and local models next to hosted ones.
    fn finish(&mut self, config: &Config) {
        let is_empty = self.deliberate.is_none() && self.unavailable.is_none();
        if is_empty && !self.left_out.is_empty() {
            self.unavailable = Some(std::mem::take(&mut self.left_out).join("; "));
        }
        if self.unavailable.is_some() && !self.offers.is_empty() {
            (self.deliberate, self.fast) = (None, None);
            self.offers.clear();
        }
        let first_is_local = self.offers.first().is_some_and(|offer| offer.is_local);
        if !config.seating.mix_local {
            self.offers.retain(|offer| offer.is_local == first_is_local);
        }
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

/// Finds the models that can take seats, and chooses one for each tier. If the user names those of the tiers, no provider is
/// queried.
pub(crate) async fn discover(
    registry: &ModelRegistry,
    preferences: &ModelPreferences,
    search: Search,
) -> Discovery {
    let config = &registry.config;
    let mut discovery = explicit_choices(config, preferences);
    let candidates = candidates(config);
    let is_named = discovery.is_complete();
    let mut lists = BTreeMap::new();
    if !is_named || search == Search::Everything {
        let asked = candidates.iter();
        let asked = asked.filter(|candidate| candidate.is_asked(config, search));
        lists = lists_of(registry, asked.collect()).await;
    }
    let may_fall_back = config.local.fallback || preferences.fallback_local;
    for candidate in &candidates {
        let name = &candidate.provider.name;
        let is_settled = is_named || discovery.is_settled_for(candidate, config);
        if search == Search::FirstFit && is_settled {
            if let Some(note) = &candidate.note_if_skipped {
                discovery.note(name, note, Vec::new());
            }
            continue;
        }
        let before = discovery.offers.len();
        let list = match lists.remove(name) {
            Some(list) => list,
            None => list(registry, candidate).await,
        };
        let (problem, is_reached) = match list {
            Ok(list) => (
                fill_tiers(&mut discovery, candidate, &list, preferences),
                true,
            ),
            Err(reason) => {
                let problem = format!("{}, but {reason}", candidate.reason);
                discovery.note(name, reason, Vec::new());
                (Some(problem), false)
            }
        };
        if is_settled {
            discovery.offers.truncate(before);
            continue;
        }
        let Some(problem) = problem else {
            continue;
        };
        match candidate.standing {
            Standing::Required => discovery.unavailable = Some(problem),
            // It may be there for embeddings only.
            Standing::Expected if is_reached => {}
            Standing::Expected if !may_fall_back => {
                let hint = "optional = true in its section lets debates start without it";
                discovery.unavailable = Some(format!("{problem}; {hint}"));
            }
            Standing::Expected | Standing::Extra => discovery.left_out.push(problem),
            Standing::Unneeded | Standing::LastResort => {}
        }
    }
    discovery.finish(config);
    if registry.has_embedded_model() {
        add_embedded(&mut discovery, registry, preferences);
    }
    discovery.advice = advice(registry, &discovery);
    discovery
}

/// The lists of all of them at the same time, by provider. If none has one in time, the first provider gets all the time it needs.
async fn lists_of<'c>(
    registry: &ModelRegistry,
    candidates: Vec<&Candidate<'c>>,
) -> BTreeMap<&'c String, Listing> {
    let lists = candidates.iter().map(|candidate| list(registry, candidate));
    let lists = join_all(lists).await;
    let names = candidates.iter().map(|candidate| &candidate.provider.name);
    let mut lists: BTreeMap<&String, Listing> = names.zip(lists).collect();
    if lists.values().all(Result::is_err)
        && let Some(first) = candidates.first()
    {
        let name = &first.provider.name;
        lists.insert(name, registry.list(name).await);
    }
    lists
}

/// A provider's list, within [`LIST_TIMEOUT`] if a debate can start without it.
async fn list(registry: &ModelRegistry, candidate: &Candidate<'_>) -> Listing {
    let name = &candidate.provider.name;
    let list = registry.list(name);
    match candidate.standing {
        Standing::Required | Standing::Expected | Standing::LastResort => list.await,
        Standing::Extra | Standing::Unneeded => {
            let bounded = tokio::time::timeout(LIST_TIMEOUT, list).await;
            bounded.unwrap_or_else(|_| {
                let seconds = LIST_TIMEOUT.as_secs();
                Err(format!(
                    "{name} has not listed its models within {seconds} s"
                ))
            })
        }
    }
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
            (Some(model), _, _) => (model, "set by --model".to_owned()),
            (None, Some(model), _) => (model, format!("set by tiers.{tier}")),
            (None, None, Some(model)) => (
                model,
                format!("set by tiers.{other_tier}; tiers.{tier} is not set"),
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
    standing: Standing,
}

impl Candidate<'_> {
    /// Whether its list is needed in any case. Otherwise it is fetched if nothing else was found.
    fn is_asked(&self, config: &Config, search: Search) -> bool {
        let is_panel = config.seating.diversity != Diversity::One;
        search == Search::Everything || is_panel && self.standing != Standing::LastResort
    }
}

/// The consequence if a candidate cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The first configured provider, or the only one with a key: no other may replace it (C-18).
    Required,
    /// Another configured provider: the same, unless the user allows fallbacks.
    Expected,
    /// Optional, or one of several with a key: left out, with a note.
    Extra,
    /// Configured without its key, or for something else than seats: left out.
    Unneeded,
    /// An Ollama server that is not configured: queried if there is nothing else.
    LastResort,
}

/// In the order of C-04.
fn candidates(config: &Config) -> Vec<Candidate<'_>> {
    let configured = config
        .providers
        .values()
        .filter(|provider| provider.configured && provider.kind.is_found())
        .map(|provider| Candidate {
            provider,
            reason: format!("[providers.{}] is configured", provider.name),
            note_if_skipped: Some(format!("configured at {}", provider.shown_address())),
            standing: standing(config, provider),
        });
    let with_key = config.unconfigured().filter_map(|provider| {
        let variable = &provider.key.as_ref()?.variable;
        Some(Candidate {
            provider,
            reason: format!("{variable} is set"),
            note_if_skipped: Some(format!("{variable} is set")),
            standing: Standing::Extra,
        })
    });
    let mut candidates: Vec<Candidate<'_>> = configured.chain(with_key).collect();
    let is_single = candidates.len() == 1 || config.seating.diversity == Diversity::One;
    if let Some(first) = candidates.first_mut()
        && !first.provider.optional
        && (first.provider.configured || is_single)
    {
        first.standing = Standing::Required;
    }
    let mut unconfigured = config.unconfigured();
    let ollama = unconfigured.find(|provider| provider.kind == Kind::Ollama);
    let ollama = ollama.map(|provider| Candidate {
        provider,
        reason: format!("an Ollama server answers at {}", provider.shown_address()),
        note_if_skipped: None,
        standing: Standing::LastResort,
    });
    candidates.extend(ollama);
    candidates
}

/// The standing of a configured provider that is not the first.
fn standing(config: &Config, provider: &Provider) -> Standing {
    let mut others = config.providers.values().flat_map(|other| &other.fallback);
    let is_fallback = others.any(|model| model.provider() == provider.name);
    let embedder = config.embedder.as_ref();
    let is_embedder = embedder.is_some_and(|model| model.provider() == provider.name);
    if provider.optional {
        Standing::Extra
    } else if is_fallback || is_embedder || provider.needs_key && provider.key.is_none() {
        Standing::Unneeded
    } else {
        Standing::Expected
    }
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
        let (model, reason) = choose(families, provider, tier, preferred, list)?;
        Some(Choice {
            model: ModelName::new(&provider.name, &model.id),
            why: format!("{}, and {reason}", candidate.reason),
        })
    };
    let offers = |tier: Tier| -> Vec<Offer> {
        let suited = families.suited(provider, tier, list).into_iter();
        suited
            .map(|suited| Offer {
                model: ModelName::new(&provider.name, &suited.model.id),
                family: families.of(&suited.model.id),
                tier,
                line: suited.line,
                listed_price: suited.model.price,
                is_local: provider.is_local(),
            })
            .collect()
    };
    let deliberate = choose(Tier::Deliberate, &preferences.deliberate);
    let fast = choose(Tier::Fast, &preferences.fast).or_else(|| deliberate.clone());
    let note = match (&deliberate, list.len()) {
        (_, 0) if provider.models.is_some() => format!(
            "{}, but it does not list its models: name them in models of [providers.{}]",
            candidate.reason, provider.name
        ),
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
            let deliberate = offers(Tier::Deliberate);
            let mut fast = offers(Tier::Fast);
            if fast.is_empty() {
                let also_fast = deliberate.iter().cloned().map(|offer| Offer {
                    tier: Tier::Fast,
                    ..offer
                });
                fast = also_fast.collect();
            }
            discovery.offers.extend(deliberate);
            discovery.offers.extend(fast);
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
    let best = families.suited(provider, tier, list).first()?.model;
    let by_size = |tier| families.by_size(tier, list);
    if Families::is_of_known_line(provider, tier, best) {
        return Some((best, "this is its newest model of the preferred family"));
    }
    let is_only = by_size(Tier::Deliberate) == by_size(Tier::Fast);
    Some(match tier {
        _ if is_only => (best, "this is its model for chat"),
        Tier::Deliberate => (best, "this is its largest model"),
        Tier::Fast => (best, "this is a smaller one of its models"),
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
        Some(Kind::Simulated) => Some(format!(
            "simulated seats know nothing; for answers, {KEYS}, or {OLLAMA}"
        )),
        Some(Kind::OpenAi | Kind::Anthropic | Kind::Gemini | Kind::Command) | None => None,
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
