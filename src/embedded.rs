//! The embedded model and embedder: finds or downloads their weights on first use.

mod admission;
#[cfg(any(feature = "local", test))]
mod opened;

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Config, Environment, ModelName};
use crate::models::Embedded;
pub(crate) use admission::Admission;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotReady {
    #[error("{0}")]
    Unavailable(String),
    /// A client of the server named a model that it does not serve.
    #[error("{0}")]
    NotServed(String),
}

/// Progress of a download.
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "without the embedded model nothing is downloaded")
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fetching {
    /// The possible downloads with size and source, tried in order until one succeeds.
    Plan(Vec<String>),
    Progress {
        what: String,
        done: u64,
        total: u64,
    },
    Done(PathBuf),
}

pub(crate) type Report = Arc<dyn Fn(Fetching) + Send + Sync>;

/// The provider name of the embedded models.
pub(crate) const PROVIDER: &str = "local";

/// The name of the model, if it is the embedded one that is too small to reason.
#[cfg(not(feature = "local"))]
pub(crate) fn demo_model(_: &str) -> Option<&'static str> {
    None
}

#[cfg(not(feature = "local"))]
const NOT_BUILT_IN: &str = "this program was built without the embedded model";

#[cfg(not(feature = "local"))]
pub(crate) struct Local {
    pub admission: Admission,
}

#[cfg(not(feature = "local"))]
#[expect(
    clippy::unused_async,
    clippy::unused_self,
    reason = "the same signatures as with the embedded model"
)]
impl Local {
    pub(crate) fn new(_: &Config, _: &Environment) -> Self {
        Self {
            admission: Admission::Any,
        }
    }

    pub(crate) fn parts(&self) -> Embedded {
        Embedded::default()
    }

    pub(crate) async fn ready_model(&self, name: &str, _: Report) -> Result<ModelName, NotReady> {
        self.admission.check_missing(name)?;
        Err(NotReady::Unavailable(NOT_BUILT_IN.into()))
    }

    pub(crate) async fn ready_embedder(&self, _: Report) -> Result<(), NotReady> {
        Err(NotReady::Unavailable(NOT_BUILT_IN.into()))
    }
}

#[cfg(feature = "local")]
pub(crate) use with_model::{Local, demo_model};

#[cfg(feature = "local")]
mod with_model {
    use std::path::PathBuf;
    use std::sync::{Arc, OnceLock};

    use futures::future::BoxFuture;
    use roundtable_engine::embedder::Embedder;
    use roundtable_engine::model::ModelError;
    use roundtable_local::embedder::LocalEmbedder;
    use roundtable_local::language::{LocalModel, Settings};
    use roundtable_local::runtime::Threads;
    use roundtable_local::weights::{
        AllowedSources, Artifact, EMBEDDER, FreeMemory, LARGER_MODELS, Locations, ModelFile, Phase,
        Plan, Progress, SMOLLM2_135M, language_models, obtain, plan,
    };

    use super::opened::{NOT_OPENED, OpenedModels};
    use super::{
        Admission, Config, Embedded, Environment, Fetching, ModelName, NotReady, PROVIDER, Report,
    };

    pub(crate) struct Local {
        pub admission: Admission,
        models: Arc<OpenedModels<LocalModel>>,
        embedder: Arc<LazyEmbedder>,
        settings: Settings,
        own_file: Option<PathBuf>,
        cache: Option<PathBuf>,
        sources: AllowedSources,
    }

    impl Local {
        pub(crate) fn new(config: &Config, environment: &Environment) -> Self {
            let threads = config
                .local
                .threads
                .map_or_else(Threads::detect, Threads::new);
            let mut settings = Settings::new(threads);
            if let Some(tokens) = config.local.context_tokens {
                settings.context_tokens = tokens;
            }
            let sources = match environment.variable("ROUNDTABLE_SOURCES") {
                Some("packages") => AllowedSources::PackagesOnly,
                Some("nowhere") => AllowedSources::None,
                _ => AllowedSources::All,
            };
            let folders = environment.folders.as_ref();
            Self {
                admission: Admission::Any,
                models: Arc::default(),
                embedder: Arc::default(),
                settings,
                own_file: config.local.weights.clone(),
                cache: folders.map(|folders| folders.cache.join("weights")),
                sources,
            }
        }

        pub(crate) fn parts(&self) -> Embedded {
            Embedded {
                model: Some(OpenedModels::by_name(&self.models)),
                embedder: Some(self.embedder.clone()),
            }
        }

        /// Opens the model `name`, or for `auto` the best available one. Returns the name of the opened model.
        pub(crate) async fn ready_model(
            &self,
            name: &str,
            report: Report,
        ) -> Result<ModelName, NotReady> {
            let own_file = self
                .own_file
                .clone()
                .filter(|path| name == "auto" || file_stem(path) == name);
            let candidates = match own_file {
                Some(_) => Vec::new(),
                // A client learns only that the server does not have it.
                None => models_named(name)
                    .map_err(|error| self.admission.check_missing(name).err().unwrap_or(error))?,
            };
            let requested = Requested {
                admission: self.admission.clone(),
                name: name.to_owned(),
            };
            let file = self
                .fetch(candidates, own_file, Some(requested), report)
                .await?;
            let opened = match file.artifact {
                Some(artifact) => artifact.name.to_owned(),
                None => file_stem(&file.path),
            };
            let settings = self.settings;
            self.models
                .open_once(&opened, || LocalModel::open(file.path, settings));
            Ok(ModelName::new(PROVIDER, opened))
        }

        pub(crate) async fn ready_embedder(&self, report: Report) -> Result<(), NotReady> {
            let file = self.fetch(vec![&EMBEDDER], None, None, report).await?;
            let threads = self.settings.threads;
            self.embedder
                .0
                .get_or_init(|| LocalEmbedder::open(file.path, threads));
            Ok(())
        }

        async fn fetch(
            &self,
            models: Vec<&'static Artifact>,
            own_file: Option<PathBuf>,
            requested: Option<Requested>,
            report: Report,
        ) -> Result<ModelFile, NotReady> {
            let cache = self.cache.clone().ok_or_else(|| {
                NotReady::Unavailable(
                    "no cache folder for the model's weights: the home folder is unknown. Set HOME"
                        .into(),
                )
            })?;
            let locations = Locations {
                own_file,
                cache,
                sources: self.sources,
            };
            let result = tokio::task::spawn_blocking(move || -> Result<ModelFile, NotReady> {
                let needs_download = match plan(&models, &locations) {
                    Plan::Use(_) => false,
                    Plan::Fetch(attempts) => {
                        if let Some(requested) = &requested {
                            requested.admission.check_missing(&requested.name)?;
                        }
                        let attempts = attempts.iter().map(ToString::to_string);
                        report(Fetching::Plan(attempts.collect()));
                        true
                    }
                };
                let file = obtain(&models, &locations, &|progress: Progress| {
                    report(Fetching::Progress {
                        what: describe(&progress),
                        done: progress.done,
                        total: progress.total,
                    });
                })
                .map_err(|error| NotReady::Unavailable(error.to_string()))?;
                if needs_download {
                    report(Fetching::Done(file.path.clone()));
                }
                Ok(file)
            });
            result
                .await
                .map_err(|error| NotReady::Unavailable(error.to_string()))?
        }
    }

    /// A model that a user or a client named, and whether it may be downloaded for them.
    struct Requested {
        admission: Admission,
        name: String,
    }

    /// The name of the model, if it is the embedded one that is too small to reason.
    pub(crate) fn demo_model(model: &str) -> Option<&'static str> {
        let name = model.strip_prefix(PROVIDER)?.strip_prefix(':')?;
        name.starts_with(SMOLLM2_135M.name)
            .then_some(SMOLLM2_135M.name)
    }

    fn file_stem(path: &std::path::Path) -> String {
        path.file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }

    fn models_named(name: &str) -> Result<Vec<&'static Artifact>, NotReady> {
        if name == "auto" {
            return Ok(language_models(FreeMemory::detect()));
        }
        let all = || {
            LARGER_MODELS
                .iter()
                .map(|(_, artifact)| artifact)
                .chain([&SMOLLM2_135M])
        };
        let models: Vec<_> = all()
            .filter(|artifact| artifact.name.eq_ignore_ascii_case(name))
            .collect();
        if models.is_empty() {
            let known: Vec<_> = all().map(|artifact| artifact.name).collect();
            return Err(NotReady::Unavailable(format!(
                "unknown embedded model '{name}'; available: auto, {}",
                known.join(", ")
            )));
        }
        Ok(models)
    }

    fn describe(progress: &Progress) -> String {
        let action = match progress.phase {
            Phase::Waiting => "waiting for another process to download",
            Phase::Downloading => "downloading",
            Phase::Unpacking => "unpacking",
            Phase::Checking => "checking",
            Phase::Converting => "converting",
        };
        format!("{action} {}", progress.name)
    }

    #[derive(Default)]
    struct LazyEmbedder(OnceLock<LocalEmbedder>);

    impl Embedder for LazyEmbedder {
        fn name(&self) -> &'static str {
            "local:all-MiniLM-L6-v2"
        }

        fn embed(
            &self,
            texts: Vec<String>,
        ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
            match self.0.get() {
                Some(embedder) => embedder.embed(texts),
                None => Box::pin(async {
                    Err(ModelError::Local {
                        detail: NOT_OPENED.into(),
                    })
                }),
            }
        }
    }
}
