//! `roundtable track`

use std::path::PathBuf;
use std::process::ExitCode;

use jiff::civil::Date;
use roundtable_core::bounded::Probability;
use roundtable_engine::data::closest;
use roundtable_engine::event::State;
use roundtable_engine::report::Report;
use roundtable_engine::retrospective::{
    AssessmentFile, Status, TimeCost, Timeline, Tracked, timeline_of,
};

use crate::store::{DebateRow, FollowUp};
use crate::{clock, yaml};

use super::display::summary;
use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::format::counted;

/// Log what happened after a decision
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable track last \"API spec defined\" --week 1\n  roundtable track 3f2a \"Frontend wants filters\" --week 3 --surprise 0.7\n  roundtable track 3f2a --from tracking.yaml\n  roundtable track last --list\n\n`roundtable post-mortem` evaluates the events."
)]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    id: String,
    /// What happened
    #[arg(required_unless_present_any = ["list", "from"])]
    event: Option<String>,
    /// One of `on_track`, `new_requirement`, `technical_debt`, `delayed`, `blocked`, `completed`, `abandoned`
    #[arg(long, value_parser = status, default_value = "on_track")]
    status: Status,
    /// Day of the event, such as 2026-11-16; today if neither --date nor --week is given
    #[arg(long, value_name = "DAY", value_parser = date)]
    date: Option<Date>,
    /// Week of the event; week 1 is the week of the decision
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=5200))]
    week: Option<u32>,
    /// Further details
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Effect on the work
    #[arg(long, value_name = "TEXT")]
    impact: Option<String>,
    /// Time lost, such as "3 days"
    #[arg(long, value_parser = time_cost, value_name = "TIME")]
    time_cost: Option<TimeCost>,
    /// How unexpected the event was, from 0 (expected) to 1 (not considered at all)
    #[arg(long, value_parser = probability, value_name = "0..1")]
    surprise: Option<Probability>,
    /// Overall assessment so far
    #[arg(long, value_name = "TEXT")]
    assessment: Option<String>,
    /// Add the timeline of a YAML file (`implementation_tracking`)
    #[arg(long, value_name = "FILE", conflicts_with = "event")]
    from: Option<PathBuf>,
    /// List the recorded events
    #[arg(long, conflicts_with_all = ["event", "from"])]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn status(text: &str) -> Result<Status, String> {
    Status::named(text).ok_or_else(|| {
        let names = Status::ALL.map(Status::name);
        match closest(text, names.into_iter()) {
            Some(close) => format!("did you mean '{close}'?"),
            None => format!("expected one of {}", names.join(", ")),
        }
    })
}

fn date(text: &str) -> Result<Date, &'static str> {
    text.parse()
        .map_err(|_| "expected a date such as 2026-11-16")
}

fn time_cost(text: &str) -> Result<TimeCost, String> {
    TimeCost::new(text).map_err(|error| error.to_string())
}

fn probability(text: &str) -> Result<Probability, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "expected a number from 0 to 1".to_owned())?;
    Probability::new(number).map_err(|error| error.to_string())
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let json = args.json;
    if !args.list {
        check_decided(&row)?;
        let new = events(args)?;
        check_dates(&row, &new)?;
        let count = new.len();
        let follow_up = FollowUp {
            tracked: new,
            assessment: None,
        };
        store.follow_up(row.id, follow_up, clock::now()).await?;
        let events = counted(count, "event");
        output::note(&format!("Added {events} to {}.", row.id));
    }
    let course = timeline_of(&store.entries(row.id).await?);
    store.close().await;
    show(&course, json)?;
    Ok(ExitCode::SUCCESS)
}

/// Fails if the debate has no decision: it is not finished, or ended without a result.
pub(super) fn check_decided(row: &DebateRow) -> Result<(), Failure> {
    let (id, state) = (row.id, row.state.name());
    match row.state {
        State::Complete | State::Partial => Ok(()),
        State::Queued | State::Running | State::Waiting => Err(Failure::usage(format!(
            "debate {id} is not finished ({state}), so it has no decision yet"
        ))),
        State::Failed | State::Cancelled | State::Interrupted => Err(Failure::usage(format!(
            "debate {id} ended without a decision ({state}); continue it with `roundtable resume {id}`"
        ))),
    }
}

/// An event follows its decision; a day is allowed for time zones.
fn check_dates(row: &DebateRow, events: &[Tracked]) -> Result<(), Failure> {
    let stamp = clock::stamp(row.created_at);
    let decided = stamp.get(..10).and_then(|day| day.parse::<Date>().ok());
    let Some(decided) = decided else {
        return Ok(());
    };
    let first = decided.yesterday().unwrap_or(decided);
    match events
        .iter()
        .filter_map(|event| event.date)
        .find(|date| *date < first)
    {
        Some(date) => Err(Failure::usage(format!(
            "invalid date {date}: the debate began on {decided}, and the event follows its decision"
        ))),
        None => Ok(()),
    }
}

fn events(args: Args) -> Result<Vec<Tracked>, Failure> {
    if let Some(path) = &args.from {
        let file: AssessmentFile = yaml::read(path)?;
        let events = file.timeline().to_vec();
        if events.is_empty() {
            return Err(Failure::usage(format!(
                "{} has no timeline under implementation_tracking",
                path.display()
            )));
        }
        return Ok(events);
    }
    let event = args.event.unwrap_or_default().trim().to_owned();
    if event.is_empty() {
        return Err(Failure::usage("the event is empty: describe what happened"));
    }
    let today = || {
        let stamp = clock::stamp(clock::now());
        stamp.get(..10).and_then(|day| day.parse().ok())
    };
    Ok(vec![Tracked {
        date: args.date.or_else(|| args.week.is_none().then(today)?),
        week: args.week,
        event,
        status: args.status,
        note: args.note,
        impact: args.impact,
        time_cost: args.time_cost,
        tokens_impacted: None,
        surprise_factor: args.surprise,
        overall_assessment: args.assessment,
    }])
}

fn show(course: &Timeline, json: bool) -> Result<(), Failure> {
    if json {
        return output::json(&course.events());
    }
    match course.section() {
        None => output::note("No events recorded yet."),
        Some(section) => summary::print_report(&Report {
            sections: vec![section],
            ..Report::default()
        }),
    }
    Ok(())
}
