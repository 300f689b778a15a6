//! A cache for embeddings. Those of the template library are kept in a file, so that it is embedded once and not before every
//! debate; an invalid file is replaced. Those of a debate's own texts are kept in memory only, because a file would outlive
//! the debate.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    library: Mutex<Option<HashMap<Key, Vec<f32>>>>,
    /// Positions are compared with those of the next round.
    recent: Mutex<HashMap<Key, Vec<f32>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Library,
    Debate,
}

/// In bytes. Longer texts, such as questions, are used only once.
const MAX_CACHED_TEXT: usize = 2000;
/// The number of a debate's texts in memory; when it is reached, all are dropped.
const MAX_RECENT: usize = 2000;

impl CachedEmbedder {
    pub(crate) fn new(inner: Arc<dyn Embedder>, folder: &Path) -> Self {
        let name: String = inner
            .name()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
            .collect();
        // Earlier versions kept texts of debates in it.
        let _ = fs::remove_file(folder.join(format!("{name}.vectors")));
        Self {
            inner,
            cache: Arc::new(VectorCache {
                path: folder.join(format!("{name}.library")),
                library: Mutex::default(),
                recent: Mutex::default(),
            }),
        }
    }

    fn embed_all(
        &self,
        texts: Vec<String>,
        kind: Texts,
    ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        let (inner, cache) = (Arc::clone(&self.inner), Arc::clone(&self.cache));
        Box::pin(async move {
            let keys: Vec<Key> = texts.iter().map(|text| key(text)).collect();
            let mut vectors = cache.get(&keys, kind);
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
                cache.insert(new, kind);
            }
            Ok(vectors.into_iter().map(Option::unwrap_or_default).collect())
        })
    }
}

impl Embedder for CachedEmbedder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        self.embed_all(texts, Texts::Debate)
    }

    fn embed_library(
        &self,
        texts: Vec<String>,
    ) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        self.embed_all(texts, Texts::Library)
    }
}

fn key(text: &str) -> Key {
    Sha256::digest(text).into()
}

impl VectorCache {
    fn get(&self, keys: &[Key], kind: Texts) -> Vec<Option<Vec<f32>>> {
        let find = |known: &HashMap<Key, Vec<f32>>| {
            keys.iter().map(|key| known.get(key).cloned()).collect()
        };
        match kind {
            Texts::Debate => find(&lock(&self.recent)),
            Texts::Library => {
                let mut library = lock(&self.library);
                find(library.get_or_insert_with(|| read(&self.path).unwrap_or_default()))
            }
        }
    }

    fn insert(&self, new: Vec<(Key, Vec<f32>)>, kind: Texts) {
        match kind {
            Texts::Debate => {
                let mut recent = lock(&self.recent);
                if recent.len() + new.len() > MAX_RECENT {
                    recent.clear();
                }
                recent.extend(new);
            }
            Texts::Library => {
                let mut library = lock(&self.library);
                let known = library.get_or_insert_default();
                known.extend(new);
                // A failed write only costs time.
                let _ = write(&self.path, known);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
