//! Downloads from Hugging Face. If it cannot be reached, only the first file waits for the connect timeout.

use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::blocking::Client;

use super::checksum::{compare, copy, io_error};
use super::download_cache::progress;
use super::{Artifact, File, OnProgress, Phase, WeightsError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct HuggingFace {
    address: String,
    /// The connection error, if any: further files would fail the same way, each after a timeout.
    unreachable: Option<String>,
}

impl Default for HuggingFace {
    fn default() -> Self {
        Self::at("https://huggingface.co")
    }
}

impl HuggingFace {
    pub(super) fn at(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            unreachable: None,
        }
    }

    /// Downloads the files of the artifact into `folder` and returns their verified sha256.
    pub(super) fn fetch(
        &mut self,
        repository: &str,
        revision: &str,
        artifact: &'static Artifact,
        folder: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<Vec<String>, WeightsError> {
        let source = |detail: String| WeightsError::Source {
            origin: format!("Hugging Face ({repository})"),
            detail,
        };
        if let Some(reason) = &self.unreachable {
            return Err(source(reason.clone()));
        }
        let address = format!("{}/{repository}/resolve/{revision}", self.address);
        // The blocking client panics on a thread of an async runtime, and this may be one.
        let result = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let download = Download::new(&address, artifact.name, on_progress)?;
                    artifact
                        .downloads()
                        .iter()
                        .map(|file| download.file(file, folder))
                        .collect::<Result<Vec<_>, Failure>>()
                })
                .join()
        });
        match result {
            Ok(Ok(checksums)) => Ok(checksums),
            Ok(Err(Failure::Weights(error))) => Err(error),
            Ok(Err(Failure::Http(error))) => {
                let detail = error_chain(&error);
                if error.is_connect() || error.is_timeout() {
                    self.unreachable = Some(detail.clone());
                }
                Err(source(detail))
            }
            Ok(Err(Failure::Response(detail))) => Err(source(detail)),
            Err(_) => Err(source("the download thread panicked".to_owned())),
        }
    }
}

enum Failure {
    Http(reqwest::Error),
    Response(String),
    Weights(WeightsError),
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error.without_url())
    }
}

impl From<WeightsError> for Failure {
    fn from(error: WeightsError) -> Self {
        Self::Weights(error)
    }
}

struct Download<'a> {
    address: &'a str,
    name: &'static str,
    on_progress: OnProgress<'a>,
    client: Client,
}

impl<'a> Download<'a> {
    fn new(
        address: &'a str,
        name: &'static str,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, Failure> {
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // No timeout for the whole request: the files are large.
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(None)
            .build()?;
        Ok(Self {
            address,
            name,
            on_progress,
            client,
        })
    }

    fn file(&self, file: &File, folder: &Path) -> Result<String, Failure> {
        let address = format!("{}/{}", self.address, file.name);
        let mut response = self.client.get(&address).send()?.error_for_status()?;
        let total = response.content_length().unwrap_or(file.bytes);
        let path = folder.join(file.name);
        let mut target = fs::File::create(&path).map_err(io_error("create", &path))?;
        let mut downloading = progress(self.on_progress, self.name, Phase::Downloading, total);
        let found = copy(&mut response, &mut target, &mut downloading)
            .map_err(|error| Failure::Response(format!("the download was interrupted: {error}")))?;
        compare(&path, file.sha256, &found)?;
        Ok(found)
    }
}

/// The message with all causes: reqwest's own message does not include the reason.
fn error_chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
#[path = "hugging_face_tests.rs"]
mod tests;
