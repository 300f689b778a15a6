//! Checks with one small call whether a model answers.

use futures::StreamExt;
use roundtable_core::usage::{Money, Price, Usage};
use roundtable_engine::model::{Delta, Message, Model, Request, Schema, Speaker};
use serde_json::json;

use crate::app_context::AppContext;
use crate::config::ModelName;
use crate::embedded::{self, Report};
use crate::failure::Failure;
use crate::models::ModelPolicy;

/// A successful test call.
pub(crate) struct Trial {
    /// The full name of the model.
    pub model: ModelName,
    pub reply: String,
    /// `None` if the price is unknown.
    pub cost: Option<Money>,
}

pub(crate) async fn trial(
    app: &AppContext,
    name: &ModelName,
    policy: &ModelPolicy,
    report: Report,
) -> Result<Trial, Failure> {
    let mut real = name.clone();
    if name.provider() == embedded::PROVIDER {
        real = app.local.ready_model(name.model(), report).await?;
    }
    let model = app.models.model_within(&real, policy)?;
    let price = app.models.price(&real);
    let (reply, cost) = small_call(model.as_ref(), &real, price)
        .await
        .map_err(Failure::other)?;
    Ok(Trial {
        model: real,
        reply,
        cost,
    })
}

async fn small_call(
    model: &dyn Model,
    name: &ModelName,
    mut price: Option<Price>,
) -> Result<(String, Option<Money>), String> {
    let request = Request {
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
        max_output_tokens: 256,
        seed: 1,
    };
    let mut reply = String::new();
    let mut usage = Usage::default();
    let mut deltas = model.stream(request);
    while let Some(delta) = deltas.next().await {
        match delta {
            Ok(Delta::Text(text)) => reply.push_str(&text),
            Ok(Delta::Restart { .. }) => reply.clear(),
            Ok(Delta::Instead(instead)) => {
                reply.clear();
                price = instead.price;
            }
            Ok(Delta::Finish(_)) => break,
            Ok(Delta::Usage(reported)) => usage += reported,
            Ok(Delta::Reasoning(_) | Delta::Call(_) | Delta::Notice(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    if reply.trim().is_empty() {
        return Err("the reply is empty".into());
    }
    Ok((reply, price.map(|price| price.of(usage))))
}
