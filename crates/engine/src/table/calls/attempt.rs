//! One attempt of a call: folds the model's stream into a reply and announces its text.

use std::ops::ControlFlow;
use std::time::Duration;

use futures::StreamExt;
use roundtable_core::usage::Usage;

use super::{Calls, Said};
use crate::event::{Event, Spent};
use crate::model::{Delta, Fallback, Finish, Instead, ModelError, Request, ToolCall};
use crate::reply::MainText;
use crate::safety::{Release, release, withhold_text};
use crate::tokens;

/// The reply of an attempt, as far as it was streamed.
struct Draft {
    main: MainText,
    text: String,
    calls: Vec<ToolCall>,
    usage: Usage,
    /// The fallback model that answers, and the usage before it.
    instead: Option<(Instead, Usage)>,
}

impl Draft {
    fn of(main_field: &'static str) -> Self {
        Self {
            main: MainText::new(main_field),
            text: String::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            instead: None,
        }
    }
}

impl Calls<'_> {
    /// Folds the model's stream, which includes its own retries, into one reply. Usage counts even if the attempt fails.
    pub(super) async fn attempt(&mut self, request: &Request) -> Result<Said, ModelError> {
        let mut deltas = self.seat_model.model.stream(request.clone());
        let mut draft = Draft::of(self.reply_type.main_field());
        let result = loop {
            let next = match deltas.next().await {
                Some(Ok(delta)) => self.apply(delta, &mut draft),
                Some(Err(error)) => ControlFlow::Break(Err(error)),
                None => ControlFlow::Break(Err(ModelError::Interrupted {
                    detail: "it ended without saying so".into(),
                })),
            };
            if let ControlFlow::Break(result) = next {
                break result;
            }
        };
        self.add_usage(request, &mut draft);
        result.map(|finish| Said {
            text: draft.text,
            calls: draft.calls,
            finish,
            spent: Spent::default(),
            fallback: None,
        })
    }

    fn apply(
        &mut self,
        delta: Delta,
        draft: &mut Draft,
    ) -> ControlFlow<Result<Finish, ModelError>> {
        match delta {
            Delta::Text(piece) => {
                self.stream(&draft.main.feed(&piece));
                draft.text.push_str(&piece);
            }
            Delta::Reasoning(_) => {}
            Delta::Call(call) => draft.calls.push(call),
            Delta::Usage(used) => draft.usage += used,
            Delta::Restart { reason, wait } => {
                self.start_over(draft, &announced_retry(&reason, wait));
                if !self.question.table.may_retry() {
                    return ControlFlow::Break(Err(ModelError::Interrupted {
                        detail: format!("{reason}; the debate has used up its retries"),
                    }));
                }
            }
            Delta::Instead(fallback) => {
                if let Some(error) = self.unpriced(&fallback) {
                    return ControlFlow::Break(Err(error));
                }
                let reason = format!("{}; {} answers instead", fallback.because, fallback.model);
                self.start_over(draft, &reason);
                draft.instead = Some((*fallback, draft.usage));
            }
            Delta::Notice(notice) => {
                if !self.notices.contains(&notice) {
                    self.notices.push(notice);
                }
            }
            Delta::Finish(finish) => return ControlFlow::Break(Ok(finish)),
        }
        ControlFlow::Continue(())
    }

    fn start_over(&mut self, draft: &mut Draft, reason: &str) {
        self.spent.retries += 1;
        draft.text.clear();
        draft.calls.clear();
        draft.main = MainText::new(self.reply_type.main_field());
        self.restart(reason);
    }

    /// Adds the usage of an attempt, estimated if the model reported none.
    fn add_usage(&mut self, request: &Request, draft: &mut Draft) {
        let mut usage = draft.usage;
        if usage == Usage::default() && !(draft.text.is_empty() && draft.calls.is_empty()) {
            self.spent.estimated = true;
            let calls = draft.calls.iter();
            let calls: u64 = calls.map(|call| tokens::count(&call.arguments)).sum();
            usage = Usage {
                input: request.texts().map(tokens::count).sum(),
                output: tokens::count(&draft.text) + calls,
                cached: 0,
            };
        }
        self.spent.usage += usage;
        if let Some((instead, before)) = draft.instead.take() {
            // Every call tries the seat's own model first; a fallback's usage in earlier calls stays counted.
            let earlier = self.fallback.take();
            let earlier = earlier.map_or_else(Usage::default, |fallback| fallback.used);
            let own = Usage {
                input: usage.input.saturating_sub(before.input),
                output: usage.output.saturating_sub(before.output),
                cached: usage.cached.saturating_sub(before.cached),
            };
            self.fallback = Some(Fallback {
                instead,
                used: earlier + own,
            });
        }
    }

    /// The error if a cost limit rules the fallback out. Its stream is then dropped before its first request.
    fn unpriced(&self, fallback: &Instead) -> Option<ModelError> {
        let tracker = &self.question.table.budget_tracker;
        let is_ruled_out = tracker.rules_out(fallback.price.as_ref());
        is_ruled_out.then(|| ModelError::Unpriced {
            detail: format!(
                "{}; the price of the fallback {} is unknown",
                fallback.because, fallback.model
            ),
        })
    }

    /// Announces as much of the text as the safety monitor releases; the rest is held back until it is decided.
    fn stream(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.main.push_str(piece);
        let offset = self.announced.len();
        if let Release::UpTo(end) = release(&self.main, offset)
            && end > offset
        {
            let released = self.main[offset..end].to_owned();
            self.announced.push_str(&released);
            self.question.announce_chunk(self.step, offset, released);
        }
    }

    pub(in crate::table) fn restart(&mut self, reason: &str) {
        self.main.clear();
        self.announced.clear();
        self.question.table.announce(Event::StepRestarted {
            step: self.step.to_owned(),
            reason: withhold_text(reason),
        });
    }
}

/// `retrying in 3 s: cannot reach the server`
fn announced_retry(reason: &str, wait: Duration) -> String {
    match (wait.as_millis() + 500) / 1000 {
        0 => reason.to_owned(),
        seconds => format!("retrying in {seconds} s: {reason}"),
    }
}
