//! `roundtable estimates`: how often estimates were right.

use std::collections::BTreeMap;
use std::process::ExitCode;

use roundtable_core::estimate::{Inside, SAMPLE};
use serde::Serialize;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::store::PastEstimate;

/// Show how many of the last 50 debates used what was estimated
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable estimates\n  roundtable estimates --json\n\nThe ranges are made so that four of five debates fall inside."
)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How many debates fell inside their ranges.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Hits {
    debates: usize,
    calls: usize,
    tokens: usize,
    /// Of the debates whose cost is known.
    cost: usize,
    known_cost: usize,
    seconds: usize,
}

#[derive(Debug, Serialize)]
struct Record {
    all: Hits,
    protocols: BTreeMap<String, Hits>,
}

impl Hits {
    fn add(&mut self, inside: Inside) {
        self.debates += 1;
        self.calls += usize::from(inside.calls);
        self.tokens += usize::from(inside.tokens);
        self.cost += usize::from(inside.cost == Some(true));
        self.known_cost += usize::from(inside.cost.is_some());
        self.seconds += usize::from(inside.seconds);
    }

    /// `12 debates: calls 11, tokens 10, cost 9 of 10, time 12 within the estimate`
    fn to_text(&self) -> String {
        format!(
            "{} debates: calls {}, tokens {}, cost {} of {}, time {} within the estimate",
            self.debates, self.calls, self.tokens, self.cost, self.known_cost, self.seconds
        )
    }
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let past = store.all_past_estimates(SAMPLE).await?;
    store.close().await;
    let record = record(&past);
    if args.json {
        output::json(&record)?;
    } else if past.is_empty() {
        output::line("No finished debate has an estimate yet");
    } else {
        output::line(&format!("All: {}", record.all.to_text()));
        for (protocol, hits) in &record.protocols {
            output::line(&format!("{protocol}: {}", hits.to_text()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn record(past: &[PastEstimate]) -> Record {
    let mut record = Record {
        all: Hits::default(),
        protocols: BTreeMap::new(),
    };
    for past in past {
        let inside = past.estimate.ranges.inside(&past.used);
        record.all.add(inside);
        let protocol = record.protocols.entry(past.protocol.clone()).or_default();
        protocol.add(inside);
    }
    record
}
