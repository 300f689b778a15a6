//! The calls behind one step: the first, and one more where the reply does not fit (C-05).

use futures::StreamExt;
use roundtable_core::usage::Usage;
use serde_json::json;

use super::Chair;
use super::step::{Ask, Turn};
use crate::event::{Event, Spent};
use crate::model::{Delta, Finish, Message, ModelError, Request, Speaker};
use crate::reply::{MainText, Misfit, Reply, read};
use crate::safety::{Release, Withheld, release, withhold, withhold_text};
use crate::tokens;

/// Why a step failed, and what was said if anything was.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) said: Option<String>,
}

/// The calls behind one step.
pub(super) struct Work<'a, 't, T> {
    pub(super) ask: &'a Ask<'t, T>,
    pub(super) chair: &'a Chair,
    pub(super) step: &'a str,
    /// What all calls of the step used together.
    pub(super) tally: Spent,
    /// The main text so far.
    pub(super) main: String,
    /// The beginning of it that listeners have heard.
    pub(super) announced: String,
}

struct Said {
    text: String,
    finish: Finish,
}

impl<T: Reply> Work<'_, '_, T> {
    /// A reply that does not fit, or breaks a rule, is asked for once more with the reason (C-05).
    pub(super) async fn run(&mut self, request: Request) -> Result<Turn<T>, Failure> {
        let said = self.call(&request).await.map_err(|error| unsaid(&error))?;
        let first = self.judge(&said);
        let (faults, cut) = match &first {
            Ok(turn) => (turn.remarks.clone(), false),
            Err(misfit) => (vec![misfit.to_string()], misfit.leaves_nothing_to_mend()),
        };
        if faults.is_empty() {
            return first.map_err(|misfit| unfit(&misfit, &said));
        }
        self.restart(&format!("sent back: {}", faults.join(" ")));
        let again = self.again(request, &said, &faults, cut);
        let second = match self.call(&again).await {
            Ok(said) => self.judge(&said).map_err(|misfit| unfit(&misfit, &said)),
            Err(error) => Err(Failure {
                reason: error.to_string(),
                said: Some(withhold_text(&said.text)),
            }),
        };
        match (first, second) {
            // A reply that only broke a rule is still paid for and usable.
            (Ok(first), Ok(second)) if second.remarks.len() > first.remarks.len() => Ok(first),
            (_, Ok(second)) => Ok(second),
            (Ok(first), Err(_)) => Ok(first),
            (Err(_), Err(failure)) => Err(failure),
        }
    }

    fn judge(&self, said: &Said) -> Result<Turn<T>, Misfit> {
        let (reply, withheld) = monitored(read::<T>(&said.text, said.finish)?)?;
        let unusable = (self.ask.demand)(&reply);
        if !unusable.is_empty() {
            return Err(Misfit::Unusable(unusable));
        }
        let remarks = (self.ask.check)(&reply);
        Ok(Turn {
            text: (self.ask.render)(&reply),
            reply,
            remarks,
            withheld,
            spent: Spent::default(),
        })
    }

    fn again(&self, mut request: Request, said: &Said, faults: &[String], cut: bool) -> Request {
        let prompts = &self.ask.table.kit.prompts;
        let text = prompts
            .render_plain("common/again", json!({ "faults": faults, "cut": cut }))
            .unwrap_or_else(|_| faults.join("\n"));
        let message = |speaker, text| Message {
            speaker,
            text,
            shared: false,
        };
        if !said.text.trim().is_empty() && !cut {
            request
                .messages
                .push(message(Speaker::Assistant, said.text.clone()));
        }
        request.messages.push(message(Speaker::User, text));
        request.seed = request.seed.wrapping_add(1);
        request
    }

    /// One call, its retries inside. Usage counts whatever became of the text.
    async fn call(&mut self, request: &Request) -> Result<Said, ModelError> {
        let mut deltas = self.chair.model.stream(request.clone());
        let mut main = MainText::new(T::MAIN);
        let mut text = String::new();
        let mut usage = Usage::default();
        self.tally.calls += 1;
        let result = loop {
            match deltas.next().await {
                Some(Ok(Delta::Text(piece))) => {
                    self.stream(&main.feed(&piece));
                    text.push_str(&piece);
                }
                Some(Ok(Delta::Reasoning(_))) => {}
                Some(Ok(Delta::Usage(used))) => usage += used,
                Some(Ok(Delta::Restart { reason })) => {
                    self.tally.retries += 1;
                    text.clear();
                    main = MainText::new(T::MAIN);
                    self.restart(&reason);
                }
                Some(Ok(Delta::Finish(finish))) => break Ok(finish),
                Some(Err(error)) => break Err(error),
                None => {
                    break Err(ModelError::Interrupted {
                        detail: "it ended without saying so".into(),
                    });
                }
            }
        };
        if usage == Usage::default() && !text.is_empty() {
            self.tally.estimated = true;
            usage = Usage {
                input: request.texts().map(tokens::count).sum(),
                output: tokens::count(&text),
                cached: 0,
            };
        }
        self.tally.usage += usage;
        result.map(|finish| Said { text, finish })
    }

    /// What may be heard of the text is heard at once; the rest when it is sure that it may be.
    fn stream(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.main.push_str(piece);
        let offset = self.announced.len();
        if let Release::UpTo(end) = release(&self.main, offset)
            && end > offset
        {
            let fresh = self.main[offset..end].to_owned();
            self.announced.push_str(&fresh);
            self.ask.announce_chunk(self.step, offset, fresh);
        }
    }

    fn restart(&mut self, reason: &str) {
        self.main.clear();
        self.announced.clear();
        self.ask.table.announce(Event::StepRestarted {
            step: self.step.to_owned(),
            reason: withhold_text(reason),
        });
    }
}

/// The reply without what must not be passed on (M-09). What cannot be examined is not passed on at all.
fn monitored<T: Reply>(reply: T) -> Result<(T, Vec<Withheld>), Misfit> {
    let mut value = serde_json::to_value(&reply).map_err(|_| Misfit::Refused)?;
    let withheld = withhold(&mut value);
    if withheld.is_empty() {
        return Ok((reply, withheld));
    }
    let clean = serde_json::from_value(value).map_err(|_| Misfit::Refused)?;
    Ok((clean, withheld))
}

fn unfit(misfit: &Misfit, said: &Said) -> Failure {
    Failure {
        reason: withhold_text(&misfit.to_string()),
        said: Some(withhold_text(&said.text)),
    }
}

fn unsaid(error: &ModelError) -> Failure {
    Failure {
        reason: error.to_string(),
        said: None,
    }
}
