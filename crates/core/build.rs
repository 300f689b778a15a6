//! Lays out the tokenizer's vocabulary as a hash table, so that the program need not build one at every start.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

#[path = "src/tokenizer/hash.rs"]
mod hash;

const VOCABULARY: &str = "data/o200k_base.tokens";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={VOCABULARY}");
    println!("cargo::rerun-if-changed=src/tokenizer/hash.rs");
    let vocabulary = fs::read(VOCABULARY)?;
    let mut buckets: Vec<Vec<(&[u8], u32)>> = vec![Vec::new(); hash::BUCKETS];
    let mut unread = vocabulary.as_slice();
    let mut rank = 0;
    while let Some((length, rest)) = unread.split_first() {
        let (token, rest) = rest.split_at(usize::from(*length));
        buckets[hash::bucket(token, 0..token.len())].push((token, rank));
        unread = rest;
        rank += 1;
    }
    let mut ends = Vec::new();
    let mut tokens = Vec::new();
    for mut bucket in buckets {
        bucket.sort_by_key(|(token, _)| token.len());
        for (token, rank) in bucket {
            tokens.push(u8::try_from(token.len())?);
            tokens.extend_from_slice(&rank.to_le_bytes()[..3]);
            tokens.extend_from_slice(token);
        }
        ends.extend_from_slice(&u32::try_from(tokens.len())?.to_le_bytes());
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells build scripts the folder this way"
    )]
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("o200k_base.ends"), ends)?;
    fs::write(Path::new(&folder).join("o200k_base.buckets"), tokens)?;
    Ok(())
}
