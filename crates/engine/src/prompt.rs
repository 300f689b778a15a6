//! Prompt templates: Jinja files with three parts; an undefined variable is an error.
//!
//! A prompt file has the parts `=== system`, `=== shared` and `=== own`, each on its own line. `shared` is the common prefix of
//! the calls of a round or debate, for prompt caches; `own` is specific to this call (C-13). Text of a model reaches another
//! model only through the filter `quoted` (C-12).

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, Serde};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;

use crate::data::{Data, DataError, DataKind};

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub system: String,
    pub shared: String,
    pub own: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("cannot render prompt '{name}': {message}")]
    Unrenderable { name: String, message: String },
}

/// Template context with the syntax of `json!`, but without converting long histories to JSON values.
macro_rules! given {
    ({ $($key:literal: $value:expr),* $(,)? }) => {
        ::minijinja::Value::from_pairs([
            $(($key, ::minijinja::Value::from(::minijinja::value::Serde(&$value)))),*
        ])
    };
}
pub(crate) use given;

/// The loaded prompt templates: the built-in ones and the user's, which take precedence. Loaded once and shared by all
/// debates; rendering is deterministic.
pub struct Prompts {
    environment: Environment<'static>,
}

impl Prompts {
    /// Loads and compiles all templates.
    ///
    /// # Errors
    /// [`PromptError::Data`] with file and line if a template cannot be read or compiled.
    pub fn load(data: &Data) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build();
        environment.set_syntax(syntax.map_err(|error| PromptError::Unrenderable {
            name: "all prompts".into(),
            message: error.to_string(),
        })?);
        environment.add_filter("quoted", quoted);
        for (name, text) in data.all(DataKind::Prompts)? {
            for (part, first_line, source) in parts(&text.content) {
                let part_name = match part {
                    Some(part) => format!("{name}#{part}"),
                    None => name.clone(),
                };
                let added = environment.add_template_owned(part_name, source);
                added.map_err(|error| {
                    let line = first_line + error.line().unwrap_or(1);
                    text.broken(line, error.to_string())
                })?;
            }
        }
        Ok(Self { environment })
    }

    /// Renders `NAME.md`, a file without parts.
    ///
    /// # Errors
    /// [`PromptError::Unrenderable`] if the template is missing or uses an undefined variable.
    pub fn render_plain(&self, name: &str, context: impl Serialize) -> Result<String, PromptError> {
        let file = format!("{name}.md");
        self.render_template(&file, &Value::from(Serde(context)), &file)
    }

    /// Renders the three parts of `NAME.md`.
    ///
    /// # Errors
    /// See [`Prompts::render_plain`].
    pub fn render(&self, name: &str, context: &Value) -> Result<Prompt, PromptError> {
        let part = |part: &str| {
            let title = format!("{name}.md, part '=== {part}'");
            self.render_template(&format!("{name}.md#{part}"), context, &title)
        };
        Ok(Prompt {
            system: part("system")?,
            shared: part("shared")?,
            own: part("own")?,
        })
    }

    fn render_template(
        &self,
        id: &str,
        context: &Value,
        title: &str,
    ) -> Result<String, PromptError> {
        let template = self.environment.get_template(id);
        match template.and_then(|template| template.render(context)) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => Err(PromptError::Unrenderable {
                name: title.to_owned(),
                message: format!("{error:#}"),
            }),
        }
    }
}

/// Splits a prompt file into its parts, each with the number of lines before it. A file without parts is one piece, to be included.
///
/// The split happens before rendering, so no question and no reply can add a part.
fn parts(content: &str) -> Vec<(Option<String>, usize, String)> {
    let mut parts = vec![(None, 0, String::new())];
    for (number, line) in content.lines().enumerate() {
        if let Some(part) = line.strip_prefix("=== ") {
            parts.push((Some(part.trim().to_owned()), number + 1, String::new()));
        } else if let Some((_, _, source)) = parts.last_mut() {
            source.push_str(line);
            source.push('\n');
        }
    }
    if parts.len() > 1 {
        parts.remove(0);
    }
    parts
}

/// Wraps untrusted text in a `<quote>` block that it cannot close: such tags inside are escaped.
///
/// `{{ text | quoted("the skeptic, round ", round) }}`: the attribution may have several pieces. Concatenating them in the template
/// would cost more than the rest of the filter.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature is the template engine's"
)]
fn quoted(text: Cow<'_, str>, by: Rest<Value>) -> Result<Value, minijinja::Error> {
    if by.is_empty() {
        return Err(ErrorKind::MissingArgument.into());
    }
    if by.iter().any(Value::is_undefined) {
        return Err(ErrorKind::UndefinedError.into());
    }
    Ok(Value::from(block(&text, by.as_slice())))
}

/// See [`quoted`].
pub fn quote(text: &str, by: &str) -> String {
    block(text, &[by])
}

fn block(text: &str, by: &[impl Display]) -> String {
    // Room for the tags and the attribution, to avoid a reallocation.
    const OVERHEAD: usize = 100;
    let mut block = String::with_capacity(text.len() + OVERHEAD);
    block.push_str("<quote by=\"");
    for piece in by {
        // Writing to a `String` cannot fail.
        let _ = write!(Attribute(&mut block), "{piece}");
    }
    block.push_str("\">\n");
    push_escaped(&mut block, text.trim());
    block.push_str("\n</quote>");
    block
}

/// Writes into an attribute of a tag; characters that could end it are replaced.
struct Attribute<'a>(&'a mut String);

impl Write for Attribute<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (number, piece) in text.split(['"', '<', '>', '\n']).enumerate() {
            if number > 0 {
                self.0.push('\'');
            }
            self.0.push_str(piece);
        }
        Ok(())
    }
}

fn push_escaped(safe: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        safe.push_str(before);
        let name: String = tag
            .chars()
            .filter(|c| !c.is_whitespace() && !c.is_control())
            .take("</quote".len())
            .collect::<String>()
            .to_lowercase();
        let closes = name.starts_with("</quote") || name.starts_with("<quote");
        safe.push_str(if closes { "&lt;" } else { "<" });
        rest = &tag[1..];
    }
    safe.push_str(rest);
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
