//! The opened embedded models, one per name: a model never answers under the name of another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use roundtable_engine::model::{Deltas, Model, ModelError, Profile, Request};

use crate::models::ModelByName;

pub(super) const NOT_OPENED: &str = "used before its weights were loaded";

pub(super) struct OpenedModels<M>(Mutex<BTreeMap<String, Arc<M>>>);

impl<M> Default for OpenedModels<M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<M: Model + 'static> OpenedModels<M> {
    /// Returns whether the model was not open yet.
    pub(super) fn open_once(&self, name: &str, open: impl FnOnce() -> M) -> bool {
        let mut models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !models.contains_key(name);
        if is_new {
            models.insert(name.to_owned(), Arc::new(open()));
        }
        is_new
    }

    /// Models by name, also before they are opened.
    pub(super) fn by_name(all: &Arc<Self>) -> ModelByName {
        let all = Arc::clone(all);
        Arc::new(move |name| {
            Arc::new(NamedModel {
                name: name.to_owned(),
                all: Arc::clone(&all),
            })
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<Arc<M>> {
        let models = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        models.get(name).cloned()
    }
}

struct NamedModel<M> {
    name: String,
    all: Arc<OpenedModels<M>>,
}

impl<M: Model + 'static> Model for NamedModel<M> {
    fn stream(&self, request: Request) -> Deltas {
        match self.all.get(&self.name) {
            Some(model) => model.stream(request),
            None => Box::pin(futures::stream::iter([Err(ModelError::Local {
                detail: format!("{}: {NOT_OPENED}", self.name),
            })])),
        }
    }

    fn profile(&self) -> Profile {
        let model = self.all.get(&self.name);
        model.map_or_else(Profile::default, |model| model.profile())
    }
}

#[cfg(test)]
#[path = "opened_tests.rs"]
mod tests;
