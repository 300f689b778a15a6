//! A configuration file found in the working folder that the user has not trusted: it may come with a repository of somebody
//! else. Of it only harmless sections count, on top of the user's own file, and its limits can only lower.

use std::path::{Path, PathBuf};

use roundtable_engine::data::DataKind;

use super::{Config, ConfigError, Environment, Fault, Limits, Origin, sections};

/// Sections that can neither send a key or a question anywhere, nor read or load a file, nor raise a limit. Every other section,
/// also one added later, is ignored.
pub(super) const HARMLESS: [&str; 6] = [
    "tiers",
    "limits",
    "dialectic",
    "debate",
    "learning",
    "convergence",
];

/// The user's own configuration with the harmless sections of the file.
pub(super) fn load(
    text: &str,
    path: &Path,
    users: Config,
    environment: &Environment,
) -> Result<Config, ConfigError> {
    let read = sections::read_harmless(text, path, environment, &users);
    let ignored = |sections: &[String]| {
        let mut ignored = sections.to_vec();
        ignored.extend(data_folders(path));
        ignored
    };
    match read {
        Ok((found, present, others)) => Ok(Config {
            ignored: ignored(&others),
            ..merged(users, found, &present)
        }),
        Err((mut faults, others)) => {
            if !others.is_empty() {
                faults.push(Fault {
                    line: faults.last().map_or(1, |last| last.line),
                    message: note(&others),
                });
            }
            Err(ConfigError::Faulty {
                path: path.to_path_buf(),
                faults,
            })
        }
    }
}

/// The ignored sections, and how to change that.
pub(super) fn note(ignored: &[String]) -> String {
    format!(
        "not trusted, so {} is ignored. If you trust this file: roundtable config trust",
        ignored.join(", ")
    )
}

/// Folders with data files next to the file.
fn data_folders(path: &Path) -> impl Iterator<Item = String> {
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let names = DataKind::ALL.into_iter().map(DataKind::folder);
    names
        .filter(move |name| folder.join(name).is_dir())
        .map(|name| format!("{name}/"))
}

/// `found` where its section is in `present`, the user's own elsewhere.
fn merged(users: Config, found: Config, present: &[String]) -> Config {
    let has = |section: &str| present.iter().any(|name| name == section);
    let limits = lowered(&users.limits, &found.limits);
    let settings = users.settings.iter().map(|own| {
        let section = own.key.split('.').next().unwrap_or_default();
        let other = found.settings.iter().find(|other| other.key == own.key);
        let replaces = |other: &&super::Setting| match section {
            "limits" => matches!(other.origin, Origin::File { .. }) && is_lowered(own, other),
            section => has(section),
        };
        other.filter(replaces).unwrap_or(own).clone()
    });
    let mut merged = Config {
        source: found.source,
        is_from_working_dir: true,
        is_trusted: false,
        settings: settings.collect(),
        limits,
        ..users
    };
    macro_rules! replace {
        ($($section:ident),+) => {
            $(if has(stringify!($section)) {
                merged.$section = found.$section;
            })+
        };
    }
    replace!(tiers, dialectic, debate, learning, convergence);
    merged
}

fn lowered(own: &Limits, other: &Limits) -> Limits {
    fn lower<T: PartialOrd + Copy>(own: Option<T>, other: Option<T>) -> Option<T> {
        match (own, other) {
            (Some(own), Some(other)) if other < own => Some(other),
            (Some(own), _) => Some(own),
            (None, other) => other,
        }
    }
    Limits {
        call_timeout: own.call_timeout.min(other.call_timeout),
        idle_timeout: own.idle_timeout.min(other.idle_timeout),
        max_question_tokens: own.max_question_tokens.min(other.max_question_tokens),
        max_tokens_total: lower(own.max_tokens_total, other.max_tokens_total),
        max_cost: lower(own.max_cost, other.max_cost),
        timeout: lower(own.timeout, other.timeout),
        allow_secrets: own.allow_secrets,
    }
}

/// Whether the other value of a limit is the one that holds.
fn is_lowered(own: &super::Setting, other: &super::Setting) -> bool {
    let number = |setting: &super::Setting| setting.value.as_ref()?.parse::<f64>().ok();
    match (number(own), number(other)) {
        (Some(own), Some(other)) => other < own,
        (own, other) => own.is_none() && other.is_some(),
    }
}

#[cfg(test)]
#[path = "untrusted_tests.rs"]
mod tests;
