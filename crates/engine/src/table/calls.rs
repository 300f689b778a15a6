//! The model calls of one step: the first, more while the model uses tools (M-15), one retry if the reply is invalid, and one
//! call that puts an invalid reply into the schema (C-05). A call whose reply was truncated is retried with a larger token limit.
//!
//! An answered call that another call of the step follows is journaled first, as a note: a killed debate does not repeat it
//! (C-08).

use futures::StreamExt;
use roundtable_core::usage::{Money, Price, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::journaling::{corrupt, note_event};
use super::parroting::Told;
use super::reply_type::{Judged, ReplyType};
use super::rescue::Rescued;
use super::step::{Question, deadline};
use super::{Halt, SeatModel};
use crate::event::{Event, Spent};
use crate::model::{
    Delta, Fallback, Finish, Instead, Message, ModelError, Offer, RawJson, Request, Speaker,
    ToolCall,
};
use crate::reply::{MainText, ReplyError};
use crate::safety::{Release, release, withhold_text};
use crate::tokens;
use crate::tools::{Exchange, Session, Toolbox};

/// Why a step failed, and the model's text if there was any.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) said: Option<String>,
}

/// How often a truncated call is retried, each time with twice the token limit. Bounded because a model that never stops would
/// otherwise cost many times a normal reply.
const MAX_TRUNCATION_RETRIES: u32 = 2;

/// Keys of the notes on replies that were sent back, after the step's name.
pub(super) const SENT_BACK: &str = "sent-back";
const SECOND: &str = "sent-back-2";

/// State of the calls of one step.
pub(super) struct Calls<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) reply_type: &'a dyn ReplyType,
    pub(super) seat_model: &'a SeatModel,
    pub(super) step: &'a str,
    /// Hash of the first request.
    pub(super) hash: &'a str,
    /// The schema sent with the request.
    pub(super) sent: &'a RawJson,
    /// Texts that a small model must not repeat.
    pub(super) told: Option<Told>,
    /// Usage of all calls of the seat's own model.
    pub(super) spent: Spent,
    /// The model that put the reply into the schema, and its usage.
    pub(super) rescued: Option<Rescued>,
    /// The fallback model, if one answered.
    pub(super) fallback: Option<Fallback>,
    /// Features that the calls went without.
    pub(super) notices: Vec<String>,
    /// The main text so far.
    pub(super) main: String,
    /// The prefix of `main` that listeners have received.
    pub(super) announced: String,
}

/// Cost of a step; `None` if a price is unknown. The fallback model has its own price.
pub(super) fn cost(
    spent: &Spent,
    price: Option<&Price>,
    fallback: Option<&Fallback>,
) -> Option<Money> {
    let Some(fallback) = fallback else {
        return price.map(|price| price.of(spent.usage));
    };
    let own = Usage {
        input: spent.usage.input.saturating_sub(fallback.used.input),
        output: spent.usage.output.saturating_sub(fallback.used.output),
        cached: spent.usage.cached.saturating_sub(fallback.used.cached),
    };
    let own = if own == Usage::default() {
        Some(Money::ZERO)
    } else {
        price.map(|price| price.of(own))
    };
    let price = fallback.instead.price.as_ref();
    Some(own? + price?.of(fallback.used))
}

/// A reply of the model.
#[derive(Clone)]
pub(super) struct Said {
    pub(super) text: String,
    calls: Vec<ToolCall>,
    pub(super) finish: Finish,
    /// Usage of its call.
    pub(super) spent: Spent,
    /// The fallback model that answered it, with its share of the usage.
    fallback: Option<Fallback>,
}

/// A reply that was sent back, as a note of the journal.
#[derive(Serialize, Deserialize)]
struct SentBack {
    /// Hash of the step's request.
    request: String,
    said: String,
    finish: Finish,
    faults: Vec<String>,
    spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fallback: Option<Fallback>,
}

impl Judged {
    fn breaks_more_than(&self, other: &Self) -> bool {
        self.remarks.len() > other.remarks.len()
    }
}

impl<'a> Calls<'a> {
    pub(super) fn new(
        question: &'a Question<'a>,
        reply_type: &'a dyn ReplyType,
        seat_model: &'a SeatModel,
        step: &'a str,
        hash: &'a str,
        sent: &'a RawJson,
    ) -> Self {
        Self {
            question,
            reply_type,
            seat_model,
            step,
            hash,
            sent,
            told: None,
            spent: Spent::default(),
            rescued: None,
            fallback: None,
            notices: Vec::new(),
            main: String::new(),
            announced: String::new(),
        }
    }
}

impl Calls<'_> {
    /// Makes the calls of the step. An invalid reply, or one that breaks a rule, is retried once with the reason; if both are
    /// invalid, one more call may put them into the schema (C-05).
    pub(super) async fn run(
        &mut self,
        mut request: Request,
    ) -> Result<Result<Judged, Failure>, Halt> {
        let mut said = match self.converse(&mut request).await? {
            Ok(said) => said,
            Err(error) => return Ok(Err(call_failure(&error))),
        };
        let first = self.judge(&said);
        let (faults, void) = match &first {
            Ok(judged) => (judged.remarks.clone(), false),
            // `call` has used up its retries.
            Err(ReplyError::CutOff) => return Ok(Err(reply_failure(&ReplyError::CutOff, &said))),
            Err(error) => (vec![error.to_string()], error.has_no_reply()),
        };
        if faults.is_empty() {
            return Ok(first.map_err(|error| reply_failure(&error, &said)));
        }
        Box::pin(self.note_sent_back(SENT_BACK, &mut said, &faults)).await?;
        self.restart(&format!("sent back: {}", faults.join(" ")));
        let is_parroted = first.as_ref().is_ok_and(|judged| judged.is_parroted);
        let retry = if is_parroted {
            resampled(request)
        } else {
            self.retry_request(request, &said, &faults, void)
        };
        let mut words = Vec::new();
        let mut is_form = first.as_ref().err().is_some_and(ReplyError::is_about_form);
        if is_form {
            words.push(said.text.clone());
        }
        let again = match self.recall_sent_back(SECOND)? {
            Some(again) => Ok(again),
            None => self.call(&retry).await?,
        };
        let second = match again {
            Ok(mut again) => match self.judge(&again) {
                Ok(judged) => Ok(self.without_example(judged, &again)),
                Err(error) => {
                    let fault = error.to_string();
                    Box::pin(self.note_sent_back(SECOND, &mut again, &[fault])).await?;
                    if !error.has_no_reply() {
                        is_form = error.is_about_form();
                        words.push(again.text.clone());
                    }
                    Err(reply_failure(&error, &again))
                }
            },
            Err(error) => Err(Failure {
                reason: error.to_string(),
                said: Some(withhold_text(&said.text)),
            }),
        };
        match (first, second) {
            // A reply that only broke a rule is usable, and paid for.
            (Ok(first), Ok(second)) if second.breaks_more_than(&first) => Ok(Ok(first)),
            (_, Ok(second)) => Ok(Ok(second)),
            (Ok(first), Err(_)) => Ok(Ok(first)),
            // Boxed: rare, and its state would enlarge every step.
            (Err(_), Err(failure)) if is_form => Box::pin(self.rescue(words, failure)).await,
            (Err(_), Err(failure)) => Ok(Err(failure)),
        }
    }

    /// Journals an answered call before another one follows it, unless this is a replay. The reply is kept as it is journaled,
    /// without withheld texts, so that a replay sends the same request.
    async fn note_sent_back(
        &self,
        key: &str,
        said: &mut Said,
        faults: &[String],
    ) -> Result<(), Halt> {
        let table = self.question.table;
        let key = format!("{}/{key}", self.step);
        said.text = withhold_text(&said.text);
        if table.replay.note(&key).is_some() {
            return Ok(());
        }
        let now = table.deps.clock.now();
        let sent_back = SentBack {
            request: self.hash.to_owned(),
            said: said.text.clone(),
            finish: said.finish,
            faults: faults.iter().map(|fault| withhold_text(fault)).collect(),
            spent: said.spent,
            fallback: said.fallback.clone(),
        };
        Ok(table.record(note_event(&key, &sent_back, now)?).await?)
    }

    /// The journaled reply of an interrupted run.
    fn recall_sent_back(&mut self, key: &str) -> Result<Option<Said>, Halt> {
        let key = format!("{}/{key}", self.step);
        let Some(value) = self.question.table.replay.note(&key) else {
            return Ok(None);
        };
        let noted: SentBack = parse(&key, value)?;
        if noted.request != self.hash {
            return Err(self.drift());
        }
        self.add(&noted.spent);
        self.add_fallback(noted.fallback);
        Ok(Some(Said {
            text: noted.said,
            calls: Vec::new(),
            finish: noted.finish,
            spent: noted.spent,
            fallback: None,
        }))
    }

    fn drift(&self) -> Halt {
        Halt::Drift {
            step: self.step.to_owned(),
        }
    }

    /// Calls the model until it replies. Its tool calls are answered and journaled; exchanges in the journal are replayed
    /// (C-08).
    async fn converse(&mut self, request: &mut Request) -> Result<Result<Said, ModelError>, Halt> {
        let Some(toolbox) = self.question.toolbox.clone() else {
            return match self.recall_sent_back(SENT_BACK)? {
                Some(said) => Ok(Ok(said)),
                None => self.call(request).await,
            };
        };
        let mut session = Session::default();
        for number in 1.. {
            let key = format!("{}/tools-{number}", self.step);
            let exchange = if let Some(value) = self.question.table.replay.note(&key) {
                self.recall(&key, value)?
            } else if let Some(said) = self.recall_sent_back(SENT_BACK)? {
                return Ok(Ok(said));
            } else {
                match self.use_tools(&key, request, &toolbox, &session).await? {
                    Used::Tools(exchange) => exchange,
                    Used::None(reply) => return Ok(reply),
                }
            };
            session.add(&exchange);
            request.messages.extend(exchange.messages());
            let used = self.total();
            // With the budget spent, the model has to reply with what it has.
            let is_closed =
                session.is_over() || !self.question.table.budget_tracker.has_left(&used);
            if let Some(tools) = request.tools.as_mut().filter(|_| is_closed) {
                tools.offer = Offer::Closed;
            }
        }
        Ok(Err(ModelError::Interrupted {
            detail: "it called tools without end".into(),
        }))
    }

    /// One call of the model. Its tool calls are answered and journaled in one entry before the next call.
    async fn use_tools(
        &mut self,
        key: &str,
        request: &Request,
        toolbox: &Toolbox,
        session: &Session,
    ) -> Result<Used, Halt> {
        let table = self.question.table;
        let started_at = table.deps.clock.now();
        let said = match self.call(request).await? {
            Ok(said) => said,
            Err(error) => return Ok(Used::None(Err(error))),
        };
        let may_use_tools = request
            .tools
            .as_ref()
            .is_some_and(|tools| tools.offer == Offer::Open);
        if said.calls.is_empty() || !may_use_tools {
            return Ok(Used::None(Ok(said)));
        }
        self.spent.tool_turns += 1;
        let spent = Spent {
            tool_turns: 1,
            ..said.spent
        };
        let text = withhold_text(&said.text);
        let mut exchange = session.answer(toolbox, self.hash, text, said.calls, spent);
        exchange.fallback = said.fallback;
        let note = note_event(key, &exchange, started_at)?;
        self.restart("it uses tools");
        table.record(note).await?;
        Ok(Used::Tools(exchange))
    }

    fn recall(&mut self, key: &str, value: &Value) -> Result<Exchange, Halt> {
        let exchange: Exchange = parse(key, value)?;
        if exchange.request != self.hash {
            return Err(self.drift());
        }
        let spent = exchange.spent;
        self.add(&spent);
        self.add_fallback(exchange.fallback.clone());
        Ok(exchange)
    }

    fn add(&mut self, spent: &Spent) {
        self.spent.add(spent);
    }

    /// Takes over the usage of a fallback model in an interrupted run.
    fn add_fallback(&mut self, noted: Option<Fallback>) {
        let Some(noted) = noted else { return };
        let before = self.fallback.take();
        let before = before.map_or_else(Usage::default, |fallback| fallback.used);
        self.fallback = Some(Fallback {
            used: before + noted.used,
            ..noted
        });
    }

    /// Usage and cost of all calls so far, the one of the rescuing model included.
    pub(super) fn total(&self) -> Spent {
        let mut total = self.spent;
        total.cost = cost(
            &total,
            self.seat_model.price.as_ref(),
            self.fallback.as_ref(),
        );
        if let Some(rescued) = &self.rescued {
            total.add(&rescued.spent);
            total.cost = match (total.cost, rescued.spent.cost) {
                (Some(own), Some(rescue)) => Some(own + rescue),
                _ => None,
            };
        }
        total
    }

    /// One call, with its usage.
    pub(super) async fn call(
        &mut self,
        request: &Request,
    ) -> Result<Result<Said, ModelError>, Halt> {
        let before = std::mem::take(&mut self.spent);
        let fallback_before = self.fallback.take();
        let said = self.untruncated(request).await;
        let fallback = std::mem::replace(&mut self.fallback, fallback_before);
        self.add_fallback(fallback.clone());
        let spent = std::mem::replace(&mut self.spent, before);
        self.add(&spent);
        Ok(said?.map(|said| Said {
            spent,
            fallback,
            ..said
        }))
    }

    /// One call. If the token limit truncated the reply before it was usable, the call is retried with a higher limit; this
    /// counts as one of the debate's retries.
    async fn untruncated(&mut self, request: &Request) -> Result<Result<Said, ModelError>, Halt> {
        self.spent.calls += 1;
        let mut said = self.interruptible_attempt(request).await?;
        for doublings in 1..=MAX_TRUNCATION_RETRIES {
            let is_truncated = said.as_ref().is_ok_and(|said| self.is_truncated(said));
            if !is_truncated || !self.question.table.may_retry() {
                break;
            }
            self.spent.retries += 1;
            self.restart("the reply was cut at the limit of tokens");
            let retry = Request {
                max_output_tokens: request.max_output_tokens.saturating_mul(1 << doublings),
                seed: request.seed.wrapping_add(u64::from(doublings)),
                ..request.clone()
            };
            said = match self.interruptible_attempt(&retry).await? {
                // The model does not support the higher limit: keep the truncated reply.
                Err(ModelError::Rejected { .. } | ModelError::TooLong { .. }) => break,
                attempt => attempt,
            };
        }
        Ok(said)
    }

    fn is_truncated(&self, said: &Said) -> bool {
        said.calls.is_empty() && self.reply_type.is_cut_off(said, self.sent)
    }

    /// Cancellation and the time limit abort a call in flight, but never a journal write.
    async fn interruptible_attempt(
        &mut self,
        request: &Request,
    ) -> Result<Result<Said, ModelError>, Halt> {
        let table = self.question.table;
        tokio::select! {
            biased;
            () = table.deps.cancel.cancelled() => Err(Halt::Cancelled),
            exhausted = deadline(table) => Err(exhausted.into()),
            said = self.attempt(request) => Ok(said),
        }
    }

    pub(super) fn judge(&self, said: &Said) -> Result<Judged, ReplyError> {
        let mut judged = self.reply_type.judge(said, self.sent)?;
        let parroted = self.parroted(&judged.json);
        judged.is_parroted = parroted.is_some();
        judged.remarks.extend(parroted);
        Ok(judged)
    }

    /// The remark on a small model's reply that repeats what it was given.
    fn parroted(&self, json: &Value) -> Option<String> {
        let told = self.told.as_ref()?;
        let main = json[self.reply_type.main_field()].as_str()?;
        told.remark(main, &self.question.subject, json)
    }

    /// The second reply of a small model without the list items that still repeat the example, unless it is invalid without
    /// them.
    fn without_example(&self, judged: Judged, said: &Said) -> Judged {
        let told = self.told.as_ref().filter(|_| judged.is_parroted);
        let Some((kept, dropped)) = told.and_then(|told| told.without_example(&judged.json)) else {
            return judged;
        };
        let shortened = Said {
            text: kept.to_string(),
            ..said.clone()
        };
        match self.judge(&shortened) {
            Ok(mut shorter) if !shorter.breaks_more_than(&judged) => {
                shorter.withheld = judged.withheld;
                shorter.cuts.extend(judged.cuts);
                shorter.cuts.push(format!(
                    "left out because it repeats the example: {dropped} of the reply's items"
                ));
                shorter
            }
            _ => judged,
        }
    }

    /// The request with the faults of the first reply appended.
    fn retry_request(
        &self,
        mut request: Request,
        said: &Said,
        faults: &[String],
        void: bool,
    ) -> Request {
        let prompts = &self.question.table.deps.prompts;
        let text = prompts
            .render_plain("common/again", json!({ "faults": faults, "void": void }))
            .unwrap_or_else(|_| faults.join("\n"));
        let message = |speaker, text| Message {
            speaker,
            text,
            shared: false,
            tools: Vec::new(),
        };
        // The retry corrects the reply; it does no further research.
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

    /// Folds the model's stream, which includes its own retries, into one reply. Usage counts even if the attempt fails.
    async fn attempt(&mut self, request: &Request) -> Result<Said, ModelError> {
        let mut deltas = self.seat_model.model.stream(request.clone());
        let mut main = MainText::new(self.reply_type.main_field());
        let mut text = String::new();
        let mut calls = Vec::new();
        let mut usage = Usage::default();
        // Every call tries the seat's own model first; a fallback's usage in earlier calls stays counted.
        let mut fallback_usage = self
            .fallback
            .as_ref()
            .map_or_else(Usage::default, |fallback| fallback.used);
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
                Some(Ok(Delta::Restart { reason, wait })) => {
                    self.spent.retries += 1;
                    text.clear();
                    calls.clear();
                    main = MainText::new(self.reply_type.main_field());
                    self.restart(&announced_retry(&reason, wait));
                    if !self.question.table.may_retry() {
                        break Err(ModelError::Interrupted {
                            detail: format!("{reason}; the debate has used up its retries"),
                        });
                    }
                }
                Some(Ok(Delta::Instead(fallback))) => {
                    if let Some(error) = self.unpriced(&fallback) {
                        break Err(error);
                    }
                    self.spent.retries += 1;
                    text.clear();
                    calls.clear();
                    main = MainText::new(self.reply_type.main_field());
                    self.restart(&format!(
                        "{}; {} answers instead",
                        fallback.because, fallback.model
                    ));
                    usage_before = usage;
                    instead = Some(*fallback);
                }
                Some(Ok(Delta::Notice(notice))) => {
                    if !self.notices.contains(&notice) {
                        self.notices.push(notice);
                    }
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
            self.spent.estimated = true;
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
        self.spent.usage += usage;
        if let Some(instead) = instead {
            fallback_usage += Usage {
                input: usage.input.saturating_sub(usage_before.input),
                output: usage.output.saturating_sub(usage_before.output),
                cached: usage.cached.saturating_sub(usage_before.cached),
            };
            self.fallback = Some(Fallback {
                instead,
                used: fallback_usage,
            });
        }
        result.map(|finish| Said {
            text,
            calls,
            finish,
            spent: Spent::default(),
            fallback: None,
        })
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

    pub(super) fn restart(&mut self, reason: &str) {
        self.main.clear();
        self.announced.clear();
        self.question.table.announce(Event::StepRestarted {
            step: self.step.to_owned(),
            reason: withhold_text(reason),
        });
    }
}

/// `retrying in 3 s: cannot reach the server`
fn announced_retry(reason: &str, wait: std::time::Duration) -> String {
    match (wait.as_millis() + 500) / 1000 {
        0 => reason.to_owned(),
        seconds => format!("retrying in {seconds} s: {reason}"),
    }
}

/// The same request for another reply. A model that repeats what it reads would repeat its own reply and its faults too.
fn resampled(request: Request) -> Request {
    const LEAST_TEMPERATURE: f64 = 0.7;
    Request {
        seed: request.seed.wrapping_add(1),
        temperature: request.temperature.max(LEAST_TEMPERATURE),
        ..request
    }
}

fn parse<N: for<'de> Deserialize<'de>>(key: &str, value: &Value) -> Result<N, Halt> {
    N::deserialize(value).map_err(|error| corrupt(key, &error).into())
}

/// Outcome of a call with tools.
enum Used {
    Tools(Exchange),
    /// The model replied, or the call failed.
    None(Result<Said, ModelError>),
}

fn reply_failure(error: &ReplyError, said: &Said) -> Failure {
    Failure {
        reason: withhold_text(&error.to_string()),
        said: Some(withhold_text(&said.text)),
    }
}

fn call_failure(error: &ModelError) -> Failure {
    Failure {
        reason: error.to_string(),
        said: None,
    }
}
