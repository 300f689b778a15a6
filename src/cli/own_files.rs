//! Data files that commands create in the user's configuration folder.

use std::path::{Path, PathBuf};

use roundtable_engine::data::{Data, DataKind, Origin};

use crate::app_context::AppContext;
use crate::failure::Failure;

/// The path for a file of the user. `advice` says what to do if there is no home folder.
pub(super) fn path(
    app: &AppContext,
    kind: DataKind,
    file: &str,
    advice: &str,
) -> Result<PathBuf, Failure> {
    let folder = kind.folder();
    let folders = app.environment.folders.as_ref().ok_or_else(|| {
        Failure::usage(format!(
            "no folder for {folder}: the home folder is unknown. {advice}"
        ))
    })?;
    Ok(folders.config.join(folder).join(file))
}

/// Fails if the file exists; `advice` says what to do then.
pub(super) fn check_is_new(path: &Path, advice: &str) -> Result<(), Failure> {
    if path.exists() {
        let path = path.display();
        return Err(Failure::usage(format!("{path} already exists: {advice}")));
    }
    Ok(())
}

/// Fails for the name of a built-in file, which a copy of another one would silently replace.
pub(super) fn check_is_not_built_in(
    kind: DataKind,
    what: &'static str,
    name: &str,
) -> Result<(), Failure> {
    if Data::built_in().named(kind, what, name).is_ok() {
        return Err(Failure::usage(format!(
            "'{name}' is a built-in {what}: choose another name"
        )));
    }
    Ok(())
}

/// Writes a file and creates its folder.
pub(super) fn write(path: &Path, content: &str) -> Result<(), Failure> {
    let created = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    created
        .and_then(|()| std::fs::write(path, content))
        .map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))
}

/// `built in`, or the path.
pub(super) fn shown(origin: &Origin) -> String {
    match origin {
        Origin::BuiltIn => "built in".to_owned(),
        Origin::File(path) => path.display().to_string(),
    }
}
