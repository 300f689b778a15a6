//! Changes settings of a file and preserves the rest, including comments.

use std::io::Write;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Key, Table, TableLike, Value};

use super::document::line_of;
use super::{Config, ConfigError, Environment, Fault};

/// Sets `key`, such as `tiers.fast`, to `value`. If that makes the file invalid, nothing is written.
pub(crate) fn set(
    path: &Path,
    key: &str,
    value: &str,
    environment: &Environment,
) -> Result<(), ConfigError> {
    Edit::prepare(path, &[(key, value)], environment)?.write()
}

/// A valid change of a file that has not been written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    path: PathBuf,
    /// `None` if the file does not exist.
    before: Option<String>,
    after: String,
}

impl Edit {
    /// # Errors
    /// If the changed file would be invalid.
    pub(crate) fn prepare(
        path: &Path,
        settings: &[(&str, &str)],
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let before = read(path)?;
        let mut after = before.clone().unwrap_or_default();
        for (key, value) in settings {
            after = with_setting(&after, path, key, value, environment)?;
        }
        Ok(Self {
            path: path.to_path_buf(),
            before,
            after,
        })
    }

    /// A change of a file of another program. An error of `change` is returned as it is.
    pub(crate) fn rewriting<E>(
        path: &Path,
        change: impl FnOnce(&str) -> Result<String, E>,
    ) -> Result<Result<Self, E>, ConfigError> {
        let before = read(path)?;
        Ok(
            change(before.as_deref().unwrap_or_default()).map(|after| Self {
                path: path.to_path_buf(),
                // A file that does not exist, and needs no change, is not created.
                before: before.or_else(|| after.is_empty().then(String::new)),
                after,
            }),
        )
    }

    /// Puts a comment at the beginning of a new file.
    pub(crate) fn with_heading(mut self, heading: &str) -> Self {
        if self.is_new() {
            self.after = format!("{heading}\n{}", self.after);
        }
        self
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_new(&self) -> bool {
        self.before.is_none()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.before.as_deref() == Some(&self.after)
    }

    /// The lines that it removes, and those that it adds in their place.
    pub(crate) fn difference(&self) -> (Vec<&str>, Vec<&str>) {
        let mut before: Vec<&str> = self.before.as_deref().unwrap_or_default().lines().collect();
        let mut after: Vec<&str> = self.after.lines().collect();
        let is_same = |(one, other): &(&&str, &&str)| one == other;
        let start = before.iter().zip(&after).take_while(is_same).count();
        before.drain(..start);
        after.drain(..start);
        let (old, new) = (before.iter().rev(), after.iter().rev());
        let end = old.zip(new).take_while(is_same).count();
        before.truncate(before.len() - end);
        after.truncate(after.len() - end);
        (before, after)
    }

    /// # Errors
    /// If the file cannot be written, or was changed after [`Self::prepare`].
    pub(crate) fn write(&self) -> Result<(), ConfigError> {
        let unwritable = |source| ConfigError::Unwritable {
            path: self.path.clone(),
            source,
        };
        if read(&self.path)? != self.before {
            let changed = std::io::Error::other("it has changed in the meantime. Try again");
            return Err(unwritable(changed));
        }
        write(&self.path, &self.after).map_err(unwritable)
    }
}

/// Adds the section of a command provider with this preset.
pub(crate) fn add_preset(
    path: &Path,
    preset: &str,
    environment: &Environment,
) -> Result<(), ConfigError> {
    let mut text = read(path)?.unwrap_or_default();
    // Both before the file is checked: without the other, neither is valid.
    for (key, value) in [("kind", "command"), ("preset", preset)] {
        let keys = [Key::new("providers"), Key::new(preset), Key::new(key)];
        text = edited(&text, &keys, Value::from(value), path)?;
    }
    write_valid(path, &text, environment)
}

/// Removes the section that [`add_preset`] added, if it has no other keys. Returns whether there was one.
pub(crate) fn remove_preset(
    path: &Path,
    preset: &str,
    environment: &Environment,
) -> Result<bool, ConfigError> {
    let text = read(path)?.unwrap_or_default();
    let mut document = parsed(&text, path)?;
    let providers = document.get_mut("providers");
    let Some(providers) = providers.and_then(Item::as_table_like_mut) else {
        return Ok(false);
    };
    let Some(section) = providers.get(preset).and_then(Item::as_table_like) else {
        return Ok(false);
    };
    let is_own = |(key, _): &(&str, &Item)| !["kind", "preset"].contains(key);
    let own = section.iter().find(is_own).map(|(key, _)| key.to_owned());
    if let Some(key) = own {
        return Err(ConfigError::OwnSettings {
            path: path.to_path_buf(),
            section: format!("providers.{preset}"),
            key,
        });
    }
    providers.remove(preset);
    write_valid(path, &document.to_string(), environment)?;
    Ok(true)
}

fn write_valid(path: &Path, text: &str, environment: &Environment) -> Result<(), ConfigError> {
    Config::parse(text, Some(path), environment)?;
    write(path, text).map_err(|source| ConfigError::Unwritable {
        path: path.to_path_buf(),
        source,
    })
}

/// `None` if the file does not exist.
fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable {
            path: path.to_path_buf(),
            source,
        }),
    }
}

fn with_setting(
    text: &str,
    path: &Path,
    key: &str,
    value: &str,
    environment: &Environment,
) -> Result<String, ConfigError> {
    let no_such_setting = || ConfigError::NoSuchSetting {
        key: key.to_owned(),
    };
    let keys = Key::parse(key)
        .ok()
        .filter(|keys| keys.len() >= 2)
        .ok_or_else(no_such_setting)?;
    let mut first_error = None;
    for value in interpretations(value) {
        let edited = edited(text, &keys, value, path)?;
        match Config::parse(&edited, Some(path), environment) {
            Ok(_) => return Ok(edited),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or_else(no_such_setting))
}

/// `8` may be a number and `true` a truth value or, if text is expected, text.
fn interpretations(value: &str) -> Vec<Value> {
    let plain = value
        .parse::<i64>()
        .map(Value::from)
        .or_else(|_| value.parse::<f64>().map(Value::from))
        .or_else(|_| value.parse::<bool>().map(Value::from));
    plain.into_iter().chain([Value::from(value)]).collect()
}

fn edited(text: &str, keys: &[Key], value: Value, path: &Path) -> Result<String, ConfigError> {
    let faulty = |line, message| ConfigError::Faulty {
        path: path.to_path_buf(),
        faults: vec![Fault { line, message }],
    };
    let mut document = parsed(text, path)?;
    let Some((last, sections)) = keys.split_last() else {
        return Ok(text.to_owned());
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, section) in sections.iter().enumerate() {
        table = table
            .entry(section.get())
            .or_insert_with(|| {
                let mut new = Table::new();
                // `providers` alone gets no heading, because `[providers.lab]` implies it.
                new.set_implicit(depth + 1 < sections.len());
                Item::Table(new)
            })
            .as_table_like_mut()
            .ok_or_else(|| faulty(1, format!("{} is not a section", section.get())))?;
    }
    match table.get_mut(last.get()).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(last.get(), Item::Value(value));
        }
    }
    Ok(document.to_string())
}

fn parsed(text: &str, path: &Path) -> Result<DocumentMut, ConfigError> {
    text.parse::<DocumentMut>()
        .map_err(|error| ConfigError::Faulty {
            path: path.to_path_buf(),
            faults: vec![Fault {
                line: line_of(text, error.span()),
                message: format!("invalid TOML: {}", error.message()),
            }],
        })
}

/// Atomic: a full disk leaves the old file.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    // Replaces the target of a symbolic link, not the link.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(existing) = std::fs::metadata(&path) {
        file.as_file().set_permissions(existing.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
