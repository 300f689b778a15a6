//! The summary below an answer: report, facts, missing parts and cost.

use roundtable_engine::estimate;
use roundtable_engine::event::{State, position, unanswered};
use roundtable_engine::remarks::plain_reason;
use roundtable_engine::report::{Block, Place, Report, Tone};
use roundtable_engine::transcript::{Item, Outcome, Transcript, Turn};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, WARN, painted};
use super::super::stored_debate::StoredDebate;
use super::blocks::{self, RenderOptions};
use super::wrap::wrap_line;
use crate::format::counted;
use crate::render::{Roles, names_a_state};

/// Lines of the ending that are shown below an answer.
const MAX_ENDING: usize = 8;

/// Changes, confidence and cost, for the end of a live debate: a few lines, so that the answer stays on the screen (P-11).
pub(crate) fn footer(stored: &StoredDebate) -> Vec<String> {
    let StoredDebate {
        transcript, report, ..
    } = stored;
    let options = RenderOptions::new(output::stderr_is_terminal());
    let mut lines = Vec::new();
    if transcript.state != State::Failed {
        lines.extend(ending(stored, options));
    }
    lines.extend(facts(report, options));
    lines.extend(incomplete(stored, Telling::Again));
    let used = match estimate::comparison(stored.entries()) {
        Some(comparison) => comparison.usage_text(&output::duration(transcript.busy_ms)),
        None => usage(transcript),
    };
    let used = wrap_line(&used, options.width).into_iter();
    lines.extend(used.map(|line| painted(QUIET, &line)));
    lines
}

/// How the debate ended and what it changed. Failed steps are left out: the answer or the state names them.
fn ending(stored: &StoredDebate, options: RenderOptions) -> Vec<String> {
    let is_failed_step = |text: &str| {
        let turns = &mut stored.transcript.turns();
        turns.any(|turn| turn.text().is_none() && text.starts_with(&unanswered(&turn.step)))
    };
    let mut paragraphs: Vec<(Tone, String)> = Vec::new();
    for block in stored.report.ending() {
        let (text, tone) = match block {
            Block::Note { text, tone } if !is_failed_step(text) => (text, *tone),
            Block::Text { markdown } => (markdown, Tone::Plain),
            _ => continue,
        };
        let text = output::short(text, 300);
        match paragraphs.last_mut() {
            Some((last, paragraph)) if *last == tone => *paragraph = format!("{paragraph} {text}"),
            Some(_) | None => paragraphs.push((tone, text)),
        }
    }
    let lines = paragraphs.iter().flat_map(|(tone, text)| {
        let lines = wrap_line(text, options.width).into_iter();
        lines.map(|line| painted(blocks::style(*tone), &line))
    });
    let mut lines: Vec<String> = lines.collect();
    if lines.len() > MAX_ENDING {
        lines.truncate(MAX_ENDING);
        lines.push(painted(QUIET, "…"));
    }
    lines
}

/// Everything, for `roundtable show`.
pub(crate) fn full(stored: &StoredDebate) -> Vec<String> {
    let options = RenderOptions::new(output::stdout_is_terminal());
    let StoredDebate {
        transcript, report, ..
    } = stored;
    let mut lines = vec![String::new()];
    let places = [Place::Main, Place::Side];
    lines.extend(sections(report, &Roles::of(transcript), options, &places));
    lines.extend(facts(report, options));
    lines.extend(incomplete(stored, Telling::First));
    lines.push(painted(QUIET, &usage(transcript)));
    lines
}

/// Prints a report that is not about a single debate.
pub(crate) fn print_report(report: &Report) {
    for line in report_lines(report) {
        output::line(&line);
    }
}

pub(crate) fn report_lines(report: &Report) -> Vec<String> {
    let options = RenderOptions::new(output::stdout_is_terminal());
    let mut lines: Vec<String> = facts(report, options);
    lines.push(String::new());
    lines.extend(sections(
        report,
        &Roles::default(),
        options,
        &[Place::Main, Place::Side],
    ));
    lines
}

fn sections(
    report: &Report,
    roles: &Roles,
    options: RenderOptions,
    places: &[Place],
) -> Vec<String> {
    let mut lines = Vec::new();
    for place in places {
        let sections = report.sections.iter();
        for section in sections.filter(|section| section.place == *place) {
            lines.push(painted(BOLD, &output::harmless(&section.title)));
            lines.extend(blocks::section(section, roles, options));
            lines.push(String::new());
        }
    }
    lines
}

/// `Confidence 8 of 10 · Rounds 3`, on a terminal wrapped between two facts.
fn facts(report: &Report, options: RenderOptions) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for fact in &report.facts {
        let (name, value) = (output::harmless(&fact.name), output::harmless(&fact.value));
        let width = name.width() + 1 + value.width();
        let shown = format!("{name} {}", painted(blocks::style(fact.tone), &value));
        match lines.last_mut() {
            Some((line, used)) if options.width.is_none_or(|max| *used + 3 + width <= max) => {
                *line = format!("{line} · {shown}");
                *used += 3 + width;
            }
            Some(_) | None => lines.push((shown, width)),
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// Whether the reader has seen the failures while the debate ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    First,
    Again,
}

/// Why there is no complete result. A failure is reported with its reason only once.
pub(crate) fn incomplete(stored: &StoredDebate, telling: Telling) -> Option<String> {
    let transcript = &stored.transcript;
    let state = match transcript.state {
        State::Complete | State::Waiting => return None,
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
        State::Interrupted => "Interrupted; everything so far is saved",
        State::Queued => "Queued",
        State::Running => "Running",
        State::Partial => "Partial result",
    };
    let failed = transcript.turns().filter_map(|turn| match &turn.outcome {
        Outcome::Absent { reason } if telling == Telling::First => {
            let why = plain_reason(reason);
            Some(format!("{} gave no answer ({why})", position(&turn.step)))
        }
        Outcome::Absent { .. } => Some(format!("{} gave no answer", position(&turn.step))),
        Outcome::Said { .. } => None,
    });
    let mut reasons: Vec<String> = failed.collect();
    let reason = transcript.reason.as_deref();
    let has_own_reason = transcript.ran_out() || reasons.is_empty();
    let own = reason.filter(|reason| has_own_reason && !names_a_state(reason));
    reasons.extend(own.map(str::to_owned));
    let reasons = output::harmless(&reasons.join("; "));
    let separator = if reasons.is_empty() { "" } else { ": " };
    Some(painted(WARN, &format!("{state}{separator}{reasons}")))
}

fn usage(transcript: &Transcript) -> String {
    let sum = &transcript.totals.debate;
    let cost = output::cost(sum.cost, sum.usage.total());
    format!(
        "{} · {} tokens in ({} cached), {} out · {}{}",
        counted(usize::try_from(sum.calls).unwrap_or(usize::MAX), "call"),
        output::grouped(sum.usage.input),
        output::grouped(sum.usage.cached),
        output::grouped(sum.usage.output),
        cost.map_or_else(String::new, |cost| format!("{cost} · ")),
        output::duration(transcript.busy_ms)
    )
}

/// Every turn, round by round, for standard output.
pub(crate) fn transcript_lines(transcript: &Transcript) -> Vec<String> {
    let roles = Roles::of(transcript);
    let mut lines = Vec::new();
    for round in &transcript.rounds {
        if let Some(focus) = &round.focus {
            let line = format!("Focus of {}: {focus}\n", round.title().to_lowercase());
            lines.push(painted(QUIET, &output::harmless(&line)));
        }
        for item in round.items() {
            match item {
                Item::Turn(turn) => lines.extend(turn_lines(turn, &round.title(), &roles)),
                Item::Voice(voice) => {
                    let who = voice.by.as_deref().unwrap_or("A person");
                    lines.push(format!("{}\n", painted(BOLD, &output::harmless(who))));
                    lines.push(output::rendered_answer(&voice.text));
                }
            }
            lines.push(String::new());
        }
    }
    lines
}

fn turn_lines(turn: &Turn, round: &str, roles: &Roles) -> Vec<String> {
    let mut lines = vec![format!(
        "{} {}\n",
        output::seat(roles, &turn.seat),
        painted(
            QUIET,
            &format!(
                "{} · {}",
                round.to_lowercase(),
                output::harmless(&turn.step)
            )
        )
    )];
    if let Some(asked) = &turn.instead_of {
        let note = format!("{}, because {}", turn.answered_by(), asked.because);
        lines.push(painted(WARN, &format!("{}\n", output::harmless(&note))));
    }
    match &turn.outcome {
        Outcome::Said { text, remarks } => {
            lines.push(output::rendered_answer(text));
            for remark in remarks {
                lines.push(painted(WARN, &output::harmless(remark)));
            }
        }
        Outcome::Absent { reason } => lines.push(painted(
            blocks::style(Tone::Caution),
            &format!("absent: {}", output::harmless(&plain_reason(reason))),
        )),
    }
    lines
}
