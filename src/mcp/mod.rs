//! The MCP server: six tools, resources and prompts for agents, on standard input (`roundtable mcp`) and over HTTP (`/mcp`).
//!
//! A tool call builds the same request as the REST API. It waits for the debate for less time than clients wait for an answer,
//! then returns the id and the next call. Guarantees: a debate whose id was returned runs on without its client; the same
//! request within ten minutes joins the debate; a call that the client cancelled stops its debate after the calls in flight.

mod arguments;
mod decisions;
mod outcome;
mod progress;
mod prompts;
mod resources;
mod service;
mod stdio;
mod tasks;
mod tools;
mod waiting;

pub(crate) use service::McpServer;
pub(crate) use stdio::serve_stdio;
