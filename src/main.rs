#![allow(
    dead_code,
    unused_imports,
    reason = "the commands that use the store are not written yet"
)]

mod store;

fn main() {}
