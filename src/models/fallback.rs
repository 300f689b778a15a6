//! Fallback models, tried in the configured order when a provider fails.
//!
//! Only errors that another provider may not have lead to a fallback: server down, unknown model, refused key. An invalid
//! request would fail everywhere. Fallbacks of fallbacks are not followed.

use std::sync::Arc;

use roundtable_core::usage::Price;
use roundtable_engine::model::{Delta, Deltas, Instead, Model, ModelError, Request};

use super::delta_stream::{
    DeltaSource, Item, forward_capabilities, into_deltas, next_or_interrupted,
};
use crate::config::ModelName;

#[derive(Clone)]
pub(super) struct Fallback {
    pub name: ModelName,
    pub model: Arc<dyn Model>,
    pub price: Option<Price>,
}

pub(super) struct WithFallbacks {
    pub name: ModelName,
    pub primary: Arc<dyn Model>,
    pub fallbacks: Vec<Fallback>,
}

impl Model for WithFallbacks {
    fn stream(&self, request: Request) -> Deltas {
        let call = Call {
            name: self.name.clone(),
            stream: self.primary.stream(request.clone()),
            request,
            fallbacks: self.fallbacks.clone().into(),
        };
        into_deltas(call)
    }

    forward_capabilities!(primary);
}

struct Call {
    name: ModelName,
    request: Request,
    stream: Deltas,
    fallbacks: std::collections::VecDeque<Fallback>,
}

impl DeltaSource for Call {
    async fn next(&mut self) -> Option<Item> {
        let error = match next_or_interrupted(&mut self.stream).await {
            Ok(delta) => return Some(Ok(delta)),
            Err(error) => error,
        };
        let next = can_fall_back(&error).then(|| self.fallbacks.pop_front());
        let Some(next) = next.flatten() else {
            return Some(Err(error));
        };
        let failed = std::mem::replace(&mut self.name, next.name.clone());
        self.stream = next.model.stream(adapt_request(&self.request, &next));
        Some(Ok(Delta::Instead(Box::new(Instead {
            model: next.name.to_string(),
            because: format!("{failed}: {error}"),
            price: next.price,
        }))))
    }
}

/// The same request without images and tools that the fallback does not support.
fn adapt_request(request: &Request, fallback: &Fallback) -> Request {
    let mut request = request.clone();
    fallback.name.model().clone_into(&mut request.model);
    if !fallback.model.sees() {
        request.images.clear();
    }
    if !fallback.model.calls_tools() {
        request.tools = None;
    }
    request
}

fn can_fall_back(error: &ModelError) -> bool {
    match error {
        ModelError::RateLimited { .. }
        | ModelError::Server { .. }
        | ModelError::Timeout { .. }
        | ModelError::Unreachable { .. }
        | ModelError::Interrupted { .. }
        | ModelError::Unauthorized { .. }
        | ModelError::UnknownModel { .. }
        | ModelError::NotAModelServer { .. }
        | ModelError::BreakerOpen { .. }
        | ModelError::Local { .. }
        | ModelError::ProgramMissing { .. }
        | ModelError::Program { .. }
        | ModelError::Login { .. } => true,
        ModelError::TooLong { .. } | ModelError::Rejected { .. } | ModelError::Unpriced { .. } => {
            false
        }
    }
}

#[cfg(test)]
#[path = "fallback_tests.rs"]
mod tests;
