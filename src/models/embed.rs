//! Sentence embedders served over HTTP (C-16), in the formats of Ollama and OpenAI-compatible servers.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::Method;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::ModelError;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::attempt::Backend;
use super::endpoint::CallTimer;
use super::retry;
use super::wire::json;
use crate::config::{ModelName, Retry};

/// Texts in one request; all servers accept this many.
const BATCH_SIZE: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Ollama,
    OpenAi,
}

pub(super) struct HostedEmbedder {
    shared: Arc<Shared>,
}

struct Shared {
    full_name: String,
    model: String,
    format: Format,
    backend: Arc<Backend>,
    permits: Arc<Semaphore>,
    policy: Retry,
}

impl HostedEmbedder {
    pub(super) fn new(
        name: &ModelName,
        format: Format,
        backend: Arc<Backend>,
        permits: Arc<Semaphore>,
        policy: Retry,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                full_name: name.to_string(),
                model: name.model().to_owned(),
                format,
                backend,
                permits,
                policy,
            }),
        }
    }
}

impl Embedder for HostedEmbedder {
    fn name(&self) -> &str {
        &self.shared.full_name
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        let shared = Arc::clone(&self.shared);
        async move {
            let mut vectors = Vec::with_capacity(texts.len());
            for batch in texts.chunks(BATCH_SIZE) {
                vectors.extend(retry::with_retry(shared.policy, || shared.batch(batch)).await?);
            }
            Ok(vectors)
        }
        .boxed()
    }
}

impl Shared {
    async fn batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let _permit = self.permits.acquire().await;
        let endpoint = &self.backend.endpoint;
        let (path, body) = match self.format {
            Format::Ollama => (
                "/api/embed",
                json(&OllamaBody {
                    model: &self.model,
                    input: texts,
                    truncate: true,
                }),
            ),
            Format::OpenAi => (
                "/embeddings",
                json(&OpenAiBody {
                    model: &self.model,
                    input: texts,
                    encoding_format: "float",
                }),
            ),
        };
        let timer = CallTimer::start(endpoint.timeouts);
        let answer = endpoint
            .fetch(Method::POST, path, body, &self.model, &timer)
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
            .ok_or_else(|| endpoint.errors.not_a_model_server(&self.model, &answer))
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

#[derive(Serialize)]
struct OllamaBody<'a> {
    model: &'a str,
    input: &'a [String],
    truncate: bool,
}

#[derive(Serialize)]
struct OpenAiBody<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
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
