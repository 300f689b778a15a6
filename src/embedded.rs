//! The embedded model and embedder, made ready when they are first needed: weights found or fetched, then opened.

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::{Config, Environment, ModelName};
use crate::models::Embedded;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotReady(pub(crate) String);

/// How far a fetch has come.
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "nothing is fetched without the embedded model")
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fetching {
    /// Before anything is fetched: what, how large, from where. They are tried in turn until one can be had.
    Plan(Vec<String>),
    Progress {
        what: String,
        done: u64,
        total: u64,
    },
    Done(PathBuf),
}

pub(crate) type Report = Arc<dyn Fn(Fetching) + Send + Sync>;

/// The provider name of everything that runs within this process.
pub(crate) const PROVIDER: &str = "local";

#[cfg(not(feature = "local"))]
pub(crate) struct Local;

#[cfg(not(feature = "local"))]
#[expect(
    clippy::unused_async,
    clippy::unused_self,
    reason = "the same shape as with the embedded model"
)]
impl Local {
    pub(crate) fn new(_: &Config, _: &Environment) -> Self {
        Self
    }

    pub(crate) fn parts(&self) -> Embedded {
        Embedded::default()
    }

    pub(crate) async fn ready_model(&self, _: &str, _: Report) -> Result<ModelName, NotReady> {
        Err(NotReady(
            "this program was built without the embedded model".into(),
        ))
    }

    pub(crate) async fn ready_embedder(&self, _: Report) -> Result<(), NotReady> {
        Err(NotReady(
            "this program was built without the embedded model".into(),
        ))
    }
}

#[cfg(feature = "local")]
pub(crate) use ready::Local;

#[cfg(feature = "local")]
mod ready {
    use std::path::PathBuf;
    use std::sync::{Arc, OnceLock};

    use futures::future::BoxFuture;
    use roundtable_engine::embedder::Embedder;
    use roundtable_engine::model::{Deltas, Model, ModelError, Profile, Request};
    use roundtable_local::embedder::LocalEmbedder;
    use roundtable_local::language::{LocalModel, Settings};
    use roundtable_local::runtime::Threads;
    use roundtable_local::weights::{
        Artifact, EMBEDDER, FreeMemory, Given, LARGER, Obtained, Phase, Places, Plan, Progress,
        SMOLLM2_135M, Sources, language_models, obtain, plan,
    };

    use super::{Config, Embedded, Environment, Fetching, ModelName, NotReady, PROVIDER, Report};

    pub(crate) struct Local {
        model: Arc<LateModel>,
        embedder: Arc<LateEmbedder>,
        settings: Settings,
        given: Option<PathBuf>,
        cache: Option<PathBuf>,
        sources: Sources,
    }

    impl Local {
        pub(crate) fn new(config: &Config, environment: &Environment) -> Self {
            let threads = config
                .local
                .threads
                .map_or_else(Threads::of_this_machine, Threads::new);
            let mut settings = Settings::new(threads);
            if let Some(tokens) = config.local.context_tokens {
                settings.context_tokens = tokens;
            }
            let sources = match environment.variable("ROUNDTABLE_SOURCES") {
                Some("packages") => Sources::Packages,
                Some("nowhere") => Sources::Nowhere,
                _ => Sources::Everywhere,
            };
            let folders = environment.folders.as_ref();
            Self {
                model: Arc::default(),
                embedder: Arc::default(),
                settings,
                given: config.local.weights.clone(),
                cache: folders.map(|folders| folders.cache.join("weights")),
                sources,
            }
        }

        pub(crate) fn parts(&self) -> Embedded {
            Embedded {
                model: Some(self.model.clone()),
                embedder: Some(self.embedder.clone()),
            }
        }

        /// `name` is `auto` or one of the models that can be had. Gives the name of what was taken.
        pub(crate) async fn ready_model(
            &self,
            name: &str,
            report: Report,
        ) -> Result<ModelName, NotReady> {
            let own = self
                .given
                .as_ref()
                .filter(|path| name == "auto" || own_name(path) == name);
            let wanted = match own {
                Some(_) => vec![&SMOLLM2_135M],
                None => named(name)?,
            };
            let given = own.cloned().map(Given::Own);
            let obtained = self.fetch(wanted, given, report).await?;
            let real = match obtained.artifact {
                Some(artifact) => artifact.name.to_owned(),
                None => own_name(&obtained.path),
            };
            let settings = self.settings;
            self.model
                .0
                .get_or_init(|| LocalModel::open(obtained.path, settings));
            Ok(ModelName::new(PROVIDER, real))
        }

        pub(crate) async fn ready_embedder(&self, report: Report) -> Result<(), NotReady> {
            let obtained = self.fetch(vec![&EMBEDDER], None, report).await?;
            let threads = self.settings.threads;
            self.embedder
                .0
                .get_or_init(|| LocalEmbedder::open(obtained.path, threads));
            Ok(())
        }

        async fn fetch(
            &self,
            wanted: Vec<&'static Artifact>,
            given: Option<Given>,
            report: Report,
        ) -> Result<Obtained, NotReady> {
            let cache = self.cache.clone().ok_or_else(|| {
                NotReady("there is no home folder to keep the model's weights in; set HOME".into())
            })?;
            let places = Places {
                given,
                cache,
                sources: self.sources,
            };
            let fetched = tokio::task::spawn_blocking(move || {
                let fetches = match plan(&wanted, &places) {
                    Plan::Use(_) => false,
                    Plan::Fetch(attempts) => {
                        let each = attempts.iter().map(ToString::to_string);
                        report(Fetching::Plan(each.collect()));
                        true
                    }
                };
                let obtained = obtain(&wanted, &places, &|progress: Progress| {
                    report(Fetching::Progress {
                        what: describe(&progress),
                        done: progress.done,
                        total: progress.total,
                    });
                })?;
                if fetches {
                    report(Fetching::Done(obtained.path.clone()));
                }
                Ok(obtained)
            });
            let fetched = fetched.await.map_err(|error| NotReady(error.to_string()))?;
            fetched.map_err(|error: roundtable_local::weights::WeightsError| {
                NotReady(error.to_string())
            })
        }
    }

    fn own_name(path: &std::path::Path) -> String {
        path.file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }

    fn named(name: &str) -> Result<Vec<&'static Artifact>, NotReady> {
        if name == "auto" {
            return Ok(language_models(FreeMemory::of_this_machine()));
        }
        let all = || {
            LARGER
                .iter()
                .map(|(_, artifact)| artifact)
                .chain([&SMOLLM2_135M])
        };
        let found: Vec<_> = all()
            .filter(|artifact| artifact.name.eq_ignore_ascii_case(name))
            .collect();
        if found.is_empty() {
            let known: Vec<_> = all().map(|artifact| artifact.name).collect();
            return Err(NotReady(format!(
                "there is no embedded model '{name}'; there are: auto, {}",
                known.join(", ")
            )));
        }
        Ok(found)
    }

    fn describe(progress: &Progress) -> String {
        let doing = match progress.phase {
            Phase::Waiting => "waiting for another process to fetch",
            Phase::Downloading => "downloading",
            Phase::Unpacking => "unpacking",
            Phase::Checking => "checking",
            Phase::Converting => "converting",
        };
        format!("{doing} {}", progress.name)
    }

    const NOT_YET: &str = "its weights were not made ready";

    #[derive(Default)]
    struct LateModel(OnceLock<LocalModel>);

    impl Model for LateModel {
        fn stream(&self, request: Request) -> Deltas {
            match self.0.get() {
                Some(model) => model.stream(request),
                None => Box::pin(futures::stream::iter([Err(ModelError::Local {
                    detail: NOT_YET.into(),
                })])),
            }
        }

        fn profile(&self) -> Profile {
            self.0.get().map_or_else(Profile::default, Model::profile)
        }
    }

    #[derive(Default)]
    struct LateEmbedder(OnceLock<LocalEmbedder>);

    impl Embedder for LateEmbedder {
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
                        detail: NOT_YET.into(),
                    })
                }),
            }
        }
    }
}
