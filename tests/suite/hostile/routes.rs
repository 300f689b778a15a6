//! No route is left out: what a new route reads has to be attacked too.

use std::collections::BTreeSet;

use super::document::{Document, operations};
use super::forms::FORMS;
use crate::harness::{Home, Server, Serving};

/// Every route with the access that it needs; a unit test keeps it complete.
const TABLE: &str = include_str!(
    "../../../src/server/snapshots/roundtable__server__route_table__tests__route_table.snap"
);

/// They read no body.
const WITHOUT_BODY: [&str; 8] = [
    "/api/v1/debates/{id}/cancel",
    "/api/v1/debates/{id}/pause",
    "/debates/{id}/cancel",
    "/debates/{id}/delete",
    "/debates/{id}/pause",
    "/debates/{id}/shares/{share}/revoke",
    "/sign-out",
    "/tokens/{name}/revoke",
];

/// C-20: every route that reads a body is attacked.
#[test]
fn c20_every_route_that_reads_a_body_is_attacked() {
    let home = Home::with_model(&Server::good());
    let serving = Serving::start(&home, &[]);
    let document = Document(serving.get("/api/openapi.json").json());
    let mut attacked: BTreeSet<(String, String)> = operations(&document)
        .into_iter()
        .map(|(method, path, _)| (method.to_uppercase(), path.to_owned()))
        .collect();
    let forms = FORMS.iter().map(|(path, _)| *path);
    let posted = forms.chain(WITHOUT_BODY).chain(["/mcp"]);
    attacked.extend(posted.map(|path| ("POST".to_owned(), path.to_owned())));
    let reads: BTreeSet<(String, String)> = TABLE
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (method, path) = (words.next()?, words.next()?);
            let reads = matches!(method, "POST" | "PUT" | "PATCH");
            reads.then(|| (method.to_owned(), path.to_owned()))
        })
        .collect();
    assert!(reads.len() > 35, "{reads:?}");
    assert_eq!(attacked, reads);
}
