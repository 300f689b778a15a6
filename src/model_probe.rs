//! Checks with one small call whether a model answers.

use futures::StreamExt;
use roundtable_core::usage::{Money, Price, Usage};
use roundtable_engine::budget::Budget;
use roundtable_engine::model::{Delta, Message, Model, Request, Schema, Speaker};
use serde_json::json;

use crate::app_context::AppContext;
use crate::config::ModelName;
use crate::embedded::{self, Report};
use crate::failure::Failure;
use crate::models::ModelPolicy;

/// More than a test call uses.
pub(crate) const MAX_TEST_USAGE: Usage = Usage {
    input: 256,
    output: MAX_OUTPUT_TOKENS as u64,
    cached: 0,
};
const MAX_OUTPUT_TOKENS: u32 = 256;

/// A test call: its outcome, and what it used also if it failed.
#[derive(Debug)]
pub(crate) struct Trial {
    /// The full name of the model.
    pub model: ModelName,
    pub reply: Result<String, String>,
    pub usage: Usage,
    /// `None` if a price is unknown.
    pub cost: Option<Money>,
}

/// Calls the model once. Under a cost limit, neither it nor a fallback is called at an unknown price.
pub(crate) async fn trial(
    app: &AppContext,
    name: &ModelName,
    limits: &Budget,
    policy: &ModelPolicy,
    report: Report,
) -> Result<Trial, Failure> {
    let mut real = name.clone();
    if name.provider() == embedded::PROVIDER {
        real = app.local.ready_model(name.model(), report).await?;
    }
    let model = app.models.model_within(&real, policy)?;
    let price = app.models.price(&real);
    if limits.max_cost.is_some() && price.is_none() {
        return Err(Failure::usage(unpriced(&real.to_string())));
    }
    let call = single_call(
        model.as_ref(),
        price,
        limits.max_cost.is_some(),
        request(&real),
    )
    .await;
    Ok(Trial {
        model: real,
        reply: call.reply,
        usage: call.usage,
        cost: call.cost,
    })
}

/// One call outside a debate: its reply, and what it used also if it failed.
#[derive(Debug)]
pub(crate) struct SingleCall {
    pub reply: Result<String, String>,
    pub usage: Usage,
    /// `None` if a price is unknown.
    pub cost: Option<Money>,
}

/// Calls a model once. If the cost is limited, no fallback is called at an unknown price.
pub(crate) async fn single_call(
    model: &dyn Model,
    price: Option<Price>,
    is_limited: bool,
    request: Request,
) -> SingleCall {
    let mut call = SmallCall {
        is_limited,
        price,
        usage: Usage::default(),
        cost: Some(Money::ZERO),
    };
    let reply = call.reply(model, request).await;
    SingleCall {
        reply,
        usage: call.usage,
        cost: call.cost,
    }
}

fn unpriced(model: &str) -> String {
    format!(
        "the price of {model} is unknown, so it is not called under a cost limit (limits.max_cost): add the price to prices.toml"
    )
}

struct SmallCall {
    is_limited: bool,
    /// Of the model that is answering.
    price: Option<Price>,
    usage: Usage,
    cost: Option<Money>,
}

impl SmallCall {
    async fn reply(&mut self, model: &dyn Model, request: Request) -> Result<String, String> {
        let mut reply = String::new();
        let mut deltas = model.stream(request);
        while let Some(delta) = deltas.next().await {
            match delta {
                Ok(Delta::Text(text)) => reply.push_str(&text),
                Ok(Delta::Restart { .. }) => reply.clear(),
                Ok(Delta::Instead(fallback)) => {
                    reply.clear();
                    if self.is_limited && fallback.price.is_none() {
                        return Err(format!(
                            "{}; {}",
                            fallback.because,
                            unpriced(&fallback.model)
                        ));
                    }
                    self.price = fallback.price;
                }
                Ok(Delta::Usage(used)) => self.add(used),
                Ok(Delta::Finish(_)) => break,
                Ok(Delta::Reasoning(_) | Delta::Call(_) | Delta::Notice(_)) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        if reply.trim().is_empty() {
            return Err("the reply is empty".into());
        }
        Ok(reply)
    }

    fn add(&mut self, used: Usage) {
        self.usage += used;
        let cost = self.price.as_ref().map(|price| price.of(used));
        self.cost = self.cost.zip(cost).map(|(sum, cost)| sum + cost);
    }
}

fn request(name: &ModelName) -> Request {
    Request {
        images: Vec::new(),
        tools: None,
        model: name.model().to_owned(),
        system: "You answer in JSON.".into(),
        messages: vec![Message {
            speaker: Speaker::User,
            text: "Is water wet? Reply with {\"yes\": true} or {\"yes\": false}.".into(),
            shared: false,
            tools: Vec::new(),
        }],
        schema: Some(Schema {
            name: "check".into(),
            json: std::sync::Arc::new(
                json!({
                    "type": "object",
                    "properties": { "yes": { "type": "boolean" } },
                    "required": ["yes"],
                    "additionalProperties": false,
                })
                .into(),
            ),
        }),
        temperature: 0.0,
        max_output_tokens: MAX_OUTPUT_TOKENS,
        seed: 1,
    }
}
