//! Benchmark of the embedded model: `cargo bench -p roundtable-local`.
//!
//! Measures a round of five seats with a shared context, batched and sequential, the throughput of the embedder, and its time
//! to the first vector. Fails if batching does not save enough time or if the embedder is too slow.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::join_all;
use roundtable_core::usage::Usage;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::{Delta, Message, Model, ModelError, Request, Schema, Speaker};
use roundtable_local::embedder::LocalEmbedder;
use roundtable_local::language::{LocalModel, PrefixCache, Settings};
use roundtable_local::runtime::Threads;
use roundtable_local::weights::{
    AllowedSources, Artifact, EMBEDDER, Locations, SMOLLM2_135M, WeightsError, obtain,
};
use serde_json::json;

const SEATS: usize = 5;
const REPETITIONS: usize = 3;
const MAX_ROUND_RATIO: f64 = 0.6;
const SENTENCES: usize = 1_000;
const MAX_SENTENCES_TIME: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(
        "a batched round takes {0:.2} of the time of its seats in sequence without prefix cache; the limit is {MAX_ROUND_RATIO}"
    )]
    Round(f64),
    #[error("{SENTENCES} sentences took {0:.1} s; the limit is {MAX_SENTENCES_TIME:?}")]
    Sentences(f64),
}

#[tokio::main]
async fn main() -> ExitCode {
    match measure().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("FAILED: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn measure() -> Result<(), Failure> {
    println!("{} threads", Threads::detect().get());
    first_vector().await?;
    let sentences = sentences().await?;
    let round = rounds().await?;
    if round > MAX_ROUND_RATIO {
        return Err(Failure::Round(round));
    }
    if sentences > MAX_SENTENCES_TIME {
        return Err(Failure::Sentences(sentences.as_secs_f64()));
    }
    Ok(())
}

async fn first_vector() -> Result<(), Failure> {
    let path = weights(&EMBEDDER)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let embedder = LocalEmbedder::open(path.clone());
        let start = Instant::now();
        embedder.embed(vec!["A short sentence.".to_owned()]).await?;
        times.push(start.elapsed());
    }
    println!("embedder, load to first vector: {:.0?}", median(times));
    Ok(())
}

async fn sentences() -> Result<Duration, Failure> {
    let embedder = LocalEmbedder::open(weights(&EMBEDDER)?);
    embedder.embed(vec!["Load.".to_owned()]).await?;
    let texts = (0..SENTENCES)
        .map(|number| format!("Claim {number}: prices of homes rise faster than wages do."))
        .collect();
    let start = Instant::now();
    embedder.embed(texts).await?;
    let time = start.elapsed();
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let speed = SENTENCES as f64 / time.as_secs_f64();
    println!("embedder, {SENTENCES} short sentences: {time:.2?}, {speed:.0} per second");
    Ok(time)
}

/// Returns the time of a batched round, relative to the same seats in sequence without prefix cache.
async fn rounds() -> Result<f64, Failure> {
    let path = weights(&SMOLLM2_135M)?;
    let settings = Settings::new(Threads::detect());
    let start = Instant::now();
    let model = LocalModel::open(path.clone(), settings);
    let uncached = LocalModel::open(
        path,
        Settings {
            prefix_cache: PrefixCache::Disabled,
            ..settings
        },
    );
    ask(&model, request(0, 0, "Warm up.")).await?;
    println!(
        "language model, load to first reply: {:.0?}",
        start.elapsed()
    );
    ask(&uncached, request(0, 0, "Warm up.")).await?;

    let (mut without_cache, mut sequential, mut batched) = (Vec::new(), Vec::new(), Vec::new());
    for repetition in 0..REPETITIONS {
        // Each measurement has its own context, so that it does not find another's prefix in the cache.
        let number = repetition * 10;
        without_cache.push(run_sequential("sequential, no prefix cache", &uncached, number).await?);
        sequential.push(run_sequential("sequential", &model, number + 1).await?);
        batched.push(run_batched(&model, number + 2).await?);
    }
    let (without_cache, sequential, batched) =
        (median(without_cache), median(sequential), median(batched));
    let ratio = |time: Duration| time.as_secs_f64() / without_cache.as_secs_f64();
    println!("{SEATS} seats, sequential, no prefix cache: {without_cache:.2?}, 1.00");
    println!(
        "{SEATS} seats, sequential, prefix cache:    {sequential:.2?}, {:.2}",
        ratio(sequential)
    );
    println!(
        "{SEATS} seats, batched, prefix cache:       {batched:.2?}, {:.2}",
        ratio(batched)
    );
    Ok(ratio(batched))
}

async fn run_sequential(
    name: &str,
    model: &LocalModel,
    number: usize,
) -> Result<Duration, Failure> {
    let start = Instant::now();
    let mut usages = Vec::new();
    for seat in 0..SEATS {
        usages.push(ask(model, request(number, seat, &context(number))).await?);
    }
    Ok(report(name, start, usages))
}

async fn run_batched(model: &LocalModel, number: usize) -> Result<Duration, Failure> {
    let start = Instant::now();
    let calls = (0..SEATS).map(|seat| ask(model, request(number, seat, &context(number))));
    let usages = join_all(calls)
        .await
        .into_iter()
        .collect::<Result<_, _>>()?;
    Ok(report("batched", start, usages))
}

fn report(name: &str, start: Instant, usages: Vec<Usage>) -> Duration {
    let time = start.elapsed();
    let Usage {
        input,
        output,
        cached,
    } = usages.into_iter().sum();
    println!(
        "  {name}: {time:.2?} for {input} input tokens ({cached} cached), {output} output tokens"
    );
    time
}

/// About a thousand tokens.
fn context(number: usize) -> String {
    let claim = |index| {
        format!(
            "Claim {index} of case {number}: the bridge carries more traffic than it was built for. "
        )
    };
    (0..46).map(claim).collect()
}

fn request(number: usize, seat: usize, context: &str) -> Request {
    let message = |text: String| Message {
        speaker: Speaker::User,
        text,
        shared: false,
        tools: Vec::new(),
    };
    Request {
        images: Vec::new(),
        tools: None,
        model: SMOLLM2_135M.name.to_owned(),
        system: "You are a careful analyst.".to_owned(),
        messages: vec![
            message(context.to_owned()),
            message(format!("You are seat {seat}. What is your opinion?")),
        ],
        schema: Some(schema()),
        // Greedy: with sampling, the reply lengths would depend on the seed.
        temperature: 0.0,
        max_output_tokens: 200,
        seed: (number * SEATS + seat) as u64,
    }
}

/// All replies have nearly the same length.
fn schema() -> Schema {
    Schema {
        name: "opinion".to_owned(),
        json: std::sync::Arc::new(
            json!({
                "type": "object",
                "properties": {
                    "stance": {"enum": ["agree", "disagree"]},
                    "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
                    "reason": {"type": "string", "minLength": 280, "maxLength": 280}
                },
                "required": ["stance", "confidence", "reason"],
                "additionalProperties": false
            })
            .into(),
        ),
    }
}

async fn ask(model: &LocalModel, request: Request) -> Result<Usage, Failure> {
    let mut usage = Usage::default();
    let mut deltas = model.stream(request);
    while let Some(delta) = deltas.next().await {
        if let Delta::Usage(used) = delta? {
            usage = used;
        }
    }
    Ok(usage)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a benchmark has no configuration; it shares downloads with the tests"
)]
fn weights(artifact: &'static Artifact) -> Result<PathBuf, WeightsError> {
    let base = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache"),
        PathBuf::from,
    );
    let cache = base.join("roundtable").join("weights");
    let locations = Locations::new(cache, AllowedSources::PackagesOnly);
    obtain(&[artifact], &locations, &|_| {}).map(|file| file.path)
}
