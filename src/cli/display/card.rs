//! The verdict of a debate as lines of a terminal: one screen for every protocol.

use anstyle::Style;
use roundtable_engine::event::State;
use roundtable_engine::report::{Tone, Verdict};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, painted};
use super::blocks::style;
use super::wrap::break_line;
use crate::format::counted;

/// With the line of next commands and the prompt it fits a terminal of 24 lines.
const MAX_LINES: usize = 21;
const MAX_ANSWER: usize = 5;
/// Lines of one row below the answer.
const MAX_ROW: usize = 2;
/// Entries of a kind.
const MAX_ENTRIES: usize = 2;
const LABEL: usize = 11;
const INDENT: &str = "  ";

/// How much of the verdict the card has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail<'a> {
    /// The part that fits on a screen.
    Screen,
    /// The beginning of the answer, and every row in full.
    Rows,
    /// The whole answer, as it is printed, and every row in full.
    Whole(&'a str),
}

/// A label with a text, below the answer.
struct Row {
    label: &'static str,
    text: String,
    tone: Tone,
}

/// The card of a debate. `title` is what kind of debate it was.
pub(crate) fn card(
    verdict: &Verdict,
    question: &str,
    title: &str,
    detail: Detail<'_>,
    width: usize,
) -> Vec<String> {
    let mut lines = vec![heading(verdict, question, title, width)];
    lines.extend(badge(verdict, width));
    lines.push(String::new());
    match detail {
        Detail::Screen => {
            lines.extend(answer(verdict, width));
            let room = MAX_LINES.saturating_sub(lines.len() + 2);
            lines.extend(fitted(&rows(verdict, MAX_ENTRIES), width, room));
        }
        Detail::Rows | Detail::Whole(_) => {
            match detail {
                Detail::Whole(text) => lines.extend([text.to_owned(), String::new()]),
                Detail::Rows | Detail::Screen => lines.extend(answer(verdict, width)),
            }
            let rows = rows(verdict, usize::MAX);
            lines.extend(rows.iter().flat_map(|row| drawn(row, width, usize::MAX)));
        }
    }
    let usage = output::short(&usage(verdict), width.saturating_sub(INDENT.len()));
    lines.push(String::new());
    lines.push(painted(QUIET, &format!("{INDENT}{usage}")));
    lines
}

/// The question, and at the right what was played.
fn heading(verdict: &Verdict, question: &str, title: &str, width: usize) -> String {
    let rounds = usize::try_from(verdict.rounds).unwrap_or(usize::MAX);
    let mut played = format!("{title} · {}", counted(rounds, "round"));
    if let Some(state) = state(verdict.state) {
        played = format!("{played} · {state}");
    }
    // On a narrow terminal the question is more important.
    if width < played.width() + 30 {
        return painted(BOLD, &output::short(&output::harmless(question), width));
    }
    let room = width.saturating_sub(played.width() + 2);
    let question = output::short(&output::harmless(question), room);
    let gap = width.saturating_sub(question.width() + played.width());
    let gap = " ".repeat(gap.max(2));
    format!(
        "{}{gap}{}",
        painted(BOLD, &question),
        painted(QUIET, &played)
    )
}

/// A state that readers must know of.
fn state(state: State) -> Option<&'static str> {
    match state {
        State::Complete => None,
        State::Partial => Some("partial"),
        State::Failed => Some("failed"),
        State::Cancelled => Some("cancelled"),
        State::Interrupted => Some("interrupted"),
        State::Queued => Some("queued"),
        State::Running => Some("running"),
        State::Waiting => Some("waiting for you"),
    }
}

/// The tone is also a sign, for terminals without colour.
pub(super) const fn sign(tone: Tone) -> char {
    match tone {
        Tone::Good => '✓',
        Tone::Caution => '!',
        Tone::Critical => '✗',
        Tone::Plain | Tone::Quiet => '·',
    }
}

pub(super) fn badge(verdict: &Verdict, width: usize) -> Vec<String> {
    let badge = &verdict.badge;
    let text = format!("{} {}", sign(badge.tone), output::harmless(&badge.text));
    let lines = break_line(&text, width).into_iter().take(MAX_ROW);
    let emphasis = match badge.tone {
        Tone::Critical | Tone::Good => style(badge.tone).bold(),
        tone => style(tone),
    };
    lines.map(|line| painted(emphasis, &line)).collect()
}

pub(super) fn answer(verdict: &Verdict, width: usize) -> Vec<String> {
    let Some(answer) = &verdict.answer else {
        return Vec::new();
    };
    let wrapped = |text: &str, max: usize, style: Style| {
        let text = output::harmless(text);
        let lines = clamped(&text, width.saturating_sub(INDENT.len()), max);
        let lines = lines.into_iter();
        lines.map(move |line| format!("{INDENT}{}", painted(style, &line)))
    };
    let headline = answer.headline.as_deref();
    let mut lines: Vec<String> = headline
        .map(|headline| wrapped(headline, 2, BOLD).collect())
        .unwrap_or_default();
    let room = MAX_ANSWER - lines.len();
    lines.extend(wrapped(&answer.short, room, Style::new()));
    lines.push(String::new());
    lines
}

/// At most `max` lines; the last of a longer text ends with an ellipsis.
fn clamped(text: &str, width: usize, max: usize) -> Vec<String> {
    let mut lines = break_line(text, width);
    if lines.len() > max {
        lines.truncate(max);
        if let Some(last) = lines.last_mut() {
            *last = output::short(&format!("{last} …"), width);
            if !last.ends_with('…') {
                last.push('…');
            }
        }
    }
    lines
}

/// The most important first. `max` is the number of failures, and of seats that disagree.
fn rows(verdict: &Verdict, max: usize) -> Vec<Row> {
    let row = |label, text: String, tone| Row { label, text, tone };
    let mut rows = Vec::new();
    let failures = failures(verdict);
    for text in failures.iter().take(max) {
        rows.push(row("Failed", text.clone(), Tone::Caution));
    }
    if let Some(more) = more(failures.len(), max) {
        rows.push(row("", format!("{more} failed"), Tone::Caution));
    }
    if let Some(confidence) = &verdict.confidence {
        let reason = confidence.reason.as_deref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let tone = if confidence.is_lowered {
            Tone::Caution
        } else {
            Tone::Plain
        };
        rows.push(row(
            "Confidence",
            format!("{}{reason}", confidence.shown),
            tone,
        ));
    }
    if let Some(changed) = &verdict.changed {
        rows.push(row("Change", changed.text.clone(), Tone::Plain));
    }
    for dissent in verdict.dissent.iter().take(max) {
        let reason = dissent.reason.as_deref();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let text = format!("{}: {}{reason}", dissent.title, dissent.position);
        rows.push(row("Dissent", text, Tone::Plain));
    }
    if let Some(more) = more(verdict.dissent.len(), max) {
        rows.push(row("", more, Tone::Quiet));
    }
    let figures = verdict.figures.iter();
    let figures: Vec<String> = figures
        .map(|fact| format!("{}: {}", fact.name, fact.value))
        .collect();
    rows.push(row("Figures", figures.join(" · "), Tone::Plain));
    rows.push(row("Caveats", verdict.caveats.join(" · "), Tone::Plain));
    rows.push(row(
        "Ending",
        verdict.ending.clone().unwrap_or_default(),
        Tone::Quiet,
    ));
    rows.retain(|row| !row.text.is_empty());
    rows
}

/// The failures with their reasons, each reason once: a dead server fails every seat.
pub(super) fn failures(verdict: &Verdict) -> Vec<String> {
    const VERB: &str = " gave no answer";
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for failure in &verdict.failures {
        match by_reason
            .iter_mut()
            .find(|(reason, _)| *reason == failure.reason)
        {
            Some((_, texts)) => texts.push(&failure.text),
            None => by_reason.push((&failure.reason, vec![&failure.text])),
        }
    }
    let merged = |texts: &[&str]| -> Option<String> {
        let parts = texts.iter().map(|text| text.split_once(VERB));
        let parts: Vec<(&str, &str)> = parts.collect::<Option<_>>()?;
        let when = parts.first()?.1;
        let when = if parts.iter().all(|part| part.1 == when) {
            when
        } else {
            ""
        };
        let seats: Vec<&str> = parts.iter().map(|part| part.0).collect();
        Some(format!("{}{VERB}{when}", seats.join(", ")))
    };
    let lines = by_reason.iter().map(|(reason, texts)| {
        let text = merged(texts).unwrap_or_else(|| texts.join("; "));
        format!("{text}: {reason}")
    });
    lines.collect()
}

fn more(count: usize, max: usize) -> Option<String> {
    let more = count.checked_sub(max).filter(|more| *more > 0)?;
    Some(format!("and {more} more"))
}

/// The rows in at most `room` lines: each has one, and the first ones get more while there is room.
fn fitted(rows: &[Row], width: usize, room: usize) -> Vec<String> {
    let mut spare = room.saturating_sub(rows.len());
    let lines = rows.iter().flat_map(|row| {
        let lines = drawn(row, width, (1 + spare).min(MAX_ROW));
        spare -= lines.len() - 1;
        lines
    });
    lines.take(room).collect()
}

fn drawn(row: &Row, width: usize, max: usize) -> Vec<String> {
    let text = output::harmless(&row.text);
    let lines = clamped(&text, width.saturating_sub(INDENT.len() + LABEL + 1), max);
    let lines = lines.into_iter().enumerate();
    lines
        .map(|(index, line)| {
            let label = if index == 0 { row.label } else { "" };
            let label = painted(QUIET, &format!("{label:<LABEL$}"));
            format!("{INDENT}{label} {}", painted(style(row.tone), &line))
        })
        .collect()
}

/// `8 calls · 11,380 tokens · $0.0070 · 10 s`
pub(super) fn usage(verdict: &Verdict) -> String {
    let usage = &verdict.usage;
    let calls = usize::try_from(usage.calls).unwrap_or(usize::MAX);
    let mut parts = vec![counted(calls, "call")];
    if usage.tokens() > 0 {
        parts.push(format!("{} tokens", output::grouped(usage.tokens())));
    }
    parts.extend(output::cost(usage.cost, usage.tokens()));
    parts.push(output::duration(usage.duration_ms));
    parts.join(" · ")
}

#[cfg(test)]
#[path = "card_tests.rs"]
mod tests;
