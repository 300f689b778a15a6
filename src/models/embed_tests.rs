use serde_json::{Value, json};

use super::super::test_support::{Reply, Server, registry, registry_from};
use super::*;

fn texts() -> Vec<String> {
    vec!["one".to_owned(), "two".to_owned()]
}

async fn embed(kind: &str, server: &Server) -> Result<Vec<Vec<f32>>, ModelError> {
    let registry = registry(kind, server);
    let name = registry.config().model_name("lab:nomic").unwrap();
    let embedder = registry.embedder(&name).unwrap();
    assert_eq!("lab:nomic", embedder.name());
    embedder.embed(texts()).await
}

/// C-03: vectors have the order of the texts and length 1.
#[tokio::test]
async fn c03_ollama_and_openai_embed() {
    let ollama = Server::new([Reply::json(
        200,
        &json!({ "embeddings": [[3.0, 4.0], [0.0, 2.0]] }),
    )]);
    let unit = vec![vec![0.6, 0.8], vec![0.0, 1.0]];
    assert_eq!(Ok(unit.clone()), embed("ollama", &ollama).await);
    assert_eq!(
        (
            "POST /api/embed",
            json!({ "model": "nomic", "input": texts(), "truncate": true })
        ),
        (ollama.seen()[0].line.as_str(), ollama.bodies()[0].clone())
    );
    let openai = Server::new([Reply::json(
        200,
        &json!({ "data": [{ "index": 1, "embedding": [0.0, 2.0] }, { "index": 0, "embedding": [3.0, 4.0] }] }),
    )]);
    assert_eq!(Ok(unit), embed("openai", &openai).await);
    assert_eq!(
        (
            "POST /embeddings",
            json!({ "model": "nomic", "input": texts(), "encoding_format": "float" })
        ),
        (openai.seen()[0].line.as_str(), openai.bodies()[0].clone())
    );
}

#[tokio::test]
async fn missing_vectors_and_zero_vectors_are_errors() {
    for wrong in [json!([[1.0]]), json!([[1.0], [0.0]])] {
        let server = Server::new([Reply::json(200, &json!({ "embeddings": wrong }))]);
        let error = embed("ollama", &server).await;
        assert!(
            matches!(error, Err(ModelError::NotAModelServer { .. })),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn texts_are_sent_in_batches_and_a_failed_batch_is_retried() {
    let vectors = |count| Reply::json(200, &json!({ "embeddings": vec![[1.0]; count] }));
    let server = Server::new([vectors(128), Reply::json(500, &Value::Null), vectors(2)]);
    let registry = registry_from(&format!(
        "[providers.lab]\nkind = \"ollama\"\nbase_url = \"{}\"\n[retry]\nbase_ms = 1",
        server.address
    ));
    let name = registry.config().model_name("lab:e").unwrap();
    let vectors = registry
        .embedder(&name)
        .unwrap()
        .embed(vec!["x".to_owned(); 130])
        .await
        .unwrap();
    assert_eq!((130, 3), (vectors.len(), server.seen().len()));
}
