//! Routes of the pages, and what their handlers share.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, Path, Query};
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;

use super::error_page::ErrorView;
use super::handlers::{debate, debates, home, models};
use super::sign_in_page::{SignInView, safe_next};
use super::{Frame, Visitor, assets};
use crate::server::App;
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::store::Scope;

/// The authenticated caller; absent on pages that need no sign-in.
pub(super) type MaybeCaller = Option<Extension<Caller>>;

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(home::show))
        .route("/debates", get(debates::list).post(home::start))
        .route("/debates/{id}", get(debate::show))
        .route("/debates/{id}/panels", get(debate::panels))
        .route("/debates/{id}/turns/{*step}", get(debate::turn))
        .route("/debates/{id}/say", post(debate::say))
        .route("/debates/{id}/pause", post(debate::pause))
        .route("/debates/{id}/decision", post(debate::decide))
        .route("/debates/{id}/cancel", post(debate::cancel))
        .route("/debates/{id}/resume", post(debate::resume))
        .route("/debates/{id}/rating", post(debate::rate))
        .route("/debates/{id}/delete", post(debate::delete))
        .route("/models", get(models::show))
        .route("/models/test", post(models::test))
        .route("/sign-in", get(sign_in))
        .route("/assets/{file}", get(asset))
        .route("/favicon.ico", get(favicon))
}

pub(crate) fn frame(tab: &'static str, caller: Option<&Caller>) -> Frame {
    let visitor = match caller {
        Some(caller) if caller.token.is_some() => Visitor::SignedIn,
        Some(_) => Visitor::Local,
        None => Visitor::Stranger,
    };
    Frame::new(tab, visitor)
}

pub(super) fn may(caller: &MaybeCaller, scope: Scope) -> bool {
    caller.as_deref().is_some_and(|caller| caller.may(scope))
}

/// A page that must not be cached, because it changes while a debate runs.
pub(super) fn page(body: String) -> Response {
    let no_store = HeaderValue::from_static("no-store");
    ([(header::CACHE_CONTROL, no_store)], Html(body)).into_response()
}

pub(super) fn redirect_to_debate(id: &str) -> Response {
    Redirect::to(&format!("/debates/{id}")).into_response()
}

/// A problem as a page, for browsers.
pub(crate) fn problem_page(problem: &Problem, request: &str, caller: Option<&Caller>) -> Response {
    let mut view = ErrorView::new(problem.status().as_u16(), problem.detail());
    view.request = Some(request.to_owned());
    (problem.status(), page(view.page(frame("", caller)))).into_response()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SignInQuery {
    next: String,
    failed: String,
}

async fn sign_in(caller: MaybeCaller, Query(query): Query<SignInQuery>) -> Response {
    let problem = "Invalid token: it is unknown or has been revoked.";
    let view = SignInView {
        next: safe_next(&query.next),
        problems: if query.failed.is_empty() {
            Vec::new()
        } else {
            vec![problem.into()]
        },
    };
    page(view.page(frame("", caller.as_deref())))
}

async fn asset(Path(file): Path<String>) -> Result<Response, Problem> {
    let asset = assets::at(&format!("/assets/{file}"))
        .ok_or_else(|| Problem::not_found("there is no such file"))?;
    Ok(asset_response(asset))
}

async fn favicon() -> Response {
    asset_response(&assets::MARK)
}

fn asset_response(asset: &'static assets::Asset) -> Response {
    let headers = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, asset.body.as_str()).into_response()
}
