//! Sentence embedders served over HTTP (C-16), in the formats of Ollama and OpenAI-compatible servers.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::Method;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::ModelError;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use super::attempt::Backend;
use super::endpoint::CallTimer;
use super::{retry, wire};
use crate::config::Retry;

/// Texts in one request; all servers accept this many.
const BATCH_SIZE: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Ollama,
    OpenAi,
}

pub(super) struct HostedEmbedder(pub Arc<Source>);

pub(super) struct Source {
    pub full_name: String,
    pub model: String,
    pub format: Format,
    pub backend: Arc<Backend>,
    pub permits: Arc<Semaphore>,
    pub policy: Retry,
}

impl Embedder for HostedEmbedder {
    fn name(&self) -> &str {
        &self.0.full_name
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        let source = Arc::clone(&self.0);
        async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for batch in texts.chunks(BATCH_SIZE) {
                vectors.extend(retry::with_retry(source.policy, || source.batch(batch)).await?);
            }
            Ok(vectors)
        }
        .boxed()
    }
}

impl Source {
    async fn batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let _permit = self.permits.acquire().await;
        let endpoint = &self.backend.endpoint;
        let model = &self.model;
        let (path, body) = match self.format {
            Format::Ollama => (
                "/api/embed",
                json!({ "model": model, "input": texts, "truncate": true }),
            ),
            Format::OpenAi => (
                "/embeddings",
                json!({ "model": model, "input": texts, "encoding_format": "float" }),
            ),
        };
        let timer = CallTimer::start(endpoint.timeouts);
        let answer = endpoint
            .fetch(Method::POST, path, wire::json(&body), model, &timer)
            .await?;
        let vectors = match self.format {
            Format::Ollama => serde_json::from_slice::<OllamaAnswer>(&answer)
                .ok()
                .map(|answer| answer.embeddings),
            Format::OpenAi => serde_json::from_slice::<OpenAiAnswer>(&answer)
                .ok()
                .map(in_order),
        };
        vectors
            .filter(|vectors| vectors.len() == texts.len())
            .and_then(|vectors| vectors.into_iter().map(normalize).collect())
            .ok_or_else(|| endpoint.errors.not_a_model_server(model, &answer))
    }
}

fn in_order(mut answer: OpenAiAnswer) -> Vec<Vec<f32>> {
    answer.data.sort_by_key(|entry| entry.index);
    answer
        .data
        .into_iter()
        .map(|entry| entry.embedding)
        .collect()
}

/// Scales a vector to length 1; `None` if it has length 0 or is not finite.
fn normalize(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector
        .iter()
        .map(|part| f64::from(*part).powi(2))
        .sum::<f64>()
        .sqrt();
    if !length.is_normal() {
        return None;
    }
    for part in &mut vector {
        #[expect(clippy::cast_possible_truncation, reason = "vectors are kept in f32")]
        let scaled = (f64::from(*part) / length) as f32;
        *part = scaled;
    }
    Some(vector)
}

#[derive(Deserialize)]
struct OllamaAnswer {
    embeddings: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    index: usize,
    embedding: Vec<f32>,
}

#[cfg(test)]
#[path = "embed_tests.rs"]
mod tests;
