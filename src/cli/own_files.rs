//! Data files: listings of the built-in ones and the user's, checks, and files that commands create in the configuration folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::data::{Data, DataError, DataKind, Origin, Text};
use roundtable_engine::protocol::{AnyProtocol, Context};
use serde_json::{Value, json};

use super::output;
use crate::app_context::AppContext;
use crate::clock;
use crate::failure::{Code, Failure};

/// A line of a listing.
pub(super) struct Listed {
    /// Padded, if the summaries are to be aligned.
    pub(super) name: String,
    pub(super) summary: String,
    /// The same for programs, without the origin.
    pub(super) json: Value,
}

/// Prints all files of a kind that `read` can read, then the errors of the others.
pub(super) fn list(
    app: &AppContext,
    kind: DataKind,
    as_json: bool,
    read: impl Fn(&Text) -> Result<Listed, DataError>,
) -> Result<ExitCode, Failure> {
    let all = app.data.all(kind)?.into_values();
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for text in all {
        match read(&text) {
            Ok(listed) => rows.push((listed, shown(&text.origin))),
            Err(error) => broken.push(error),
        }
    }
    if as_json {
        let rows = rows.into_iter().map(|(Listed { mut json, .. }, origin)| {
            json["origin"] = json!(origin);
            json
        });
        output::json(&rows.collect::<Vec<_>>())?;
    } else {
        for (Listed { name, summary, .. }, origin) in rows {
            let name = output::painted(output::BOLD, &name);
            output::line(&format!("{name}  {summary} ({origin})"));
        }
    }
    for error in &broken {
        output::error(&error.to_string());
    }
    Ok(if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        Code::Other.into()
    })
}

/// What `check` finds wrong with the user's files of a kind.
pub(super) fn problems<T>(
    app: &AppContext,
    kind: DataKind,
    check: impl Fn(&Text) -> Result<T, DataError>,
) -> Result<Vec<DataError>, DataError> {
    let all = app.data.all(kind)?;
    let own = all.values().filter(|text| text.origin != Origin::BuiltIn);
    Ok(own.filter_map(|text| check(text).err()).collect())
}

/// The context in which a protocol checks a request that is not played.
pub(super) fn context<'a>(app: &'a AppContext, protocol: &dyn AnyProtocol) -> Context<'a> {
    Context {
        now: clock::now(),
        settings: app.config.settings_of(protocol.name(), &app.environment),
        ..Context::new(&app.data, app.config.limits.max_question_tokens)
    }
}

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
