//! `roundtable judge`: two councils, a critic, an orchestrator; several contents in an validated.

mod content;
mod ranking;

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_engine::protocols::Protocol;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::clock;
use crate::setup::{self, DebateSpec};
use crate::store::Store;

use super::ask::{Choice, Limits, progress_sink};
use super::display::Manner;
use super::run::{self, Debate};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Have content judged by councils that keep their disagreements; rank several.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable judge post.md\n  roundtable judge clip.vtt --meta clip.json --fast\n  roundtable judge design.md --cast rfc --json\n  roundtable judge a.md b.md c.md --cast essay --rank\n\nSeveral files without --rank are judged together as one. `roundtable casts new mine --from rfc` starts a cast of your own."
)]
pub(crate) struct Args {
    /// What is judged: text, Markdown or subtitles (.srt, .vtt), or - for standard input.
    #[arg(required = true, value_name = "CONTENT")]
    content: Vec<String>,
    /// A transcript that belongs to it; may be given several times.
    #[arg(long, value_name = "FILE")]
    transcript: Vec<PathBuf>,
    /// What is known about it, in any text format; may be given several times.
    #[arg(long, value_name = "FILE")]
    meta: Vec<PathBuf>,
    /// A picture that belongs to it, for models that see; may be given several times.
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// The cast: themis, rfc, essay, one of your own, or a file.
    #[arg(long, default_value = "themis", value_name = "NAME|FILE")]
    cast: String,
    /// One round, no exchange between the councils, every seat on the fast tier.
    #[arg(long)]
    fast: bool,
    /// Judge each on its own, then rank them, and say which differences are not worth believing.
    #[arg(long, conflicts_with_all = ["transcript", "meta", "image"])]
    rank: bool,
    #[command(flatten)]
    choice: Choice,
    /// Draw all randomness from this number.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    manner: Manner,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    if args.rank {
        return ranking::run(app, &args).await;
    }
    let mut parts = content::read(&args.content)?;
    parts.extend(content::transcripts(&args.transcript)?);
    parts.extend(content::metadata(&args.meta)?);
    let store = app.store().await?;
    let debate = open(app, &store, &args, parts).await?;
    run::run(app, &store, debate, &args.manner).await
}

async fn open(
    app: &AppContext,
    store: &Store,
    args: &Args,
    parts: Vec<Value>,
) -> Result<Debate, Failure> {
    let mode = if args.fast { "fast" } else { "full" };
    let mut rules = Map::new();
    rules.insert("mode".into(), json!(mode));
    rules.insert("parts".into(), json!(parts));
    rules.insert("images".into(), json!(content::images(&args.image)?));
    let spec = DebateSpec {
        question: String::new(),
        cast: Some(args.cast.clone()),
        models: args.choice.models()?,
        rules,
        budget: args.limits.budget(app)?,
        seed: args.seed,
        history: Vec::new(),
        learned: None,
        sources: Vec::new(),
    };
    let validated = setup::validate(app, Protocol::Councils, spec)?;
    let prepared = setup::prepare(app, validated, &progress_sink(&args.manner)).await?;
    let lease = store
        .create(Uuid::new_v4(), &prepared.setup, clock::now())
        .await?;
    Ok(Debate {
        lease,
        prepared,
        past: Vec::new(),
    })
}
