//! `roundtable mcp install`: adds this server to the configuration of an MCP client, and removes it again. Everything else in the
//! file stays as it is.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item, Table};

use crate::config::{Edit, Environment};
use crate::failure::Failure;

/// The name of the entry.
const NAME: &str = "roundtable";
/// For clients that wait as long as a server reports progress, or whose timeout the entry sets.
const LONG_WAIT_SECONDS: u64 = 240;
/// The timeout of a call in such an entry; longer than the wait.
const CALL_TIMEOUT_SECONDS: u64 = 300;

/// A program that starts MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum McpClient {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Codex,
    Vscode,
    Gemini,
    Opencode,
}

/// The change to the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Change {
    Install,
    Uninstall,
}

impl McpClient {
    pub(in crate::cli) const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Codex => "Codex",
            Self::Vscode => "VS Code",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "OpenCode",
        }
    }

    /// The user's configuration file of the client.
    pub(in crate::cli) fn file(self, environment: &Environment) -> Option<PathBuf> {
        let folders = environment.folders.as_ref()?;
        let home = &folders.home;
        let config = folders.config.parent()?;
        let applications = if cfg!(target_os = "macos") {
            home.join("Library/Application Support")
        } else {
            config.to_path_buf()
        };
        Some(match self {
            Self::ClaudeCode => {
                let folder = environment.path("CLAUDE_CONFIG_DIR");
                folder.unwrap_or_else(|| home.clone()).join(".claude.json")
            }
            Self::ClaudeDesktop => applications.join("Claude/claude_desktop_config.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Codex => {
                let folder = environment.path("CODEX_HOME");
                folder
                    .unwrap_or_else(|| home.join(".codex"))
                    .join("config.toml")
            }
            Self::Vscode => applications.join("Code/User/mcp.json"),
            Self::Gemini => home.join(".gemini/settings.json"),
            Self::Opencode => config.join("opencode/opencode.json"),
        })
    }

    /// The section of the file that has the servers.
    const fn section(self) -> &'static str {
        match self {
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::Gemini => "mcpServers",
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
            Self::Opencode => "mcp",
        }
    }

    /// The keys of the entry. Others that are in it already are kept.
    fn entry(self, program: &Path) -> Map<String, Value> {
        let program = program.display().to_string();
        let wait = LONG_WAIT_SECONDS.to_string();
        let patient = json!(["mcp", "--wait", wait]);
        let entry = match self {
            // Progress resets their timeout.
            Self::ClaudeCode => json!({ "type": "stdio", "command": program, "args": patient }),
            Self::ClaudeDesktop | Self::Cursor => json!({ "command": program, "args": ["mcp"] }),
            Self::Codex => json!({
                "command": program, "args": patient, "tool_timeout_sec": CALL_TIMEOUT_SECONDS,
            }),
            Self::Vscode => json!({ "type": "stdio", "command": program, "args": ["mcp"] }),
            Self::Gemini => json!({
                "command": program, "args": patient, "timeout": CALL_TIMEOUT_SECONDS * 1000,
            }),
            Self::Opencode => {
                json!({ "type": "local", "command": [program, "mcp"], "enabled": true })
            }
        };
        entry.as_object().cloned().unwrap_or_default()
    }

    /// The change of the client's file, not yet written.
    pub(in crate::cli) fn prepare(
        self,
        file: &Path,
        program: &Path,
        change: Change,
    ) -> Result<Edit, Failure> {
        let edit = Edit::rewriting(file, |before| match self {
            Self::Codex => self.changed_toml(before, program, change),
            _ => self.changed_json(before, program, change),
        })?;
        edit.map_err(|why| {
            let mut section = Map::new();
            section.insert(NAME.to_owned(), Value::Object(self.entry(program)));
            let snippet = json!({ self.section(): section });
            Failure::usage(format!(
                "cannot edit {}: {why}. Change the entry '{NAME}' yourself: {snippet}",
                file.display()
            ))
        })
    }

    fn changed_json(self, before: &str, program: &Path, change: Change) -> Result<String, String> {
        let text = if before.trim().is_empty() {
            "{}"
        } else {
            before
        };
        let mut document: Value = serde_json::from_str(text).map_err(|error| {
            format!("it is not plain JSON, perhaps because of comments ({error})")
        })?;
        let indent = indent_of(&document, before);
        let object = "it is not a JSON object";
        let root = document.as_object_mut().ok_or(object)?;
        let section = root.entry(self.section()).or_insert_with(|| json!({}));
        let servers = section.as_object_mut().ok_or(object)?;
        match change {
            Change::Install => {
                let entry = servers.entry(NAME).or_insert_with(|| json!({}));
                let entry = entry.as_object_mut().ok_or(object)?;
                entry.extend(self.entry(program));
            }
            Change::Uninstall => {
                let removed = servers.shift_remove(NAME).is_some();
                let is_empty = servers.is_empty();
                if !removed {
                    return Ok(before.to_owned());
                }
                if is_empty {
                    root.shift_remove(self.section());
                }
            }
        }
        let text = pretty(&document, indent);
        let ends_with_line = before.is_empty() || before.ends_with('\n');
        Ok(if ends_with_line { text + "\n" } else { text })
    }

    fn changed_toml(self, before: &str, program: &Path, change: Change) -> Result<String, String> {
        let mut document: DocumentMut = before
            .parse()
            .map_err(|error: toml_edit::TomlError| format!("invalid TOML: {}", error.message()))?;
        let mut outer = Table::new();
        outer.set_implicit(true);
        if change == Change::Install {
            let section = document.entry(self.section()).or_insert(Item::Table(outer));
            let servers = section.as_table_mut().ok_or("mcp_servers is not a table")?;
            let entry = servers.entry(NAME).or_insert(Item::Table(Table::new()));
            let entry = entry
                .as_table_like_mut()
                .ok_or("the entry is not a table")?;
            for (key, value) in self.entry(program) {
                entry.insert(&key, Item::Value(toml_value(&value)));
            }
        } else if let Some(servers) = document
            .get_mut(self.section())
            .and_then(Item::as_table_like_mut)
        {
            servers.remove(NAME);
            if servers.is_empty() {
                document.remove(self.section());
            }
        }
        Ok(document.to_string())
    }
}

fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Array(items) => {
            let items = items.iter().map(toml_value);
            toml_edit::Value::Array(items.collect())
        }
        other => other.as_str().unwrap_or_default().into(),
    }
}

const INDENTS: [&str; 3] = ["  ", "    ", "\t"];

/// The indentation with which the file was written, so that the rest of it stays as it is.
fn indent_of(document: &Value, text: &str) -> &'static str {
    let mut indents = INDENTS.into_iter();
    let used = indents.find(|indent| pretty(document, indent) == text.trim_end());
    used.unwrap_or(INDENTS[0])
}

fn pretty(document: &Value, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
    // Writing a JSON value to memory does not fail.
    let _ = document.serialize(&mut serializer);
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
