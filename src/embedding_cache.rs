//! A file cache for the embeddings of the template library, so that it is embedded once and not before every debate. Questions
//! and positions are used once and are not kept. An invalid file is replaced.
//!
//! Invariants: the file has at most [`MAX_VECTORS`] vectors, those of the current library first; it is replaced atomically, only
//! the user can read it, and the thread of the caller is never blocked.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use roundtable_engine::embedder::Embedder;
use roundtable_engine::model::ModelError;
use sha2::{Digest, Sha256};

type Key = [u8; 32];
type Vectors = HashMap<Key, Arc<[f32]>>;

pub(crate) struct CachedEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Arc<VectorCache>,
}

struct VectorCache {
    path: PathBuf,
    /// The texts that are worth keeping.
    library: HashSet<Key>,
    /// `None` until the file has been read.
    vectors: Mutex<Option<Vectors>>,
}

/// Several libraries of usual size, since folders with templates of their own share the file.
const MAX_VECTORS: usize = 4_096;

impl CachedEmbedder {
    /// Keeps the vectors of these texts.
    pub(crate) fn new(
        inner: Arc<dyn Embedder>,
        folder: &Path,
        library: impl IntoIterator<Item = String>,
    ) -> Self {
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
                library: library.into_iter().map(|text| key(&text)).collect(),
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
            if !keys.iter().any(|key| cache.library.contains(key)) {
                return inner.embed(texts).await;
            }
            cache.load().await;
            let mut vectors = cache.get(&keys);
            let (indices, missing): (Vec<usize>, Vec<String>) = texts
                .into_iter()
                .enumerate()
                .filter(|(index, _)| vectors[*index].is_none())
                .unzip();
            if !missing.is_empty() {
                let embedded = inner.embed(missing).await?;
                for (index, vector) in indices.iter().zip(embedded) {
                    vectors[*index] = Some(vector);
                }
                let new = indices.iter().filter_map(|index| {
                    let key = keys[*index];
                    let vector = vectors[*index].as_deref()?;
                    cache.library.contains(&key).then(|| (key, vector.into()))
                });
                cache.insert(new.collect()).await;
            }
            Ok(vectors.into_iter().map(Option::unwrap_or_default).collect())
        })
    }
}

fn key(text: &str) -> Key {
    Sha256::digest(text).into()
}

impl VectorCache {
    async fn load(&self) {
        if self.lock().is_some() {
            return;
        }
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || read(&path));
        let vectors = read.await.ok().flatten().unwrap_or_default();
        self.lock().get_or_insert(vectors);
    }

    fn get(&self, keys: &[Key]) -> Vec<Option<Vec<f32>>> {
        let vectors = self.lock();
        let known = |key| vectors.as_ref()?.get(key).map(|vector| vector.to_vec());
        keys.iter().map(known).collect()
    }

    async fn insert(&self, new: Vec<(Key, Arc<[f32]>)>) {
        if new.is_empty() {
            return;
        }
        let records = {
            let mut vectors = self.lock();
            let known = vectors.get_or_insert_default();
            known.extend(new);
            let (current, other): (Vec<_>, Vec<_>) = known
                .drain()
                .partition(|(key, _)| self.library.contains(key));
            let kept: Vec<_> = current.into_iter().chain(other).take(MAX_VECTORS).collect();
            known.extend(kept.iter().cloned());
            kept
        };
        let path = self.path.clone();
        // A failed write only costs time.
        let _ = tokio::task::spawn_blocking(move || write(&path, &records)).await;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vectors>> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// File format: the dimension, then pairs of key and vector, little-endian.
fn read(path: &Path) -> Option<Vectors> {
    let bytes = fs::read(path).ok()?;
    let (head, body) = bytes.split_at_checked(4)?;
    let dimension = usize::try_from(u32::from_le_bytes(head.try_into().ok()?)).ok()?;
    let size = 32 + dimension.checked_mul(4)?;
    if dimension == 0 || body.len() % size != 0 {
        return None;
    }
    let records = body.chunks_exact(size).take(MAX_VECTORS).map(|record| {
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

fn write(path: &Path, records: &[(Key, Arc<[f32]>)]) -> std::io::Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let dimension = records.first().map_or(0, |(_, vector)| vector.len());
    let mut bytes = Vec::with_capacity(4 + records.len() * (32 + dimension * 4));
    bytes.extend(u32::try_from(dimension).unwrap_or(0).to_le_bytes());
    let same = records
        .iter()
        .filter(|(_, vector)| vector.len() == dimension);
    for (key, vector) in same {
        bytes.extend(key);
        bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
    }
    let mut folder = fs::DirBuilder::new();
    let mut file = fs::OpenOptions::new();
    folder.recursive(true);
    file.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    }
    if let Some(parent) = path.parent() {
        folder.create(parent)?;
    }
    // Renamed after writing, so that no other process reads a partial file.
    let number = WRITES.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.part", std::process::id()));
    let written = file
        .open(&temporary)
        .and_then(|mut file| file.write_all(&bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
#[path = "embedding_cache_tests.rs"]
mod tests;
