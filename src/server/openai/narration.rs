//! A debate as readable text while it runs: one turn after the other, also if several seats speak at once.
//!
//! The first unfinished turn is streamed as it is written; the turns after it wait. The answer is not streamed: it is the content.

use std::collections::VecDeque;

use roundtable_engine::envelope::Envelope;
use roundtable_engine::transcript::capital;

#[derive(Debug)]
pub(super) struct Narration {
    answer_phase: &'static str,
    passages: VecDeque<Passage>,
}

/// A heading, or a turn with its text that has not been streamed yet.
#[derive(Debug)]
struct Passage {
    step: Option<String>,
    untold: String,
    /// Whether part of its text has been streamed.
    has_begun: bool,
    is_over: bool,
    is_answer: bool,
}

impl Narration {
    pub(super) fn new(answer_phase: &'static str) -> Self {
        Self {
            answer_phase,
            passages: VecDeque::new(),
        }
    }

    /// The text that this event adds.
    pub(super) fn tell(&mut self, envelope: &Envelope) -> String {
        let step = envelope.metadata.step.as_deref();
        let (_, kind) = envelope.event.rsplit_once('_').unwrap_or_default();
        match (step, kind) {
            (None, "start") if envelope.event == "round_start" => {
                self.heading(format!(
                    "## Round {}: {}\n\n",
                    envelope.round, envelope.content
                ));
            }
            (None, _) if envelope.event == "complete" => {
                self.passages
                    .iter_mut()
                    .for_each(|passage| passage.is_over = true);
            }
            (None, _) if envelope.event == "user_input" => {
                self.heading(format!("**A person**: {}\n\n", envelope.content));
            }
            (Some(step), "start") => self.begin(step, envelope),
            (Some(step), "chunk") => {
                if let Some(turn) = self.turn(step).filter(|turn| !turn.is_answer) {
                    turn.untold.push_str(&envelope.content);
                    turn.has_begun = true;
                }
            }
            (Some(step), "restart") => self.restart(step, &envelope.content),
            (Some(step), "end") => self.end(step, ""),
            (Some(step), "absent") => self.end(step, &format!("(absent: {})", envelope.content)),
            _ => {}
        }
        self.told()
    }

    fn heading(&mut self, untold: String) {
        self.passages.push_back(Passage {
            step: None,
            untold,
            has_begun: false,
            is_over: true,
            is_answer: false,
        });
    }

    fn begin(&mut self, step: &str, envelope: &Envelope) {
        let role = envelope.metadata.role.as_deref().unwrap_or_default();
        let seat = capital(role);
        let is_answer = step.split('/').next() == Some(self.answer_phase);
        let untold = match &envelope.metadata.model {
            _ if is_answer => format!("**{seat}** writes the answer.\n\n"),
            Some(model) => format!("**{seat}** ({model}): "),
            None => format!("**{seat}**: "),
        };
        self.passages.push_back(Passage {
            step: Some(step.to_owned()),
            untold,
            has_begun: false,
            is_over: false,
            is_answer,
        });
    }

    fn restart(&mut self, step: &str, reason: &str) {
        if let Some(turn) = self.turn(step).filter(|turn| turn.has_begun) {
            turn.untold.extend(["\n\n(starts again: ", reason, ")\n\n"]);
        }
    }

    fn end(&mut self, step: &str, last: &str) {
        if let Some(turn) = self.turn(step) {
            turn.untold.push_str(last);
            if !turn.is_answer || !last.is_empty() {
                turn.untold.push_str("\n\n");
            }
            turn.is_over = true;
        }
    }

    fn turn(&mut self, step: &str) -> Option<&mut Passage> {
        let mut turns = self.passages.iter_mut().rev();
        turns.find(|passage| passage.step.as_deref() == Some(step))
    }

    fn told(&mut self) -> String {
        let mut text = String::new();
        while let Some(passage) = self.passages.front_mut() {
            text.push_str(&std::mem::take(&mut passage.untold));
            if !passage.is_over {
                break;
            }
            self.passages.pop_front();
        }
        text
    }
}

#[cfg(test)]
#[path = "narration_tests.rs"]
mod tests;
