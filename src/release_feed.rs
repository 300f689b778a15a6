//! Reads the newest release from the release feed. Only `roundtable update` does; nothing is downloaded or replaced.

use std::time::Duration;

use reqwest::header::ACCEPT;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response, Url};
use semver::Version;
use serde::Deserialize;

use crate::config::{is_loopback, is_secure_url};

const TIMEOUT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 3;
/// Notes of a release can be long, but not this long.
const MAX_BODY_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Release {
    pub version: Version,
    /// The page of the release.
    pub page: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error("no complete answer within {} s. Is this machine online?", TIMEOUT.as_secs())]
    Timeout,
    #[error("{0}")]
    Unreachable(String),
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("its answer is longer than {} KB", MAX_BODY_BYTES / 1024)]
    TooLong,
    #[error("{0}. Expected a release as JSON, such as {{\"tag_name\": \"v1.2.3\"}}")]
    Invalid(String),
}

/// The release that the feed at `url` names.
pub(crate) async fn newest(url: &str) -> Result<Release, FeedError> {
    let body = tokio::time::timeout(TIMEOUT, fetch(url)).await;
    parse(&body.map_err(|_| FeedError::Timeout)??)
}

async fn fetch(url: &str) -> Result<Vec<u8>, FeedError> {
    // An error means that a crypto provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("roundtable/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::custom(redirect));
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    let request = builder.build().map_err(unreachable)?.get(url);
    let request = request.header(ACCEPT, "application/json");
    let mut response: Response = request.send().await.map_err(unreachable)?;
    if !response.status().is_success() {
        return Err(FeedError::Status(response.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_BODY_BYTES {
            return Err(FeedError::TooLong);
        }
    }
    Ok(body)
}

fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error(format!("it redirects more than {MAX_REDIRECTS} times"));
    }
    if !is_secure_url(attempt.url().as_str()) {
        return attempt.error("it redirects to an address without https");
    }
    attempt.follow()
}

/// The innermost cause; the address is in the message of the caller.
fn unreachable(error: reqwest::Error) -> FeedError {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    FeedError::Unreachable(cause.to_string())
}

/// A release of the GitHub API, of which only these fields are read.
#[derive(Deserialize)]
struct Listed {
    tag_name: String,
    html_url: Option<String>,
}

fn parse(body: &[u8]) -> Result<Release, FeedError> {
    let listed: Listed = serde_json::from_slice(body)
        .map_err(|error| FeedError::Invalid(format!("its answer is not a release: {error}")))?;
    let version = version(&listed.tag_name).ok_or_else(|| {
        FeedError::Invalid(format!(
            "'{}' is not a version",
            crate::format::short(&listed.tag_name, 40)
        ))
    })?;
    let page = listed.html_url.as_deref();
    let page = page.and_then(|page| Url::parse(page).ok());
    let page = page.filter(|page| matches!(page.scheme(), "https" | "http"));
    Ok(Release {
        version,
        page: page.map(String::from),
    })
}

/// The version of a tag such as `v1.2.3` or `roundtable-v1.2.3`.
fn version(tag: &str) -> Option<Version> {
    let tag = tag.trim();
    let tag = tag.strip_prefix("roundtable-").unwrap_or(tag);
    Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()
}

#[cfg(test)]
#[path = "release_feed_tests.rs"]
mod tests;
