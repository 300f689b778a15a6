//! What people see of a debate: who is thinking, the text as it comes, where the issues stand, what it costs, and the
//! answer. On a terminal it moves; elsewhere it is plain lines.

mod blocks;
pub(crate) mod closing;
pub(super) mod flow;
mod standing;
mod status;

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use roundtable_engine::envelope::Envelopes;
use roundtable_engine::event::{Entry, Event, FinishedStep, Setup, State};
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;
use roundtable_engine::table::Notice;
use roundtable_engine::totals::{Sum, call_of};
use roundtable_engine::transcript::{Planned, Transcript, capital};

use super::args::OutputMode;
use super::output::{self, BOLD, QUIET, WARN, painted};
use super::reading::Reading;
use super::run::Person;
use crate::failure::Failure;
use blocks::{Extent, Look};
use flow::Flow;

pub(crate) struct Display {
    output: OutputMode,
    id: String,
    moves: bool,
    /// Something turns while seats think. Not where somebody may be typing: what is echoed would stand in the way of drawing anew.
    turns: bool,
    planned: Option<Planned>,
    /// The phase that writes the answer.
    answer_phase: Option<&'static str>,
    /// The journal so far.
    entries: Vec<Entry>,
    sum: Sum,
    envelopes: Envelopes,
    thinking: Option<ProgressBar>,
    speaking: Option<Speaking>,
    /// The steps under way. One alone is shown as it comes; several at once are shown one by one as they finish.
    running: Vec<Running>,
    /// The step whose heading is on the screen.
    headed: Option<String>,
    /// Where a measured debate stands, redrawn in place while seats think.
    standing: Vec<String>,
}

struct Running {
    step: String,
    seat: String,
    round: u32,
    model: String,
    /// Nobody else has been at it since it began.
    alone: bool,
}

/// The turn whose text is coming in.
struct Speaking {
    step: String,
    flow: Flow,
}

impl Display {
    pub(crate) fn new(output: &OutputMode, setup: &Setup, id: &str, person: Person) -> Self {
        let moves = output::stderr_is_terminal() && !output.quiet;
        let display = Self {
            output: output.clone(),
            id: id.to_owned(),
            moves,
            turns: moves && person == Person::Watches,
            planned: Planned::of(setup),
            answer_phase: protocols::named(&setup.protocol).map(AnyProtocol::answer_phase),
            // It was written before anybody could listen.
            entries: vec![Entry {
                seq: 0,
                at: 0,
                event: Event::Opened(Arc::new(setup.clone())),
            }],
            sum: Sum::default(),
            envelopes: Envelopes::new(setup),
            thinking: None,
            speaking: None,
            running: Vec::new(),
            headed: None,
            standing: Vec::new(),
        };
        if !output.quiet {
            output::note(&format!(
                "\n{}\n{}",
                painted(BOLD, &output::harmless(&setup.question)),
                painted(QUIET, &seats(setup))
            ));
        }
        if moves && person == Person::Speaks {
            output::note(&painted(
                QUIET,
                "Type a line to speak to the seats; they hear it before the next round.",
            ));
        }
        display
    }

    /// What was said before this run: counted, and told in a line.
    pub(crate) fn recall(&mut self, past: &[Entry]) {
        let mut turns = 0;
        for entry in past {
            if let Event::StepFinished(_) = &entry.event {
                turns += 1;
            }
            if let Some(call) = call_of(&entry.event) {
                self.sum.add(call);
            }
        }
        if !past.is_empty() {
            self.entries = past.to_vec();
        }
        if turns > 0 && !self.output.quiet {
            output::note(&format!(
                "{turns} turns are in the journal and are not asked again."
            ));
        }
    }

    pub(crate) fn show(&mut self, notice: &Notice) {
        if let Some(call) = call_of(&notice.event) {
            self.sum.add(call);
        }
        if let Some(seq) = notice.seq {
            self.entries.push(Entry {
                seq,
                at: notice.at,
                event: notice.event.clone(),
            });
        }
        if self.output.events
            && let Some(envelope) = self.envelopes.wrap(&notice.event)
            && let Ok(line) = serde_json::to_string(&envelope)
        {
            output::line(&line);
        }
        if self.output.quiet {
            return;
        }
        match &notice.event {
            Event::RoundStarted { .. }
            | Event::Opened(_)
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. } => {}
            Event::Said(words) => self.meanwhile(|| {
                output::note(&format!(
                    "{} {}",
                    painted(BOLD, "You:"),
                    output::harmless(&words.text)
                ));
            }),
            Event::Noted { key, value, .. } => {
                if key.contains("/tools-") {
                    self.close();
                }
                self.meanwhile(|| status::noted(key, value));
                self.stands();
            }
            Event::StepStarted {
                step,
                seat,
                round,
                model,
            } => self.begins(step, seat, *round, model),
            Event::Chunk { step, text, .. } => self.says(step, text),
            Event::StepRestarted { step, reason } => self.restarts(step, reason),
            Event::StepFinished(step) => self.finishes(step),
            Event::StepFailed(step) => {
                self.close();
                drop(self.take(&step.call.step));
                output::note(&format!(
                    "{} {} is absent: {}",
                    painted(WARN, "!"),
                    step.call.seat,
                    output::harmless(&step.reason)
                ));
                self.think();
            }
            Event::Ended(_) | Event::Reopened { .. } | Event::Asked(_) | Event::Decided(_) => {
                self.close();
            }
        }
    }

    /// Writes above what turns, and leaves nothing of it behind.
    fn meanwhile(&self, write: impl FnOnce()) {
        match &self.thinking {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn begins(&mut self, step: &str, seat: &str, round: u32, model: &str) {
        self.close();
        for other in &mut self.running {
            other.alone = false;
        }
        self.running.push(Running {
            step: step.to_owned(),
            seat: seat.to_owned(),
            round,
            model: model.to_owned(),
            alone: self.running.is_empty(),
        });
        self.think();
    }

    /// Who speaks, where and with which model; once for each turn.
    fn head(&mut self, turn: &Running) {
        if self.headed.as_deref() == Some(&turn.step) {
            return;
        }
        let place = if turn.step.starts_with(&format!("r{}/", turn.round)) {
            status::timeline(turn.round, self.planned)
        } else {
            "after the rounds".to_owned()
        };
        output::note(&format!(
            "\n{} {}",
            painted(output::role(&turn.seat), &self.title_of(&turn.seat)),
            painted(QUIET, &format!("{place} · {}", turn.model))
        ));
        self.headed = Some(turn.step.clone());
    }

    /// After a round that was measured: where everybody stands, as a whole once, its measures from then on.
    fn stands(&mut self) {
        let Some(section) = protocols::progress(&self.entries) else {
            return;
        };
        let width = output::width().min(100);
        let short = standing::in_short(&section, width);
        if short == self.standing {
            return;
        }
        self.standing = short;
        self.close();
        let look = Look::of_terminal(output::stderr_is_terminal(), Extent::Whole);
        let titles = |role: &str| self.title_of(role);
        let mut lines = vec![
            String::new(),
            painted(BOLD, &output::harmless(&section.title)),
        ];
        lines.extend(blocks::section(&section, &titles, look));
        output::note(&lines.join("\n"));
    }

    /// Something moves while somebody is at it.
    fn think(&mut self) {
        if !self.turns {
            return;
        }
        let message = match self.running.as_slice() {
            [] => return,
            [one] => format!("{} is thinking", self.title_of(&one.seat)),
            several => format!("{} are thinking", several.len()),
        };
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix} {elapsed}{msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(message);
        let below = self.standing.iter().map(|line| format!("\n{line}"));
        bar.set_message(below.collect::<String>());
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        self.thinking = Some(bar);
    }

    fn take(&mut self, step: &str) -> Option<Running> {
        let place = self.running.iter().position(|it| it.step == step)?;
        Some(self.running.remove(place))
    }

    fn says(&mut self, step: &str, text: &str) {
        if !self.moves || self.is_final(step) {
            return;
        }
        let Some(turn) = self.take(step) else {
            return;
        };
        if !turn.alone {
            self.running.push(turn);
            return;
        }
        self.stop_thinking();
        self.head(&turn);
        self.running.push(turn);
        let is_new = self
            .speaking
            .as_ref()
            .is_none_or(|speaking| speaking.step != step);
        if is_new {
            self.speaking = Some(Speaking {
                step: step.to_owned(),
                flow: Flow::new(output::width().min(100), 2),
            });
        }
        if let Some(speaking) = &mut self.speaking {
            output::stream(&speaking.flow.take(&output::harmless(text)));
        }
    }

    fn restarts(&mut self, step: &str, reason: &str) {
        let had_text = self
            .speaking
            .as_ref()
            .is_some_and(|speaking| speaking.step == step);
        if had_text {
            self.close();
        }
        let text = format!("begins again: {}", output::short(reason, 160));
        let text = painted(QUIET, &self.wrapped(&text));
        self.meanwhile(|| output::note(&text));
    }

    fn finishes(&mut self, step: &FinishedStep) {
        self.close();
        let turn = self.take(&step.call.step);
        let was_streamed = self.moves && turn.as_ref().is_some_and(|turn| turn.alone);
        if let Some(turn) = &turn {
            self.head(turn);
        }
        if !was_streamed && !self.is_final(&step.call.step) {
            output::note(&self.wrapped(&output::harmless(&step.text)));
        }
        for remark in &step.remarks {
            let remark = output::harmless(remark);
            output::note(&painted(WARN, &self.wrapped(&remark)));
        }
        let report = protocols::report(&self.entries);
        output::note("");
        output::note(&painted(
            QUIET,
            &status::line(&report.facts, &self.sum, &step.call.spent),
        ));
        self.think();
    }

    /// As wide as a terminal is; as it is for whatever reads it elsewhere.
    fn wrapped(&self, text: &str) -> String {
        if self.moves {
            flow::wrapped(text, output::width().min(100), 2)
        } else {
            text.to_owned()
        }
    }

    fn title_of(&self, seat: &str) -> String {
        Transcript::of(&self.id, &self.entries)
            .map_or_else(|| capital(seat), |transcript| transcript.title_of(seat))
    }

    /// Whether the step writes the answer and the terminal shows it: the answer is then printed once, rendered, at the end.
    fn is_final(&self, step: &str) -> bool {
        step.split('/').next() == self.answer_phase
            && !self.output.json
            && !self.output.events
            && output::stdout_is_terminal()
    }

    fn stop_thinking(&mut self) {
        if let Some(bar) = self.thinking.take() {
            bar.finish_and_clear();
        }
    }

    /// Ends the line or the animation that is on the screen.
    pub(crate) fn close(&mut self) {
        self.stop_thinking();
        if let Some(mut speaking) = self.speaking.take() {
            output::stream(&speaking.flow.end());
        }
    }

    pub(crate) fn result(&self, reading: &Reading) -> Result<(), Failure> {
        Self::finished(&self.output, reading)?;
        if self.output.quiet {
            return Ok(());
        }
        match reading.transcript.state {
            State::Cancelled | State::Running => output::note(&format!(
                "\nInterrupted; everything so far is saved. Go on with:\n  roundtable resume {}",
                self.id
            )),
            State::Partial | State::Failed => output::note(&format!(
                "Try again what is missing with: roundtable resume {}",
                self.id
            )),
            State::Complete | State::Waiting | State::Queued => output::note(&painted(
                QUIET,
                &format!("roundtable show {} --transcript", self.id),
            )),
        }
        Ok(())
    }

    /// The result of a debate that is over.
    pub(crate) fn finished(output: &OutputMode, reading: &Reading) -> Result<(), Failure> {
        if output.json {
            output::json(&reading.record())?;
        } else if output.events {
            // The last event was the answer.
        } else if let Some(answer) = &reading.report.answer {
            if !output.quiet {
                output::note(&format!("\n{}\n", painted(BOLD, "Answer")));
            }
            output::markdown(answer);
        }
        if !output.quiet {
            for line in closing::brief(reading) {
                output::note(&line);
            }
        }
        Ok(())
    }
}

fn seats(setup: &Setup) -> String {
    let first = setup.seats.first().map(|seated| &seated.model);
    let all_same = setup
        .seats
        .iter()
        .all(|seated| Some(&seated.model) == first);
    if all_same {
        return format!("all seats: {}", first.cloned().unwrap_or_default());
    }
    let each: Vec<_> = setup
        .seats
        .iter()
        .map(|seated| format!("{}: {}", seated.seat.name, seated.model))
        .collect();
    each.join(" · ")
}
