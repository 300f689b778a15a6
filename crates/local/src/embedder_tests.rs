use llama_cpp_2::token::LlamaToken;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::ModelError;

use super::{LocalEmbedder, batches};
use crate::test_support::weights;
use crate::weights::EMBEDDER;

fn embedder() -> LocalEmbedder {
    LocalEmbedder::open(weights(&EMBEDDER))
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// C-16: the vectors are those of the published model.
#[tokio::test]
async fn c16_a_known_sentence_has_its_published_vector() {
    let vectors = embedder()
        .embed(vec!["This is an example sentence".to_owned()])
        .await
        .unwrap();
    let expected = [0.0677, 0.0635, 0.0487];
    let errors = vectors[0].iter().zip(expected).map(|(a, b)| (a - b).abs());
    assert!(errors.fold(0.0, f32::max) < 5e-4, "{:?}", &vectors[0][..3]);
    assert_eq!((vectors.len(), vectors[0].len()), (1, 384));
    assert!((cosine(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-5);
}

/// C-16
#[tokio::test]
async fn c16_sentences_with_the_same_meaning_are_closer_than_others() {
    let texts = [
        "The company should raise its prices next year.",
        "Next year the firm ought to charge more.",
        "Penguins cannot fly but swim very well.",
    ];
    let vectors = embedder()
        .embed(texts.map(str::to_owned).to_vec())
        .await
        .unwrap();
    let (similar, different) = (
        cosine(&vectors[0], &vectors[1]),
        cosine(&vectors[0], &vectors[2]),
    );
    assert!(similar > 0.6 && different < 0.2, "{similar} {different}");
}

#[tokio::test]
async fn a_text_has_the_same_vector_alone_and_in_a_batch() {
    let texts = vec![
        String::new(),
        "short".to_owned(),
        "A sentence of medium length about trade.".to_owned(),
        "word ".repeat(2_000),
        "word ".repeat(3_000),
    ];
    let embedder = embedder();
    let together = embedder.embed(texts.clone()).await.unwrap();
    let mut lowest: f32 = 1.0;
    for (text, vector) in texts.into_iter().zip(&together) {
        let alone = embedder.embed(vec![text]).await.unwrap();
        lowest = lowest.min(cosine(&alone[0], vector));
    }
    assert!(lowest > 0.9999, "{lowest}");
    // Both long texts are truncated to the same tokens.
    assert!(cosine(&together[3], &together[4]) > 0.9999);
}

/// C-16: calls that wait for each other share a batch, and each has its own vectors.
#[tokio::test]
async fn c16_simultaneous_calls_have_their_own_vectors() {
    let calls: Vec<Vec<String>> = [&["trade"][..], &[], &["bread", "rain", "trade"], &["bread"]]
        .iter()
        .map(|texts| texts.iter().map(ToString::to_string).collect())
        .collect();
    let embedder = embedder();
    let all = calls.iter().map(|texts| embedder.embed(texts.clone()));
    let together = futures::future::join_all(all).await;
    for (texts, vectors) in calls.into_iter().zip(together) {
        let (vectors, count) = (vectors.unwrap(), texts.len());
        assert_eq!(vectors.len(), count);
        for (text, vector) in texts.into_iter().zip(&vectors) {
            let alone = embedder.embed(vec![text]).await.unwrap();
            assert!(cosine(&alone[0], vector) > 0.9999);
        }
    }
}

/// The lengths of the batches of texts with these numbers of tokens.
fn lengths(texts: &[usize], contexts: usize) -> Vec<usize> {
    let texts: Vec<_> = texts.iter().map(|&n| vec![LlamaToken(1); n]).collect();
    let batches = batches(&texts, contexts);
    batches
        .iter()
        .map(|batch| batch.iter().map(Vec::len).sum())
        .collect()
}

#[test]
fn every_context_has_an_equal_share_of_the_texts() {
    assert_eq!(lengths(&[20; 3], 2), [60], "too little for two");
    assert_eq!(lengths(&[20; 4], 2), [80]);
    assert_eq!(lengths(&[20; 7], 2), [80, 60]);
    assert_eq!(lengths(&[20; 20], 2), [200, 200]);
    assert_eq!(lengths(&[20; 20], 1), [240, 160], "the limit is 256");
    assert_eq!(lengths(&[256, 256, 1], 2), [256, 256, 1]);
    assert_eq!(lengths(&[1; 200], 1), [128, 72], "at most 128 texts");
    assert_eq!(lengths(&[], 2), [0; 0]);
}

#[tokio::test]
async fn a_missing_file_is_an_error_that_names_it() {
    let embedder = LocalEmbedder::open("nowhere/model.gguf".into());
    let error = embedder.embed(vec!["x".to_owned()]).await.unwrap_err();
    let ModelError::Local { detail } = error else {
        panic!("{error}");
    };
    assert_eq!(
        detail,
        "no model file at nowhere/model.gguf; download the weights with `roundtable pull`, or correct the path"
    );
}
