//! Refined schemas as forms: text with gaps.
//!
//! From call to call little changes in the schema of a reply but which values may be chosen. Taking a whole schema apart for that,
//! and writing it out again, costs more than all else that is done for a call. So it is done once with a mark in place of the
//! values, and for each call the values are put where the marks stand.

use std::any::TypeId;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use serde_json::Value;
use serde_json::value::RawValue;

use super::schema::{Refinement, refine};
use crate::model::{Ability, RawJson};

struct Form {
    reply: TypeId,
    ability: Ability,
    /// The refinement, with marks for values.
    marked: Refinement,
    /// The text before each mark with the number of the choice whose values follow.
    before: Vec<(String, usize)>,
    /// The text after the last.
    rest: String,
    /// What it was filled with last, and what came of it: all seats of a round choose from the same.
    last: Mutex<Option<(Choices, Arc<RawJson>)>>,
}

type Choices = Vec<(&'static str, Vec<String>)>;

/// There are few of them, and most differ in the first thing that is looked at.
static FORMS: LazyLock<RwLock<Vec<Arc<Form>>>> = LazyLock::new(RwLock::default);

/// Keys come from questions, so there is no end to forms.
const MOST: usize = 256;

/// No name of ours begins with it. One from outside that does gets no form.
const MARK: &str = "\u{1}values of ";

/// The schema with the refinement applied.
pub(super) fn filled(
    reply: TypeId,
    ability: Ability,
    json: &Value,
    refinement: &Refinement,
) -> Arc<RawJson> {
    let mut keys = refinement.keys.iter().flat_map(|(_, keys)| keys);
    if keys.any(|key| key.starts_with(MARK)) {
        return Arc::new(refined(json, refinement).into());
    }
    let known = FORMS
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .iter()
        .find(|form| form.serves(reply, ability, refinement))
        .cloned();
    let form = known.unwrap_or_else(|| {
        let form = Arc::new(Form::of(reply, ability, json, refinement));
        let mut forms = FORMS.write().unwrap_or_else(PoisonError::into_inner);
        if forms.len() >= MOST {
            forms.clear();
        }
        forms.push(Arc::clone(&form));
        form
    });
    let mut last = form.last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((choices, filled)) = &*last
        && *choices == refinement.choices
    {
        return Arc::clone(filled);
    }
    let filled = Arc::new(match RawValue::from_string(form.fill(refinement)) {
        Ok(text) => text.into(),
        Err(_) => refined(json, refinement).into(),
    });
    *last = Some((refinement.choices.clone(), Arc::clone(&filled)));
    filled
}

fn refined(json: &Value, refinement: &Refinement) -> Value {
    let mut json = json.clone();
    refine(&mut json, refinement);
    json
}

fn marked(refinement: &Refinement) -> Refinement {
    let mut marked = refinement.clone();
    for (number, (_, values)) in marked.choices.iter_mut().enumerate() {
        if !values.is_empty() {
            *values = vec![format!("{MARK}{number}")];
        }
    }
    marked
}

impl Form {
    fn of(reply: TypeId, ability: Ability, json: &Value, refinement: &Refinement) -> Self {
        let marked = marked(refinement);
        let text = refined(json, &marked).to_string();
        let mark = Value::from(MARK).to_string();
        let mark = mark.trim_end_matches('"');
        let mut before = Vec::new();
        let mut pieces = text.split(mark);
        let mut piece = pieces.next().unwrap_or_default();
        for next in pieces {
            let (number, rest) = next.split_once('"').unwrap_or_default();
            before.push((piece.to_owned(), number.parse().unwrap_or_default()));
            piece = rest;
        }
        Self {
            reply,
            ability,
            marked,
            before,
            rest: piece.to_owned(),
            last: Mutex::default(),
        }
    }

    /// Whether there is anything to choose from decides more than the values.
    fn serves(&self, reply: TypeId, ability: Ability, refinement: &Refinement) -> bool {
        let Refinement {
            choices,
            keys,
            omitted,
            items,
        } = &self.marked;
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
        let mut text = String::with_capacity(self.rest.len() * 4);
        for (before, number) in &self.before {
            text.push_str(before);
            let values = refinement.choices.get(*number);
            let values = values.map(|(_, values)| serde_json::to_string(values));
            if let Some(Ok(list)) = values {
                text.push_str(list.trim_start_matches('[').trim_end_matches(']'));
            }
        }
        text.push_str(&self.rest);
        text
    }
}

#[cfg(test)]
#[path = "schema_templates_tests.rs"]
mod tests;
