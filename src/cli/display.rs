//! Live view of a debate: who is thinking, streamed text, progress, cost, and the answer. Animated on a terminal, plain
//! lines elsewhere.

pub(super) mod argument;
mod blocks;
pub(super) mod card;
mod convergence;
pub(super) mod document;
mod live;
mod markdown;
mod person;
pub(super) mod points;
pub(super) mod prompt;
mod result;
mod status;
pub(crate) mod summary;
pub(super) mod wrap;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use roundtable_core::characters::escape_json;
use roundtable_engine::envelope::Envelopes;
use roundtable_engine::event::{Entry, Event, FinishedStep, Setup, position};
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;
use roundtable_engine::remarks::{plain_reason, skipped};
use roundtable_engine::report::Verdict;
use roundtable_engine::table::Notice;
use roundtable_engine::tokens;
use roundtable_engine::totals::Sum;
use roundtable_engine::transcript::{Planned, Transcript, capital};

use super::args::OutputMode;
use super::output::{self, BOLD, QUIET, WARN, painted};
use super::run::Person;
use super::stdin_lines::is_interactive;
use crate::embedded;
use crate::format::counted;
use crate::render::Roles;
use blocks::RenderOptions;
use live::{ActiveSeat, LiveBlock, LiveView};
use markdown::MarkdownStream;
pub(crate) use result::show_result;

#[expect(
    clippy::struct_excessive_bools,
    reason = "independent properties of the terminal"
)]
pub(crate) struct Display {
    mode: OutputMode,
    is_terminal: bool,
    /// A terminal on which one block is redrawn in place, instead of all turns.
    is_live: bool,
    live: LiveBlock,
    question: String,
    /// With the current draft.
    verdict: Option<Verdict>,
    /// Whether the user may type: echoed input would break the redrawing of a spinner.
    may_type: bool,
    /// The line that the user is typing.
    draft: String,
    /// How many messages of the user the seats have read, and the last round that began.
    heard: usize,
    heard_in: u32,
    roles: Roles,
    planned: Option<Planned>,
    /// The protocol's names of the rounds.
    round_names: HashMap<u32, String>,
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
    /// The measures of the last round, which were printed.
    convergence: Vec<String>,
    /// A line that says who is thinking has no end yet.
    has_open_line: bool,
    /// Reasons of failures that were reported since a seat has last answered.
    reported: Vec<(String, Reported)>,
}

/// The message that was printed for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reported {
    AskedAgain,
    Absent,
}

struct RunningStep {
    step: String,
    seat: String,
    round: u32,
    model: String,
    /// No other step has run since this one started.
    is_alone: bool,
    /// When its first text came.
    writing_since: Option<Instant>,
    /// The end of its text so far.
    tail: String,
    /// Why it is asked again.
    retry: Option<String>,
    /// Estimated from its text so far.
    tokens: u64,
}

/// Bytes of a text that are kept for the live view.
const TAIL: usize = 400;

impl RunningStep {
    fn write(&mut self, text: &str) {
        self.writing_since.get_or_insert_with(Instant::now);
        self.tokens += tokens::estimate(text);
        self.retry = None;
        self.tail.push_str(text);
        if self.tail.len() > 2 * TAIL {
            let start = self.tail.ceil_char_boundary(self.tail.len() - TAIL);
            self.tail.drain(..start);
        }
    }
}

/// The step whose text is being streamed.
struct Streaming {
    step: String,
    markdown: MarkdownStream,
}

impl Display {
    pub(crate) fn new(mode: &OutputMode, setup: &Setup, id: &str, person: Person) -> Self {
        let is_terminal = output::stderr_is_terminal() && !mode.quiet;
        // Events on the same terminal would break the redrawing.
        let is_live = is_terminal && !mode.verbose && !mode.events;
        // The table wrote this entry before the display could listen.
        let opened = Entry {
            seq: 0,
            at: 0,
            event: Event::Opened(Arc::new(setup.clone())),
        };
        let transcript = Transcript::of(id, std::slice::from_ref(&opened));
        let display = Self {
            mode: mode.clone(),
            is_terminal,
            is_live,
            live: LiveBlock::default(),
            question: setup.question.clone(),
            verdict: None,
            may_type: person == Person::Speaks,
            draft: String::new(),
            heard: 0,
            heard_in: 1,
            roles: transcript.as_ref().map(Roles::of).unwrap_or_default(),
            planned: Planned::of(setup),
            round_names: HashMap::new(),
            answer_phase: protocols::named(&setup.protocol).map(AnyProtocol::answer_phase),
            entries: vec![opened],
            sum: Sum::default(),
            envelopes: Envelopes::new(setup),
            spinner: None,
            streaming: None,
            running: Vec::new(),
            headed_step: None,
            convergence: Vec::new(),
            has_open_line: false,
            reported: Vec::new(),
        };
        if mode.events {
            let start = display.envelopes.start(id, &setup.question);
            if let Ok(line) = serde_json::to_string(&start) {
                output::line(&line);
            }
        }
        if is_live {
            if let Some(models) = seat_models(setup) {
                output::note(&painted(QUIET, &models));
            }
        } else if !mode.quiet {
            let question = painted(BOLD, &output::harmless(&setup.question));
            let models = seat_models(setup).map(|models| format!("\n{}", painted(QUIET, &models)));
            output::note(&format!("\n{question}{}", models.unwrap_or_default()));
        }
        if is_terminal && person == Person::Speaks {
            output::note(&painted(
                QUIET,
                "Type a message and press Enter: the seats read it before the next round.",
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
        if self.is_live {
            return self.show_live(&notice.event);
        }
        match &notice.event {
            Event::Said(words) => self.said(&words.text),
            Event::RoundStarted { round, name } => self.round_started(*round, name),
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
            Event::StepFinished(step) => {
                self.reported.clear();
                self.step_finished(step);
            }
            Event::StepFailed(step) => {
                self.close();
                drop(self.take_running(&step.call.step));
                let who = capital(&position(&step.call.step));
                let text = match self.news(&step.reason, Reported::Absent) {
                    Some(why) => format!("{who} gave no answer: {why}"),
                    None => format!("{who} gave no answer"),
                };
                output::note(&format!("{} {text}", painted(WARN, "!")));
                self.start_spinner();
            }
            Event::Ended(_) | Event::Reopened { .. } | Event::Asked(_) | Event::Decided(_) => {
                self.close();
            }
            _ => {}
        }
    }

    /// Keeps the block up to date; nothing is printed above it but what a person said.
    fn show_live(&mut self, event: &Event) {
        match event {
            Event::RoundStarted { round, name } => {
                self.round_names.insert(*round, name.clone());
            }
            Event::StepStarted {
                step,
                seat,
                round,
                model,
            } => {
                self.note_heard(step, *round);
                self.add_running(step, seat, *round, model);
            }
            Event::Chunk { step, text, .. } => {
                if let Some(running) = self.running.iter_mut().find(|one| one.step == *step) {
                    running.write(text);
                }
                if !self.live.is_due() {
                    return;
                }
            }
            Event::StepRestarted { step, reason } => {
                if let Some(running) = self.running.iter_mut().find(|one| one.step == *step) {
                    running.retry = Some(plain_reason(reason));
                    running.tail.clear();
                }
            }
            Event::StepFinished(step) => drop(self.take_running(&step.call.step)),
            Event::StepFailed(step) => drop(self.take_running(&step.call.step)),
            Event::Said(words) => {
                let text = output::harmless(&words.text);
                let when = painted(QUIET, "The seats read this before the next round.");
                let line = format!("{} {text}\n     {when}", painted(BOLD, "You:"));
                self.live.suspend(|| output::note(&line));
            }
            Event::Ended(_) | Event::Reopened { .. } | Event::Asked(_) | Event::Decided(_) => {
                return self.live.clear();
            }
            _ => {}
        }
        if let Event::StepFinished(_) | Event::StepFailed(_) | Event::Noted { .. } = event {
            self.verdict = protocols::report(&self.entries).verdict;
        }
        self.draw_live();
    }

    fn draw_live(&mut self) {
        let status = self.live_status();
        let view = LiveView {
            question: &self.question,
            verdict: self.verdict.as_ref(),
            seats: self
                .running
                .iter()
                .map(|running| ActiveSeat {
                    seat: &running.seat,
                    tail: &running.tail,
                    retry: running.retry.as_deref(),
                })
                .collect(),
            roles: &self.roles,
            input: self.has_input_line().then_some(self.draft.as_str()),
        };
        self.live.draw(&view, &status);
    }

    /// `●●○ round 2 of 3 · 3,210 tokens · $0.0021 · 34 tokens/s`
    fn live_status(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.running.last().map(|running| self.position_of(running)));
        let tokens = self.sum.usage.total();
        if tokens > 0 {
            parts.push(format!("{} tokens", output::grouped(tokens)));
        }
        if self.sum.calls > 0 {
            parts.extend(output::cost(self.sum.cost, tokens));
        }
        let since = self.running.iter().filter_map(|one| one.writing_since);
        let written: u64 = self.running.iter().map(|running| running.tokens).sum();
        let time = since.min().map(|since| since.elapsed());
        // Before that it is too inexact.
        let time = time.filter(|time| *time >= Duration::from_secs(1));
        parts.extend(time.and_then(|time| status::tokens_per_second(written, time)));
        parts.join(" · ")
    }

    fn position_of(&self, running: &RunningStep) -> String {
        if running.step.starts_with(&format!("r{}/", running.round)) {
            let name = self.round_names.get(&running.round);
            status::timeline(running.round, name.map_or("", String::as_str), self.planned)
        } else {
            "after the rounds".to_owned()
        }
    }

    /// On a terminal, the user has just typed it.
    fn said(&mut self, text: &str) {
        self.end_open_line();
        let is_echoed = self.may_type && is_interactive();
        let line = if is_echoed {
            painted(QUIET, "The seats see this before the next round.")
        } else {
            format!("{} {}", painted(BOLD, "You:"), output::harmless(text))
        };
        self.print_above_spinner(|| output::note(&line));
    }

    fn round_started(&mut self, round: u32, name: &str) {
        self.round_names.insert(round, name.to_owned());
        let is_beyond = self.planned.is_some_and(|planned| round > planned.most);
        if is_beyond || status::is_extra(name) {
            self.close();
            let text = format!("\n{}", capital(&status::extra_round(name)));
            output::note(&painted(BOLD, &text));
        }
    }

    fn print_above_spinner(&self, write: impl FnOnce()) {
        match &self.spinner {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn step_started(&mut self, step: &str, seat: &str, round: u32, model: &str) {
        if !self.has_open_line {
            self.close();
        }
        self.add_running(step, seat, round, model);
        self.start_spinner();
    }

    fn add_running(&mut self, step: &str, seat: &str, round: u32, model: &str) {
        for other in &mut self.running {
            other.is_alone = false;
        }
        self.running.push(RunningStep {
            step: step.to_owned(),
            seat: seat.to_owned(),
            round,
            model: model.to_owned(),
            is_alone: self.running.is_empty(),
            writing_since: None,
            tail: String::new(),
            retry: None,
            tokens: 0,
        });
    }

    /// Prints seat, round and model, once for each step.
    fn print_heading(&mut self, running: &RunningStep) {
        if self.headed_step.as_deref() == Some(&running.step) {
            return;
        }
        let position = self.position_of(running);
        output::note(&format!(
            "\n{} {}",
            output::seat(&self.roles, &running.seat),
            painted(QUIET, &format!("{position} · {}", running.model))
        ));
        self.headed_step = Some(running.step.clone());
    }

    /// After each measured round: prints the positions and measures, once (E-11).
    fn show_convergence(&mut self) {
        let Some(section) = protocols::progress(&self.entries) else {
            return;
        };
        let options = RenderOptions::new(output::stderr_is_terminal());
        let mut lines = vec![
            String::new(),
            painted(BOLD, &output::harmless(&section.title)),
        ];
        lines.extend(blocks::section(&section, &self.roles, options));
        if lines == self.convergence {
            return;
        }
        self.close();
        output::note(&lines.join("\n"));
        self.convergence = lines;
    }

    fn start_spinner(&mut self) {
        if !self.is_terminal {
            return;
        }
        if self.may_type {
            return self.add_to_open_line();
        }
        let titles: Vec<String> = self
            .running
            .iter()
            .map(|running| self.roles.title(&running.seat))
            .collect();
        let message = match titles.as_slice() {
            [] => return,
            [one] => format!("{one} is thinking"),
            few @ ([_, _] | [_, _, _]) => format!("{} are thinking", few.join(", ")),
            several => format!("{} seats are thinking", several.len()),
        };
        let message = match self.speed() {
            Some(speed) => format!("{message} · {speed}"),
            None => message,
        };
        if let Some(bar) = &self.spinner {
            return bar.set_message(message);
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(message);
        bar.enable_steady_tick(std::time::Duration::from_millis(120));
        self.spinner = Some(bar);
    }

    /// Says who is thinking without redrawing: on an open line, the seat that started last is added to the ones before.
    fn add_to_open_line(&mut self) {
        let titles = self.running.iter().map(|one| self.roles.title(&one.seat));
        let titles: Vec<String> = titles.collect();
        let text = match titles.as_slice() {
            [] => return,
            [.., last] if self.has_open_line => format!(", {last}"),
            all => format!("  thinking: {}", all.join(", ")),
        };
        output::stream(&painted(QUIET, &text));
        self.has_open_line = true;
    }

    fn end_open_line(&mut self) {
        if std::mem::take(&mut self.has_open_line) {
            output::stream("\n");
        }
    }

    fn take_running(&mut self, step: &str) -> Option<RunningStep> {
        let index = self
            .running
            .iter()
            .position(|running| running.step == step)?;
        Some(self.running.remove(index))
    }

    /// How fast the embedded model writes the steps in flight, all together: `9 tokens/s`.
    fn speed(&self) -> Option<String> {
        let embedded = self
            .running
            .iter()
            .filter(|running| embedded::name_of(&running.model).is_some());
        let since = embedded.clone().filter_map(|running| running.writing_since);
        let tokens = embedded.map(|running| running.tokens).sum();
        // Before that it is too inexact.
        let time = since.min()?.elapsed();
        (time >= Duration::from_secs(1)).then(|| status::tokens_per_second(tokens, time))?
    }

    fn chunk(&mut self, step: &str, text: &str) {
        if !self.is_terminal {
            return;
        }
        if let Some(running) = self.running.iter_mut().find(|one| one.step == step) {
            running.write(text);
            if embedded::name_of(&running.model).is_some() && self.spinner.is_some() {
                self.start_spinner();
            }
        }
        if self.is_final(step) {
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
        self.end_open_line();
        self.print_heading(&running);
        self.running.push(running);
        if !self.is_streaming(step) {
            self.streaming = Some(Streaming {
                step: step.to_owned(),
                markdown: MarkdownStream::new(output::width().min(100), 2),
            });
        }
        if let Some(streaming) = &mut self.streaming {
            output::stream(&streaming.markdown.push(&output::harmless(text)));
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
        let Some(why) = self.news(reason, Reported::AskedAgain) else {
            return;
        };
        self.end_open_line();
        let who = position(step);
        let text = painted(QUIET, &format!("  Asking {who} again: {why}"));
        self.print_above_spinner(|| output::note(&text));
    }

    /// The reason of a failure in plain words, unless it was reported before in the same incident: a dead server fails every
    /// attempt of every seat. A seat that was not asked because of it has no reason of its own.
    fn news(&mut self, reason: &str, kind: Reported) -> Option<String> {
        if skipped(reason).is_some() && !self.reported.is_empty() {
            return None;
        }
        let why = output::harmless(&plain_reason(reason));
        // That a seat is absent is more than that it is asked again.
        let is_known = |(known, as_kind): &(String, Reported)| *known == why && *as_kind >= kind;
        if self.reported.iter().any(is_known) {
            return None;
        }
        self.reported.push((why.clone(), kind));
        Some(why)
    }

    fn step_finished(&mut self, step: &FinishedStep) {
        self.close();
        let running = self.take_running(&step.call.step);
        if self.is_final(&step.call.step) {
            return self.start_spinner();
        }
        let was_streamed =
            self.is_terminal && running.as_ref().is_some_and(|running| running.is_alone);
        if let Some(running) = &running {
            self.print_heading(running);
        }
        if !was_streamed {
            output::note(&self.rendered(&output::harmless(&step.text)));
        }
        let rescued = step.rescued_by.iter();
        let rescued = rescued.map(|model| format!("put into the required form by {model}"));
        for remark in status::broken_rules(&step.remarks)
            .into_iter()
            .chain(rescued)
        {
            output::note(&painted(WARN, &format!("  {remark}")));
        }
        let model = running.as_ref().map_or("", |running| &running.model);
        let report = protocols::report(&self.entries);
        output::note("");
        output::note(&painted(
            QUIET,
            &status::line(&report.facts, &self.sum, &step.call.spent, model),
        ));
        self.start_spinner();
    }

    /// Markdown, rendered on a terminal and unchanged elsewhere.
    fn rendered(&self, text: &str) -> String {
        if self.is_terminal {
            markdown::render(text, output::width().min(100), 2)
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
        self.live.clear();
        self.stop_spinner();
        if let Some(mut streaming) = self.streaming.take() {
            output::stream(&streaming.markdown.end());
        }
        self.end_open_line();
    }
}

/// `None` if all seats have the same model, which was named before.
fn seat_models(setup: &Setup) -> Option<String> {
    let first = setup.seats.first().map(|seated| &seated.model);
    let all_same = setup
        .seats
        .iter()
        .all(|seated| Some(&seated.model) == first);
    if all_same {
        return None;
    }
    let each: Vec<_> = setup
        .seats
        .iter()
        .map(|seated| format!("{}: {}", seated.seat.name, seated.model))
        .collect();
    Some(each.join(" · "))
}
