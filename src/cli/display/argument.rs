//! The argument of a debate: round by round, one line per seat and turn.

use roundtable_core::excerpt::excerpt;
use roundtable_engine::remarks::plain_reason;
use roundtable_engine::transcript::{Item, Outcome, Round, Transcript, Turn};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, WARN, painted};
use super::wrap::break_line;
use crate::render::Roles;

/// Lines of one turn.
const MAX_LINES: usize = 3;
const INDENT: &str = "  ";

pub(crate) fn lines(transcript: &Transcript, width: usize) -> Vec<String> {
    let roles = Roles::of(transcript);
    let turns = transcript.turns().map(|turn| turn.title.width());
    let widest = turns.max().unwrap_or(0).min(20);
    let mut lines = Vec::new();
    for round in &transcript.rounds {
        lines.push(heading(round));
        for item in round.items() {
            let (name, style, text) = match item {
                Item::Turn(turn) => {
                    let style = output::role_style(&roles, &turn.seat);
                    (turn.title.as_str(), style, told(turn, widest, width))
                }
                Item::Voice(voice) => {
                    let who = voice.by.as_deref().unwrap_or("You");
                    (who, BOLD, fitted(&voice.text, widest, width))
                }
            };
            let name = output::short(&output::harmless(name), widest);
            let pad = " ".repeat(widest.saturating_sub(name.width()));
            for (index, line) in text.into_iter().enumerate() {
                let lead = if index == 0 {
                    format!("{}{pad}", painted(style, &name))
                } else {
                    " ".repeat(widest)
                };
                lines.push(format!("{INDENT}{lead}  {line}"));
            }
        }
        lines.push(String::new());
    }
    lines
}

fn heading(round: &Round) -> String {
    let epithet = round.epithet();
    let epithet = epithet.map_or_else(String::new, |name| format!(" · {name}"));
    let time = output::duration(round.busy_ms);
    let quiet = painted(QUIET, &format!("{epithet} · {time}"));
    let focus = round.focus.as_deref().map_or_else(String::new, |focus| {
        format!(
            "\n{INDENT}{}",
            painted(QUIET, &format!("Focus: {}", output::short(focus, 100)))
        )
    });
    format!("{}{quiet}{focus}", painted(BOLD, &round.title()))
}

fn told(turn: &Turn, widest: usize, width: usize) -> Vec<String> {
    match &turn.outcome {
        Outcome::Said { text, .. } => fitted(text, widest, width),
        Outcome::Absent { reason } => {
            let text = format!("No answer: {}", plain_reason(reason));
            let lines = fitted(&text, widest, width).into_iter();
            lines.map(|line| painted(WARN, &line)).collect()
        }
    }
}

fn fitted(text: &str, widest: usize, width: usize) -> Vec<String> {
    let room = width.saturating_sub(widest + 2 * INDENT.len()).max(20);
    // Wrapping wastes some of each line.
    let text = excerpt(&output::harmless(text), MAX_LINES * room * 9 / 10);
    break_line(&text, room)
        .into_iter()
        .take(MAX_LINES)
        .collect()
}
