//! The block that is redrawn in place while a debate runs: the draft and what is open against it, who is thinking or writing,
//! round, usage and speed.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use roundtable_engine::report::{Tone, Verdict};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, painted};
use super::card;
use crate::render::Roles;

/// Drawing more often would only cost time.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);
/// Seats that are listed; the others are counted.
const MAX_SEATS: usize = 8;
/// Lines of the draft.
const MAX_DRAFT: usize = 3;

/// A seat that is asked right now.
pub(super) struct ActiveSeat<'a> {
    pub(super) seat: &'a str,
    /// The end of its text so far; empty while it thinks.
    pub(super) tail: &'a str,
    /// Why it is asked again.
    pub(super) retry: Option<&'a str>,
}

/// Everything the block shows.
pub(super) struct LiveView<'a> {
    pub(super) question: &'a str,
    pub(super) verdict: Option<&'a Verdict>,
    pub(super) seats: Vec<ActiveSeat<'a>>,
    pub(super) roles: &'a Roles,
    /// The line that the user is typing, if they may.
    pub(super) input: Option<&'a str>,
}

#[derive(Default)]
pub(super) struct LiveBlock {
    bar: Option<ProgressBar>,
    drawn_at: Option<Instant>,
}

impl LiveBlock {
    /// Whether a change that is not important may be drawn again.
    pub(super) fn is_due(&self) -> bool {
        let elapsed = self.drawn_at.map(|at| at.elapsed());
        elapsed.is_none_or(|elapsed| elapsed >= DRAW_INTERVAL)
    }

    /// `status` is the last line: round, usage, speed.
    pub(super) fn draw(&mut self, view: &LiveView<'_>, status: &str) {
        self.drawn_at = Some(Instant::now());
        let width = output::width().min(100).saturating_sub(1);
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let template = "{msg}\n{spinner} {prefix} · {elapsed}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        bar.set_prefix(output::short(status, width.saturating_sub(12)));
        bar.set_message(lines(view, width).join("\n"));
        bar.enable_steady_tick(Duration::from_millis(120));
    }

    /// Prints lines that stay, above the block.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(super) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Never wider than `width`: a line that the terminal breaks could not be redrawn.
fn lines(view: &LiveView<'_>, width: usize) -> Vec<String> {
    let question = output::short(&output::harmless(view.question), width);
    let mut lines = vec![painted(BOLD, &question)];
    if let Some(verdict) = view.verdict {
        lines.extend(card::badge(verdict, width).into_iter().take(1));
        let draft = card::answer(verdict, width);
        let draft = draft.into_iter().filter(|line| !line.is_empty());
        lines.extend(draft.take(MAX_DRAFT));
        for text in card::failures(verdict) {
            let text = output::short(&output::harmless(&text), width - 4);
            let style = super::blocks::style(Tone::Caution);
            lines.push(painted(
                style,
                &format!("  {} {text}", card::sign(Tone::Caution)),
            ));
        }
    }
    let names = view
        .seats
        .iter()
        .map(|seat| view.roles.title(seat.seat).width());
    let widest = names.max().unwrap_or(0).min(24);
    let shown = view.seats.iter().take(MAX_SEATS);
    lines.extend(shown.map(|seat| seat_line(seat, view.roles, widest, width)));
    if view.seats.len() > MAX_SEATS {
        let more = format!("  and {} more", view.seats.len() - MAX_SEATS);
        lines.push(painted(QUIET, &more));
    }
    lines.extend(view.input.map(|draft| input_line(draft, width)));
    lines
}

/// `You ▸ Mind the cost.▏`
fn input_line(draft: &str, width: usize) -> String {
    const PROMPT: &str = "You ▸ ";
    const CURSOR: &str = "▏";
    let room = width.saturating_sub(PROMPT.width() + CURSOR.width());
    let draft = output::harmless(draft);
    let text = if draft.is_empty() {
        painted(
            QUIET,
            &output::short("message for the next round, then Enter", room),
        )
    } else {
        end_of(&draft, room)
    };
    let prompt = painted(BOLD, PROMPT);
    if draft.is_empty() {
        format!("{prompt}{CURSOR}{text}")
    } else {
        format!("{prompt}{text}{CURSOR}")
    }
}

/// `  Skeptic   writes: … holds for four of eleven screens`
fn seat_line(seat: &ActiveSeat<'_>, roles: &Roles, widest: usize, width: usize) -> String {
    let title = output::short(&output::harmless(&roles.title(seat.seat)), widest);
    let pad = " ".repeat(widest.saturating_sub(title.width()));
    let room = width.saturating_sub(widest + 6);
    let state = match (seat.retry, seat.tail) {
        (Some(retry), "") => format!("is asked again: {}", output::harmless(retry)),
        (_, "") => "is thinking".to_owned(),
        (_, tail) => {
            let lead = "writes: ";
            let text = tail.split_whitespace().collect::<Vec<_>>().join(" ");
            format!(
                "{lead}{}",
                end_of(&output::harmless(&text), room.saturating_sub(lead.len()))
            )
        }
    };
    let state = painted(QUIET, &output::short(&state, room));
    let style = output::role_style(roles, seat.seat);
    format!("  {}{pad}  {state}", painted(style, &title))
}

/// The last words that fit.
fn end_of(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut start = text.len();
    let mut used = 2;
    for (at, c) in text.char_indices().rev() {
        used += c.to_string().width();
        if used > room {
            break;
        }
        start = at;
    }
    let end = &text[start..];
    // From a whole word on.
    let end = end.split_once(' ').map_or(end, |(_, words)| words);
    format!("… {end}")
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
