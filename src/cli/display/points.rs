//! The points of an argument with their stories, and the seats that changed position.

use roundtable_engine::report::{Argument, ArgumentPoint};
use roundtable_engine::transcript::Transcript;

use super::super::output::{self, BOLD, QUIET, painted};
use super::blocks::style;
use super::wrap::break_line;
use crate::render::Roles;

/// Lines of one episode.
const MAX_LINES: usize = 3;
const INDENT: usize = 4;

pub(crate) fn lines(argument: &Argument, transcript: &Transcript, width: usize) -> Vec<String> {
    let drawing = Drawing {
        transcript,
        roles: Roles::of(transcript),
        width,
    };
    let mut lines = Vec::new();
    if !argument.points.is_empty() {
        lines.push(painted(BOLD, "Points"));
        for point in &argument.points {
            lines.extend(drawing.point(point));
        }
        lines.push(String::new());
    }
    if !argument.moves.is_empty() {
        lines.push(painted(BOLD, "Changed positions"));
        for moved in &argument.moves {
            let told = told(&moved.text, moved.reason.as_deref());
            lines.extend(drawing.episode(Some(moved.round), &moved.seat, &told));
        }
        lines.push(String::new());
    }
    lines
}

struct Drawing<'a> {
    transcript: &'a Transcript,
    roles: Roles,
    width: usize,
}

impl Drawing<'_> {
    fn point(&self, point: &ArgumentPoint) -> Vec<String> {
        let state = match &point.label {
            Some(label) => format!("{label}, {}", point.outcome.text),
            None => point.outcome.text.clone(),
        };
        let state = painted(style(point.outcome.tone), &output::harmless(&state));
        let mut lines = vec![format!("  {}  {state}", painted(BOLD, &point.id))];
        lines.extend(self.wrapped(&point.text));
        for episode in &point.story {
            let told = told(&episode.action, episode.reason.as_deref());
            lines.extend(self.episode(episode.round, &episode.seat, &told));
        }
        lines
    }

    /// `R2 Skeptic: called it settled: the limit is named`
    fn episode(&self, round: Option<u32>, seat: &str, told: &str) -> Vec<String> {
        let round = round.map_or_else(|| "   ".to_owned(), |round| format!("R{round} "));
        let title = output::harmless(&self.transcript.title_of(seat));
        let mut lines = self.wrapped(&format!("{round}{title} {told}"));
        // Painted after it is wrapped, so that escapes have no width.
        if let Some(first) = lines.first_mut() {
            let lead = format!("{:INDENT$}{round}{title}", "");
            if let Some(rest) = first.strip_prefix(&lead) {
                let title = painted(output::role_style(&self.roles, seat), &title);
                *first = format!("{:INDENT$}{}{title}{rest}", "", painted(QUIET, &round));
            }
        }
        lines
    }

    fn wrapped(&self, text: &str) -> Vec<String> {
        let room = self.width.saturating_sub(INDENT).max(20);
        let lines = break_line(&output::harmless(text), room).into_iter();
        let lines = lines.take(MAX_LINES);
        lines.map(|line| format!("{:INDENT$}{line}", "")).collect()
    }
}

fn told(action: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{action}: {reason}"),
        None => action.to_owned(),
    }
}
