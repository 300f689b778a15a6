//! Browser sign-in: exchanges a service token for a session cookie that scripts cannot read.

use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;

use super::App;
use super::access::accepts_html;
use super::audit::{AuditNote, Received};
use super::client::Client;
use super::cookies;
use super::problem::Problem;
use super::requests::read;
use super::web;
use crate::store::{AuditOutcome, Via};

const MAX_FORM_BYTES: usize = 4096;

#[derive(Deserialize)]
struct SignIn {
    #[serde(default)]
    token: String,
    #[serde(default)]
    next: String,
}

pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    Extension(received): Extension<Received>,
    request: Request,
) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let wants_page = accepts_html(&head.headers);
    // Read with our limits on size and time: anyone may send this form.
    let body = read(Request::new(body), MAX_FORM_BYTES).await?;
    let Form(form) = Form::<SignIn>::from_request(Request::from_parts(head, body.into()), &())
        .await
        .map_err(|error| Problem::new(error.status(), "malformed", error.body_text()))?;
    let next = web::safe_next(&form.next);
    let who = app.access.token_name(&form.token).await?;
    if who.is_some() {
        app.auditor
            .begin(&received, who.clone(), Via::Token)
            .await?;
    }
    let Some(session) = app.access.sign_in(&form.token).await? else {
        if wants_page {
            let mut address = "/sign-in?failed=1".to_owned();
            if next != "/" {
                address.push_str("&next=");
                address.push_str(&web::percent(&next));
            }
            let recorded = AuditNote {
                outcome: Some(AuditOutcome::Refused),
                ..AuditNote::detail("invalid token")
            };
            return Ok((Extension(recorded), Redirect::to(&address)).into_response());
        }
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            "no-token",
            "invalid token",
        ));
    };
    let lasts = app.access.session_timeouts().total;
    let cookie = cookies::set(&session, lasts, client);
    let recorded = AuditNote {
        who,
        ..AuditNote::default()
    };
    Ok((Extension(recorded), redirect_with_cookie(&next, &cookie)).into_response())
}

pub(super) async fn sign_out(
    State(app): State<Arc<App>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    app.access.sign_out(&headers, client).await?;
    Ok(redirect_with_cookie("/", &cookies::clear(client)))
}

fn redirect_with_cookie(address: &str, cookie: &str) -> Response {
    let mut response = Redirect::to(address).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
