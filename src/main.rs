//! Roundtable: a panel of language models debates a question before you rely on the answer.
//!
//! The binary holds the commands, configuration, models, store and server. The rules of debate are in the crates.

mod app_context;
mod arena;
mod bench;
mod cli;
mod clock;
mod config;
mod debate_runs;
mod embedded;
mod embedding_cache;
mod estimate;
mod export;
mod failure;
mod forecast_history;
mod format;
mod learning;
mod mcp;
mod model_probe;
mod models;
mod pool_export;
mod questions;
mod recorded_forecasts;
mod release_feed;
mod render;
mod server;
mod setup;
mod sources;
mod store;
mod yaml;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
