//! Debates as resources: the report with the transcript as Markdown, and the record as JSON.

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use uuid::Uuid;

use crate::export::{self, Format};
use crate::format::{one_line, short};
use crate::server::off_runtime;
use crate::server::operations::Operations;
use crate::server::problem::Problem;
use crate::store::DebateRow;

const SCHEME: &str = "roundtable://debates/";
const RECORD: &str = "/record";
/// Debates in the list of resources; others are found by their address.
const MAX_LISTED: u32 = 20;
const MAX_NAME_CHARS: usize = 80;

/// The address of a debate's report.
pub(super) fn uri(id: Uuid) -> String {
    format!("{SCHEME}{id}")
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SCHEME}{{id}}"), "debate")
            .with_title("Report and transcript of a debate")
            .with_mime_type("text/markdown"),
        ResourceTemplate::new(format!("{SCHEME}{{id}}{RECORD}"), "record")
            .with_title("Record of a debate for programs")
            .with_mime_type("application/json"),
    ]
}

pub(super) async fn list(operations: &Operations) -> Result<Vec<Resource>, Problem> {
    let debates = operations.list(None, MAX_LISTED).await?;
    let resource = |row: DebateRow| {
        Resource::new(uri(row.id), short(&one_line(&row.question), MAX_NAME_CHARS))
            .with_description(format!("{} debate, {}", row.protocol, row.state.name()))
            .with_mime_type("text/markdown")
    };
    Ok(debates.into_iter().map(resource).collect())
}

pub(super) async fn read(
    operations: &Operations,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let not_found =
        |problem: &Problem| ErrorData::resource_not_found(problem.messages().join("\n"), None);
    let (text, kind) = text_of(operations, uri)
        .await
        .map_err(|problem| not_found(&problem))?;
    let contents = ResourceContents::text(text, uri).with_mime_type(kind);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The text of a resource, and its media type.
pub(super) async fn text_of(
    operations: &Operations,
    uri: &str,
) -> Result<(String, &'static str), Problem> {
    let unknown = || {
        let shown: String = uri.chars().take(MAX_NAME_CHARS).collect();
        Problem::not_found(&format!(
            "there is no resource '{shown}'; expected {SCHEME}ID or {SCHEME}ID{RECORD}"
        ))
    };
    let path = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let (id, format, kind) = match path.strip_suffix(RECORD) {
        Some(id) => (id, Format::Json, "application/json"),
        None => (path, Format::Md, "text/markdown"),
    };
    let row = operations.find(id).await?;
    operations.know(row.id).await?;
    let entries = operations.entries(row.id).await?;
    let text = off_runtime(move || export::render(format, &row, &entries)).await?;
    let text = text.map_err(|error| Problem::not_found(&error.to_string()))?;
    Ok((text, kind))
}
