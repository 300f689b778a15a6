//! The summary below an answer: report, facts, missing parts and cost.

use roundtable_engine::event::State;
use roundtable_engine::report::{Place, Report, Tone};
use roundtable_engine::transcript::{Item, Outcome, Transcript, Turn};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, WARN, painted};
use super::super::stored_debate::StoredDebate;
use super::blocks::{self, Detail, RenderOptions};
use crate::format::counted;
use crate::render::Roles;

/// The main sections with shortened texts, for the end of a live debate.
pub(crate) fn brief(stored: &StoredDebate) -> Vec<String> {
    let options = RenderOptions::new(output::stderr_is_terminal(), Detail::Brief);
    view(stored, options, &[Place::Main])
}

/// Everything, for `roundtable show`.
pub(crate) fn full(stored: &StoredDebate) -> Vec<String> {
    let options = RenderOptions::new(output::stdout_is_terminal(), Detail::Full);
    view(stored, options, &[Place::Main, Place::Side])
}

fn view(stored: &StoredDebate, options: RenderOptions, places: &[Place]) -> Vec<String> {
    let StoredDebate {
        transcript, report, ..
    } = stored;
    let mut lines = vec![String::new()];
    lines.extend(sections(report, &Roles::of(transcript), options, places));
    lines.extend(facts(report, options));
    lines.extend(incomplete(transcript));
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
    let options = RenderOptions::new(output::stdout_is_terminal(), Detail::Full);
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

/// Why the result is incomplete.
fn incomplete(transcript: &Transcript) -> Option<String> {
    let state = match transcript.state {
        State::Complete => return None,
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
        State::Partial | State::Queued | State::Running | State::Waiting => "Partial result",
    };
    let reason = output::harmless(transcript.reason.as_ref()?);
    Some(painted(WARN, &format!("{state}: {reason}")))
}

fn usage(transcript: &Transcript) -> String {
    let sum = &transcript.totals.debate;
    format!(
        "{} · {} tokens in ({} cached), {} out · {} · {}",
        counted(usize::try_from(sum.calls).unwrap_or(usize::MAX), "call"),
        output::grouped(sum.usage.input),
        output::grouped(sum.usage.cached),
        output::grouped(sum.usage.output),
        output::money(sum.cost, sum.usage.total()),
        output::duration(transcript.busy_ms)
    )
}

/// Prints every turn, round by round, to standard output.
pub(crate) fn print_transcript(transcript: &Transcript) {
    let roles = Roles::of(transcript);
    for round in &transcript.rounds {
        if let Some(focus) = &round.focus {
            let line = format!("Focus of {}: {focus}\n", round.title().to_lowercase());
            output::line(&painted(QUIET, &output::harmless(&line)));
        }
        for item in round.items() {
            match item {
                Item::Turn(turn) => print_turn(turn, &round.title(), &roles),
                Item::Voice(voice) => {
                    let who = voice.by.as_deref().unwrap_or("A person");
                    output::line(&format!("{}\n", painted(BOLD, &output::harmless(who))));
                    output::markdown(&voice.text);
                }
            }
            output::line("");
        }
    }
}

fn print_turn(turn: &Turn, round: &str, roles: &Roles) {
    output::line(&format!(
        "{} {}\n",
        output::seat(roles, &turn.seat),
        painted(QUIET, &round.to_lowercase())
    ));
    if let Some(asked) = &turn.instead_of {
        let note = format!("{}, because {}", turn.answered_by(), asked.because);
        output::line(&painted(WARN, &format!("{}\n", output::harmless(&note))));
    }
    match &turn.outcome {
        Outcome::Said { text, remarks } => {
            output::markdown(text);
            for remark in remarks {
                output::line(&painted(WARN, &output::harmless(remark)));
            }
        }
        Outcome::Absent { reason } => output::line(&painted(
            blocks::style(Tone::Caution),
            &format!("absent: {}", output::harmless(reason)),
        )),
    }
}
