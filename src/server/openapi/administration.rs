//! The operations for admins: tokens and the audit log.

use serde_json::{Value, json};

use super::operation::{Operation, Response, Schemas, parameter, query};
use super::time;
use crate::server::audit_api::AuditPage;
use crate::server::new_token::{NewToken, TokenChange};
use crate::server::token_api::{AddedToken, TokenInfo, TokenList};

pub(super) fn operations(schemas: &mut Schemas) -> Vec<Operation> {
    let number = json!({ "type": "integer", "minimum": 1 });
    let text = json!({ "type": "string" });
    vec![
        Operation::get(
            "/api/v1/tokens",
            "listTokens",
            "List tokens, without their secrets",
            schemas.response::<TokenList>(),
        ),
        Operation {
            errors: &[408, 413, 415, 422],
            ..Operation::post(
                "/api/v1/tokens",
                "addToken",
                "Add a token; its secret is in this response only",
                Some(schemas.required::<NewToken>()),
                Response::json(201, "The token was added", schemas.response::<AddedToken>()),
            )
        },
        Operation {
            method: "put",
            parameters: vec![parameter("path", "name", "The token's name.", &text)],
            errors: &[404, 408, 413, 415, 422],
            ..Operation::post(
                "/api/v1/tokens/{name}",
                "changeToken",
                "Replace the reach and the limits of a token",
                Some(schemas.required::<TokenChange>()),
                Response::json(
                    200,
                    "The token was changed",
                    schemas.response::<TokenInfo>(),
                ),
            )
        },
        Operation {
            method: "delete",
            parameters: vec![parameter("path", "name", "The token's name.", &text)],
            responses: vec![Response::empty(204, "The token was revoked")],
            errors: &[404],
            ..Operation::get(
                "/api/v1/tokens/{name}",
                "revokeToken",
                "Revoke a token; its sessions end",
                Value::Null,
            )
        },
        Operation {
            parameters: vec![
                query(
                    "since",
                    "Only entries of this time or later (RFC 3339, or a date).",
                    &time(),
                ),
                query("before", "`next` of the previous page.", &number),
                query(
                    "limit",
                    "The number of entries on a page.",
                    &json!({ "type": "integer", "minimum": 1, "maximum": 500, "default": 100 }),
                ),
            ],
            errors: &[422],
            ..Operation::get(
                "/api/v1/audit",
                "auditLog",
                "Read the audit log, newest entries first",
                schemas.response::<AuditPage>(),
            )
        },
    ]
}
