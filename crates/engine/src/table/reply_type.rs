//! The type of a step's reply and the rules of its protocol, behind a trait object.

use serde_json::Value;

use super::calls::Said;
use crate::model::{Ability, Finish, RawJson, Schema};
use crate::reply::{Refinement, Reply, ReplyError, additions, read, read_mended, schema_for};
use crate::safety::{Withheld, withhold};

type Check<'t, T> = Box<dyn Fn(&T) -> Vec<String> + Send + Sync + 't>;
type Render<'t, T> = Box<dyn Fn(&T) -> String + Send + Sync + 't>;

/// The rules for a reply of the type `T`.
pub(super) struct Rules<'t, T> {
    pub(super) check: Check<'t, T>,
    pub(super) demand: Check<'t, T>,
    pub(super) render: Render<'t, T>,
}

/// A usable reply as it is journaled.
pub(super) struct Judged {
    pub(super) json: Value,
    pub(super) text: String,
    /// Rules that it breaks, for which it is sent back once.
    pub(super) remarks: Vec<String>,
    /// Remarks on what was cut or left out, for which it is not sent back.
    pub(super) cuts: Vec<String>,
    pub(super) withheld: Vec<Withheld>,
    /// Whether it repeats its prompt or the text it is about.
    pub(super) is_parroted: bool,
}

/// The operations on a reply type that the calls of a step need.
pub(super) trait ReplyType: Send + Sync {
    /// The field that is streamed to listeners.
    fn main_field(&self) -> &'static str;

    fn schema(&self, refinement: &Refinement, ability: Ability) -> Schema;

    fn judge(&self, said: &Said, sent: &RawJson) -> Result<Judged, ReplyError>;

    /// Whether the token limit ended a reply before it was usable.
    fn is_cut_off(&self, said: &Said, sent: &RawJson) -> bool;

    /// The parts of a reply that the seat has not said.
    fn additions(&self, text: &str, said: &[String]) -> Vec<String>;
}

impl<T: Reply> Default for Rules<'_, T> {
    fn default() -> Self {
        Self {
            check: Box::new(|_| Vec::new()),
            demand: Box::new(|_| Vec::new()),
            render: Box::new(T::text),
        }
    }
}

impl<T: Reply> ReplyType for Rules<'_, T> {
    fn main_field(&self) -> &'static str {
        T::MAIN
    }

    fn schema(&self, refinement: &Refinement, ability: Ability) -> Schema {
        schema_for::<T>(refinement, ability)
    }

    fn judge(&self, said: &Said, sent: &RawJson) -> Result<Judged, ReplyError> {
        let (reply, cuts) = read_mended::<T>(&said.text, said.finish, sent)?;
        let (reply, json, withheld) = apply_safety(reply)?;
        let unusable = (self.demand)(&reply);
        if !unusable.is_empty() {
            return Err(ReplyError::Unusable(unusable));
        }
        Ok(Judged {
            json,
            text: (self.render)(&reply),
            remarks: (self.check)(&reply),
            cuts,
            withheld,
            is_parroted: false,
        })
    }

    fn is_cut_off(&self, said: &Said, sent: &RawJson) -> bool {
        said.finish == Finish::Length
            && matches!(
                read::<T>(&said.text, said.finish, sent),
                Err(ReplyError::CutOff)
            )
    }

    fn additions(&self, text: &str, said: &[String]) -> Vec<String> {
        additions::<T>(text, said)
    }
}

/// Removes what the safety monitor withholds (M-09). A reply that cannot be checked is refused.
fn apply_safety<T: Reply>(reply: T) -> Result<(T, Value, Vec<Withheld>), ReplyError> {
    let mut json = serde_json::to_value(&reply).map_err(|_| ReplyError::Refused)?;
    let withheld = withhold(&mut json);
    if withheld.is_empty() {
        return Ok((reply, json, withheld));
    }
    let clean = T::deserialize(&json).map_err(|_| ReplyError::Refused)?;
    Ok((clean, json, withheld))
}
