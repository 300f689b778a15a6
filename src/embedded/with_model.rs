//! The embedded model and embedder of a program that was built with them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::ModelError;
use roundtable_local::embedder::LocalEmbedder;
use roundtable_local::language::{LocalModel, Settings};
use roundtable_local::runtime::Threads;
use roundtable_local::weights::{
    AllowedSources, Artifact, EMBEDDER, LARGER_MODELS, Locations, Memory, ModelFile, Phase, Plan,
    Progress, Retry, SMOLLM2_135M, language_models, obtain, plan,
};

use crate::format::size;

use super::opened::{NOT_OPENED, OpenedModels};
use super::speed::{SpeedRecord, Timed};
use super::{
    Admission, Config, Embedded, EmbeddedModel, Environment, Fetching, ModelName, NotReady,
    PROVIDER, Report, name_of, places,
};

pub(crate) struct Local {
    pub admission: Admission,
    models: Arc<OpenedModels<Timed<LocalModel>>>,
    embedder: Arc<LazyEmbedder>,
    /// Held while the embedder is fetched, so that debates wait for the download that a server begins at its start.
    embedder_turn: tokio::sync::Mutex<()>,
    settings: Settings,
    own_file: Option<PathBuf>,
    /// Without the user's own file. `None` if the user has no home folder.
    locations: Option<Locations>,
}

/// Which model `auto` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// One that is present, or the best one for the memory that is free now.
    Run,
    /// The best one for this machine.
    Pull,
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
        Self {
            admission: Admission::Any,
            models: Arc::default(),
            embedder: Arc::default(),
            embedder_turn: tokio::sync::Mutex::default(),
            settings,
            own_file: config.local.weights.clone(),
            locations: places::locations(environment),
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
        self.open(name, Purpose::Run, report).await
    }

    /// Downloads the model `name`, or for `auto` the best one for this machine, even if another one is present.
    pub(crate) async fn pull_model(
        &self,
        name: &str,
        report: Report,
    ) -> Result<ModelName, NotReady> {
        self.open(name, Purpose::Pull, report).await
    }

    async fn open(
        &self,
        name: &str,
        purpose: Purpose,
        report: Report,
    ) -> Result<ModelName, NotReady> {
        let mut locations = self.locations()?;
        locations.own_file = self
            .own_file
            .clone()
            .filter(|path| name == "auto" || file_stem(path) == name);
        if purpose == Purpose::Pull {
            locations.retry = Retry::Now;
        }
        let memory = Memory::detect();
        let candidates = match (&locations.own_file, name) {
            (Some(_), _) => Vec::new(),
            (None, "auto") => automatic(memory, purpose, &locations),
            // A client learns only that the server does not have it.
            (None, name) => vec![
                model_named(name)
                    .map_err(|error| self.admission.check_missing(name).err().unwrap_or(error))?,
            ],
        };
        let requested = Requested {
            admission: self.admission.clone(),
            name: name.to_owned(),
        };
        let file = fetch(candidates, locations, Some(requested), report.clone()).await?;
        let opened = match file.artifact {
            Some(artifact) => artifact.name.to_owned(),
            None => file_stem(&file.path),
        };
        let settings = self.settings;
        let record = self.speed_record(&opened);
        let is_new = self.models.open_once(&opened, || {
            Timed::new(LocalModel::open(file.path, settings), record)
        });
        if is_new && let Some(warning) = short_of_memory(&opened, memory.available) {
            report(Fetching::Note(warning));
        }
        Ok(ModelName::new(PROVIDER, opened))
    }

    pub(crate) async fn ready_embedder(&self, report: Report) -> Result<(), NotReady> {
        // Like a model that the program chooses: on a server no request downloads it.
        let requested = Requested {
            admission: self.admission.clone(),
            name: "auto".to_owned(),
        };
        self.open_embedder(Some(requested), report).await
    }

    /// Begins to load the embedder if that needs no download: a debate that uses it waits less for its first prompt. Errors are
    /// reported when it is used.
    pub(crate) fn preload_embedder(&self) {
        let Ok(mut locations) = self.locations() else {
            return;
        };
        locations.sources = AllowedSources::None;
        let embedder = Arc::clone(&self.embedder);
        drop(tokio::task::spawn_blocking(move || {
            if let Ok(file) = obtain(&[&EMBEDDER], &locations, &|_| ()) {
                embedder.0.get_or_init(|| LocalEmbedder::open(file.path));
            }
        }));
    }

    /// Downloads the embedder if necessary, on a server too.
    pub(crate) async fn fetch_embedder(&self, report: Report) -> Result<(), NotReady> {
        self.open_embedder(None, report).await
    }

    async fn open_embedder(
        &self,
        requested: Option<Requested>,
        report: Report,
    ) -> Result<(), NotReady> {
        let _turn = self.embedder_turn.lock().await;
        let file = fetch(vec![&EMBEDDER], self.locations()?, requested, report).await?;
        self.embedder
            .0
            .get_or_init(|| LocalEmbedder::open(file.path));
        Ok(())
    }

    /// The models of the table, best first.
    pub(crate) fn list(&self) -> Vec<EmbeddedModel> {
        let Ok(locations) = self.locations() else {
            return Vec::new();
        };
        let automatic = automatic(Memory::detect(), Purpose::Run, &locations);
        let chosen = match plan(&automatic, &locations) {
            Plan::Use(file) => file.artifact,
            Plan::Fetch(attempts) => attempts.first().map(|attempt| attempt.artifact),
        };
        let listed = all_models().map(|(memory, artifact)| EmbeddedModel {
            name: artifact.name,
            bytes: artifact.file.bytes,
            memory,
            file: locations.look(artifact),
            is_auto: self.own_file.is_none() && chosen == Some(artifact),
        });
        listed.collect()
    }

    /// The speed of an opened model on this machine, from earlier runs or a short measurement.
    pub(crate) async fn tokens_per_second(&self, name: &str) -> Option<f64> {
        self.models.get(name)?.tokens_per_second(name).await
    }

    /// The speed of a model on this machine from earlier runs, in output tokens per second.
    pub(crate) fn recorded_speed(&self, name: &str) -> Option<f64> {
        self.speed_record(name).read()
    }

    fn speed_record(&self, name: &str) -> SpeedRecord {
        let cache = self.locations.as_ref().map(|locations| &locations.cache);
        SpeedRecord::new(cache.map(|cache| cache.join(format!("{name}.speed"))))
    }

    fn locations(&self) -> Result<Locations, NotReady> {
        self.locations.clone().ok_or_else(|| {
            NotReady::Unavailable(
                "no cache folder for the model's weights: the home folder is unknown (set HOME)"
                    .into(),
            )
        })
    }
}

async fn fetch(
    models: Vec<&'static Artifact>,
    mut locations: Locations,
    requested: Option<Requested>,
    report: Report,
) -> Result<ModelFile, NotReady> {
    let result = tokio::task::spawn_blocking(move || -> Result<ModelFile, NotReady> {
        let refused = requested.and_then(|asked| asked.admission.check_missing(&asked.name).err());
        let mut planned = plan(&models, &locations);
        if let (Plan::Fetch(_), Some(refused)) = (&planned, refused) {
            // A smaller model may be present.
            locations.sources = AllowedSources::None;
            planned = plan(&models, &locations);
            if let Plan::Fetch(_) = planned {
                return Err(refused);
            }
        }
        let downloads = match planned {
            Plan::Use(_) => Vec::new(),
            Plan::Fetch(attempts) => {
                let described = attempts.iter().map(ToString::to_string);
                report(Fetching::Plan(described.collect()));
                attempts
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
        // Otherwise a smaller model was present.
        let mut downloads = downloads.iter();
        if downloads.any(|attempt| Some(attempt.artifact) == file.artifact) {
            report(Fetching::Done(file.path.clone()));
        }
        if let Some(artifact) = file.artifact
            && models.first() != Some(&artifact)
            && !file.failures.is_empty()
        {
            report(Fetching::Note(format!(
                "Using {}, because a better model could not be downloaded (`roundtable pull` tries again):\n  {}",
                artifact.name,
                file.failures.join("\n  ")
            )));
        }
        Ok(file)
    });
    result
        .await
        .map_err(|error| NotReady::Unavailable(error.to_string()))?
}

/// A model that a user or a client named, and whether it may be downloaded for them.
struct Requested {
    admission: Admission,
    name: String,
}

/// A note for the user about the replies of an embedded model, as a sentence.
pub(crate) fn remark(model: &str) -> Option<String> {
    let name = name_of(model)?;
    // The user's own file may have a longer name.
    let (_, artifact) = all_models().find(|(_, artifact)| name.starts_with(artifact.name))?;
    Some(format!("{} {}.", artifact.name, artifact.remark?))
}

fn file_stem(path: &std::path::Path) -> String {
    path.file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// The models of the table, best first, each with the memory that it requires.
fn all_models() -> impl Iterator<Item = (u64, &'static Artifact)> {
    let larger = LARGER_MODELS.iter().map(|(memory, model)| (*memory, model));
    larger.chain([(0, &SMOLLM2_135M)])
}

/// The models to try for a user who names none, best first.
fn automatic(memory: Memory, purpose: Purpose, locations: &Locations) -> Vec<&'static Artifact> {
    match purpose {
        Purpose::Run => language_models(memory, &|model| locations.look(model).is_some()),
        Purpose::Pull => {
            let idle = Memory {
                available: memory.total,
                ..memory
            };
            language_models(idle, &|_| false)
        }
    }
}

fn model_named(name: &str) -> Result<&'static Artifact, NotReady> {
    let mut named = all_models().filter(|(_, model)| model.name.eq_ignore_ascii_case(name));
    named.next().map(|(_, model)| model).ok_or_else(|| {
        let known: Vec<_> = all_models().map(|(_, model)| model.name).collect();
        NotReady::Unavailable(format!(
            "unknown embedded model '{name}'; available: auto, {}",
            known.join(", ")
        ))
    })
}

fn short_of_memory(name: &str, available: u64) -> Option<String> {
    let (required, _) = all_models().find(|(_, model)| model.name == name)?;
    (available < required).then(|| {
        format!(
            "Only {} of memory is free, and {name} requires {}: it may be slow or fail. Close other programs, or \
             choose a smaller model with --model local:{}.",
            size(available),
            size(required),
            SMOLLM2_135M.name
        )
    })
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

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
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

#[cfg(test)]
#[path = "with_model_tests.rs"]
mod tests;
