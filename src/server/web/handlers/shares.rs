//! Read-only links to a debate: made and revoked on its page, followed without a token.

use std::sync::Arc;

use axum::extract::{Extension, Form, Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::super::routes::{frame, page};
use super::super::shares::{NewShare, shared_page};
use super::debate::{load, load_row};
use super::target::Target;
use crate::clock;
use crate::failure::Fault;
use crate::format::short;
use crate::server::client::Client;
use crate::server::problem::Problem;
use crate::server::share_api::{self, MAX_DAYS};
use crate::server::{App, off_runtime, rest, tokens};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ShareForm {
    /// Empty for a link that does not expire.
    days: String,
}

impl ShareForm {
    fn days(&self) -> Result<Option<u64>, Problem> {
        let days = self.days.trim();
        if days.is_empty() {
            return Ok(None);
        }
        let valid = days.parse().ok();
        let valid = valid.filter(|days| (1..=MAX_DAYS).contains(days));
        let days = valid.ok_or_else(|| {
            let days = short(days, 40);
            let message = format!("invalid number of days '{days}': expected 1 to {MAX_DAYS}");
            Problem::invalid(vec![Fault::new("/days", message)])
        })?;
        Ok(Some(days))
    }
}

/// Shows the link in the response itself: its secret is stored nowhere, so no other page could.
pub(crate) async fn add(
    target: Target,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    Form(form): Form<ShareForm>,
) -> Result<Response, Problem> {
    let Target {
        app,
        caller,
        row,
        id,
    } = target;
    let made = share_api::make(&app, &caller, &row, form.days()?).await?;
    let link = made.link(&client, &headers);
    let debate = load(&app, &caller, &id).await?;
    let mut view = debate.view(&app, &caller);
    view.new_share = Some(NewShare::new(link, made.row.expires_at));
    let frame = frame("debates", Some(&caller));
    let body = off_runtime(move || debate.page(view, frame)).await?;
    Ok((Extension(made.note), page(body)).into_response())
}

pub(crate) async fn revoke(
    target: Target,
    Path((_, share)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let note = share_api::revoke_share(&target.app, &target.row, &share).await?;
    Ok((Extension(note), target.page()).into_response())
}

/// The debate of a link, for anyone who has it. An unknown, expired or revoked link is not found, and looks the same.
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Path(secret): Path<String>,
) -> Result<Response, Problem> {
    let missing = || Problem::not_found("this link does not exist, has expired, or was revoked");
    if !tokens::is_share(&secret) {
        return Err(missing());
    }
    let hash = tokens::hash(&secret);
    let shared = app.store.shared_debate(&hash, clock::now()).await?;
    let row = match shared {
        Some(id) => app.store.get(id).await?,
        None => None,
    };
    let row = rest::shown(&app, row.ok_or_else(missing)?).await?;
    let debate = load_row(&app, row).await?;
    let body = off_runtime(move || shared_page(&debate.transcript, &debate.report())).await?;
    Ok(page(body))
}
