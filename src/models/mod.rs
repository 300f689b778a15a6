//! Model providers: implements the engine's `Model` and `Embedder` for every configured model.
//!
//! Each wire format has one adapter, which turns a request into bytes and bytes into deltas. Connections, timeouts, error
//! mapping, retries, circuit breakers and concurrency limits are shared by all adapters. Nothing here knows about debates.

mod anthropic;
mod attempt;
mod breaker;
mod command;
mod delta_stream;
mod discovery;
mod embed;
mod endpoint;
mod errors;
mod fallback;
mod families;
mod framing;
mod gemini;
mod images;
mod limit;
mod list_cache;
mod ollama;
mod openai;
mod policy;
mod prices;
mod retry;
mod schema;
mod simulated;
#[cfg(test)]
mod test_support;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures::FutureExt;
use roundtable_core::usage::Price;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::{Ability, Model, Profile};
use tokio::sync::Semaphore;

use crate::config::{Config, Environment, Kind, ModelName, NameError, Provider};
use attempt::{Backend, Hosted};
use breaker::{SharedBreaker, WithBreaker};
use command::CommandModel;
use discovery::accepts_connections;
use embed::{Format, HostedEmbedder};
use endpoint::{Endpoint, Timeouts};
use fallback::{Fallback, WithFallbacks};
use limit::WithConcurrencyLimit;
use list_cache::ListCache;
use retry::WithRetry;
use simulated::SimulatedModel;
use wire::{Adjustments, WireFormat};

pub(crate) use discovery::{
    Choice, Discovery, Finding, ModelPreferences, Offer, Search, TierModels, discover,
    discover_within,
};
pub(crate) use policy::ModelPolicy;
pub(crate) use prices::{Prices, PricesError, typical_price};
pub(crate) use wire::Listed;

/// The embedded model of this name.
pub(crate) type ModelByName = Arc<dyn Fn(&str) -> Arc<dyn Model> + Send + Sync>;

/// The embedded models and embedder, if compiled in. They may be loaded on first use.
#[derive(Clone, Default)]
pub(crate) struct Embedded {
    pub model: Option<ModelByName>,
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// Limit on what is remembered per model: clients can name any number of models.
const MAX_REMEMBERED: usize = 512;

/// All models by name. Calls to one provider share its connections, concurrency limit and circuit breaker.
pub(crate) struct ModelRegistry {
    config: Config,
    embedded: Embedded,
    own_prices: Prices,
    built_in_prices: OnceLock<Prices>,
    handles: Mutex<HashMap<String, ProviderHandle>>,
    /// The limits of providers without connections: programs and simulated models.
    own_limits: Mutex<HashMap<String, CallLimits>>,
    models: Mutex<BTreeMap<ModelName, Arc<dyn Model>>>,
}

/// The state that all models of one provider share.
#[derive(Clone)]
struct ProviderHandle {
    backend: Arc<Backend>,
    limits: CallLimits,
    list: Arc<ListCache>,
}

/// Concurrency limit and circuit breaker of one provider.
#[derive(Clone)]
struct CallLimits {
    permits: Arc<Semaphore>,
    breaker: Arc<SharedBreaker>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RegistryError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(
        "{provider} needs a key: set the environment variable {}", variables.join(" or ")
    )]
    NoKey {
        provider: String,
        variables: Vec<String>,
    },
    #[error(
        "the address of {provider} is unknown: set the environment variable {variable}, or base_url of [providers.{provider}]"
    )]
    NoAddress { provider: String, variable: String },
    #[error(
        "embeddings from {provider} are not supported: use a model of Ollama or of an OpenAI-compatible server"
    )]
    NoEmbedder { provider: String },
    #[error("this build has no embedded model: choose a model of another provider")]
    NotBuiltIn,
}

/// The family of a model: `claude`.
pub(crate) fn family(name: &ModelName) -> String {
    families::Families::built_in().of(name.model())
}

impl ModelRegistry {
    pub(crate) fn new(
        config: &Config,
        environment: &Environment,
        embedded: Embedded,
    ) -> Result<Self, PricesError> {
        let own_prices = Prices::from_files(&config.price_files(environment))?;
        Ok(Self {
            config: config.clone(),
            embedded,
            own_prices,
            built_in_prices: OnceLock::new(),
            handles: Mutex::default(),
            own_limits: Mutex::default(),
            models: Mutex::default(),
        })
    }

    /// Leaves the addresses of providers out of messages. For a process whose debates are read by clients; administrators find
    /// the addresses among the settings.
    pub(crate) fn hide_addresses(&mut self) {
        for provider in self.config.providers.values_mut() {
            provider.hides_address = true;
        }
    }

    #[cfg(test)]
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn has_embedded_model(&self) -> bool {
        self.embedded.model.is_some()
    }

    pub(crate) fn model(&self, name: &ModelName) -> Result<Arc<dyn Model>, RegistryError> {
        {
            let models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(model) = models.get(name) {
                return Ok(Arc::clone(model));
            }
        }
        let primary = self.build(name)?;
        let model = with_fallbacks(name, primary, self.fallbacks(name));
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if models.len() >= MAX_REMEMBERED {
            models.clear();
        }
        models.insert(name.clone(), Arc::clone(&model));
        Ok(model)
    }

    /// A model whose fallbacks keep to the policy as well.
    pub(crate) fn model_within(
        &self,
        name: &ModelName,
        policy: &ModelPolicy,
    ) -> Result<Arc<dyn Model>, RegistryError> {
        if policy.is_unrestricted() {
            return self.model(name);
        }
        let is_allowed = |fallback: &Fallback| {
            policy.allows(&fallback.name) && (!policy.priced_only || fallback.price.is_some())
        };
        let fallbacks = self.fallbacks(name).into_iter().filter(is_allowed);
        Ok(with_fallbacks(name, self.build(name)?, fallbacks.collect()))
    }

    /// The configured fallbacks of the model's provider, without unusable ones, such as those without a key.
    fn fallbacks(&self, name: &ModelName) -> Vec<Fallback> {
        let provider = self.config.providers.get(name.provider());
        let names = provider.iter().flat_map(|provider| &provider.fallback);
        names
            .filter(|fallback| *fallback != name)
            .filter_map(|fallback| {
                Some(Fallback {
                    name: fallback.clone(),
                    model: self.build(fallback).ok()?,
                    price: self.price(fallback),
                })
            })
            .collect()
    }

    /// A usable fallback of the model whose price is not known. One that the policy excludes is not used.
    pub(crate) fn unpriced_fallback(
        &self,
        name: &ModelName,
        policy: &ModelPolicy,
    ) -> Option<ModelName> {
        let mut fallbacks = self.fallbacks(name).into_iter();
        let is_unpriced =
            |fallback: &Fallback| fallback.price.is_none() && policy.allows(&fallback.name);
        let unpriced = fallbacks.find(is_unpriced);
        unpriced.map(|fallback| fallback.name)
    }

    /// Builds a model without its fallbacks.
    fn build(&self, name: &ModelName) -> Result<Arc<dyn Model>, RegistryError> {
        let provider = self.provider(name)?;
        if provider.kind == Kind::Local {
            let by_name = self.embedded.model.as_ref();
            let by_name = by_name.ok_or(RegistryError::NotBuiltIn)?;
            return Ok(by_name(name.model()));
        }
        if let Some(simulation) = provider.simulation {
            return Ok(
                self.without_connections(provider, Arc::new(SimulatedModel::new(name, simulation)))
            );
        }
        if let Some(command) = &provider.command {
            let profile = Profile {
                context_tokens: None,
                ability: families::ability(name.model()),
            };
            let timeout = self.config.call_timeout(provider);
            let program = CommandModel::new(provider, command, timeout, profile);
            return Ok(self.without_connections(provider, Arc::new(program)));
        }
        let ProviderHandle {
            backend, limits, ..
        } = self.handle(provider)?;
        let ability = if provider.is_official() {
            Ability::Full
        } else {
            families::ability(name.model())
        };
        let hosted = Arc::new(Hosted {
            backend,
            profile: Profile {
                context_tokens: None,
                ability,
            },
            sees: provider
                .vision
                .unwrap_or_else(|| families::Families::built_in().sees(name.model())),
            calls_tools: provider.tools.unwrap_or_else(|| {
                provider.is_official()
                    || ability == Ability::Full
                        && families::Families::built_in().calls_tools(name.model())
            }),
        });
        Ok(self.limited(hosted, limits))
    }

    /// A model of a provider that has limits but no connections.
    fn without_connections(&self, provider: &Provider, model: Arc<dyn Model>) -> Arc<dyn Model> {
        let mut limits = self
            .own_limits
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let limits = limits
            .entry(provider.name.clone())
            .or_insert_with(|| self.call_limits(provider));
        self.limited(model, limits.clone())
    }

    /// The model with the limits of its provider, and retries.
    fn limited(&self, model: Arc<dyn Model>, limits: CallLimits) -> Arc<dyn Model> {
        let CallLimits { permits, breaker } = limits;
        let limited = Arc::new(WithConcurrencyLimit {
            inner: model,
            permits,
        });
        let with_breaker = Arc::new(WithBreaker {
            inner: limited,
            breaker,
        });
        Arc::new(WithRetry {
            inner: with_breaker,
            policy: self.config.retry,
        })
    }

    fn call_limits(&self, provider: &Provider) -> CallLimits {
        CallLimits {
            permits: Arc::new(Semaphore::new(provider.max_concurrent as usize)),
            breaker: Arc::new(SharedBreaker::new(&provider.name, self.config.breaker)),
        }
    }

    pub(crate) fn embedder(&self, name: &ModelName) -> Result<Arc<dyn Embedder>, RegistryError> {
        let provider = self.provider(name)?;
        let format = match provider.kind {
            Kind::Local => {
                return self
                    .embedded
                    .embedder
                    .clone()
                    .ok_or(RegistryError::NotBuiltIn);
            }
            Kind::Ollama => Format::Ollama,
            Kind::OpenAi => Format::OpenAi,
            Kind::Anthropic | Kind::Gemini | Kind::Command | Kind::Simulated => {
                return Err(RegistryError::NoEmbedder {
                    provider: provider.name.clone(),
                });
            }
        };
        let ProviderHandle {
            backend, limits, ..
        } = self.handle(provider)?;
        Ok(Arc::new(HostedEmbedder(Arc::new(embed::Source {
            full_name: name.to_string(),
            model: name.model().to_owned(),
            format,
            backend,
            permits: limits.permits,
            policy: self.config.retry,
        }))))
    }

    /// The provider's own list of its models, from the cache if it is recent, or why there is none.
    pub(crate) async fn list(&self, provider: &str) -> Result<Vec<Listed>, String> {
        let name = ModelName::new(provider, "*");
        let provider = self.provider(&name).map_err(|error| error.to_string())?;
        if matches!(provider.kind, Kind::Local | Kind::Command | Kind::Simulated) {
            return Ok(Vec::new());
        }
        if let Some(models) = &provider.models {
            let named = models.iter().cloned();
            let named = named.map(|id| Listed {
                id,
                ..Listed::default()
            });
            return Ok(usable(named.collect()));
        }
        let handle = self.handle(provider).map_err(|error| error.to_string())?;
        let (backend, name) = (handle.backend, provider.name.clone());
        let ollama = (provider.kind == Kind::Ollama)
            .then(|| (provider.base_url.clone(), provider.shown_address()));
        let fetch = async move {
            if let Some((url, shown)) = ollama
                && !accepts_connections(&url).await
            {
                return Err(format!("no Ollama server at {shown}"));
            }
            let list = backend.list().await;
            let list =
                list.map_err(|error| format!("cannot list the models of {name}: {error}"))?;
            Ok(usable(list))
        };
        handle.list.get(|| fetch.boxed()).await
    }

    /// `None` if the price is not known.
    pub(crate) fn price(&self, name: &ModelName) -> Option<Price> {
        let provider = self.config.providers.get(name.provider())?;
        let built_in = self.built_in_prices.get_or_init(Prices::built_in);
        prices::price(&self.own_prices, built_in, provider, name.model())
    }

    /// Providers in the user's prices that do not exist.
    pub(crate) fn unknown_price_providers(&self) -> Vec<String> {
        let providers = self.own_prices.providers();
        let is_unknown = |name: &&String| {
            !self.config.providers.contains_key(*name) && Kind::from_name(name).is_none()
        };
        providers.filter(is_unknown).cloned().collect()
    }

    /// The date of the built-in prices.
    pub(crate) fn prices_as_of(&self) -> Option<&str> {
        let built_in = self.built_in_prices.get_or_init(Prices::built_in);
        built_in.as_of.as_deref()
    }

    fn provider(&self, name: &ModelName) -> Result<&Provider, RegistryError> {
        match self.config.providers.get(name.provider()) {
            Some(provider) => Ok(provider),
            // Parsing the name again gives the error that lists the known providers.
            None => match self.config.model_name(&name.to_string()) {
                Err(error) => Err(error.into()),
                Ok(_) => Err(RegistryError::NotBuiltIn),
            },
        }
    }

    fn handle(&self, provider: &Provider) -> Result<ProviderHandle, RegistryError> {
        if let Some(variable) = &provider.base_url_env {
            return Err(RegistryError::NoAddress {
                provider: provider.name.clone(),
                variable: variable.clone(),
            });
        }
        if provider.needs_key && provider.key.is_none() {
            return Err(RegistryError::NoKey {
                provider: provider.name.clone(),
                variables: provider.key_variables.clone(),
            });
        }
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = handles.entry(provider.name.clone()).or_insert_with(|| {
            let timeouts = Timeouts {
                call: self.config.call_timeout(provider),
                idle: self.config.limits.idle_timeout,
            };
            ProviderHandle {
                backend: Arc::new(Backend::new(
                    Endpoint::new(provider, timeouts),
                    wire(provider),
                    Adjustments::of(&provider.quirks),
                )),
                limits: self.call_limits(provider),
                list: Arc::default(),
            }
        });
        Ok(handle.clone())
    }
}

/// Ends the programs of all command providers. They do not end by themselves when this process does.
pub(crate) async fn end_programs() {
    command::end_all().await;
}

fn with_fallbacks(
    name: &ModelName,
    primary: Arc<dyn Model>,
    fallbacks: Vec<Fallback>,
) -> Arc<dyn Model> {
    if fallbacks.is_empty() {
        return primary;
    }
    Arc::new(WithFallbacks {
        name: name.clone(),
        primary,
        fallbacks,
    })
}

/// The models of a list that can be named: a server must not put control characters on a terminal.
fn usable(mut list: Vec<Listed>) -> Vec<Listed> {
    const MAX_MODELS: usize = 5000;
    list.retain(|model| ModelName::is_valid(&model.id));
    list.truncate(MAX_MODELS);
    list
}

fn wire(provider: &Provider) -> Box<dyn WireFormat> {
    match provider.kind {
        Kind::Anthropic => Box::new(anthropic::Anthropic),
        Kind::Gemini => Box::new(gemini::Gemini),
        Kind::Ollama => Box::new(ollama::Ollama::default()),
        Kind::OpenAi | Kind::Local | Kind::Command | Kind::Simulated => Box::new(openai::OpenAi {
            official: provider.is_official(),
        }),
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
