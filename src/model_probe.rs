//! Checks with one small call whether a model answers.

use futures::StreamExt;
use roundtable_engine::model::{Delta, Message, Model, Request, Schema, Speaker};
use serde_json::json;

use crate::app_context::AppContext;
use crate::config::ModelName;
use crate::embedded::{self, Report};
use crate::failure::Failure;

/// Returns the full name of the model that answered, and its reply.
pub(crate) async fn trial(
    app: &AppContext,
    name: &ModelName,
    report: Report,
) -> Result<(ModelName, String), Failure> {
    let mut real = name.clone();
    if name.provider() == embedded::PROVIDER {
        real = app.local.ready_model(name.model(), report).await?;
    }
    let model = app.models.model(&real)?;
    let reply = small_call(model.as_ref(), &real)
        .await
        .map_err(Failure::other)?;
    Ok((real, reply))
}

async fn small_call(model: &dyn Model, name: &ModelName) -> Result<String, String> {
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
    let mut deltas = model.stream(request);
    while let Some(delta) = deltas.next().await {
        match delta {
            Ok(Delta::Text(text)) => reply.push_str(&text),
            Ok(Delta::Restart { .. } | Delta::Instead(_)) => reply.clear(),
            Ok(Delta::Finish(_)) => break,
            Ok(Delta::Reasoning(_) | Delta::Call(_) | Delta::Usage(_) | Delta::Notice(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    if reply.trim().is_empty() {
        return Err("the reply is empty".into());
    }
    Ok(reply)
}
