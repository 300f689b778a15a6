//! Cache of refined schemas as text templates with placeholders.
//!
//! From call to call only the allowed values change. Refining and serializing the whole schema takes 54 µs for the largest reply
//! (`Contribution`, 8.5 KB), filling in a template 6 µs. That is 8% of the CPU of a call (about 0.6 ms) in the modes, where the
//! values change with every turn, and under 1% in the dialectic.

use std::any::TypeId;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use serde_json::Value;
use serde_json::value::RawValue;

use super::schema::{Refinement, refine};
use crate::model::{Ability, RawJson};

struct Template {
    reply: TypeId,
    ability: Ability,
    /// The refinement, with placeholders for the values of each choice.
    refinement: Refinement,
    /// The text before each placeholder, and the index of the choice whose values replace it.
    segments: Vec<(String, usize)>,
    /// The text after the last placeholder.
    tail: String,
    /// The last result: all seats of a round usually get the same choices.
    last: Mutex<Option<(Choices, Arc<RawJson>)>>,
}

type Choices = Vec<(&'static str, Vec<String>)>;

/// Searched linearly: there are few, and most differ in the type.
static TEMPLATES: LazyLock<RwLock<Vec<Arc<Template>>>> = LazyLock::new(RwLock::default);

/// Bounds the cache, because keys are user input.
const MAX_TEMPLATES: usize = 256;

/// Prefix of a placeholder. A key from user input that begins with it is not cached.
const PLACEHOLDER: &str = "\u{1}values of ";

/// The schema `json` with the refinement applied.
pub(super) fn refined(
    reply: TypeId,
    ability: Ability,
    json: &Value,
    refinement: &Refinement,
) -> Arc<RawJson> {
    let mut keys = refinement.keys.iter().flat_map(|(_, keys)| keys);
    if keys.any(|key| key.starts_with(PLACEHOLDER)) {
        return Arc::new(refined_value(json, refinement).into());
    }
    let known = TEMPLATES
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .find(|template| template.matches(reply, ability, refinement))
        .cloned();
    let template = known.unwrap_or_else(|| {
        let template = Arc::new(Template::new(reply, ability, json, refinement));
        let mut templates = TEMPLATES.write().unwrap_or_else(PoisonError::into_inner);
        if templates.len() >= MAX_TEMPLATES {
            templates.clear();
        }
        templates.push(Arc::clone(&template));
        template
    });
    let mut last = template.last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((choices, schema)) = &*last
        && *choices == refinement.choices
    {
        return Arc::clone(schema);
    }
    let schema = Arc::new(match RawValue::from_string(template.fill(refinement)) {
        Ok(text) => text.into(),
        Err(_) => refined_value(json, refinement).into(),
    });
    *last = Some((refinement.choices.clone(), Arc::clone(&schema)));
    schema
}

fn refined_value(json: &Value, refinement: &Refinement) -> Value {
    let mut json = json.clone();
    refine(&mut json, refinement);
    json
}

fn with_placeholders(refinement: &Refinement) -> Refinement {
    let mut refinement = refinement.clone();
    for (index, (_, values)) in refinement.choices.iter_mut().enumerate() {
        if !values.is_empty() {
            *values = vec![format!("{PLACEHOLDER}{index}")];
        }
    }
    refinement
}

impl Template {
    fn new(reply: TypeId, ability: Ability, json: &Value, refinement: &Refinement) -> Self {
        let refinement = with_placeholders(refinement);
        let text = refined_value(json, &refinement).to_string();
        let placeholder = Value::from(PLACEHOLDER).to_string();
        let placeholder = placeholder.trim_end_matches('"');
        let mut segments = Vec::new();
        let mut pieces = text.split(placeholder);
        let mut piece = pieces.next().unwrap_or_default();
        for next in pieces {
            let (index, rest) = next.split_once('"').unwrap_or_default();
            segments.push((piece.to_owned(), index.parse().unwrap_or_default()));
            piece = rest;
        }
        Self {
            reply,
            ability,
            refinement,
            segments,
            tail: piece.to_owned(),
            last: Mutex::default(),
        }
    }

    /// Whether the template is for this type and refinement, up to the values of choices. A choice without values refines the
    /// schema differently, so emptiness counts.
    fn matches(&self, reply: TypeId, ability: Ability, refinement: &Refinement) -> bool {
        let Refinement {
            choices,
            keys,
            omitted,
            items,
        } = &self.refinement;
        let shape = |(name, values): &(&'static str, Vec<String>)| (*name, values.is_empty());
        self.reply == reply
            && self.ability == ability
            && *omitted == refinement.omitted
            && *items == refinement.items
            && choices
                .iter()
                .map(shape)
                .eq(refinement.choices.iter().map(shape))
            && *keys == refinement.keys
    }

    fn fill(&self, refinement: &Refinement) -> String {
        let mut text = String::with_capacity(self.tail.len() * 4);
        for (before, index) in &self.segments {
            text.push_str(before);
            let values = refinement.choices.get(*index);
            let values = values.map(|(_, values)| serde_json::to_string(values));
            if let Some(Ok(list)) = values {
                text.push_str(list.trim_start_matches('[').trim_end_matches(']'));
            }
        }
        text.push_str(&self.tail);
        text
    }
}

#[cfg(test)]
#[path = "schema_templates_tests.rs"]
mod tests;
