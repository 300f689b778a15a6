//! The debate that a form of its page is about.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::response::Response;

use super::super::routes::redirect_to_debate;
use crate::server::access::Caller;
use crate::server::problem::Problem;
use crate::server::{App, rest};
use crate::store::DebateRow;

/// The debate of the path, which the visitor may see, with what every handler needs.
pub(crate) struct Target {
    pub app: Arc<App>,
    pub caller: Caller,
    pub row: DebateRow,
    /// As in the path.
    pub id: String,
}

impl Target {
    pub(crate) fn page(&self) -> Response {
        redirect_to_debate(&self.id)
    }
}

impl FromRequestParts<Arc<App>> for Target {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let missing = || Problem::not_found("there is no such debate");
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
        let Path(mut path) = path.map_err(|_| missing())?;
        let id = path.remove("id").ok_or_else(missing)?;
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller = caller.ok_or_else(missing)?;
        let row = rest::find(app, &caller, &id).await?;
        Ok(Self {
            app: Arc::clone(app),
            caller,
            row,
            id,
        })
    }
}
