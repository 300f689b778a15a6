//! `roundtable rate`

use std::process::ExitCode;

use crate::clock;
use crate::store::Rating;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Say how good an answer was, from 1 to 10.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  roundtable rate last 8 --comment \"Right, but missed the licence question\""
)]
pub(crate) struct Args {
    /// The debate's id, any unambiguous beginning of it, or `last`.
    id: String,
    /// From 1 to 10; the last rating counts.
    rating: u8,
    #[arg(long)]
    comment: Option<String>,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let rating = Rating::new(args.rating)
        .ok_or_else(|| Failure::usage(format!("{} is no rating: give 1 to 10", args.rating)))?;
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    store
        .rate(row.id, rating, args.comment, clock::now())
        .await?;
    store.close().await;
    output::note(&format!("Rated {} with {}.", row.id, rating.value()));
    Ok(ExitCode::SUCCESS)
}
