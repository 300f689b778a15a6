//! Shared application state: configuration, data files, models, store address. Loaded lazily, shared by all debates.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use roundtable_core::scale::Scale;
use roundtable_engine::data::Data;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::prompt::Prompts;
use roundtable_engine::reasoning::{Library, scale_of};

use crate::config::{Config, Environment, ModelName, Secret};
use crate::embedded::{self, Local, Report};
use crate::embedding_cache::CachedEmbedder;
use crate::failure::Failure;
use crate::forecast_history::ForecastHistory;
use crate::models::ModelRegistry;
use crate::store::{Address, Store};

pub(crate) struct AppContext {
    pub environment: Environment,
    pub config: Config,
    pub data: Data,
    address: Option<Address>,
    pub local: Local,
    pub models: ModelRegistry,
    prompts: OnceLock<Arc<Prompts>>,
    library: OnceLock<Arc<Library>>,
    /// One per name, so that each embedding cache is loaded once.
    embedders: Mutex<HashMap<ModelName, Arc<dyn Embedder>>>,
    scales: Mutex<HashMap<String, Scale>>,
    pub forecasts: ForecastHistory,
}

impl AppContext {
    /// `given` is the store address from the command line.
    pub(crate) fn open(config: Option<&Path>, given: Option<Address>) -> Result<Self, Failure> {
        Self::with(Environment::read(), config, given)
    }

    pub(crate) fn with(
        environment: Environment,
        config: Option<&Path>,
        given: Option<Address>,
    ) -> Result<Self, Failure> {
        let config = Config::load(config, &environment)?;
        let database = config.data.database.as_ref().map(Secret::expose);
        if database.is_some_and(|url| !Address::is_server(url)) {
            return Err(Failure::usage(
                "invalid ROUNDTABLE_DATABASE: expected a URL such as postgres://user@host/database. Set a folder with \
                 ROUNDTABLE_DATA",
            ));
        }
        let local = Local::new(&config, &environment);
        let models = ModelRegistry::new(&config, &environment, local.parts())?;
        Ok(Self {
            data: Data::with_folders(config.data_folders(&environment)),
            address: given
                .or_else(|| {
                    let database = config.data.database.as_ref();
                    database.map(|secret| Address::parse(secret.expose()))
                })
                .or_else(|| config.data.dir.clone().map(Address::Folder)),
            environment,
            config,
            local,
            models,
            prompts: OnceLock::new(),
            library: OnceLock::new(),
            embedders: Mutex::default(),
            scales: Mutex::default(),
            forecasts: ForecastHistory::default(),
        })
    }

    /// The address of the store.
    pub(crate) fn address(&self) -> Result<&Address, Failure> {
        self.address.as_ref().ok_or_else(|| {
            Failure::usage(
                "no folder for debates: the home folder is unknown. Pass a folder with --data or ROUNDTABLE_DATA, or a \
                 database with --database",
            )
        })
    }

    /// A warning for the user if others could read or change the store.
    pub(crate) fn store_warning(&self) -> Option<String> {
        let tls_mode = self.environment.variable("PGSSLMODE");
        self.address.as_ref()?.warning(tls_mode)
    }

    pub(crate) async fn store(&self) -> Result<Store, Failure> {
        Ok(Store::at(self.address()?).await?)
    }

    /// The configured embedder, or the embedded one, with a cache. Downloads it if necessary.
    pub(crate) async fn embedder(&self, report: Report) -> Result<Arc<dyn Embedder>, Failure> {
        let name = self.embedder_name();
        self.embedder_named(&name, report).await
    }

    /// Downloads the embedded embedder if debates use it and it is missing. At the start of a server: its clients' debates do not.
    pub(crate) async fn fetch_embedder(&self, report: Report) -> Result<(), Failure> {
        if self.embedder_name().provider() != embedded::PROVIDER {
            return Ok(());
        }
        Ok(self.local.fetch_embedder(report).await?)
    }

    /// Begins to load the embedded embedder in the background, if debates use it.
    pub(crate) fn preload_embedder(&self) {
        if self.embedder_name().provider() == embedded::PROVIDER {
            self.local.preload_embedder();
        }
    }

    pub(crate) fn embedder_name(&self) -> ModelName {
        self.config
            .embedder
            .clone()
            .unwrap_or_else(|| ModelName::new(embedded::PROVIDER, "all-MiniLM-L6-v2"))
    }

    pub(crate) async fn embedder_named(
        &self,
        name: &ModelName,
        report: Report,
    ) -> Result<Arc<dyn Embedder>, Failure> {
        if let Some(known) = lock(&self.embedders).get(name) {
            return Ok(Arc::clone(known));
        }
        if name.provider() == embedded::PROVIDER {
            self.local.ready_embedder(report).await?;
        }
        let embedder = self.models.embedder(name)?;
        let embedder: Arc<dyn Embedder> = match &self.environment.folders {
            Some(folders) => {
                let folder = folders.cache.join("embeddings");
                let library = self.library()?;
                let templates = library.all().iter();
                let texts = templates.flat_map(|entry| entry.template.embedded_texts());
                Arc::new(CachedEmbedder::new(embedder, &folder, texts))
            }
            None => embedder,
        };
        let mut known = lock(&self.embedders);
        Ok(Arc::clone(known.entry(name.clone()).or_insert(embedder)))
    }

    /// The similarity scale of this embedder (C-16).
    pub(crate) fn scale(&self, embedder: &str) -> Result<Scale, Failure> {
        if let Some(scale) = lock(&self.scales).get(embedder) {
            return Ok(scale.clone());
        }
        let scale = scale_of(&self.data, embedder)?;
        lock(&self.scales).insert(embedder.to_owned(), scale.clone());
        Ok(scale)
    }

    pub(crate) fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        if let Some(prompts) = self.prompts.get() {
            return Ok(Arc::clone(prompts));
        }
        let prompts = Arc::new(Prompts::load(&self.data)?);
        Ok(Arc::clone(self.prompts.get_or_init(|| prompts)))
    }

    pub(crate) fn library(&self) -> Result<Arc<Library>, Failure> {
        if let Some(library) = self.library.get() {
            return Ok(Arc::clone(library));
        }
        let library = Arc::new(Library::load(&self.data)?);
        Ok(Arc::clone(self.library.get_or_init(|| library)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
