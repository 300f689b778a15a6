//! The form of the debate page that asks a follow-up question.

use axum::extract::Form;
use axum::response::Response;
use roundtable_engine::protocols;
use serde::{Deserialize, Serialize};

use super::super::form_key::create_request;
use super::super::routes::redirect_to_debate;
use super::target::Target;
use crate::server::App;
use crate::server::problem::Problem;
use crate::server::requests::NewDebate;
use crate::server::rest;
use crate::store::{self, Created};

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct FollowUpForm {
    question: String,
    protocol: String,
    form_key: String,
}

pub(crate) async fn ask(
    target: Target,
    Form(form): Form<FollowUpForm>,
) -> Result<Response, Problem> {
    let Target {
        app,
        caller,
        row,
        id,
    } = target;
    let sent = create_request(&caller, &form.form_key, &(row.id, &form));
    if let Some(Created::New(id) | Created::Existing(id)) = app.store.find_created(&sent).await? {
        return Ok(redirect_to_debate(&id.to_string()));
    }
    let protocol = match protocols::named(&form.protocol) {
        Some(protocol) => protocol,
        None => protocols::of_follow_up(&row.protocol),
    };
    let request = NewDebate {
        question: form.question,
        model: same_model(&app, &row).await?,
        parent: Some(id),
        ..NewDebate::of(protocol.name())
    };
    let spec = rest::spec_of(&app, &caller, request).await?;
    let created = rest::start(&app, &caller, spec, &sent).await?;
    Ok(redirect_to_debate(&rest::id_of(&created)?.to_string()))
}

/// The model of the debate, if all of its seats had the same.
async fn same_model(app: &App, row: &store::DebateRow) -> Result<Option<String>, Problem> {
    let setup = app.store.setup(row.id).await?;
    let seats = setup.map(|setup| setup.seats).unwrap_or_default();
    let mut models = seats.into_iter().map(|seated| seated.model);
    let first = models.next();
    Ok(first.filter(|first| models.all(|model| model == *first)))
}
