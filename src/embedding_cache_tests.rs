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

/// C-16: across processes; an invalid file only costs another embedding.
#[tokio::test]
async fn a_text_is_embedded_once_and_an_invalid_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let open = || CachedEmbedder::new(Arc::new(Counting(Arc::clone(&count))), folder.path());
    let expected = vec![vec![1.0, 1.0], vec![2.0, 1.0]];
    assert_eq!(
        open().embed_library(texts(&["a", "bb"])).await.unwrap(),
        expected
    );
    assert_eq!(
        open().embed_library(texts(&["a", "bb"])).await.unwrap(),
        expected
    );
    assert_eq!(count.load(Ordering::Relaxed), 2);

    let all = open().embed_library(texts(&["ccc", "bb"])).await.unwrap();
    assert_eq!(all, [vec![3.0, 1.0], vec![2.0, 1.0]]);
    assert_eq!(count.load(Ordering::Relaxed), 3);

    let file = folder.path().join("test-counting.library");
    fs::write(&file, b"nonsense").unwrap();
    assert_eq!(
        open().embed_library(texts(&["a", "bb"])).await.unwrap(),
        expected
    );
    assert_eq!(count.load(Ordering::Relaxed), 5);
}

/// C-14: vectors of a debate's texts are in memory only, and those that an earlier version wrote to disk are deleted.
#[tokio::test]
async fn c14_texts_of_debates_are_not_cached_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("test-counting.vectors"), "old").unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let embedder = CachedEmbedder::new(Arc::new(Counting(Arc::clone(&count))), folder.path());
    let expected = vec![vec![1.0, 1.0], vec![2.0, 1.0]];
    for _ in 0..2 {
        assert_eq!(embedder.embed(texts(&["a", "bb"])).await.unwrap(), expected);
    }
    assert_eq!(count.load(Ordering::Relaxed), 2);
    embedder.embed_library(texts(&["ccc"])).await.unwrap();
    let files = fs::read_dir(folder.path()).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["test-counting.library"]);
    let library = fs::read(folder.path().join("test-counting.library")).unwrap();
    assert_eq!(library.len(), 4 + 32 + 8, "one vector");
}
