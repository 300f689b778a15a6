//! The hidden key of a form that starts a debate: sent twice, by a double click or a reload, it starts one.

use serde::Serialize;
use uuid::Uuid;

use crate::server::access::Caller;
use crate::server::rest;
use crate::store::CreateRequest;

/// The name of the field.
pub(crate) const FORM_KEY: &str = "form_key";

/// For a form that is shown now.
pub(crate) fn new_key() -> String {
    Uuid::new_v4().to_string()
}

/// A form that was changed before it was sent again starts another debate, so the key has a hash of its content, which includes
/// `form_key`.
pub(crate) fn create_request(
    caller: &Caller,
    form_key: &str,
    content: &impl Serialize,
) -> CreateRequest {
    let content = serde_json::to_vec(content).unwrap_or_default();
    let fingerprint = rest::fingerprint(&content);
    let is_key = Uuid::try_parse(form_key).is_ok();
    let key = is_key.then(|| rest::key_of(caller, &format!("form/{fingerprint}")));
    CreateRequest {
        key,
        fingerprint,
        token: caller.token,
        is_attended: false,
    }
}
