//! The operations on read-only links to a debate.

use serde_json::{Value, json};

use super::id_parameter;
use super::operation::{Operation, Response, Schemas, parameter};
use crate::server::share_api::{AddedShare, NewShare, ShareList};

const SHARES: &str = "/api/v1/debates/{id}/shares";

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let share = json!({ "type": "string", "format": "uuid" });
    vec![
        Operation {
            errors: &[404],
            ..Operation::get(
                SHARES,
                "listShares",
                "List the read-only links to a debate that have not expired, without their secrets",
                schemas.response::<ShareList>(),
            )
        },
        Operation::post(
            SHARES,
            "shareDebate",
            "Make a link by which anyone can read the debate; its secret is in this response only",
            Some(schemas.optional::<NewShare>()),
            Response::json(201, "The link was made", schemas.response::<AddedShare>()),
        ),
        Operation {
            method: "delete",
            parameters: vec![
                id_parameter(),
                parameter("path", "share", "The link's id.", &share),
            ],
            responses: vec![Response::empty(204, "The link was revoked")],
            errors: &[404],
            ..Operation::get(
                "/api/v1/debates/{id}/shares/{share}",
                "revokeShare",
                "Revoke a link",
                Value::Null,
            )
        },
    ]
}
