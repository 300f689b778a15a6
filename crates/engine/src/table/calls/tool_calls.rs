//! Tool calls of a step (M-15): answered and journaled, or replayed from the journal (C-08).

use serde_json::Value;

use super::sent_back::SENT_BACK;
use super::{Calls, Said, parse};
use crate::event::Spent;
use crate::model::{ModelError, Offer, Request};
use crate::safety::withhold_text;
use crate::table::Halt;
use crate::table::journaling::note_event;
use crate::tools::{Exchange, Session, Toolbox};

impl Calls<'_> {
    /// Calls the model until it replies. Its tool calls are answered and journaled; exchanges in the journal are replayed
    /// (C-08).
    pub(super) async fn converse(
        &mut self,
        request: &mut Request,
    ) -> Result<Result<Said, ModelError>, Halt> {
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
}

/// Outcome of a call with tools.
enum Used {
    Tools(Exchange),
    /// The model replied, or the call failed.
    None(Result<Said, ModelError>),
}
