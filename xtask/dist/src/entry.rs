//! A file of a package.

use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Relative, with slashes.
    pub(crate) path: String,
    pub(crate) is_executable: bool,
    pub(crate) content: Arc<[u8]>,
}

impl Entry {
    pub(crate) fn text(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            is_executable: false,
            content: content.into().into(),
        }
    }

    pub(crate) fn program(path: impl Into<String>, content: Arc<[u8]>) -> Self {
        Self {
            path: path.into(),
            is_executable: true,
            content,
        }
    }

    pub(crate) fn mode(&self) -> u32 {
        if self.is_executable { 0o755 } else { 0o644 }
    }
}
