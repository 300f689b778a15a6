//! Read-only links to a debate: made, listed and revoked over the API. The debate's page uses the same functions.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::access::Caller;
use super::audit::AuditNote;
use super::client::Client;
use super::ownership::DAY_MS;
use super::problem::Problem;
use super::requests::Sent;
use super::{App, rest, tokens};
use crate::clock;
use crate::failure::Fault;
use crate::store::{DebateRow, ShareRow};

/// Links to one debate that have not expired.
const MAX_SHARES: u64 = 20;
/// The longest validity, in days.
pub(super) const MAX_DAYS: u64 = 3650;

/// A read-only link to a debate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewShare {
    /// Days until it expires; null for a link that is valid until it is revoked.
    #[serde(default = "week")]
    #[schemars(range(min = 1, max = 3650))]
    pub days: Option<u64>,
}

impl Default for NewShare {
    fn default() -> Self {
        Self { days: week() }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the default of an optional field")]
const fn week() -> Option<u64> {
    Some(7)
}

/// A link, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ShareInfo {
    #[schemars(with = "String", extend("format" = "uuid"))]
    id: Uuid,
    /// Null if no name is known.
    made_by: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// Null if it does not expire.
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ShareList {
    shares: Vec<ShareInfo>,
}

/// A new link with its address.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AddedShare {
    #[serde(flatten)]
    info: ShareInfo,
    /// The address with the secret. It is shown only here.
    link: String,
}

impl ShareInfo {
    fn of(share: &ShareRow) -> Self {
        Self {
            id: share.id,
            made_by: share.made_by.clone(),
            created_at: clock::stamp(share.created_at),
            expires_at: share.expires_at.map(clock::stamp),
        }
    }
}

/// A link that was just made. Its secret is stored nowhere.
pub(super) struct MadeShare {
    pub row: ShareRow,
    /// Its path and secret, without the server's address.
    pub path: String,
    pub note: AuditNote,
}

impl MadeShare {
    /// The address by which the client reached the server.
    pub(super) fn link(&self, client: &Client, headers: &HeaderMap) -> String {
        let host = headers.get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
        let scheme = if client.is_https { "https" } else { "http" };
        format!("{scheme}://{host}{}", self.path)
    }
}

/// Makes a link to the debate.
pub(super) async fn make(
    app: &App,
    caller: &Caller,
    debate: &DebateRow,
    days: Option<u64>,
) -> Result<MadeShare, Problem> {
    let now = clock::now();
    let row = ShareRow {
        id: Uuid::new_v4(),
        debate: debate.id,
        made_by: caller.author(None),
        created_at: now,
        expires_at: days.map(|days| now + days * DAY_MS),
    };
    let secret = tokens::make_share().map_err(|error| Problem::internal(&error.to_string()))?;
    let hash = tokens::hash(&secret);
    if !app.store.add_share(&row, &hash, MAX_SHARES).await? {
        let message = format!("this debate has {MAX_SHARES} links: revoke one first");
        return Err(Problem::invalid(vec![Fault::new("", message)]));
    }
    let end = row.expires_at.map_or_else(
        || "does not expire".to_owned(),
        |at| format!("expires {}", clock::stamp(at)),
    );
    Ok(MadeShare {
        path: format!("/shared/{secret}"),
        note: AuditNote::detail(format!("link {}, {end}", row.id)),
        row,
    })
}

/// Revokes a link of the debate. Returns what is recorded about it.
pub(super) async fn revoke_share(
    app: &App,
    debate: &DebateRow,
    share: &str,
) -> Result<AuditNote, Problem> {
    let share: Option<Uuid> = share.parse().ok();
    let is_revoked = match share {
        Some(share) => app.store.revoke_share(debate.id, share).await?,
        None => false,
    };
    let (Some(share), true) = (share, is_revoked) else {
        return Err(Problem::not_found("there is no such link"));
    };
    Ok(AuditNote {
        subject: Some(debate.id.to_string()),
        ..AuditNote::detail(format!("link {share}"))
    })
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<ShareList>, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let shares = app.store.shares_of(row.id, clock::now()).await?;
    Ok(Json(ShareList {
        shares: shares.iter().map(ShareInfo::of).collect(),
    }))
}

pub(super) async fn add(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    sent: Sent<NewShare>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let made = make(&app, &caller, &row, sent.content.days).await?;
    let body = AddedShare {
        info: ShareInfo::of(&made.row),
        link: made.link(&client, &headers),
    };
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let note = Extension(made.note);
    Ok((StatusCode::CREATED, note, no_store, Json(body)).into_response())
}

pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    Path((id, share)): Path<(String, String)>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let row = rest::find(&app, &caller, &id).await?;
    let note = revoke_share(&app, &row, &share).await?;
    Ok((StatusCode::NO_CONTENT, Extension(note)).into_response())
}
