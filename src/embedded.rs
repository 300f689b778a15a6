//! The embedded model and embedder: finds or downloads their weights on first use.

mod admission;
#[cfg(any(feature = "local", test))]
mod opened;
#[cfg(feature = "local")]
mod places;
#[cfg(any(feature = "local", test))]
mod speed;
#[cfg(feature = "local")]
mod with_model;

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
    /// For the user: a source that failed, or too little memory.
    Note(String),
}

/// One of the models that the program can run itself, for listings.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub(crate) struct EmbeddedModel {
    pub name: &'static str,
    pub bytes: u64,
    /// Recommended memory in bytes.
    pub memory: u64,
    /// The file, if it needs no download.
    pub file: Option<PathBuf>,
    /// `local:auto` would use or download it.
    pub is_auto: bool,
}

pub(crate) type Report = Arc<dyn Fn(Fetching) + Send + Sync>;

/// The provider name of the embedded models.
pub(crate) const PROVIDER: &str = "local";

/// `NAME` of `local:NAME`
pub(crate) fn name_of(model: &str) -> Option<&str> {
    model.strip_prefix(PROVIDER)?.strip_prefix(':')
}

/// A note for the user about the replies of an embedded model, as a sentence.
#[cfg(not(feature = "local"))]
pub(crate) fn remark(_: &str) -> Option<String> {
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

    pub(crate) async fn pull_model(
        &self,
        name: &str,
        report: Report,
    ) -> Result<ModelName, NotReady> {
        self.ready_model(name, report).await
    }

    pub(crate) async fn ready_embedder(&self, _: Report) -> Result<(), NotReady> {
        Err(NotReady::Unavailable(NOT_BUILT_IN.into()))
    }

    /// There is nothing to load.
    pub(crate) fn preload_embedder(&self) {}

    /// There is nothing to fetch.
    pub(crate) async fn fetch_embedder(&self, _: Report) -> Result<(), NotReady> {
        Ok(())
    }

    pub(crate) fn list(&self) -> Vec<EmbeddedModel> {
        Vec::new()
    }

    pub(crate) async fn tokens_per_second(&self, _: &str) -> Option<f64> {
        None
    }

    pub(crate) fn recorded_speed(&self, _: &str) -> Option<f64> {
        None
    }
}

#[cfg(feature = "local")]
pub(crate) use with_model::{Local, remark};
