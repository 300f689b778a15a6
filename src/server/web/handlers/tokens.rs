//! The tokens page: lists, adds, changes and revokes tokens.

use std::sync::Arc;

use axum::extract::{Extension, Form, Path, State};
use axum::response::{IntoResponse, Redirect, Response};

use super::super::routes::{MaybeCaller, frame, page};
use super::super::tokens::{Added, Row, TokenForm, TokensView};
use crate::failure::Fault;
use crate::format::short;
use crate::server::App;
use crate::server::new_token::{NewToken, TokenChange};
use crate::server::problem::Problem;
use crate::server::token_api;
use crate::store::{Reach, Scope};

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
) -> Result<Response, Problem> {
    let view = TokensView {
        rows: rows(&app).await?,
        ..TokensView::default()
    };
    Ok(page(view.page(frame("tokens", caller.as_deref()))))
}

/// Shows the secret in the response itself: it is stored nowhere, so no other page could.
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
    Form(form): Form<TokenForm>,
) -> Result<Response, Problem> {
    let created = match new_token(&form) {
        Ok(new) => token_api::create(&app, new).await,
        Err(faults) => Err(Problem::invalid(faults)),
    };
    let frame = frame("tokens", caller.as_deref());
    match created {
        Ok((token, secret, note)) => {
            let name = token.name;
            let view = TokensView {
                added: Some(Added { name, secret }),
                rows: rows(&app).await?,
                ..TokensView::default()
            };
            Ok((Extension(note), page(view.page(frame))).into_response())
        }
        Err(problem) => {
            let view = TokensView {
                problems: problem.messages(),
                rows: rows(&app).await?,
                form,
                ..TokensView::default()
            };
            Ok((problem.status(), page(view.page(frame))).into_response())
        }
    }
}

pub(crate) async fn change(
    State(app): State<Arc<App>>,
    caller: MaybeCaller,
    Path(name): Path<String>,
    Form(form): Form<TokenForm>,
) -> Result<Response, Problem> {
    let changed = match token_change(&form) {
        Ok(change) => token_api::change_token(&app, &name, &change).await,
        Err(faults) => Err(Problem::invalid(faults)),
    };
    match changed {
        Ok(note) => Ok((Extension(note), Redirect::to("/tokens")).into_response()),
        Err(problem) => {
            let view = TokensView {
                problems: problem.messages(),
                rows: rows(&app).await?,
                ..TokensView::default()
            };
            let page = page(view.page(frame("tokens", caller.as_deref())));
            Ok((problem.status(), page).into_response())
        }
    }
}

fn token_change(form: &TokenForm) -> Result<TokenChange, Vec<Fault>> {
    // The same fields, with the same messages.
    let new = new_token(form)?;
    Ok(TokenChange {
        reach: new.reach,
        max_cost_per_day: new.max_cost_per_day,
        max_running: new.max_running,
        models: new.models,
    })
}

pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    token_api::remove(&app, &name).await?;
    Ok(Redirect::to("/tokens").into_response())
}

async fn rows(app: &App) -> Result<Vec<Row>, Problem> {
    let tokens = app.store.tokens().await?;
    Ok(tokens.iter().map(Row::new).collect())
}

/// The form as a request of the API.
fn new_token(form: &TokenForm) -> Result<NewToken, Vec<Fault>> {
    let mut faults = Vec::new();
    let scope = Scope::ALL.into_iter().find(|one| one.name() == form.scope);
    let reach = [Reach::Own, Reach::All].into_iter();
    let reach = reach.clone().find(|one| one.name() == form.reach);
    let token = NewToken {
        name: form.name.clone(),
        scope: scope.unwrap_or(Scope::Run),
        reach: reach.unwrap_or(Reach::All),
        max_cost_per_day: number(&form.max_cost_per_day, "cost per day", &mut faults),
        max_running: number(&form.max_running, "number of running debates", &mut faults),
        models: form
            .models
            .split(',')
            .map(str::trim)
            .filter(|pattern| !pattern.is_empty())
            .map(str::to_owned)
            .collect(),
        expires_in_days: number(&form.expires_in_days, "number of days", &mut faults),
    };
    if (scope.is_none() && !form.scope.is_empty()) || (reach.is_none() && !form.reach.is_empty()) {
        faults.push(Fault::new("/scope", "unknown scope or reach"));
    }
    if faults.is_empty() {
        Ok(token)
    } else {
        Err(faults)
    }
}

fn number<N: std::str::FromStr>(text: &str, what: &str, faults: &mut Vec<Fault>) -> Option<N> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let number = text.parse().ok();
    if number.is_none() {
        let message = format!("invalid {what} '{}'", short(text, 40));
        faults.push(Fault::new("", message));
    }
    number
}
