//! `constitution.yaml` in the working folder: what holds for every debate of a project. Of it only `debate_policy` is read
//! here, alone or within `constitution`; a project may keep more in it.

use std::collections::BTreeMap;
use std::io;

use roundtable_engine::protocols::modes::enhanced::DebatePolicy;
use serde::Deserialize;
use serde_json::Value;

use super::{ConfigError, Environment, Fault};

const FILE_NAME: &str = "constitution.yaml";

#[derive(Deserialize)]
struct File {
    constitution: Option<Inner>,
    debate_policy: Option<DebatePolicy>,
    #[serde(flatten)]
    _rest: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Inner {
    debate_policy: Option<DebatePolicy>,
    #[serde(flatten)]
    _rest: BTreeMap<String, Value>,
}

/// `None` if there is no such file, or no policy in it.
pub(super) fn read(environment: &Environment) -> Result<Option<DebatePolicy>, ConfigError> {
    let path = environment.working_dir.join(FILE_NAME);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ConfigError::Unreadable { path, source }),
    };
    parse(&text).map_err(|(line, message)| ConfigError::Faulty {
        path,
        faults: vec![Fault { line, message }],
    })
}

fn parse(text: &str) -> Result<Option<DebatePolicy>, (usize, String)> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let file: File = serde_saphyr::from_str(text).map_err(|error| {
            let line = error
                .location()
                .and_then(|at| usize::try_from(at.line()).ok())
                .unwrap_or(1);
            let message = error.without_snippet().to_string();
            let first = without_place(message.lines().next().unwrap_or_default());
            let hint = "debate_policy has require_evidence, track_convergence and enable_learning, each true or false";
            (line, format!("{first}; {hint}"))
        })?;
    let inner = file.constitution.and_then(|inner| inner.debate_policy);
    Ok(file.debate_policy.or(inner))
}

/// The message without file and line, which precede it.
fn without_place(message: &str) -> &str {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let Some(rest) = message.strip_prefix("line ") else {
        return message.split(" at line ").next().unwrap_or(message);
    };
    rest.split_once(": ").map_or(message, |(_, text)| text)
}

#[cfg(test)]
#[path = "constitution_tests.rs"]
mod tests;
