//! `roundtable judge`: two councils, a critic and an orchestrator judge content; several contents are ranked.

mod content;
pub(super) mod ranking;

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_engine::protocols::Councils;
use roundtable_engine::protocols::councils::{Given, Input, Mode};

use super::args::DebateArgs;
use super::casts;
use super::run::start;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::setup::DebateSpec;

/// Score a text with expert councils, or rank several texts
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable judge post.md\n  roundtable judge clip.vtt --meta clip.json --fast\n  roundtable judge design.md --cast rfc --json\n  roundtable judge a.md b.md c.md --cast essay\n\nSeveral files are judged on their own and ranked; --together judges them as one text. `roundtable casts new mine --from rfc` creates your own cast."
)]
pub(crate) struct Args {
    /// The content: text, Markdown or subtitles (.srt, .vtt), or - for standard input
    #[arg(required_unless_present = "image", value_name = "CONTENT")]
    content: Vec<String>,
    /// A transcript of the content; can be repeated
    #[arg(long, value_name = "FILE")]
    transcript: Vec<PathBuf>,
    /// Metadata about the content, in any text format; can be repeated
    #[arg(long, value_name = "FILE")]
    meta: Vec<PathBuf>,
    /// A picture that belongs to the content or is the content, for models with vision; can be repeated
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// The cast: themis, rfc, essay, your own, or a file
    #[arg(long, default_value = "themis", value_name = "NAME|FILE")]
    cast: String,
    /// One round, no exchange between the councils, every seat on the fast tier
    #[arg(long)]
    fast: bool,
    /// Judge each content on its own, then rank them and mark differences within the judges' spread; the default for several
    /// contents
    #[arg(long, conflicts_with_all = ["transcript", "meta", "image"])]
    rank: bool,
    /// Judge several contents as one text
    #[arg(long, conflicts_with = "rank")]
    together: bool,
    #[command(flatten)]
    debate: DebateArgs,
}

impl Args {
    /// Transcripts, metadata and pictures belong to one content.
    fn ranks(&self) -> bool {
        let is_one = self.together
            || self.content.len() < 2
            || !(self.transcript.is_empty() && self.meta.is_empty() && self.image.is_empty());
        self.rank || !is_one
    }
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    if args.ranks() {
        return ranking::run(app, &args).await;
    }
    let mut parts = content::read(&args.content)?;
    parts.extend(content::transcripts(&args.transcript)?);
    parts.extend(content::metadata(&args.meta)?);
    start(app, spec(&args, parts)?, &args.debate).await
}

fn spec(args: &Args, parts: Vec<Given>) -> Result<DebateSpec, Failure> {
    let input = Input {
        mode: args.fast.then_some(Mode::Fast),
        title: None,
        parts,
        images: content::images(&args.image)?,
    };
    Ok(DebateSpec {
        cast: Some(casts::choice(&args.cast)?),
        ..DebateSpec::new(&Councils, String::new(), &input)
    })
}
