//! Parts of `roundtable token`: expiry, last use and rotation of tokens, and sessions of browsers.

use std::time::Duration;

use roundtable_engine::event::Millis;
use serde_json::{Value, json};

use super::serve::session_timeouts;
use super::{audit, output};
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::Failure;
use crate::server::tokens;
use crate::store::{TokenError, TokenRow};

pub(super) fn after(now: Millis, time: Duration) -> Millis {
    now.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

pub(super) fn as_json(token: &TokenRow) -> Value {
    let old_secret = token.old_secret.as_ref();
    json!({
        "name": token.name,
        "scope": token.scope,
        "reach": token.reach,
        "limits": token.limits,
        "created_at": clock::stamp(token.created_at),
        "expires_at": token.expires_at.map(clock::stamp),
        "last_used_at": token.last_used_at.map(clock::stamp),
        "old_secret_valid_until": old_secret.map(|old| clock::stamp(old.valid_until)),
    })
}

pub(super) fn as_line(token: &TokenRow, now: Millis) -> String {
    let at = |what: &str, time: Millis| format!("{what} {}", clock::day_and_time(time));
    let expiry = match token.expires_at {
        Some(time) if token.is_expired(now) => at("expired", time),
        Some(time) => at("expires", time),
        None => "no expiry".to_owned(),
    };
    let last_use = token.last_used_at;
    let last_use = last_use.map_or_else(|| "never used".to_owned(), |time| at("used", time));
    let limits = token.limits.summary();
    let limits = if limits.is_empty() {
        limits
    } else {
        format!("  {}", output::harmless(&limits))
    };
    format!(
        "{:<6} {:<4} {}  {expiry:<28}  {last_use:<25}  {}{limits}",
        token.scope.name(),
        token.reach.name(),
        at("created", token.created_at),
        output::harmless(&token.name)
    )
}

pub(super) async fn rotate(
    app: &AppContext,
    name: &str,
    grace: Duration,
    expires: Option<Duration>,
    as_json: bool,
) -> Result<(), Failure> {
    let store = app.store().await?;
    let now = clock::now();
    let rows = store.tokens().await?;
    let Some(token) = rows.iter().find(|token| token.name == name) else {
        return Err(TokenError::NotFound { name: name.into() }.into());
    };
    if token.is_expired(now) && expires.is_none() {
        return Err(Failure::usage(format!(
            "the token '{name}' has expired; pass its new validity, such as --expires 90d"
        )));
    }
    let expires_at = expires.map(|time| after(now, time)).or(token.expires_at);
    let secret = tokens::make().map_err(|error| Failure::other(error.to_string()))?;
    let action = audit::Action {
        name: "token-rotated",
        subject: name,
        detail: None,
    };
    let hash = tokens::hash(&secret);
    let rotating = store.rotate_token(name, &hash, after(now, grace), expires_at);
    audit::recorded(app, &store, action, rotating).await?;
    store.close().await;
    if as_json {
        return output::json(&json!({
            "name": name,
            "token": secret,
            "expires_at": expires_at.map(clock::stamp),
            "old_secret_valid_until": clock::stamp(after(now, grace)),
        }));
    }
    output::line(&secret);
    let old = if grace.is_zero() {
        "no longer works".to_owned()
    } else {
        format!("works until {}", clock::day_and_time(after(now, grace)))
    };
    output::note(&format!(
        "Store it now; it is not shown again. The old secret {old}."
    ));
    Ok(())
}

pub(super) async fn sessions(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let store = app.store().await?;
    let timeouts = session_timeouts(&app.config.server);
    let all = store.sessions(clock::now(), timeouts).await?;
    store.close().await;
    if as_json {
        let rows: Vec<_> = all
            .iter()
            .map(|session| {
                json!({
                    "id": session.id,
                    "token": session.token,
                    "created_at": clock::stamp(session.created_at),
                    "last_used_at": clock::stamp(session.last_used_at),
                    "expires_at": clock::stamp(session.expires_at),
                })
            })
            .collect();
        return output::json(&rows);
    }
    if all.is_empty() {
        output::note("No browser is signed in.");
    }
    for session in all {
        output::line(&format!(
            "{}  signed in {}  used {}  {}",
            session.id,
            clock::day_and_time(session.created_at),
            clock::day_and_time(session.last_used_at),
            output::harmless(&session.token)
        ));
    }
    Ok(())
}

pub(super) async fn end_session(app: &AppContext, id: &str) -> Result<(), Failure> {
    let store = app.store().await?;
    let action = audit::Action {
        name: "session-ended",
        subject: id,
        detail: None,
    };
    audit::recorded(app, &store, action, store.end_session(id)).await?;
    store.close().await;
    output::note(&format!("Ended session {}.", output::harmless(id)));
    Ok(())
}
