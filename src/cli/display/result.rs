//! The end of a debate: its verdict, and what to do next.

use roundtable_engine::budget::Budget;
use roundtable_engine::event::State;
use roundtable_engine::protocols;
use roundtable_engine::report::{NextAction, Verdict};

use super::super::args::OutputMode;
use super::super::decision_prompt;
use super::super::output::{self, BOLD, WARN, painted, short_id};
use super::super::stored_debate::StoredDebate;
use super::card::{Detail, card};
use super::{Display, summary};
use crate::failure::Failure;
use crate::setup::limits::UsedUp;

impl Display {
    /// Prints the result and the next commands. `budget` has the limits that held.
    pub(crate) fn show_result(
        &self,
        stored: &StoredDebate,
        budget: Budget,
        configured: Budget,
    ) -> Result<(), Failure> {
        show_result(&self.mode, stored)?;
        if self.mode.quiet || stored.transcript.state == State::Waiting {
            return Ok(());
        }
        if self.unread(stored.entries()) > 0 {
            let id = short_id(&stored.transcript.id);
            let text = format!(
                "  Your last message was not read: the debate ended before the next round. Ask it as a follow-up:\n  \
                 roundtable ask \"…\" --continue {id}"
            );
            output::note(&painted(WARN, &text));
        }
        if let Some(verdict) = &stored.report.verdict {
            output::note(&next_commands(verdict, stored, budget, configured));
        }
        Ok(())
    }
}

/// The one line below a verdict.
fn next_commands(
    verdict: &Verdict,
    stored: &StoredDebate,
    budget: Budget,
    configured: Budget,
) -> String {
    let id = short_id(&stored.transcript.id);
    let resume = format!("roundtable resume {id}");
    let show = format!("roundtable show {id}");
    let next = match verdict.actions.first() {
        Some(NextAction::RaiseLimit) => {
            let used_up = UsedUp::nearest(stored.entries(), budget, configured);
            let commands = used_up.map_or_else(|| vec![resume], |used_up| used_up.commands(id));
            return format!("  Next: {}", commands.join(" · "));
        }
        Some(NextAction::Retry) => format!("{resume} (retries the failed steps)"),
        Some(NextAction::Resume) => resume,
        Some(_) | None if verdict.actions.contains(&NextAction::FollowUp) => {
            return format!("  More: {show} [--rounds], export, rate, ask --continue last");
        }
        Some(_) | None => return format!("  More: {show} [--rounds | --record]"),
    };
    format!("  Next: {next}")
}

/// Prints the result of a debate: the answer or the record on standard output, the verdict where a person reads it.
pub(crate) fn show_result(mode: &OutputMode, stored: &StoredDebate) -> Result<(), Failure> {
    let transcript = &stored.transcript;
    let answer = stored.report.answer.as_ref();
    // The short answer is in the verdict; a pipe gets the whole one.
    let has_card = !mode.quiet && output::stdout_is_terminal();
    let is_whole = !has_card || mode.verbose;
    if mode.json {
        output::json(&stored.record())?;
    } else if let Some(answer) = answer
        // With --events the last event was the answer.
        && !mode.events
        && is_whole
    {
        if has_card {
            output::line(&format!("\n{}\n", painted(BOLD, "Answer")));
        }
        output::answer(answer)?;
    }
    if let Some(query) = &transcript.waiting_for {
        output::note(&format!(
            "\n{}",
            decision_prompt::instructions(query, &transcript.id)
        ));
    } else if !mode.quiet {
        output::note("");
        show_verdict(stored);
    } else if answer.is_none() {
        // Without an answer, the reason is the result.
        if let Some(line) = summary::incomplete(stored, summary::Telling::First) {
            output::note(&line);
        }
    }
    Ok(())
}

/// On a terminal the card; elsewhere a few plain lines on standard error.
fn show_verdict(stored: &StoredDebate) {
    let transcript = &stored.transcript;
    let is_seen = output::stdout_is_terminal() || output::stderr_is_terminal();
    let Some(verdict) = stored.report.verdict.as_ref().filter(|_| is_seen) else {
        for line in summary::footer(stored) {
            output::note(&line);
        }
        return;
    };
    let title = protocols::title(&transcript.protocol);
    let width = output::width().min(100);
    let lines = card(verdict, &transcript.question, &title, Detail::Screen, width);
    for line in lines {
        if output::stdout_is_terminal() {
            output::line(&line);
        } else {
            output::note(&line);
        }
    }
}
