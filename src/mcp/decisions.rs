//! Decisions of a person that a debate waits for: `input_required` for clients that can ask, `debates` for all others.

use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitationSchema, EnumSchema, InputRequest, InputRequests,
    InputRequiredResult, InputResponses, PrimitiveSchemaDefinition, ProtocolVersion,
};
use rmcp::service::RequestContext;
use roundtable_engine::event::Query;
use uuid::Uuid;

/// The name of the request and of its only field.
const DECISION: &str = "decision";
const CHOICE: &str = "choice";

/// Whether the client asks its user when a result says so.
pub(super) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    let is_new = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let capabilities = context.client_capabilities();
    is_new && capabilities.is_some_and(|capabilities| capabilities.elicitation.is_some())
}

/// The question to the user. The client repeats the call with the answer and the id.
pub(super) fn required(id: Uuid, query: &Query) -> Option<InputRequiredResult> {
    let state = Some(id.to_string());
    Some(InputRequiredResult::new(Some(requests(query)?), state))
}

pub(super) fn requests(query: &Query) -> Option<InputRequests> {
    let options = EnumSchema::builder(query.options.clone()).build();
    let schema = ElicitationSchema::builder()
        .required_property(CHOICE, PrimitiveSchemaDefinition::Enum(options))
        .build()
        .ok()?;
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: query.question.clone(),
        requested_schema: schema,
    };
    let request = InputRequest::Elicitation(ElicitRequest::new(params));
    Some(InputRequests::from([(DECISION.to_owned(), request)]))
}

/// The user's choice; `None` if the user declined.
pub(super) fn choice(responses: &InputResponses) -> Option<String> {
    let response = responses.get(DECISION)?;
    let is_accepted = response["action"] == "accept";
    let choice = response["content"][CHOICE].as_str();
    choice.filter(|_| is_accepted).map(str::to_owned)
}
