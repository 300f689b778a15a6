//! Configuration files of working folders that the user trusts, by path and content. A changed file is no longer trusted.

use std::fs::DirBuilder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use roundtable_core::hex;
use sha2::{Digest, Sha256};

use super::{ConfigError, Environment};

/// In the user's data folder: one line per file, with the SHA-256 of its content and its path.
const FILE_NAME: &str = "trusted-configurations";

/// Whether the user trusts this file with this content.
pub(super) fn is_trusted(path: &Path, text: &str, environment: &Environment) -> bool {
    let Some(line) = line_of(path, text) else {
        return false;
    };
    let known = store(environment).and_then(|store| read(&store).ok());
    known.is_some_and(|known| known.lines().any(|known| known == line))
}

/// Trusts the file with its present content.
pub(crate) fn trust(path: &Path, environment: &Environment) -> Result<(), ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_path_buf(),
        source,
    })?;
    let line = line_of(path, &text).ok_or_else(|| ConfigError::Unreadable {
        path: path.to_path_buf(),
        source: io::Error::other("its path has a line break or is not UTF-8"),
    })?;
    change(path, Some(&line), environment).map(drop)
}

/// Withdraws the trust in the file. Returns whether it was trusted, with any content.
pub(crate) fn untrust(path: &Path, environment: &Environment) -> Result<bool, ConfigError> {
    change(path, None, environment)
}

/// Replaces the line of a file. Returns whether there was one.
fn change(path: &Path, line: Option<&str>, environment: &Environment) -> Result<bool, ConfigError> {
    let store = store(environment).ok_or(ConfigError::NoHome)?;
    let unwritable = |source| ConfigError::Unwritable {
        path: store.clone(),
        source,
    };
    let known = match read(&store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.map_err(unwritable)?,
    };
    let path = full_path(path);
    let is_other = |line: &&str| line.split_once(' ').map(|(_, path)| path) != path.to_str();
    let others: Vec<&str> = known.lines().filter(is_other).collect();
    let was_known = others.len() < known.lines().count();
    let mut lines = others;
    lines.extend(line);
    // The last line ends with a line break too.
    lines.push("");
    write(&store, &lines.join("\n")).map_err(unwritable)?;
    Ok(was_known)
}

fn store(environment: &Environment) -> Option<PathBuf> {
    let folders = environment.folders.as_ref()?;
    Some(folders.data.join(FILE_NAME))
}

fn read(store: &Path) -> io::Result<String> {
    std::fs::read_to_string(store)
}

fn line_of(path: &Path, text: &str) -> Option<String> {
    let path = full_path(path);
    let path = path.to_str().filter(|path| !path.contains('\n'))?;
    let hash = hex::encode(Sha256::digest(text.as_bytes()));
    Some(format!("{hash} {path}"))
}

/// The same for every way to write the path.
fn full_path(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Atomic, and readable by the user only: a temporary file has mode 0600.
fn write(store: &Path, text: &str) -> io::Result<()> {
    let folder = store.parent().unwrap_or_else(|| Path::new("."));
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(store)?;
    Ok(())
}
