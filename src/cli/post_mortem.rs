//! `roundtable post-mortem`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use jiff::tz::TimeZone;
use roundtable_core::learning::{Domain, Knowledge};
use roundtable_engine::protocols::debate_record;
use roundtable_engine::report::{Fact, Report};
use roundtable_engine::retrospective::{
    Assessment, AssessmentFile, DebateRecord, LearningUpdates, PostMortem, RecordFile, Timeline,
    Tracked, assessment_of, report, timeline_of, used_learning,
};
use serde_json::json;

use crate::failure::Fault;
use crate::learning::{find_lesson, plan_lesson};
use crate::store::{DebateRow, FollowUp, Store};
use crate::{clock, export, yaml};

use super::assessment_prompt;
use super::audit;
use super::display::summary;
use super::output;
use super::track;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Assess how a decision turned out, and learn from it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable post-mortem last\n  roundtable post-mortem 3f2a --from assessment.yaml --domain \"api design\"\n  roundtable post-mortem 3f2a --format html -o post-mortem.html\n  roundtable post-mortem --record debate.yaml --from assessment.yaml\n\nWithout --from, the questions are asked on the terminal. If the debate was assessed before, its report is shown again. `roundtable learning history` lists what was learned, `roundtable learning undo` undoes it."
)]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    #[arg(required_unless_present = "record", conflicts_with = "record")]
    id: Option<String>,
    /// YAML file with a `debate_record`, instead of a stored debate
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// YAML file with the assessment (`implementation_tracking` or `post_mortem_assessment`)
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Domain of the decision; later debates of this domain use the lessons
    #[arg(long, value_parser = super::args::domain)]
    domain: Option<Domain>,
    /// Only write the report; save and learn nothing
    #[arg(long)]
    no_learning: bool,
    /// Output format
    #[arg(long, short, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Short for --format json
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Md,
    Html,
    Json,
}

/// A decision to be assessed.
struct Case {
    record: DebateRecord,
    course: Timeline,
    with_learning: bool,
    /// `None` for a record in a file.
    row: Option<DebateRow>,
    /// An earlier assessment.
    assessed: Option<Assessment>,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let file: Option<AssessmentFile> = args.from.as_deref().map(yaml::read).transpose()?;
    let store = app.store().await?;
    let mut case = match (&args.record, &args.id) {
        (Some(path), _) => from_file(path, file.as_ref())?,
        (None, id) => from_store(&store, id.as_deref().unwrap_or("last")).await?,
    };
    let half_life = app.config.learning.half_life;
    let is_repeat = file.is_none() && case.assessed.is_some();
    let new_events = timeline(&mut case, file.as_ref());
    let assessment = match (&file, case.assessed.take()) {
        (Some(file), _) => assessment_in(file, args.from.as_deref())?,
        (None, Some(known)) => known,
        (None, None) => assessment_prompt::ask(&case.record)?,
    };
    let post_mortem = PostMortem::new(
        case.record,
        case.course,
        assessment.clone(),
        case.with_learning,
    )
    .map_err(|errors| {
        let faults = errors.iter().map(|error| Fault::new("", error.to_string()));
        Failure::refused(faults.collect())
    })?;
    let learned = if args.no_learning {
        None
    } else {
        if !is_repeat {
            let domain = domain_of(&args, &post_mortem)?;
            let lesson = post_mortem.lesson(domain, clock::now());
            let plan = plan_lesson(lesson, half_life);
            let follow_up = FollowUp {
                tracked: new_events,
                assessment: Some(assessment),
            };
            let learning = async {
                match &case.row {
                    Some(row) => store.assess(row.id, follow_up, plan, clock::now()).await,
                    None => store.learn(plan).await,
                }
            };
            let action = audit::Action {
                name: "learning-changed",
                subject: &post_mortem.record.session_id,
                detail: Some("post-mortem".to_owned()),
            };
            audit::recorded(app, &store, action, learning).await?;
        }
        let audit = store.audit().await?;
        find_lesson(&audit, &post_mortem.record.session_id, half_life)
    };
    store.close().await;
    write(&args, &post_mortem, learned.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

fn from_file(path: &Path, assessment: Option<&AssessmentFile>) -> Result<Case, Failure> {
    let record = yaml::read::<RecordFile>(path)?.debate_record;
    let tracking = assessment.and_then(|file| file.implementation_tracking.as_ref());
    if let Some(project) = tracking.and_then(|tracking| tracking.project_id.as_ref())
        && *project != record.session_id
    {
        return Err(Failure::usage(format!(
            "the assessment is for project '{project}', but the record is for '{}'",
            record.session_id
        )));
    }
    let end = record.timestamp_end.unwrap_or(record.timestamp_start);
    let course = Timeline::new(end.to_zoned(TimeZone::UTC).date(), Vec::new());
    Ok(Case {
        record,
        course,
        with_learning: false,
        row: None,
        assessed: None,
    })
}

async fn from_store(store: &Store, id: &str) -> Result<Case, Failure> {
    let row = store.find(id).await?;
    track::check_decided(&row)?;
    let entries = store.entries(row.id).await?;
    let id = row.id.to_string();
    let record = debate_record(&id, &entries)
        .ok_or_else(|| Failure::other(format!("cannot read debate {id}: its journal is empty")))?;
    Ok(Case {
        record,
        course: timeline_of(&entries),
        with_learning: used_learning(&entries),
        assessed: assessment_of(&entries).cloned(),
        row: Some(row),
    })
}

/// Uses the timeline of the file if nothing was tracked before. Returns the events to store.
fn timeline(case: &mut Case, file: Option<&AssessmentFile>) -> Vec<Tracked> {
    let events = file.map_or(&[][..], AssessmentFile::timeline);
    if events.is_empty() {
        return Vec::new();
    }
    if !case.course.events().is_empty() {
        output::note(
            "Ignoring the timeline of the file: events were already tracked for this debate.",
        );
        return Vec::new();
    }
    case.course = Timeline::new(case.course.decided(), events.to_vec());
    events.to_vec()
}

fn assessment_in(file: &AssessmentFile, path: Option<&Path>) -> Result<Assessment, Failure> {
    file.assessment().cloned().ok_or_else(|| {
        let path = path.map_or_else(String::new, |path| path.display().to_string());
        Failure::usage(format!("{path} has no post_mortem_assessment"))
    })
}

fn domain_of(args: &Args, post_mortem: &PostMortem) -> Result<Domain, Failure> {
    if let Some(domain) = &args.domain {
        return Ok(domain.clone());
    }
    match &post_mortem.record.domain {
        Some(name) => Domain::new(name).map_err(|error| Failure::usage(error.to_string())),
        None => Ok(Domain::general()),
    }
}

fn write(
    args: &Args,
    post_mortem: &PostMortem,
    learned: Option<&(LearningUpdates, Knowledge)>,
) -> Result<(), Failure> {
    let knowledge = learned.map(|(updates, known)| (updates, known));
    let report = report(post_mortem, knowledge);
    let format = if args.json { Format::Json } else { args.format };
    let text = match format {
        Format::Text => text_of(&report),
        Format::Md => export::report_markdown(TITLE, &report),
        Format::Html => export::report_html(TITLE, &report),
        Format::Json => output::json_text(&json!({
            "project": post_mortem.record.session_id,
            "post_mortem_assessment": post_mortem.assessment,
            "evidence": post_mortem.evidence,
            "timeline": post_mortem.timeline.events(),
            "learning_updates": learned.map(|(updates, _)| updates),
        }))?,
    };
    output::write_to(args.output.as_deref(), &text)
}

const TITLE: &str = "Post-mortem";

fn text_of(report: &Report) -> String {
    let mut text = format!("{}\n\n", output::painted(output::BOLD, TITLE));
    for Fact { name, value, .. } in &report.facts {
        text.push_str(&output::harmless(&format!("{name}: {value}\n")));
    }
    let sections = Report {
        facts: Vec::new(),
        ..report.clone()
    };
    for line in summary::report_lines(&sections) {
        text.push_str(&line);
        text.push('\n');
    }
    text
}
