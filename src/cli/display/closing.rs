//! What stands below the answer: what the debate was worth, its figures, what is missing, what it cost.

use roundtable_engine::event::State;
use roundtable_engine::report::{Place, Report, Tone};
use roundtable_engine::transcript::{Item, Outcome, Transcript, Turn, capital};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, WARN, painted};
use super::super::reading::Reading;
use super::blocks::{self, Extent, Look, Titles};

/// After a debate that was watched: the main things, texts cut short.
pub(crate) fn brief(reading: &Reading) -> Vec<String> {
    let look = Look::of_terminal(output::stderr_is_terminal(), Extent::Brief);
    view(reading, look, &[Place::Main])
}

/// For somebody who comes back to it: everything.
pub(crate) fn whole(reading: &Reading) -> Vec<String> {
    let look = Look::of_terminal(output::stdout_is_terminal(), Extent::Whole);
    view(reading, look, &[Place::Main, Place::Side])
}

fn view(reading: &Reading, look: Look, places: &[Place]) -> Vec<String> {
    let Reading {
        transcript, report, ..
    } = reading;
    let mut lines = vec![String::new()];
    let titles = |role: &str| transcript.title_of(role);
    lines.extend(sections(report, &titles, look, places));
    lines.extend(facts(report, look));
    lines.extend(shortcoming(transcript));
    lines.push(painted(QUIET, &used(transcript)));
    lines
}

/// A report of no one debate.
pub(crate) fn report(report: &Report) -> Vec<String> {
    let look = Look::of_terminal(output::stdout_is_terminal(), Extent::Whole);
    let mut lines: Vec<String> = facts(report, look);
    lines.push(String::new());
    lines.extend(sections(
        report,
        &capital,
        look,
        &[Place::Main, Place::Side],
    ));
    lines
}

fn sections(report: &Report, titles: Titles<'_>, look: Look, places: &[Place]) -> Vec<String> {
    let mut lines = Vec::new();
    for place in places {
        let here = report.sections.iter().filter(|it| it.place == *place);
        for section in here {
            lines.push(painted(BOLD, &output::harmless(&section.title)));
            lines.extend(blocks::section(section, titles, look));
            lines.push(String::new());
        }
    }
    lines
}

/// `Confidence 8 of 10 · Rounds 3`, on a terminal broken between two of them.
fn facts(report: &Report, look: Look) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for fact in &report.facts {
        let (name, value) = (output::harmless(&fact.name), output::harmless(&fact.value));
        let room = name.width() + 1 + value.width();
        let shown = format!("{name} {}", painted(blocks::style(fact.tone), &value));
        match lines.last_mut() {
            Some((line, taken)) if look.width.is_none_or(|width| *taken + 3 + room <= width) => {
                *line = format!("{line} · {shown}");
                *taken += 3 + room;
            }
            Some(_) | None => lines.push((shown, room)),
        }
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// Why it is not what was asked for.
fn shortcoming(transcript: &Transcript) -> Option<String> {
    let what = match transcript.state {
        State::Complete => return None,
        State::Failed => "Failed",
        State::Cancelled => "Cancelled",
        State::Partial | State::Queued | State::Running | State::Waiting => "Partial result",
    };
    let reason = output::harmless(transcript.reason.as_ref()?);
    Some(painted(WARN, &format!("{what}: {reason}")))
}

fn used(transcript: &Transcript) -> String {
    let sum = &transcript.totals.debate;
    format!(
        "{} calls · {} tokens in ({} cached), {} out · {} · {}",
        sum.calls,
        output::grouped(sum.usage.input),
        output::grouped(sum.usage.cached),
        output::grouped(sum.usage.output),
        output::money(sum.cost),
        output::duration(transcript.busy_ms)
    )
}

/// Everything that was said, round by round, to standard output.
pub(crate) fn transcript(transcript: &Transcript) {
    for round in &transcript.rounds {
        for item in round.items() {
            match item {
                Item::Turn(turn) => say_turn(turn, &round.title()),
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

fn say_turn(turn: &Turn, round: &str) {
    output::line(&format!(
        "{} {}\n",
        painted(output::role(&turn.seat), &output::harmless(&turn.title)),
        painted(QUIET, &round.to_lowercase())
    ));
    if let Some(asked) = &turn.instead_of {
        let who = format!("{}, because {}", turn.answered_by(), asked.because);
        output::line(&painted(WARN, &format!("{}\n", output::harmless(&who))));
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
