#![expect(
    dead_code,
    unused_imports,
    reason = "the program that uses these is written elsewhere"
)]

mod config;
mod models;

fn main() {}
