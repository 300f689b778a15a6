//! End-to-end tests: the real binary, real HTTP on loopback, real files, real signals.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod all_protocols;
mod arena;
mod ask;
mod bad_input;
mod bad_servers;
mod bench;
mod bench_compare;
mod bench_kinds;
mod bench_runs;
mod bench_workers;
mod browser;
mod cli_texts;
mod clients;
mod commands;
mod contract;
mod cost;
mod crashes;
mod data;
mod debate;
mod deploy;
mod disconnects;
#[cfg(feature = "local")]
mod embedded;
mod enhanced;
mod enhanced_learning;
mod ensemble;
mod families;
mod faults;
mod follow_up;
mod forecast;
mod harness;
mod hostile;
mod init;
mod invalid_replies;
mod judge;
mod learning;
mod mcp;
mod mcp_clients;
mod mcp_http;
mod on_postgres;
mod openai_api;
mod openai_refusals;
mod openai_responses;
mod openai_sessions;
mod ownership;
mod panel;
mod paying;
mod pool;
mod presets;
mod programs;
mod prompts;
#[cfg(unix)]
mod question_sets;
mod requirements;
mod resume;
mod schemas;
mod server_access;
mod server_api;
mod server_capacity;
mod server_events;
mod server_fuzz;
mod server_requests;
mod server_safety;
mod simulate;
mod simulated;
mod sources;
mod start_form;
mod store_faults;
mod stored_debates;
mod terminal;
mod token_changes;
mod update;
mod versions;
mod workers;
