//! Tokens over the API, for admins: list, add, change, revoke.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use roundtable_core::usage::Money;
use schemars::JsonSchema;
use serde::Serialize;

use super::App;
use super::audit::AuditNote;
use super::new_token::{self, NewToken, TokenChange};
use super::problem::Problem;
use super::requests::Sent;
use super::tokens;
use crate::clock;
use crate::store::{Reach, Scope, TokenError, TokenRow};

/// A token, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TokenInfo {
    name: String,
    scope: Scope,
    reach: Reach,
    max_cost_per_day: Option<Money>,
    max_running: Option<u32>,
    models: Vec<String>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// Null if it does not expire.
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
    /// Null if it was never used. Up to a minute behind.
    #[schemars(extend("format" = "date-time"))]
    last_used_at: Option<String>,
}

impl TokenInfo {
    fn of(token: &TokenRow) -> Self {
        let limits = token.limits.clone();
        Self {
            name: token.name.clone(),
            scope: token.scope,
            reach: token.reach,
            max_cost_per_day: limits.max_cost_per_day,
            max_running: limits.max_running,
            models: limits.models,
            created_at: clock::stamp(token.created_at),
            expires_at: token.expires_at.map(clock::stamp),
            last_used_at: token.last_used_at.map(clock::stamp),
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TokenList {
    tokens: Vec<TokenInfo>,
}

/// A new token with its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AddedToken {
    #[serde(flatten)]
    info: TokenInfo,
    /// The secret, for `Authorization: Bearer …`. It is shown only here.
    token: String,
}

pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<TokenList>, Problem> {
    let tokens = app.store.tokens().await?;
    Ok(Json(TokenList {
        tokens: tokens.iter().map(TokenInfo::of).collect(),
    }))
}

pub(super) async fn add(
    State(app): State<Arc<App>>,
    sent: Sent<NewToken>,
) -> Result<Response, Problem> {
    let (row, token, note) = create(&app, sent.content).await?;
    let info = TokenInfo::of(&row);
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let body = Json(AddedToken { info, token });
    Ok((StatusCode::CREATED, Extension(note), no_store, body).into_response())
}

/// Replaces the reach and the limits.
pub(super) async fn change(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    sent: Sent<TokenChange>,
) -> Result<Response, Problem> {
    let note = change_token(&app, &name, &sent.content).await?;
    let tokens = app.store.tokens().await?;
    let token = tokens.iter().find(|token| token.name == name);
    let token = token.ok_or_else(|| Problem::not_found("there is no such token"))?;
    Ok((Extension(note), Json(TokenInfo::of(token))).into_response())
}

/// Returns what is recorded about it. Requests in progress keep what they were admitted with.
pub(super) async fn change_token(
    app: &App,
    name: &str,
    change: &TokenChange,
) -> Result<AuditNote, Problem> {
    let limits = change.limits().map_err(Problem::invalid)?;
    app.store.change_token(name, change.reach, &limits).await?;
    app.access.forget_tokens();
    let summary = new_token::change_summary(change.reach, &limits);
    Ok(AuditNote::detail(summary))
}

pub(super) async fn revoke(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<StatusCode, Problem> {
    remove(&app, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stores a new token. Returns it with its secret, and what is recorded about it.
pub(super) async fn create(
    app: &App,
    new: NewToken,
) -> Result<(TokenRow, String, AuditNote), Problem> {
    let secret = tokens::make().map_err(|error| Problem::internal(&error.to_string()))?;
    let row = new.row(&secret).map_err(Problem::invalid)?;
    app.store.add_token(&row).await?;
    app.access.forget_tokens();
    let note = AuditNote {
        subject: Some(row.name.clone()),
        ..AuditNote::detail(new_token::summary(&row))
    };
    Ok((row, secret, note))
}

pub(super) async fn remove(app: &App, name: &str) -> Result<(), Problem> {
    app.store.revoke_token(name).await?;
    app.access.forget_tokens();
    Ok(())
}

impl From<TokenError> for Problem {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Exists { .. } => Self::invalid_at("/name", error.to_string()),
            TokenError::NotFound { .. } | TokenError::NoSession { .. } => {
                Self::not_found("there is no such token")
            }
            TokenError::Store(error) => error.into(),
        }
    }
}
