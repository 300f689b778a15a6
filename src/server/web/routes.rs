//! Routes of the pages, and what their handlers share.

use axum::extract::{Extension, Path, Query};
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::error_page::ErrorView;
use super::handlers::{
    arenas, audit, benches, debate, debates, follow_up, history, home, models, outcome, prompt,
    shares, tokens,
};
use super::sign_in_page::{SignInView, safe_next};
use super::{Frame, Visitor, assets};
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::server::route_table::ReachRule::{All, Debate, Nothing, Visible};
use crate::server::route_table::{PUBLIC, Routes, admin, read, run};
use crate::store::Scope;

/// The authenticated caller; absent on pages that need no sign-in.
pub(super) type MaybeCaller = Option<Extension<Caller>>;

pub(crate) fn routes() -> Routes {
    Routes::default()
        .get("/", read(Visible), home::show)
        .get("/debates", read(Visible), debates::list)
        .post("/debates/export", read(Visible), debates::export)
        .post(
            "/debates/delete",
            admin(Visible).audited("debates-deleted"),
            debates::delete,
        )
        .post("/debates", run(Visible), home::start)
        .post("/estimate", run(Nothing), home::estimate)
        .get("/debates/{id}", read(Debate), debate::show)
        .get("/debates/{id}/panels", read(Debate), debate::panels)
        .get("/debates/{id}/turns/{*step}", read(Debate), debate::turn)
        .get("/debates/{id}/prompts/{*step}", read(Debate), prompt::show)
        .post("/debates/{id}/say", run(Debate), debate::say)
        .post("/debates/{id}/pause", run(Debate), debate::pause)
        .post(
            "/debates/{id}/decision",
            run(Debate).audited("decision"),
            debate::decide,
        )
        .post("/debates/{id}/cancel", run(Debate), debate::cancel)
        .post("/debates/{id}/resume", run(Debate), debate::resume)
        .post("/debates/{id}/follow-up", run(Debate), follow_up::ask)
        .post("/debates/{id}/rating", run(Debate), debate::rate)
        .post(
            "/debates/{id}/delete",
            admin(Debate).audited("debate-deleted"),
            debate::delete,
        )
        .get("/debates/{id}/verdict.md", read(Debate), debate::verdict)
        .post(
            "/debates/{id}/shares",
            run(Debate).audited("share-added"),
            shares::add,
        )
        .post(
            "/debates/{id}/shares/{share}/revoke",
            run(Debate).audited("share-revoked"),
            shares::revoke,
        )
        .post("/debates/{id}/filing", run(Debate), debates::file)
        .get("/debates/{id}/history", read(Debate), history::show)
        .get("/debates/{id}/outcome", run(Debate), outcome::show)
        .post(
            "/debates/{id}/resolution",
            run(Debate).audited("resolution"),
            outcome::resolve,
        )
        .post("/debates/{id}/events", run(Debate), outcome::track)
        .post(
            "/debates/{id}/post-mortem",
            run(Debate).audited("learning-changed"),
            outcome::assess,
        )
        .get("/shared/{secret}", PUBLIC, shares::show)
        .get("/arenas", read(All), arenas::list)
        .get("/arenas/{arena}", read(All), arenas::show)
        .post("/arenas/{arena}/votes", run(All), arenas::vote)
        .get("/benches", read(All), benches::list)
        .get("/benches/{bench}", read(All), benches::show)
        .get("/benches/{bench}/result.json", read(All), benches::result)
        .get("/models", read(Nothing), models::show)
        .post(
            "/models/test",
            run(Nothing).audited("model-tested"),
            models::test,
        )
        .get("/tokens", admin(All), tokens::show)
        .post("/tokens", admin(All).audited("token-added"), tokens::add)
        .post(
            "/tokens/{name}/limits",
            admin(All).audited("token-changed"),
            tokens::change,
        )
        .post(
            "/tokens/{name}/revoke",
            admin(All).audited("token-revoked"),
            tokens::revoke,
        )
        .get("/audit", admin(All), audit::list)
        .get("/sign-in", PUBLIC, sign_in)
        .get("/assets/{file}", PUBLIC, asset)
        .get("/favicon.ico", PUBLIC, favicon)
}

pub(crate) fn frame(tab: &'static str, caller: Option<&Caller>) -> Frame {
    let visitor = match caller {
        Some(caller) if caller.token.is_some() => Visitor::SignedIn,
        Some(_) => Visitor::Local,
        None => Visitor::Stranger,
    };
    let frame = Frame::new(tab, visitor);
    caller.map_or(frame, |caller| frame.for_caller(caller))
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
