//! `roundtable show`: a debate in three depths: verdict, argument, record.

use std::process::ExitCode;

use roundtable_engine::event::State;
use roundtable_engine::protocols;
use roundtable_engine::recorded_prompt::{NoPrompt, steps};
use roundtable_engine::table::left_alone;
use unicode_width::UnicodeWidthStr;

use super::browser;
use super::decision_prompt;
use super::display::card::{Detail, card};
use super::display::{argument, points, prompt, summary};
use super::output::{self, BOLD, QUIET, painted, short_id};
use super::pager;
use super::stored_debate::StoredDebate;
use crate::app_context::AppContext;
use crate::export;
use crate::failure::Failure;
use crate::setup::prompts::prompt_of;
use crate::store::Thread;

/// Show a debate: the verdict, the rounds or everything
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable show last --rounds\n  roundtable show last --web\n  roundtable show last --prompt r1/skeptic/criticise"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub(crate) struct Args {
    /// The debate's id, an unambiguous prefix of it, or `last`
    #[arg(default_value = "last")]
    id: String,
    /// Show the argument: round by round, a few lines per turn
    #[arg(long)]
    rounds: bool,
    /// Show the full record: every turn, tables, measures and usage
    #[arg(long, conflicts_with = "rounds")]
    record: bool,
    /// Print every turn, round by round, and the report
    #[arg(long, hide = true, conflicts_with_all = ["rounds", "record", "prompt"])]
    transcript: bool,
    /// Show the exact prompt that a seat received in a step
    #[arg(long, value_name = "STEP", conflicts_with_all = ["rounds", "record"])]
    prompt: Option<String>,
    /// Open the debate in the browser, as one file without scripts
    #[arg(long, conflicts_with_all = ["rounds", "record", "prompt", "json"])]
    web: bool,
    /// Print the record as JSON, or the prompt
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let store = app.store().await?;
    let row = store.find(&args.id).await?;
    let stored = StoredDebate::load(&store, &row).await?;
    let thread = store.thread(&row, None).await?;
    store.close().await;
    if let Some(step) = &args.prompt {
        let prompt = prompt_of(app, stored.entries(), step).await?;
        let prompt = prompt.map_err(|error| refused(&stored, &error))?;
        if args.json {
            output::json(&prompt)?;
        } else {
            let text = prompt::lines(&prompt).join("\n");
            pager::print(&app.environment, &format!("{text}\n"))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        output::json(&stored.record())?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.web {
        let html = export::html(&stored.transcript, &stored.report);
        browser::open(&app.environment, &html)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = if args.record || args.transcript {
        record(&stored)
    } else if args.rounds {
        rounds(&stored)
    } else {
        verdict(&stored)
    };
    text.extend(left_to_others(&stored));
    text.extend(thread_lines(&stored, &thread));
    text.extend(next(&stored));
    pager::print(&app.environment, &format!("{}\n", text.join("\n")))?;
    Ok(ExitCode::SUCCESS)
}

fn refused(stored: &StoredDebate, error: &NoPrompt) -> Failure {
    let NoPrompt::UnknownStep { .. } = error else {
        return Failure::other(error.to_string());
    };
    let known = steps(stored.entries()).join(", ");
    Failure::usage(format!("{error}. Its steps: {known}"))
}

/// With the answer in full.
fn verdict(stored: &StoredDebate) -> Vec<String> {
    match &stored.report.answer {
        Some(answer) => card_of(stored, Detail::Whole(&output::rendered_answer(answer))),
        None => card_of(stored, Detail::Rows),
    }
}

fn rounds(stored: &StoredDebate) -> Vec<String> {
    let mut lines = card_of(stored, Detail::Rows);
    lines.push(String::new());
    let width = output::width().min(100);
    lines.extend(points::lines(
        &stored.report.argument,
        &stored.transcript,
        width,
    ));
    lines.extend(argument::lines(&stored.transcript, width));
    lines
}

fn card_of(stored: &StoredDebate, detail: Detail<'_>) -> Vec<String> {
    let transcript = &stored.transcript;
    let Some(verdict) = &stored.report.verdict else {
        return Vec::new();
    };
    let title = protocols::title(&transcript.protocol);
    let width = output::width().min(100);
    card(verdict, &transcript.question, &title, detail, width)
}

fn record(stored: &StoredDebate) -> Vec<String> {
    let transcript = &stored.transcript;
    let question = output::harmless(&transcript.question);
    let mut lines = vec![painted(BOLD, &question), String::new()];
    lines.extend(summary::transcript_lines(transcript));
    if let Some(answer) = &stored.report.answer {
        lines.push(painted(BOLD, "Answer\n"));
        lines.push(output::rendered_answer(answer));
    }
    lines.extend(summary::full(stored));
    lines
}

/// Which versions of the program could not continue it.
fn left_to_others(stored: &StoredDebate) -> Vec<String> {
    let entries = stored.entries();
    let setup = entries.first().and_then(|entry| entry.event.setup());
    let started_by = setup.map_or("", |setup| setup.program.as_str());
    let left = left_alone(entries);
    left.iter()
        .map(|left| output::harmless(&left.sentence(started_by)))
        .collect()
}

/// The parent and the follow-ups, a line each.
fn thread_lines(stored: &StoredDebate, thread: &Thread) -> Vec<String> {
    let width = output::width().min(100);
    let line = |label: &str, id: &str, question: &str, note: &str| {
        let label = format!("  {label:<11} {} ", short_id(id));
        let room = width.saturating_sub(label.width() + note.width());
        let question = output::short(&output::harmless(question), room);
        format!("{}{question}{note}", painted(QUIET, &label))
    };
    let mut lines = Vec::new();
    if let Some(parent) = &stored.transcript.parent {
        let is_there = thread
            .before
            .iter()
            .any(|row| row.id.to_string() == parent.id);
        let note = if is_there { "" } else { " (deleted)" };
        lines.push(line("Follows up", &parent.id, &parent.question, note));
    }
    for row in &thread.follow_ups {
        let id = row.id.to_string();
        lines.push(line("Follow-up", &id, &row.question, ""));
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// The condition for continuing the debate.
fn next(stored: &StoredDebate) -> Option<String> {
    let transcript = &stored.transcript;
    let id = short_id(&transcript.id);
    if let Some(query) = &transcript.waiting_for {
        return Some(format!("\n{}", decision_prompt::instructions(query, id)));
    }
    match transcript.state {
        State::Interrupted | State::Cancelled | State::Failed => {
            Some(format!("Continue with:\n  roundtable resume {id}"))
        }
        _ => None,
    }
}
