//! Downloads from Hugging Face, or from a mirror of it. An interrupted download is continued. If the server cannot be reached,
//! only the first file waits for the connect timeout.

use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::header::{CONTENT_RANGE, RANGE};

use super::download_cache::progress;
use super::partial_file::{AppendError, PartialFile};
use super::{Artifact, File, OnProgress, Phase, WeightsError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For the response headers, and for each read of the body: a limit on silence, not on the whole download.
const READ_TIMEOUT: Duration = Duration::from_mins(1);
/// Pauses before repeated attempts of one file.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// The sources of downloads and their settings, from the environment variables of Hugging Face's own tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HuggingFaceSettings {
    /// Safe to change: the sha256 of every file is pinned.
    pub endpoint: String,
    /// Sent to the endpoint only, not to a storage server that it redirects to.
    pub token: Option<String>,
    pub is_offline: bool,
}

impl Default for HuggingFaceSettings {
    fn default() -> Self {
        Self {
            endpoint: "https://huggingface.co".to_owned(),
            token: None,
            is_offline: false,
        }
    }
}

pub(super) struct HuggingFace<'a> {
    settings: &'a HuggingFaceSettings,
    pauses: &'a [Duration],
    /// The connection error, if any: further files would fail the same way, each after a timeout.
    unreachable: Option<String>,
}

impl<'a> HuggingFace<'a> {
    pub(super) fn new(settings: &'a HuggingFaceSettings) -> Self {
        Self {
            settings,
            pauses: &PAUSES,
            unreachable: None,
        }
    }

    /// Downloads the files of the artifact into `folder` and returns their verified sha256. Unfinished files stay in `cache`.
    pub(super) fn fetch(
        &mut self,
        repository: &str,
        revision: &str,
        artifact: &'static Artifact,
        (cache, folder): (&Path, &Path),
        on_progress: OnProgress<'_>,
    ) -> Result<Vec<String>, WeightsError> {
        let endpoint = self.settings.endpoint.trim_end_matches('/');
        let failed = |place: &str, detail: String| WeightsError::Source {
            origin: format!("Hugging Face ({place})"),
            detail,
        };
        if let Some(reason) = &self.unreachable {
            return Err(failed(endpoint, reason.clone()));
        }
        let download = Download {
            address: format!("{endpoint}/{repository}/resolve/{revision}"),
            token: self.settings.token.as_deref(),
            pauses: self.pauses,
            name: artifact.name,
            on_progress,
        };
        // The blocking client panics on a thread of an async runtime, and this may be one.
        let result = std::thread::scope(|scope| {
            scope
                .spawn(|| download.files(artifact.downloads(), cache, folder))
                .join()
        });
        match result {
            Ok(Ok(checksums)) => Ok(checksums),
            Ok(Err(Failure::Weights(error))) => Err(error),
            Ok(Err(Failure::Unreachable(detail))) => {
                self.unreachable = Some(detail.clone());
                Err(failed(endpoint, detail))
            }
            Ok(Err(Failure::Refused(detail) | Failure::Interrupted(detail))) => {
                Err(failed(repository, detail))
            }
            Err(_) => Err(failed(
                repository,
                "the download thread panicked".to_owned(),
            )),
        }
    }
}

enum Failure {
    Unreachable(String),
    /// Repeating the request would not help.
    Refused(String),
    Interrupted(String),
    Weights(WeightsError),
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let detail = error_chain(&error);
        if error.is_connect() {
            return Self::Unreachable(detail);
        }
        let may_pass = |status: StatusCode| {
            status.is_server_error()
                || matches!(
                    status,
                    StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
                )
        };
        match error.status() {
            Some(status) if !may_pass(status) => Self::Refused(detail),
            _ => Self::Interrupted(detail),
        }
    }
}

impl From<WeightsError> for Failure {
    fn from(error: WeightsError) -> Self {
        Self::Weights(error)
    }
}

struct Download<'a> {
    address: String,
    token: Option<&'a str>,
    pauses: &'a [Duration],
    name: &'static str,
    on_progress: OnProgress<'a>,
}

impl Download<'_> {
    fn files(
        &self,
        files: &'static [File],
        cache: &Path,
        folder: &Path,
    ) -> Result<Vec<String>, Failure> {
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(READ_TIMEOUT)
            .build()?;
        let download = |file| self.file(&client, file, cache, folder);
        files.iter().map(download).collect()
    }

    fn file(
        &self,
        client: &Client,
        file: &'static File,
        cache: &Path,
        folder: &Path,
    ) -> Result<String, Failure> {
        let mut checking = progress(self.on_progress, self.name, Phase::Checking, file.bytes);
        let mut partial = PartialFile::open(cache, file, &mut checking)?;
        let mut failures = 0;
        while !partial.is_complete() {
            let before = partial.len();
            let error = match self.append(client, file, &mut partial) {
                Ok(()) if partial.is_complete() => break,
                Ok(()) => Failure::Interrupted("the response ended early".to_owned()),
                Err(error) => error,
            };
            // As long as there is progress, a download may be interrupted any number of times.
            failures = if partial.len() > before {
                1
            } else {
                failures + 1
            };
            let most = match &error {
                Failure::Refused(_) | Failure::Weights(_) => 0,
                Failure::Unreachable(_) if partial.len() == 0 => 1,
                Failure::Unreachable(_) | Failure::Interrupted(_) => self.pauses.len(),
            };
            match self.pauses.get(failures - 1) {
                Some(pause) if failures <= most => std::thread::sleep(*pause),
                _ => return Err(error),
            }
        }
        Ok(partial.finish(&folder.join(file.name))?)
    }

    /// Downloads the rest of the file.
    fn append(
        &self,
        client: &Client,
        file: &File,
        partial: &mut PartialFile,
    ) -> Result<(), Failure> {
        let address = format!("{}/{}", self.address, file.name);
        let request = self.authorized(client.get(&address));
        let request = match partial.len() {
            0 => request,
            start => request.header(RANGE, format!("bytes={start}-")),
        };
        let mut response = request.send()?.error_for_status()?;
        let start = match partial.len() {
            start if continues_at(&response, start) => start,
            _ => 0,
        };
        let rest = file.bytes.saturating_sub(start);
        if let Some(length) = response.content_length()
            && length != rest
        {
            // For example the sign-in page of a network.
            return Err(Failure::Refused(format!(
                "the response has {length} bytes, expected {rest}"
            )));
        }
        if start < partial.len() {
            partial.restart()?;
        }
        let mut downloading = progress(self.on_progress, self.name, Phase::Downloading, file.bytes);
        match partial.append(&mut response, &mut downloading) {
            Ok(()) => Ok(()),
            Err(AppendError::Source(error)) => Err(Failure::Interrupted(format!(
                "the download was interrupted: {error}"
            ))),
            Err(AppendError::Target(error)) => Err(error.into()),
        }
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        match self.token {
            // reqwest removes the header on a redirect to another host.
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

/// Whether the response is the rest of the file from this byte on. A server may send the whole file instead.
fn continues_at(response: &Response, start: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE);
    let range = range.and_then(|range| range.to_str().ok());
    response.status() == StatusCode::PARTIAL_CONTENT
        && range.is_some_and(|range| range.starts_with(&format!("bytes {start}-")))
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
