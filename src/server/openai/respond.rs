//! From a checked request to its response, for every endpoint.

use std::sync::Arc;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use roundtable_engine::protocol::AnyProtocol;
use roundtable_engine::protocols;

use super::super::App;
use super::super::access::{Caller, Credential};
use super::super::problem::Problem;
use super::super::streams::StreamGuard;
use super::ask::Ask;
use super::stream::{self, Session, Wire};
use super::{answer, catalog, debate, side_job};

/// The sender of a request.
pub(super) struct Sender {
    pub(super) caller: Caller,
    credential: Credential,
    headers: HeaderMap,
}

impl<S: Sync> FromRequestParts<S> for Sender {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        let credential = parts.extensions.get::<Credential>().copied();
        match (caller, credential) {
            (Some(caller), Some(credential)) => Ok(Self {
                caller,
                credential,
                headers: parts.headers.clone(),
            }),
            _ => Err(Problem::internal("a request without a caller")),
        }
    }
}

/// Answers a side job at once, and everything else by a debate.
pub(super) async fn respond<W: Wire>(
    app: Arc<App>,
    sender: Sender,
    (ask, bytes): (Ask, bytes::Bytes),
    is_stream: bool,
    mut wire: W,
) -> Result<Response, Problem> {
    let Sender {
        caller,
        credential,
        headers,
    } = sender;
    let choice = catalog::find(&app.context.data, &ask.model)?;
    if side_job::is_side_job(&ask.turns) {
        let answer = side_job::answer(&app, &caller, choice, &ask).await?;
        return Ok(if is_stream {
            stream::whole(wire, answer)
        } else {
            Json(wire.whole(answer)).into_response()
        });
    }
    let protocol = protocols::named(&choice.debate.protocol);
    let mut debate = debate::start(&app, &caller, &headers, &ask, (choice, bytes)).await?;
    wire.begin(debate.id);
    if !is_stream {
        debate.wait().await;
        debate.leave();
        let answer = answer::read(&app, &caller, debate.id, &ask).await?;
        return Ok(Json(wire.whole(answer)).into_response());
    }
    let guard = StreamGuard::open(&app, &caller, credential, debate.id)?;
    Ok(stream::follow(Session {
        app,
        caller,
        debate,
        guard,
        ask,
        answer_phase: protocol.map_or("", AnyProtocol::answer_phase),
        wire,
    }))
}
