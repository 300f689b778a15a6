//! A file cache for embeddings, so that the template library is embedded once and not before every debate. An invalid file
//! is replaced.

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
    cache: Arc<VectorCache>,
}

struct VectorCache {
    path: PathBuf,
    /// `None` until the file has been read.
    vectors: Mutex<Option<HashMap<Key, Vec<f32>>>>,
}

/// In bytes. Longer texts, such as questions, are used only once.
const MAX_CACHED_TEXT: usize = 2000;

impl CachedEmbedder {
    pub(crate) fn new(inner: Arc<dyn Embedder>, folder: &Path) -> Self {
        let name: String = inner
            .name()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        Self {
            inner,
            cache: Arc::new(VectorCache {
                path: folder.join(format!("{name}.vectors")),
                vectors: Mutex::default(),
            }),
        }
    }
}

impl Embedder for CachedEmbedder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        let (inner, cache) = (Arc::clone(&self.inner), Arc::clone(&self.cache));
        Box::pin(async move {
            let keys: Vec<Key> = texts.iter().map(|text| key(text)).collect();
            let mut vectors = cache.get(&keys);
            let (indices, missing): (Vec<usize>, Vec<String>) = texts
                .into_iter()
                .enumerate()
                .filter(|(index, _)| vectors[*index].is_none())
                .unzip();
            if !missing.is_empty() {
                let lengths: Vec<usize> = missing.iter().map(String::len).collect();
                let embedded = inner.embed(missing).await?;
                let mut new = Vec::new();
                for ((index, vector), length) in indices.into_iter().zip(embedded).zip(lengths) {
                    if length <= MAX_CACHED_TEXT {
                        new.push((keys[index], vector.clone()));
                    }
                    vectors[index] = Some(vector);
                }
                // A single new text is the question itself; only a library is worth writing to disk.
                if new.len() > 1 {
                    cache.insert(new);
                }
            }
            Ok(vectors.into_iter().map(Option::unwrap_or_default).collect())
        })
    }
}

fn key(text: &str) -> Key {
    Sha256::digest(text).into()
}

impl VectorCache {
    fn get(&self, keys: &[Key]) -> Vec<Option<Vec<f32>>> {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let known = vectors.get_or_insert_with(|| read(&self.path).unwrap_or_default());
        keys.iter().map(|key| known.get(key).cloned()).collect()
    }

    fn insert(&self, new: Vec<(Key, Vec<f32>)>) {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let known = vectors.get_or_insert_default();
        known.extend(new);
        // A failed write only costs time.
        let _ = write(&self.path, known);
    }
}

/// File format: the dimension, then pairs of key and vector, little-endian.
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
    // Renamed after writing, so that no other process reads a partial file.
    let temporary = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&temporary, bytes)?;
    fs::rename(&temporary, path)
}

#[cfg(test)]
#[path = "embedding_cache_tests.rs"]
mod tests;
