//! The answer of a debate in the JSON form that the client asked for (`response_format`): one last call of the model that wrote the
//! answer, and a second one if the first is invalid.

use axum::http::StatusCode;
use roundtable_engine::event::{Entry, Event};
use roundtable_engine::model::{Ability, Message, Model, Request, Schema, Speaker};
use roundtable_engine::prompt::QuoteTag;
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::{protocols, reply};
use serde_json::{Value, json};

use super::super::App;
use super::super::access::Caller;
use super::super::problem::Problem;
use super::super::quota::stored_budget;
use super::answer::Answer;
use super::ask::{Form, JsonForm};
use super::debate::without_answer;
use super::side_call;
use crate::store::DebateRow;

const MAX_OUTPUT_TOKENS: u32 = 8192;
const ATTEMPTS: u64 = 2;

/// Replaces the content of the answer by JSON.
pub(super) async fn fit(
    app: &App,
    caller: &Caller,
    (row, entries): (&DebateRow, &[Entry]),
    form: &Form,
    answer: &mut Answer,
) -> Result<(), Problem> {
    // A debate about JSON may have written it already.
    if let Ok(json) = valid(&answer.content, form) {
        answer.content = json;
        return Ok(());
    }
    let failed = |why: String| without_answer(StatusCode::BAD_GATEWAY, "no-json", why, row.id);
    let name = writer(row, entries).ok_or_else(|| failed("no model wrote the answer".into()))?;
    let policy = caller.policy();
    let full_name = app
        .context
        .config
        .model_name(&name)
        .map_err(|error| failed(error.to_string()))?;
    let model = app.context.models.model_within(&full_name, &policy);
    let model = model.map_err(|error| failed(error.to_string()))?;
    let price = app.context.models.price(&full_name);
    let budget = stored_budget(app, row.id).await?;
    let mut used = row.totals;
    let mut fault = String::new();
    for attempt in 0..ATTEMPTS {
        let request = request(
            app,
            (full_name.model(), model.as_ref()),
            row,
            form,
            &answer.content,
            (&fault, attempt),
        )?;
        let left = side_call::left_of(budget, &used);
        let call = side_call::make(app, caller, &left, (model.as_ref(), price), request)
            .await
            .map_err(|problem| failed(problem.detail().to_owned()))?;
        used.input_tokens += call.usage.input;
        used.output_tokens += call.usage.output;
        used.cost_usd = used.cost_usd.zip(call.cost).map(|(sum, cost)| sum + cost);
        answer.usage.add(call.usage);
        if let Some(extension) = &mut answer.roundtable {
            extension.add_call(call.cost);
        }
        match call.reply.and_then(|text| valid(&text, form)) {
            Ok(json) => {
                answer.content = json;
                return Ok(());
            }
            Err(why) => fault = why,
        }
    }
    Err(failed(format!(
        "{name} could not put the answer into the requested form: {fault}"
    )))
}

/// The model that wrote the answer, or the one that spoke last.
fn writer(row: &DebateRow, entries: &[Entry]) -> Option<String> {
    let phase = protocols::named(&row.protocol).map(AnyProtocol::answer_phase);
    let finished = entries.iter().rev().filter_map(|entry| match &entry.event {
        Event::StepFinished(step) => Some(&step.call),
        _ => None,
    });
    let is_answer = |step: &str| step.split('/').next() == phase;
    let mut calls = finished.clone();
    let writer = calls.find(|call| is_answer(&call.step));
    writer
        .or_else(|| finished.clone().next())
        .map(|call| call.model.clone())
}

fn request(
    app: &App,
    (name, model): (&str, &dyn Model),
    row: &DebateRow,
    form: &Form,
    answer: &str,
    (fault, attempt): (&str, u64),
) -> Result<Request, Problem> {
    let schema = match form {
        Form::JsonSchema(form) => Some(form),
        Form::Text | Form::JsonObject => None,
    };
    let tag = QuoteTag::of(attempt, answer);
    let ability = model.profile().ability;
    let schema_text = schema.map(|form| form.schema.to_string());
    let context = json!({
        QuoteTag::VARIABLE: tag.as_str(),
        "small": ability == Ability::Small,
        "question": row.question,
        "answer": answer,
        "schema": schema_text.unwrap_or_default(),
        "fault": fault,
    });
    let prompts = app.context.prompts()?;
    let prompt = prompts
        .render_outside("common/fit", ability, context)
        .map_err(|error| Problem::internal(&error.to_string()))?;
    Ok(Request {
        model: name.to_owned(),
        system: prompt.system,
        messages: vec![Message {
            speaker: Speaker::User,
            text: prompt.own,
            shared: false,
            tools: Vec::new(),
        }],
        images: Vec::new(),
        schema: schema.and_then(|form| sent(form)),
        tools: None,
        temperature: 0.0,
        max_output_tokens: MAX_OUTPUT_TOKENS,
        seed: attempt,
    })
}

/// The schema, for servers that constrain decoding. Not all of them know references; the prompt has the schema in any case.
fn sent(form: &JsonForm) -> Option<Schema> {
    let is_plain = !form.schema.to_string().contains("\"$ref\"");
    (is_plain && form.schema["type"] == "object").then(|| Schema {
        name: form.name.clone(),
        json: std::sync::Arc::new(form.schema.clone().into()),
    })
}

/// The JSON of a reply as text, or what is wrong with it.
fn valid(text: &str, form: &Form) -> Result<String, String> {
    let text = reply::without_reasoning(text);
    let value = json_in(&text).ok_or("it is not JSON")?;
    match form {
        Form::JsonSchema(form) => {
            let mut errors = form.validator.iter_errors(&value);
            if let Some(error) = errors.next() {
                let message = format!("at '{}': {error}", error.instance_path());
                return Err(message.chars().take(500).collect());
            }
        }
        Form::Text | Form::JsonObject if !value.is_object() => {
            return Err("it is not a JSON object".into());
        }
        Form::Text | Form::JsonObject => {}
    }
    Ok(value.to_string())
}

/// The reply itself, or the JSON within it.
fn json_in(text: &str) -> Option<Value> {
    let text = text.trim();
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let within = |open: char, close: char| {
        let (start, end) = (text.find(open)?, text.rfind(close)?);
        serde_json::from_str(text.get(start..=end)?).ok()
    };
    within('{', '}').or_else(|| within('[', ']'))
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
