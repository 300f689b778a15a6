//! `roundtable list`

use std::process::ExitCode;

use roundtable_engine::data::closest;
use roundtable_engine::event::State;
use roundtable_engine::protocols;

use crate::clock;
use crate::store::{DebateRow, Filter, MAX_COUNTED, MAX_SEARCH_CHARS};

use super::output::{self, short_id};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// List debates, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  roundtable list --state partial --search billing --json")]
pub(crate) struct Args {
    /// Only debates in this state: queued, running, waiting, complete, partial, failed, cancelled or interrupted
    #[arg(long)]
    state: Option<String>,
    /// Only debates of this protocol: dialectic, modes, panel, forecast or councils
    #[arg(long)]
    protocol: Option<String>,
    /// Only debates whose question contains this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Maximum number of debates
    #[arg(long, short = 'n', default_value_t = 50, value_name = "NUMBER")]
    limit: u32,
    /// Number of newest debates to skip
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    offset: u64,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let search = args.search.as_deref().unwrap_or_default();
    if search.chars().nth(MAX_SEARCH_CHARS).is_some() {
        let message = format!("invalid --search: it is limited to {MAX_SEARCH_CHARS} characters");
        return Err(Failure::usage(message));
    }
    let filter = Filter {
        state: args.state.as_deref().map(parse_state).transpose()?,
        protocol: args.protocol,
        search: args.search,
        limit: args.limit,
        offset: args.offset,
        ..Filter::default()
    };
    let is_filtered =
        filter.state.is_some() || filter.protocol.is_some() || filter.search.is_some();
    let store = app.store().await?;
    let mut page = store.list(&filter).await?;
    store.add_results(&mut page.debates).await?;
    store.close().await;
    if args.json {
        output::json(&page.debates)?;
    } else if !page.debates.is_empty() {
        print(&page.debates, &filter, page.total);
    } else if is_filtered || page.total > 0 {
        output::note("No debate matches.");
    } else {
        output::note("No debates yet. Start one with `roundtable ask \"…\"`.");
    }
    Ok(ExitCode::SUCCESS)
}

/// The mark of a debate that follows up on another one.
const FOLLOW_UP: &str = "↳ ";

/// The last column before the question holds numbers, which are aligned to the right.
const COST: usize = 4;

/// A row for each debate, and on a terminal its result below.
fn print(debates: &[DebateRow], filter: &Filter, total: u64) {
    let rows: Vec<[String; 5]> = debates.iter().map(columns).collect();
    let heads = ["id", "kind", "state", "when (UTC)", "cost"].map(str::to_owned);
    let all = || std::iter::once(&heads).chain(&rows);
    let widths: [usize; 5] =
        std::array::from_fn(|column| all().map(|row| row[column].len()).max().unwrap_or(0));
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (text, width))| match column {
            0..COST => format!("{text:<width$}  "),
            _ => format!("{text:>width$}  "),
        });
        cells.collect::<String>()
    };
    output::line(&output::painted(
        output::QUIET,
        &format!("{}question", line(&heads)),
    ));
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let max_question = output::width().saturating_sub(used).max(16);
    for (row, debate) in rows.iter().zip(debates) {
        let mark = if debate.parent.is_some() {
            FOLLOW_UP
        } else {
            ""
        };
        let question = format!("{mark}{}", debate.question);
        let question = output::short(&question, max_question);
        output::line(&format!("{}{question}", line(row)));
        if let Some(result) = debate
            .result
            .as_ref()
            .filter(|_| output::stdout_is_terminal())
        {
            let indent = widths[0] + 2;
            let result = output::short(result, output::width().saturating_sub(indent));
            output::line(&format!(
                "{:indent$}{}",
                "",
                output::painted(output::QUIET, &result)
            ));
        }
    }
    let last = filter.offset + debates.len() as u64;
    let more = if total < MAX_COUNTED { "" } else { " or more" };
    if total > last {
        output::note(&format!(
            "Showing {} of {}{more}; for more: --offset {last}",
            debates.len(),
            output::grouped(total)
        ));
    }
}

fn columns(row: &DebateRow) -> [String; 5] {
    let totals = &row.totals;
    let tokens = totals.input_tokens.saturating_add(totals.output_tokens);
    let cost = totals.cost_usd.filter(|_| tokens > 0);
    let cost = cost.and_then(|cost| output::cost(Some(cost), tokens));
    let when = clock::stamp(row.created_at).replace('T', " ");
    [
        short_id(&row.id.to_string()).to_owned(),
        protocols::title(&row.protocol),
        row.state.name().to_owned(),
        when.chars().take(16).collect(),
        // The price of a call may be unknown.
        cost.unwrap_or_else(|| "-".into()),
    ]
}

fn parse_state(text: &str) -> Result<State, Failure> {
    State::ALL
        .into_iter()
        .find(|state| state.name() == text)
        .ok_or_else(|| {
            let names = State::ALL.map(State::name);
            let hint = closest(text, names.into_iter()).map_or_else(
                || format!("expected one of {}", names.join(", ")),
                |name| format!("did you mean '{name}'?"),
            );
            Failure::usage(format!("invalid --state '{text}': {hint}"))
        })
}
