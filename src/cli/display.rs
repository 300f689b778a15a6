//! Live view of a debate: who is thinking, streamed text, progress, cost, and the answer. Animated on a terminal, plain
//! lines elsewhere.

mod blocks;
mod convergence;
mod status;
pub(crate) mod summary;
pub(super) mod wrap;

use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use roundtable_core::characters::escape_json;
use roundtable_engine::envelope::Envelopes;
use roundtable_engine::event::{Entry, Event, FinishedStep, Setup, State};
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;
use roundtable_engine::remarks::for_people;
use roundtable_engine::table::Notice;
use roundtable_engine::totals::Sum;
use roundtable_engine::transcript::{Planned, Transcript};

use super::args::OutputMode;
use super::output::{self, BOLD, QUIET, WARN, painted};
use super::run::Person;
use super::stored_debate::StoredDebate;
use crate::failure::Failure;
use crate::format::counted;
use crate::render::Roles;
use blocks::{Detail, RenderOptions};
use wrap::StreamWrapper;

pub(crate) struct Display {
    mode: OutputMode,
    id: String,
    is_terminal: bool,
    /// Off if the user may type: echoed input would break the redrawing.
    has_spinner: bool,
    roles: Roles,
    planned: Option<Planned>,
    /// The phase that writes the answer.
    answer_phase: Option<&'static str>,
    /// The journal so far.
    entries: Vec<Entry>,
    sum: Sum,
    envelopes: Envelopes,
    spinner: Option<ProgressBar>,
    streaming: Option<Streaming>,
    /// The steps in flight. A single one is streamed; parallel ones are printed as they finish.
    running: Vec<RunningStep>,
    /// The step whose heading was printed last.
    headed_step: Option<String>,
    /// Convergence of a measured debate, redrawn below the spinner.
    convergence: Vec<String>,
}

struct RunningStep {
    step: String,
    seat: String,
    round: u32,
    model: String,
    /// No other step has run since this one started.
    is_alone: bool,
}

/// The step whose text is being streamed.
struct Streaming {
    step: String,
    wrapper: StreamWrapper,
}

impl Display {
    pub(crate) fn new(mode: &OutputMode, setup: &Setup, id: &str, person: Person) -> Self {
        let is_terminal = output::stderr_is_terminal() && !mode.quiet;
        // The table wrote this entry before the display could listen.
        let opened = Entry {
            seq: 0,
            at: 0,
            event: Event::Opened(Arc::new(setup.clone())),
        };
        let transcript = Transcript::of(id, std::slice::from_ref(&opened));
        let display = Self {
            mode: mode.clone(),
            id: id.to_owned(),
            is_terminal,
            has_spinner: is_terminal && person == Person::Watches,
            roles: transcript.as_ref().map(Roles::of).unwrap_or_default(),
            planned: Planned::of(setup),
            answer_phase: protocols::named(&setup.protocol).map(AnyProtocol::answer_phase),
            entries: vec![opened],
            sum: Sum::default(),
            envelopes: Envelopes::new(setup),
            spinner: None,
            streaming: None,
            running: Vec::new(),
            headed_step: None,
            convergence: Vec::new(),
        };
        if mode.events
            && let Ok(line) = serde_json::to_string(&display.envelopes.opening(id))
        {
            output::line(&line);
        }
        if !mode.quiet {
            output::note(&format!(
                "\n{}\n{}",
                painted(BOLD, &output::harmless(&setup.question)),
                painted(QUIET, &seat_models(setup))
            ));
        }
        if is_terminal && person == Person::Speaks {
            output::note(&painted(
                QUIET,
                "Type a line to speak to the seats; they see it before the next round.",
            ));
        }
        display
    }

    /// Takes over the journal of a resumed debate and reports its length.
    pub(crate) fn load_past(&mut self, past: &[Entry]) {
        let mut turns = 0;
        for entry in past {
            if let Event::StepFinished(_) = &entry.event {
                turns += 1;
            }
            if let Some(call) = entry.event.call() {
                self.sum.add(call);
            }
        }
        if !past.is_empty() {
            self.entries = past.to_vec();
        }
        if turns > 0 && !self.mode.quiet {
            let turns = counted(turns, "finished turn");
            output::note(&format!("Resuming with {turns} from the journal."));
        }
    }

    pub(crate) fn show(&mut self, notice: &Notice) {
        if let Some(call) = notice.event.call() {
            self.sum.add(call);
        }
        if let Some(seq) = notice.seq {
            self.entries.push(Entry {
                seq,
                at: notice.at,
                event: notice.event.clone(),
            });
        }
        if self.mode.events
            && let Some(envelope) = self.envelopes.wrap(&notice.event)
            && let Ok(line) = serde_json::to_string(&envelope)
        {
            output::line(&escape_json(line));
        }
        if self.mode.quiet {
            return;
        }
        match &notice.event {
            Event::Said(words) => self.print_above_spinner(|| {
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
                self.print_above_spinner(|| status::noted(key, value));
                self.show_convergence();
            }
            Event::StepStarted {
                step,
                seat,
                round,
                model,
            } => self.step_started(step, seat, *round, model),
            Event::Chunk { step, text, .. } => self.chunk(step, text),
            Event::StepRestarted { step, reason } => self.step_restarted(step, reason),
            Event::StepFinished(step) if step.reused => {}
            Event::StepFinished(step) => self.step_finished(step),
            Event::StepFailed(step) => {
                self.close();
                drop(self.take_running(&step.call.step));
                output::note(&format!(
                    "{} {} is absent: {}",
                    painted(WARN, "!"),
                    step.call.seat,
                    output::harmless(&step.reason)
                ));
                self.start_spinner();
            }
            Event::Ended(_) | Event::Reopened { .. } | Event::Asked(_) | Event::Decided(_) => {
                self.close();
            }
            _ => {}
        }
    }

    fn print_above_spinner(&self, write: impl FnOnce()) {
        match &self.spinner {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn step_started(&mut self, step: &str, seat: &str, round: u32, model: &str) {
        self.close();
        for other in &mut self.running {
            other.is_alone = false;
        }
        self.running.push(RunningStep {
            step: step.to_owned(),
            seat: seat.to_owned(),
            round,
            model: model.to_owned(),
            is_alone: self.running.is_empty(),
        });
        self.start_spinner();
    }

    /// Prints seat, round and model, once for each step.
    fn print_heading(&mut self, running: &RunningStep) {
        if self.headed_step.as_deref() == Some(&running.step) {
            return;
        }
        let position = if running.step.starts_with(&format!("r{}/", running.round)) {
            status::timeline(running.round, self.planned)
        } else {
            "after the rounds".to_owned()
        };
        output::note(&format!(
            "\n{} {}",
            output::seat(&self.roles, &running.seat),
            painted(QUIET, &format!("{position} · {}", running.model))
        ));
        self.headed_step = Some(running.step.clone());
    }

    /// After each measured round: prints the positions and measures, and keeps the measures below the spinner.
    fn show_convergence(&mut self) {
        let Some(section) = protocols::progress(&self.entries) else {
            return;
        };
        let width = output::width().min(100);
        let compact = convergence::compact(&section, width);
        if compact == self.convergence {
            return;
        }
        self.convergence = compact;
        self.close();
        let options = RenderOptions::new(output::stderr_is_terminal(), Detail::Full);
        let mut lines = vec![
            String::new(),
            painted(BOLD, &output::harmless(&section.title)),
        ];
        lines.extend(blocks::section(&section, &self.roles, options));
        output::note(&lines.join("\n"));
    }

    fn start_spinner(&mut self) {
        if !self.has_spinner {
            return;
        }
        let message = match self.running.as_slice() {
            [] => return,
            [one] => format!("{} is thinking", self.roles.title(&one.seat)),
            several => format!("{} seats are thinking", several.len()),
        };
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix} {elapsed}{msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(message);
        let below = self.convergence.iter().map(|line| format!("\n{line}"));
        bar.set_message(below.collect::<String>());
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        self.spinner = Some(bar);
    }

    fn take_running(&mut self, step: &str) -> Option<RunningStep> {
        let index = self
            .running
            .iter()
            .position(|running| running.step == step)?;
        Some(self.running.remove(index))
    }

    fn chunk(&mut self, step: &str, text: &str) {
        if !self.is_terminal || self.is_final(step) {
            return;
        }
        let Some(running) = self.take_running(step) else {
            return;
        };
        if !running.is_alone {
            self.running.push(running);
            return;
        }
        self.stop_spinner();
        self.print_heading(&running);
        self.running.push(running);
        if !self.is_streaming(step) {
            self.streaming = Some(Streaming {
                step: step.to_owned(),
                wrapper: StreamWrapper::new(output::width().min(100), 2),
            });
        }
        if let Some(streaming) = &mut self.streaming {
            output::stream(&streaming.wrapper.push(&output::harmless(text)));
        }
    }

    fn is_streaming(&self, step: &str) -> bool {
        let streaming = self.streaming.as_ref();
        streaming.is_some_and(|streaming| streaming.step == step)
    }

    fn step_restarted(&mut self, step: &str, reason: &str) {
        if self.is_streaming(step) {
            self.close();
        }
        let text = format!("retrying: {}", output::short(reason, 160));
        let text = painted(QUIET, &self.wrapped(&text));
        self.print_above_spinner(|| output::note(&text));
    }

    fn step_finished(&mut self, step: &FinishedStep) {
        self.close();
        let running = self.take_running(&step.call.step);
        let was_streamed =
            self.is_terminal && running.as_ref().is_some_and(|running| running.is_alone);
        if let Some(running) = &running {
            self.print_heading(running);
        }
        if !was_streamed && !self.is_final(&step.call.step) {
            output::note(&self.wrapped(&output::harmless(&step.text)));
        }
        for remark in &step.remarks {
            let remark = output::harmless(for_people(remark));
            output::note(&painted(WARN, &self.wrapped(&remark)));
        }
        let report = protocols::report(&self.entries);
        output::note("");
        output::note(&painted(
            QUIET,
            &status::line(&report.facts, &self.sum, &step.call.spent),
        ));
        self.start_spinner();
    }

    /// Wrapped on a terminal, unchanged elsewhere.
    fn wrapped(&self, text: &str) -> String {
        if self.is_terminal {
            wrap::wrap(text, output::width().min(100), 2)
        } else {
            text.to_owned()
        }
    }

    /// Whether the step writes the answer and the terminal shows it: the answer is then printed once, rendered, at the end.
    fn is_final(&self, step: &str) -> bool {
        step.split('/').next() == self.answer_phase
            && !self.mode.json
            && !self.mode.events
            && output::stdout_is_terminal()
    }

    fn stop_spinner(&mut self) {
        if let Some(bar) = self.spinner.take() {
            bar.finish_and_clear();
        }
    }

    /// Removes the spinner and ends a streamed line.
    pub(crate) fn close(&mut self) {
        self.stop_spinner();
        if let Some(mut streaming) = self.streaming.take() {
            output::stream(&streaming.wrapper.end());
        }
    }

    /// Prints the result and the next command.
    pub(crate) fn show_result(&self, stored: &StoredDebate) -> Result<(), Failure> {
        show_result(&self.mode, stored)?;
        if self.mode.quiet {
            return Ok(());
        }
        match stored.transcript.state {
            State::Cancelled | State::Running => output::note(&format!(
                "\nInterrupted; everything so far is saved. Resume with:\n  roundtable resume {}",
                self.id
            )),
            State::Partial | State::Failed => output::note(&format!(
                "Retry failed steps with:\n  roundtable resume {}",
                self.id
            )),
            State::Complete | State::Waiting | State::Queued => output::note(&painted(
                QUIET,
                &format!("Full transcript: roundtable show {} --transcript", self.id),
            )),
        }
        Ok(())
    }
}

/// Prints the result of a finished debate: the answer or the record on standard output, the summary on standard error.
pub(crate) fn show_result(mode: &OutputMode, stored: &StoredDebate) -> Result<(), Failure> {
    if mode.json {
        output::json(&stored.record())?;
    } else if let Some(answer) = &stored.report.answer
        // With --events the last event was the answer.
        && !mode.events
    {
        if !mode.quiet {
            output::note(&format!("\n{}\n", painted(BOLD, "Answer")));
        }
        output::markdown(answer);
    }
    if !mode.quiet {
        for line in summary::brief(stored) {
            output::note(&line);
        }
    }
    Ok(())
}

fn seat_models(setup: &Setup) -> String {
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
