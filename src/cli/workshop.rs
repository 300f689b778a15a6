//! What every command works with, opened only as far as it is needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use roundtable_engine::data::Data;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::protocols::dialectic::Trace;

use crate::clock;
use crate::config::{Config, Environment, ModelName};
use crate::embedded::{self, Local, Report};
use crate::models::Fleet;
use crate::remember::Remembering;
use crate::store::{DebateRow, Store};

use super::failure::Failure;

pub(crate) struct Workshop {
    pub environment: Environment,
    pub config: Config,
    pub data: Data,
    data_dir: Option<PathBuf>,
    pub local: Local,
    pub fleet: Fleet,
}

impl Workshop {
    pub(crate) fn open(config: Option<&Path>, data: Option<PathBuf>) -> Result<Self, Failure> {
        let environment = Environment::read();
        let config = Config::load(config, &environment)?;
        let local = Local::new(&config, &environment);
        let fleet = Fleet::new(&config, &environment, local.parts())?;
        let folders = environment.folders.as_ref();
        Ok(Self {
            data: folders.map_or_else(Data::built_in, |folders| {
                Data::with_folder(folders.config.clone())
            }),
            data_dir: data.or_else(|| config.data.dir.clone()),
            environment,
            config,
            local,
            fleet,
        })
    }

    pub(crate) fn data_dir(&self) -> Result<&Path, Failure> {
        self.data_dir.as_deref().ok_or_else(|| {
            Failure::usage(
                "there is no home folder to keep debates in; name a folder with --data or ROUNDTABLE_DATA",
            )
        })
    }

    pub(crate) async fn store(&self) -> Result<Store, Failure> {
        Ok(Store::open(self.data_dir()?).await?)
    }

    /// The embedder that is configured, or the embedded one; made ready, and remembering what it has seen.
    pub(crate) async fn embedder(&self, report: Report) -> Result<Arc<dyn Embedder>, Failure> {
        let name = self.embedder_name();
        self.embedder_named(&name, report).await
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
        if name.provider() == embedded::PROVIDER {
            self.local.ready_embedder(report).await?;
        }
        let embedder = self.fleet.embedder(name)?;
        Ok(match &self.environment.folders {
            Some(folders) => Arc::new(Remembering::new(
                embedder,
                &folders.cache.join("embeddings"),
            )),
            None => embedder,
        })
    }

    /// The trace of a debate as its journal stands.
    pub(crate) async fn trace(&self, store: &Store, row: &DebateRow) -> Result<Trace, Failure> {
        let entries = store.entries(row.id).await?;
        Trace::of(&row.id.to_string(), clock::stamp(row.created_at), &entries).ok_or_else(|| {
            Failure::other(format!(
                "debate {} was created but has nothing in its journal yet; `roundtable resume {}` starts it",
                row.id, row.id
            ))
        })
    }
}
