//! Roundtable: a panel of language models argues a question out before you rely on the answer.
//!
//! The binary only adapts and wires: commands, configuration, models, store. The rules of debate are in the crates.

mod cli;
mod clock;
mod config;
mod embedded;
mod export;
mod failure;
mod figures;
mod learning;
mod models;
mod opening;
mod remember;
mod render;
mod server;
mod sources;
mod store;
mod track;
mod trial;
mod workshop;
mod yaml;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
