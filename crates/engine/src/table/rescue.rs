//! The last calls of a step whose seat replied twice in another form (C-05): a model of the fast tier puts what the seat said, and
//! nothing else, into the schema.

use minijinja::value::{Serde, merge_maps};
use serde_json::json;

use super::calls::{Calls, Failure};
use super::reply_type::Judged;
use super::step::{model_part, seed_for};
use super::{Halt, SeatModel};
use crate::event::Spent;
use crate::model::{Ability, Message, Request, Speaker};
use crate::safety::withhold_text;

/// The model that puts invalid replies into their schema.
#[derive(Clone)]
pub struct FastModel {
    /// `provider:model`
    pub name: String,
    pub seat_model: SeatModel,
}

/// The model that was asked to put a reply into its schema, and what that took.
pub(super) struct Rescued {
    pub(super) by: String,
    pub(super) spent: Spent,
}

/// How many additions a message names.
const MAX_NAMED: usize = 5;

impl Calls<'_> {
    /// Puts the seat's words into the schema. If there are none, or the budget is spent, or the result contains anything that
    /// the seat has not said, the step fails with the seat's own failure.
    pub(super) async fn rescue(
        &mut self,
        mut said: Vec<String>,
        failure: Failure,
    ) -> Result<Result<Judged, Failure>, Halt> {
        said.retain(|text| !text.trim().is_empty());
        said.dedup();
        let table = self.question.table;
        if said.is_empty() || !table.budget_tracker.has_left(&self.total()) {
            return Ok(Err(failure));
        }
        let (seated, own) = table.seated(&self.question.seat)?;
        let fast = table.deps.fast_model.clone().unwrap_or_else(|| FastModel {
            name: seated.model.clone(),
            seat_model: own.clone(),
        });
        let request = self.rescue_request(&fast, &said, &failure.reason)?;
        let sent = request.schema.clone().unwrap_or_default();
        self.restart(&format!("{} puts it into the required form", fast.name));
        let mut calls = Calls::new(
            self.question,
            self.reply_type,
            &fast.seat_model,
            self.step,
            self.hash,
            &sent.json,
        );
        let mut reply = calls.call(&request).await?;
        // Like every reply, an invalid one is requested once more.
        if reply.as_ref().is_ok_and(|said| calls.judge(said).is_err()) {
            calls.restart("it has another form");
            let seed = request.seed.wrapping_add(1);
            reply = calls.call(&Request { seed, ..request }).await?;
        }
        let judged = match &reply {
            Ok(reply) => calls.judge(reply).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let spent = calls.total();
        (self.main, self.announced) = (calls.main, calls.announced);
        let outcome = judged.and_then(|judged| {
            let text = reply.map_or_else(|_| String::new(), |reply| reply.text);
            let mut added = self.reply_type.additions(&text, &said);
            added.truncate(MAX_NAMED);
            if added.is_empty() {
                Ok(judged)
            } else {
                Err(format!("it added {}", added.join(", ")))
            }
        });
        let outcome = outcome.map_err(|why| Failure {
            reason: withhold_text(&format!(
                "{} {} could not put it into the required form: {why}",
                failure.reason, fast.name
            )),
            said: failure.said,
        });
        let by = fast.name;
        self.rescued = Some(Rescued { by, spent });
        Ok(outcome)
    }

    fn rescue_request(
        &self,
        fast: &FastModel,
        said: &[String],
        fault: &str,
    ) -> Result<Request, Halt> {
        let (table, seat) = (self.question.table, &self.question.seat);
        let ability = fast.seat_model.model.profile().ability;
        let context = json!({ "said": said, "fault": fault, "small": ability == Ability::Small });
        let context = minijinja::Value::from(Serde(context));
        let context = merge_maps([table.quote_context(), context]);
        let prompt = table
            .deps
            .prompts
            .render("common/rescue", ability, &context)?;
        let (seated, _) = table.seated(seat)?;
        Ok(Request {
            model: model_part(&fast.name).to_owned(),
            system: prompt.system,
            messages: vec![Message {
                speaker: Speaker::User,
                text: prompt.own,
                shared: false,
                tools: Vec::new(),
            }],
            images: Vec::new(),
            schema: Some(self.reply_type.schema(&self.question.refinement, ability)),
            tools: None,
            // Copying needs no variety.
            temperature: 0.0,
            max_output_tokens: seated.seat.max_output_tokens,
            seed: seed_for(table.setup.seed, &format!("{}/rescue", self.step)),
        })
    }
}

#[cfg(test)]
#[path = "rescue_tests.rs"]
mod tests;
