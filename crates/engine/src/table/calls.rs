//! The calls behind one step: the first, more while the model uses tools (M-15), and one more where the reply does not
//! fit (C-05). A call whose reply was cut is made again: it did not finish.

use futures::StreamExt;
use roundtable_core::usage::{Money, Price, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::step::{Ask, Turn, deadline};
use super::{Halt, SeatModel};
use crate::event::{Event, Spent};
use crate::journal::JournalError;
use crate::model::{
    Delta, Finish, Instead, Message, ModelError, Offer, RawJson, Request, Speaker, ToolCall,
};
use crate::reply::{MainText, Reply, ReplyError, read};
use crate::safety::{Release, Withheld, release, withhold, withhold_text};
use crate::tokens;
use crate::tools::{Exchange, Session, Toolbox};

/// Why a step failed, and what was said if anything was.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) said: Option<String>,
}

/// How often a call whose reply was cut is made again, each time with twice the room: more often, a reply that has no end would cost
/// many times what one costs that has.
const MORE_ROOM: u32 = 2;

/// The calls behind one step.
pub(super) struct Work<'a, 't, T> {
    pub(super) ask: &'a Ask<'t, T>,
    pub(super) chair: &'a SeatModel,
    pub(super) step: &'a str,
    /// Of the request as it was first rendered.
    pub(super) hash: &'a str,
    /// The form that the reply was asked for in.
    pub(super) sent: &'a RawJson,
    /// What all calls of the step used together.
    pub(super) tally: Spent,
    /// Who answered last, where it was not the model that was asked.
    pub(super) instead: Option<Stood>,
    /// The main text so far.
    pub(super) main: String,
    /// The beginning of it that listeners have heard.
    pub(super) announced: String,
}

/// A model that stood in, and what it used.
#[derive(Debug)]
pub(super) struct Stood {
    pub(super) who: Instead,
    used: Usage,
}

/// What a step cost: each model has its own price.
pub(super) fn cost(spent: &Spent, price: Option<&Price>, stood: Option<&Stood>) -> Option<Money> {
    let Some(stood) = stood else {
        return price.map(|price| price.of(spent.usage));
    };
    let own = Usage {
        input: spent.usage.input.saturating_sub(stood.used.input),
        output: spent.usage.output.saturating_sub(stood.used.output),
        cached: spent.usage.cached.saturating_sub(stood.used.cached),
    };
    let own = if own == Usage::default() {
        Some(Money::ZERO)
    } else {
        price.map(|price| price.of(own))
    };
    let theirs = stood.who.price.as_ref().map(|price| price.of(stood.used));
    Some(own? + theirs?)
}

/// A reply that may be passed on, and how it stands in the journal.
pub(super) struct Judged<T> {
    pub(super) turn: Turn<T>,
    pub(super) written: Value,
}

struct Said {
    text: String,
    calls: Vec<ToolCall>,
    finish: Finish,
}

impl<T> Judged<T> {
    fn breaks_more_than(&self, other: &Self) -> bool {
        self.turn.remarks.len() > other.turn.remarks.len()
    }
}

impl<T: Reply> Work<'_, '_, T> {
    /// A reply that does not fit, or breaks a rule, is asked for once more with the reason (C-05).
    pub(super) async fn run(
        &mut self,
        mut request: Request,
    ) -> Result<Result<Judged<T>, Failure>, Halt> {
        let said = match self.converse(&mut request).await? {
            Ok(said) => said,
            Err(error) => return Ok(Err(unsaid(&error))),
        };
        let first = self.judge(&said);
        let (faults, void) = match &first {
            Ok(judged) => (judged.turn.remarks.clone(), false),
            // It was called for as often as it may be.
            Err(ReplyError::CutOff) => return Ok(Err(unfit(&ReplyError::CutOff, &said))),
            Err(misfit) => (vec![misfit.to_string()], misfit.leaves_nothing_to_mend()),
        };
        if faults.is_empty() {
            return Ok(first.map_err(|misfit| unfit(&misfit, &said)));
        }
        self.restart(&format!("sent back: {}", faults.join(" ")));
        let again = self.again(request, &said, &faults, void);
        let second = match self.call(&again).await? {
            Ok(said) => self.judge(&said).map_err(|misfit| unfit(&misfit, &said)),
            Err(error) => Err(Failure {
                reason: error.to_string(),
                said: Some(withhold_text(&said.text)),
            }),
        };
        Ok(match (first, second) {
            // A reply that only broke a rule is still paid for and usable.
            (Ok(first), Ok(second)) if second.breaks_more_than(&first) => Ok(first),
            (_, Ok(second)) => Ok(second),
            (Ok(first), Err(_)) => Ok(first),
            (Err(_), Err(failure)) => Err(failure),
        })
    }

    /// Calls until the model replies: what it asks of tools is done, journaled and ack to it. What an earlier run has
    /// journaled is not asked again (C-08).
    async fn converse(&mut self, request: &mut Request) -> Result<Result<Said, ModelError>, Halt> {
        let Some(toolbox) = self.ask.toolbox.clone() else {
            return self.call(request).await;
        };
        let mut session = Session::default();
        for number in 1.. {
            let key = format!("{}/tools-{number}", self.step);
            let exchange = match self.ask.table.replay.note(&key) {
                Some(value) => self.recall(&key, value)?,
                None => match self.use_tools(&key, request, &toolbox, &session).await? {
                    Used::Tools(exchange) => exchange,
                    Used::None(reply) => return Ok(reply),
                },
            };
            session.take_up(&exchange);
            request.messages.extend(exchange.messages());
            let mut used = self.tally;
            used.cost = cost(&used, self.chair.price.as_ref(), self.instead.as_ref());
            // Whoever has spent the budget replies with what there is.
            let is_over = session.is_over() || !self.ask.table.budget_tracker.has_left(&used);
            if let Some(tools) = request.tools.as_mut().filter(|_| is_over) {
                tools.offer = Offer::Closed;
            }
        }
        Ok(Err(ModelError::Interrupted {
            detail: "it called tools without end".into(),
        }))
    }

    /// One call of the model. Whatever tools it calls in it are answered and journaled together, before anything rests on it.
    async fn use_tools(
        &mut self,
        key: &str,
        request: &Request,
        toolbox: &Toolbox,
        session: &Session,
    ) -> Result<Used, Halt> {
        let table = self.ask.table;
        let started_at = table.deps.clock.now();
        let before = std::mem::take(&mut self.tally);
        let said = self.call(request).await;
        let spent = std::mem::replace(&mut self.tally, before);
        self.add(&spent);
        let said = match said? {
            Ok(said) => said,
            Err(error) => return Ok(Used::None(Err(error))),
        };
        let may = request
            .tools
            .as_ref()
            .is_some_and(|tools| tools.offer == Offer::Open);
        if said.calls.is_empty() || !may {
            return Ok(Used::None(Ok(said)));
        }
        self.tally.tool_turns += 1;
        let spent = Spent {
            tool_turns: 1,
            ..spent
        };
        let text = withhold_text(&said.text);
        let exchange = session.answer(toolbox, self.hash, text, said.calls, spent);
        let value = serde_json::to_value(&exchange).map_err(|error| JournalError::Corrupt {
            detail: error.to_string(),
        })?;
        self.restart("it uses tools");
        let noted = Event::Noted {
            key: key.to_owned(),
            value,
            started_at,
        };
        table.record(noted).await?;
        Ok(Used::Tools(exchange))
    }

    fn recall(&mut self, key: &str, value: &Value) -> Result<Exchange, Halt> {
        let exchange: Exchange =
            Exchange::deserialize(value).map_err(|error| JournalError::Corrupt {
                detail: format!("'{key}': {error}"),
            })?;
        if exchange.request != self.hash {
            return Err(Halt::Drift {
                step: self.step.to_owned(),
            });
        }
        let spent = exchange.spent;
        self.add(&spent);
        Ok(exchange)
    }

    fn add(&mut self, spent: &Spent) {
        self.tally.usage += spent.usage;
        self.tally.calls += spent.calls;
        self.tally.tool_turns += spent.tool_turns;
        self.tally.retries += spent.retries;
        self.tally.estimated |= spent.estimated;
    }

    /// One call. A reply that the limit of tokens has cut before it said anything usable is no reply: the call did not finish and is
    /// made again with more room, as one of the retries that the debate may make.
    async fn call(&mut self, request: &Request) -> Result<Result<Said, ModelError>, Halt> {
        self.tally.calls += 1;
        let mut said = self.interruptible_attempt(request).await?;
        for doubled in 1..=MORE_ROOM {
            let is_cut = said.as_ref().is_ok_and(|said| self.is_cut(said));
            if !is_cut || !self.ask.table.may_retry() {
                break;
            }
            self.tally.retries += 1;
            self.restart("the reply was cut at the limit of tokens");
            let roomier = Request {
                max_output_tokens: request.max_output_tokens.saturating_mul(1 << doubled),
                seed: request.seed.wrapping_add(u64::from(doubled)),
                ..request.clone()
            };
            said = match self.interruptible_attempt(&roomier).await? {
                // The room is not to be had: what was said of the reply stands.
                Err(ModelError::Rejected { .. } | ModelError::TooLong { .. }) => break,
                attempt => attempt,
            };
        }
        Ok(said)
    }

    fn is_cut(&self, said: &Said) -> bool {
        let read = || read::<T>(&said.text, said.finish, self.sent);
        let may_be = said.finish == Finish::Length && said.calls.is_empty();
        may_be && matches!(read(), Err(ReplyError::CutOff))
    }

    /// A call under way ends when the debate is interrupted or its time is up; writing the journal does not.
    async fn interruptible_attempt(
        &mut self,
        request: &Request,
    ) -> Result<Result<Said, ModelError>, Halt> {
        let table = self.ask.table;
        tokio::select! {
            biased;
            () = table.deps.cancel.cancelled() => Err(Halt::Cancelled),
            exhausted = deadline(table) => Err(exhausted.into()),
            said = self.attempt(request) => Ok(said),
        }
    }

    fn judge(&self, said: &Said) -> Result<Judged<T>, ReplyError> {
        let reply = read::<T>(&said.text, said.finish, self.sent)?;
        let (reply, written, withheld) = monitored(reply)?;
        let unusable = (self.ask.demand)(&reply);
        if !unusable.is_empty() {
            return Err(ReplyError::Unusable(unusable));
        }
        let remarks = (self.ask.check)(&reply);
        let turn = Turn {
            text: (self.ask.render)(&reply),
            reply,
            remarks,
            withheld,
            spent: Spent::default(),
        };
        Ok(Judged { turn, written })
    }

    fn again(&self, mut request: Request, said: &Said, faults: &[String], void: bool) -> Request {
        let prompts = &self.ask.table.deps.prompts;
        let text = prompts
            .render_plain("common/again", json!({ "faults": faults, "void": void }))
            .unwrap_or_else(|_| faults.join("\n"));
        let message = |speaker, text| Message {
            speaker,
            text,
            shared: false,
            tools: Vec::new(),
        };
        // The reply is to be mended, not to be looked up anew.
        if let Some(tools) = &mut request.tools {
            tools.offer = Offer::Closed;
        }
        if !said.text.trim().is_empty() && !void {
            request
                .messages
                .push(message(Speaker::Assistant, said.text.clone()));
        }
        request.messages.push(message(Speaker::User, text));
        request.seed = request.seed.wrapping_add(1);
        request
    }

    /// One attempt at a call, the retries of the model inside. Usage counts whatever became of the text.
    async fn attempt(&mut self, request: &Request) -> Result<Said, ModelError> {
        let mut deltas = self.chair.model.stream(request.clone());
        let mut main = MainText::new(T::MAIN);
        let mut text = String::new();
        let mut calls = Vec::new();
        let mut usage = Usage::default();
        // Every call is put to the model of the seat again; what another used before stays counted.
        let mut stood_before = self
            .instead
            .as_ref()
            .map_or_else(Usage::default, |it| it.used);
        let mut usage_before = Usage::default();
        let mut instead = None;
        let result = loop {
            match deltas.next().await {
                Some(Ok(Delta::Text(piece))) => {
                    self.stream(&main.feed(&piece));
                    text.push_str(&piece);
                }
                Some(Ok(Delta::Reasoning(_))) => {}
                Some(Ok(Delta::Call(call))) => calls.push(call),
                Some(Ok(Delta::Usage(used))) => usage += used,
                Some(Ok(Delta::Restart { reason })) => {
                    self.tally.retries += 1;
                    text.clear();
                    calls.clear();
                    main = MainText::new(T::MAIN);
                    self.restart(&reason);
                    if !self.ask.table.may_retry() {
                        break Err(ModelError::Interrupted {
                            detail: format!("{reason}; the debate has used up its retries"),
                        });
                    }
                }
                Some(Ok(Delta::Instead(who))) => {
                    self.tally.retries += 1;
                    text.clear();
                    calls.clear();
                    main = MainText::new(T::MAIN);
                    self.restart(&format!("{}; {} answers instead", who.because, who.model));
                    usage_before = usage;
                    instead = Some(*who);
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
        if usage == Usage::default() && !(text.is_empty() && calls.is_empty()) {
            self.tally.estimated = true;
            usage = Usage {
                input: request.texts().map(tokens::count).sum(),
                output: tokens::count(&text)
                    + calls
                        .iter()
                        .map(|call| tokens::count(&call.arguments))
                        .sum::<u64>(),
                cached: 0,
            };
        }
        self.tally.usage += usage;
        if let Some(who) = instead {
            stood_before += Usage {
                input: usage.input.saturating_sub(usage_before.input),
                output: usage.output.saturating_sub(usage_before.output),
                cached: usage.cached.saturating_sub(usage_before.cached),
            };
            let used = stood_before;
            self.instead = Some(Stood { who, used });
        }
        result.map(|finish| Said {
            text,
            calls,
            finish,
        })
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

/// What came of a call while tools were offered.
enum Used {
    Tools(Exchange),
    /// It replied, or failed.
    None(Result<Said, ModelError>),
}

/// The reply without what must not be passed on (M-09). What cannot be examined is not passed on at all.
fn monitored<T: Reply>(reply: T) -> Result<(T, Value, Vec<Withheld>), ReplyError> {
    let mut written = serde_json::to_value(&reply).map_err(|_| ReplyError::Refused)?;
    let withheld = withhold(&mut written);
    if withheld.is_empty() {
        return Ok((reply, written, withheld));
    }
    let clean = T::deserialize(&written).map_err(|_| ReplyError::Refused)?;
    Ok((clean, written, withheld))
}

fn unfit(misfit: &ReplyError, said: &Said) -> Failure {
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
