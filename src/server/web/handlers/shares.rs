//! Read-only links to a debate: made and revoked on its page, followed without a token.

use std::sync::Arc;

use axum::extract::{Extension, Form, Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use roundtable_engine::event::Millis;
use serde::Deserialize;
use uuid::Uuid;

use super::super::routes::{frame, page, redirect_to_debate};
use super::super::shares::{NewShare, shared_page};
use super::debate::{load, load_row};
use crate::clock;
use crate::failure::Fault;
use crate::format::short;
use crate::server::access::Caller;
use crate::server::audit::AuditNote;
use crate::server::client::Client;
use crate::server::ownership::DAY_MS;
use crate::server::problem::Problem;
use crate::server::{App, off_runtime, rest, tokens};
use crate::store::ShareRow;

/// Links to one debate that have not expired.
const MAX_SHARES: u64 = 20;
const MAX_DAYS: u64 = 3650;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ShareForm {
    /// Empty for a link that does not expire.
    days: String,
}

impl ShareForm {
    fn expires_at(&self, now: Millis) -> Result<Option<Millis>, Problem> {
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
        Ok(Some(now + days * DAY_MS))
    }
}

/// Shows the link in the response itself: its secret is stored nowhere, so no other page could.
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    Form(form): Form<ShareForm>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let now = clock::now();
    let share = ShareRow {
        id: Uuid::new_v4(),
        debate: row.id,
        made_by: caller.author(None),
        created_at: now,
        expires_at: form.expires_at(now)?,
    };
    let secret = tokens::make_share().map_err(|error| Problem::internal(&error.to_string()))?;
    let hash = tokens::hash(&secret);
    if !app.store.add_share(&share, &hash, MAX_SHARES).await? {
        let message = format!("this debate has {MAX_SHARES} links: revoke one first");
        return Err(Problem::invalid(vec![Fault::new("", message)]));
    }
    let host = headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let scheme = if client.is_https { "https" } else { "http" };
    let link = format!("{scheme}://{host}/shared/{secret}");
    let debate = load(&app, &caller, &id).await?;
    let mut view = debate.view(&app, &caller);
    view.new_share = Some(NewShare::new(link, share.expires_at));
    let frame = frame("debates", Some(&caller));
    let body = off_runtime(move || debate.page(view, frame)).await?;
    let end = share.expires_at.map_or_else(
        || "does not expire".to_owned(),
        |at| format!("expires {}", clock::stamp(at)),
    );
    let note = AuditNote::detail(format!("link {}, {end}", share.id));
    Ok((Extension(note), page(body)).into_response())
}

pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Path((id, share)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let share: Option<Uuid> = share.parse().ok();
    let is_revoked = match share {
        Some(share) => app.store.revoke_share(row.id, share).await?,
        None => false,
    };
    let (Some(share), true) = (share, is_revoked) else {
        return Err(Problem::not_found("there is no such link"));
    };
    let note = AuditNote {
        subject: Some(row.id.to_string()),
        ..AuditNote::detail(format!("link {share}"))
    };
    Ok((Extension(note), redirect_to_debate(&id)).into_response())
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
