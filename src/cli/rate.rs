//! `roundtable rate`

use std::process::ExitCode;

use crate::clock;
use crate::store::Rating;
use roundtable_engine::event::{Entry, Event};

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Rate an answer from 1 to 10
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roundtable rate last 8 --comment \"Right, but missed the licence question\"\n\nA later rating replaces an earlier one; without --comment the earlier comment is kept, and --comment \"\" removes it."
)]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    id: String,
    /// Rating from 1 (bad) to 10 (good)
    rating: u8,
    /// Comment to store with the rating
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let rating = Rating::new(args.rating).ok_or_else(|| {
        Failure::usage(format!(
            "invalid rating '{}': expected a number from 1 to 10",
            args.rating
        ))
    })?;
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let comment = match args.comment {
        Some(comment) => Some(comment).filter(|comment| !comment.trim().is_empty()),
        None => earlier_comment(&store.entries(row.id).await?),
    };
    store.rate(row.id, rating, comment, clock::now()).await?;
    store.close().await;
    output::note(&format!("Rated {} {} of 10.", row.id, rating.value()));
    Ok(ExitCode::SUCCESS)
}

fn earlier_comment(entries: &[Entry]) -> Option<String> {
    let mut ratings = entries.iter().rev().filter_map(|entry| match &entry.event {
        Event::Rated { comment, .. } => Some(comment.clone()),
        _ => None,
    });
    ratings.next().flatten()
}
