use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Counts embedded texts; the vector of a text is its length.
#[derive(Default)]
struct Counting(Arc<AtomicUsize>);

impl Embedder for Counting {
    fn name(&self) -> &'static str {
        "test:counting"
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, ModelError>> {
        self.0.fetch_add(texts.len(), Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "short texts")]
        let vectors = texts
            .iter()
            .map(|text| vec![text.len() as f32, 1.0])
            .collect();
        Box::pin(async move { Ok(vectors) })
    }
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const LIBRARY: [&str; 3] = ["a", "bb", "ccc"];

fn open(folder: &Path, count: &Arc<AtomicUsize>) -> CachedEmbedder {
    let inner = Arc::new(Counting(Arc::clone(count)));
    CachedEmbedder::new(inner, folder, texts(&LIBRARY))
}

/// C-16: across processes; an invalid file only costs another embedding.
#[tokio::test]
async fn a_text_is_embedded_once_and_an_invalid_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let open = || open(folder.path(), &count);
    let expected = vec![vec![1.0, 1.0], vec![2.0, 1.0]];
    assert_eq!(open().embed(texts(&["a", "bb"])).await.unwrap(), expected);
    assert_eq!(open().embed(texts(&["a", "bb"])).await.unwrap(), expected);
    assert_eq!(count.load(Ordering::Relaxed), 2);

    let all = open().embed(texts(&["ccc", "bb"])).await.unwrap();
    assert_eq!(all, [vec![3.0, 1.0], vec![2.0, 1.0]]);
    assert_eq!(count.load(Ordering::Relaxed), 3);

    let file = folder.path().join("test-counting.library");
    fs::write(&file, b"nonsense").unwrap();
    assert_eq!(open().embed(texts(&["a", "bb"])).await.unwrap(), expected);
    assert_eq!(count.load(Ordering::Relaxed), 5);
}

/// Questions and positions are not kept, however many are embedded at once; the library is, next to them.
#[tokio::test]
async fn only_the_library_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let file = folder.path().join("test-counting.library");
    let earlier = folder.path().join("test-counting.vectors");
    fs::write(&earlier, "positions of an earlier version").unwrap();
    let positions = texts(&["We should.", "We should not.", "It depends."]);
    for _ in 0..2 {
        let embedder = open(folder.path(), &count);
        assert_eq!(embedder.embed(positions.clone()).await.unwrap().len(), 3);
    }
    assert_eq!(count.load(Ordering::Relaxed), 6);
    assert!(!file.exists(), "positions were written");
    assert!(!earlier.exists());

    let embedder = open(folder.path(), &count);
    let mixed = texts(&["A question?", "a", "bb", "ccc"]);
    embedder.embed(mixed).await.unwrap();
    let record = 32 + 2 * 4;
    assert_eq!(fs::metadata(&file).unwrap().len(), 4 + 3 * record);
}

/// The vectors of other libraries are kept up to the limit; those of the current one come first.
#[tokio::test]
async fn the_number_of_vectors_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let other: Vec<String> = (0..MAX_VECTORS)
        .map(|number| format!("text {number}"))
        .collect();
    let inner = Arc::new(Counting(Arc::clone(&count)));
    let first = CachedEmbedder::new(inner, folder.path(), other.clone());
    first.embed(other).await.unwrap();
    open(folder.path(), &count)
        .embed(texts(&LIBRARY))
        .await
        .unwrap();
    let kept = read(&folder.path().join("test-counting.library")).unwrap();
    assert_eq!(kept.len(), MAX_VECTORS);
    assert!(LIBRARY.iter().all(|text| kept.contains_key(&key(text))));
}

/// The texts of a library may be private, and a crash must not leave half a file.
#[cfg(unix)]
#[tokio::test]
async fn the_file_is_private_and_complete() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("embeddings");
    let count = Arc::new(AtomicUsize::new(0));
    open(&folder, &count).embed(texts(&LIBRARY)).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(files, [folder.join("test-counting.library")]);
    assert_eq!(mode(&files[0]), 0o600);
}
