//! An embedder that remembers: vectors of texts it has seen are kept in a file, so that the library of templates is
//! embedded once and not before every debate.
//!
//! The file is a cache and no more: whatever is wrong with it, it is written anew.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::ModelError;
use sha2::{Digest, Sha256};

type Key = [u8; 32];

pub(crate) struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    memory: Arc<Memory>,
}

struct Memory {
    path: PathBuf,
    known: Mutex<Option<HashMap<Key, Vec<f32>>>>,
}

/// Longer texts are not worth remembering: a question is asked once.
const SHORT: usize = 2000;

impl CachedEmbedder {
    pub(crate) fn new(inner: Arc<dyn Embedder>, folder: &Path) -> Self {
        let name: String = inner
            .name()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        Self {
            inner,
            memory: Arc::new(Memory {
                path: folder.join(format!("{name}.vectors")),
                known: Mutex::default(),
            }),
        }
    }
}

impl Embedder for CachedEmbedder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        let (inner, memory) = (Arc::clone(&self.inner), Arc::clone(&self.memory));
        Box::pin(async move {
            let keys: Vec<Key> = texts.iter().map(|text| key(text)).collect();
            let mut vectors = memory.recall(&keys);
            let (places, unknown): (Vec<usize>, Vec<String>) = texts
                .into_iter()
                .enumerate()
                .filter(|(place, _)| vectors[*place].is_none())
                .unzip();
            if !unknown.is_empty() {
                let lengths: Vec<usize> = unknown.iter().map(String::len).collect();
                let found = inner.embed(unknown).await?;
                let mut fresh = Vec::new();
                for ((place, vector), length) in places.into_iter().zip(found).zip(lengths) {
                    if length <= SHORT {
                        fresh.push((keys[place], vector.clone()));
                    }
                    vectors[place] = Some(vector);
                }
                // A single new text is the question itself; only a library is worth writing down.
                if fresh.len() > 1 {
                    memory.keep(fresh);
                }
            }
            Ok(vectors.into_iter().map(Option::unwrap_or_default).collect())
        })
    }
}

fn key(text: &str) -> Key {
    Sha256::digest(text).into()
}

impl Memory {
    fn recall(&self, keys: &[Key]) -> Vec<Option<Vec<f32>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(|| read(&self.path).unwrap_or_default());
        keys.iter().map(|key| known.get(key).cloned()).collect()
    }

    fn keep(&self, fresh: Vec<(Key, Vec<f32>)>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        known.extend(fresh);
        // Losing a cache loses time, nothing else.
        let _ = write(&self.path, known);
    }
}

/// The dimension, then a key and its vector each, little-endian.
fn read(path: &Path) -> Option<HashMap<Key, Vec<f32>>> {
    let bytes = fs::read(path).ok()?;
    let (head, body) = bytes.split_at_checked(4)?;
    let dimension = usize::try_from(u32::from_le_bytes(head.try_into().ok()?)).ok()?;
    let size = 32 + dimension.checked_mul(4)?;
    if dimension == 0 || body.len() % size != 0 {
        return None;
    }
    let records = body.chunks_exact(size).map(|record| {
        let (key, numbers) = record.split_at(32);
        let vector = numbers
            .as_chunks::<4>()
            .0
            .iter()
            .map(|number| f32::from_le_bytes(*number))
            .collect();
        Some((key.try_into().ok()?, vector))
    });
    records.collect()
}

fn write(path: &Path, known: &HashMap<Key, Vec<f32>>) -> std::io::Result<()> {
    let dimension = known.values().next().map_or(0, Vec::len);
    let mut bytes = Vec::with_capacity(4 + known.len() * (32 + dimension * 4));
    bytes.extend(u32::try_from(dimension).unwrap_or(0).to_le_bytes());
    for (key, vector) in known.iter().filter(|(_, vector)| vector.len() == dimension) {
        bytes.extend(key);
        bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Written beside and renamed, so that another process never reads half of it.
    let beside = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&beside, bytes)?;
    fs::rename(&beside, path)
}

#[cfg(test)]
#[path = "embedding_cache_tests.rs"]
mod tests;
