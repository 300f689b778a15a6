//! Another model in place of one whose provider is dead, as the configuration names them, in order.
//!
//! Only what another provider can mend is passed on: a server that is down, a model that is not there, a key that is
//! refused. A request that is wrong would be wrong anywhere. Fall-backs of fall-backs are not followed.

use std::sync::Arc;

use futures::StreamExt;
use roundtable_core::usage::Price;
use roundtable_engine::model::{Delta, Deltas, Instead, Model, ModelError, Profile, Request};

use super::delta_stream::{Item, Source, drawn_from};
use crate::config::ModelName;

/// One of those that answer in its place.
#[derive(Clone)]
pub(super) struct Other {
    pub name: ModelName,
    pub model: Arc<dyn Model>,
    pub price: Option<Price>,
}

pub(super) struct FallingBack {
    pub name: ModelName,
    pub first: Arc<dyn Model>,
    pub others: Vec<Other>,
}

impl Model for FallingBack {
    fn stream(&self, request: Request) -> Deltas {
        let call = Call {
            name: self.name.clone(),
            stream: self.first.stream(request.clone()),
            request,
            others: self.others.clone().into_iter().collect(),
            over: false,
        };
        drawn_from(call)
    }

    fn profile(&self) -> Profile {
        self.first.profile()
    }

    fn sees(&self) -> bool {
        self.first.sees()
    }

    fn calls_tools(&self) -> bool {
        self.first.calls_tools()
    }
}

struct Call {
    name: ModelName,
    request: Request,
    stream: Deltas,
    others: std::collections::VecDeque<Other>,
    over: bool,
}

impl Source for Call {
    async fn next(&mut self) -> Option<Item> {
        if self.over {
            return None;
        }
        let error = match self.stream.next().await {
            Some(Ok(delta)) => {
                self.over = matches!(delta, Delta::Finish(_));
                return Some(Ok(delta));
            }
            Some(Err(error)) => error,
            None => ModelError::Interrupted {
                detail: "the stream ended before the reply did".to_owned(),
            },
        };
        let other = Some(()).filter(|()| another_may_do(&error));
        let Some(other) = other.and_then(|()| self.others.pop_front()) else {
            self.over = true;
            return Some(Err(error));
        };
        let failed = std::mem::replace(&mut self.name, other.name.clone());
        self.stream = other.model.stream(suited(&self.request, &other));
        Some(Ok(Delta::Instead(Box::new(Instead {
            model: other.name.to_string(),
            because: format!("{failed}: {error}"),
            price: other.price,
        }))))
    }
}

/// The same request as the other model can take it.
fn suited(request: &Request, other: &Other) -> Request {
    let mut request = request.clone();
    other.name.model().clone_into(&mut request.model);
    if !other.model.sees() {
        request.images.clear();
    }
    if !other.model.calls_tools() {
        request.tools = None;
    }
    request
}

fn another_may_do(error: &ModelError) -> bool {
    match error {
        ModelError::RateLimited { .. }
        | ModelError::Server { .. }
        | ModelError::Timeout { .. }
        | ModelError::Unreachable { .. }
        | ModelError::Interrupted { .. }
        | ModelError::Unauthorized { .. }
        | ModelError::UnknownModel { .. }
        | ModelError::NotAModelServer { .. }
        | ModelError::LeftAlone { .. }
        | ModelError::Local { .. } => true,
        ModelError::TooLong { .. } | ModelError::Rejected { .. } => false,
    }
}

#[cfg(test)]
#[path = "fallback_tests.rs"]
mod tests;
