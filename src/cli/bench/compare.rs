//! `roundtable bench compare`

use std::path::PathBuf;
use std::process::ExitCode;

use super::{Document, Format};
use crate::app_context::AppContext;
use crate::bench::{comparison, comparison_csv, stored};
use crate::failure::Failure;
use crate::store::Address;

/// Compare two benches on the same questions, arm by arm
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable bench compare items-1a2b3c4d after.json\n  roundtable bench compare a.json b.json --pair panel=debate-delphi --json\n\nThe differences are B minus A, question by question. Both benches must have answered the same data."
)]
pub(super) struct Args {
    /// The id of a finished bench, its folder, or a file that bench --json has written
    a: String,
    /// The bench that is compared with it
    b: String,
    /// Compare this arm of A with that arm of B; can be repeated. By default all arms that both have
    #[arg(long = "pair", value_name = "ARM=ARM")]
    pairs: Vec<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    let data = match app.address() {
        Ok(Address::Folder(folder)) => Some(folder.as_path()),
        Ok(Address::Server(_)) | Err(_) => None,
    };
    let (a, b) = (stored::find(data, &args.a)?, stored::find(data, &args.b)?);
    let found = comparison::compare((&args.a, &a), (&args.b, &b), &args.pairs)?;
    let format = if args.json { Format::Json } else { args.format };
    let document = Document {
        title: "Comparison of two benches",
        report: comparison::report(&found),
    };
    document.write(format, args.output.as_deref(), &found, || {
        comparison_csv(&found.comparisons)
    })?;
    Ok(ExitCode::SUCCESS)
}
