//! Downloads from Hugging Face. A machine that cannot reach it notices after a few seconds, once.

use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::blocking::Client;
use reqwest::redirect::Policy;

use super::checksum::{compare, copy, disk};
use super::shelf::report;
use super::{Artifact, Checksum, File, OnProgress, Phase, WeightsError};

const CONNECT_WITHIN: Duration = Duration::from_secs(3);

pub(super) struct HuggingFace {
    address: String,
    /// Why it was given up. Further files would fail in the same way, each after its own wait.
    given_up: Option<String>,
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
            given_up: None,
        }
    }

    /// Puts the files of the artifact into `folder` and returns their sha256, each compared.
    pub(super) fn fetch(
        &mut self,
        repository: &str,
        artifact: &'static Artifact,
        folder: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<Vec<String>, WeightsError> {
        let source = |detail: String| WeightsError::Source {
            origin: format!("Hugging Face ({repository})"),
            detail,
        };
        if let Some(reason) = &self.given_up {
            return Err(source(reason.clone()));
        }
        let address = format!("{}/{repository}/resolve/main", self.address);
        // The blocking client must not be used on a thread of an async runtime, and we do not know whose this is.
        let fetched = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let download = Download::new(&address, artifact.name, on_progress)?;
                    artifact
                        .fetched()
                        .iter()
                        .map(|file| download.one(file, folder))
                        .collect::<Result<Vec<_>, Failure>>()
                })
                .join()
        });
        match fetched {
            Ok(Ok(sums)) => Ok(sums),
            Ok(Err(Failure::Weights(error))) => Err(error),
            Ok(Err(Failure::Http(error))) => {
                let detail = causes(&error);
                if error.is_connect() || error.is_timeout() {
                    self.given_up = Some(detail.clone());
                }
                Err(source(detail))
            }
            Ok(Err(Failure::Answer(detail))) => Err(source(detail)),
            Err(_) => Err(source("the download broke down".to_owned())),
        }
    }
}

enum Failure {
    Http(reqwest::Error),
    Answer(String),
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
    /// Does not follow to the storage server, whose answer lacks the checksum.
    ask: Client,
    get: Client,
}

impl<'a> Download<'a> {
    fn new(
        address: &'a str,
        name: &'static str,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, Failure> {
        // Already installed is as good as installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // Only connecting has a limit: the files are large.
        let client = || {
            Client::builder()
                .connect_timeout(CONNECT_WITHIN)
                .timeout(None)
        };
        Ok(Self {
            address,
            name,
            on_progress,
            ask: client().redirect(Policy::none()).build()?,
            get: client().build()?,
        })
    }

    fn one(&self, file: &File, folder: &Path) -> Result<String, Failure> {
        let address = format!("{}/{}", self.address, file.name);
        let expected = match file.checksum {
            Checksum::Pinned(sha256) => sha256.to_owned(),
            Checksum::FirstUse => self.stated_checksum(&address)?,
        };
        let mut answer = self.get.get(&address).send()?.error_for_status()?;
        let total = answer.content_length().unwrap_or(file.bytes);
        let path = folder.join(file.name);
        let mut target = fs::File::create(&path).map_err(disk("create", &path))?;
        let mut downloading = report(self.on_progress, self.name, Phase::Downloading, total);
        let found = copy(&mut answer, &mut target, &mut downloading)
            .map_err(|error| Failure::Answer(format!("the download broke off: {error}")))?;
        compare(&path, &expected, &found)?;
        Ok(found)
    }

    /// For large files the server states their sha256 before it redirects to where they are stored.
    fn stated_checksum(&self, address: &str) -> Result<String, Failure> {
        let answer = self.ask.head(address).send()?;
        let status = answer.status();
        if !(status.is_success() || status.is_redirection()) {
            return Err(Failure::Answer(format!("it answered {status}")));
        }
        let stated = answer.headers().get("x-linked-etag");
        stated
            .and_then(|value| value.to_str().ok())
            .map(|value| value.trim_matches('"').to_owned())
            .filter(|value| value.len() == 64 && value.chars().all(|c| c.is_ascii_hexdigit()))
            .ok_or_else(|| Failure::Answer("it does not state the sha256 of the file".to_owned()))
    }
}

/// The client's own message says little; the cause below it says why.
fn causes(error: &reqwest::Error) -> String {
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
