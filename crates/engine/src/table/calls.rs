//! The model calls of one step: the first, more while the model uses tools (M-15), one retry if the reply is invalid, and one
//! call that puts an invalid reply into the schema (C-05). A call whose reply was truncated is retried with a larger token limit.
//!
//! An answered call that another call of the step follows is journaled first, as a note: a killed debate does not repeat it
//! (C-08).

mod attempt;
mod sent_back;
mod tool_calls;

use roundtable_core::usage::{Money, Price, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::journaling::corrupt;
use super::parroting::Told;
use super::reply_type::{Judged, ReplyType};
use super::rescue::Rescued;
use super::step::{Question, deadline};
use super::{Halt, SeatModel};
use crate::event::Spent;
use crate::model::{
    Fallback, Finish, Message, ModelError, Offer, RawJson, Request, Speaker, ToolCall,
};
use crate::reply::ReplyError;
use crate::safety::withhold_text;
use sent_back::SECOND;
pub(super) use sent_back::SENT_BACK;

/// Why a step failed, and the model's text if there was any.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) reason: String,
    pub(super) said: Option<String>,
}

/// How often a truncated call is retried, each time with twice the token limit. Bounded because a model that never stops would
/// otherwise cost many times a normal reply.
const MAX_TRUNCATION_RETRIES: u32 = 2;
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

    fn drift(&self) -> Halt {
        Halt::Drift {
            step: self.step.to_owned(),
        }
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
