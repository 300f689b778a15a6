//! Prompts are data: templates with three parts, rendered strictly.
//!
//! A prompt file has the parts `=== system`, `=== shared` and `=== own`, each on a line of its own. `shared` is what other
//! calls of the same round or debate begin with too, so that caches hit; `own` is this call's (C-13). Whatever a model
//! said reaches another model only through the filter `quoted` (C-12).

use std::borrow::Cow;
use std::fmt::{self, Display, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, Serde};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde::Serialize;

use crate::data::{Data, DataError, Shelf};

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
    #[error("prompt '{name}' cannot be rendered: {message}")]
    Unrenderable { name: String, message: String },
}

/// What a template is filled with, written like JSON but without taking the way through it: long histories are most of
/// what a debate has to handle.
macro_rules! given {
    ({ $($key:literal: $value:expr),* $(,)? }) => {
        ::minijinja::Value::from_pairs([
            $(($key, ::minijinja::Value::from(::minijinja::value::Serde(&$value)))),*
        ])
    };
}
pub(crate) use given;

pub struct Prompts {
    environment: Environment<'static>,
}

impl Prompts {
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
        for (name, text) in data.all(Shelf::Prompts)? {
            let broken = |line, message| DataError::Broken {
                file: text.file(),
                line,
                message,
            };
            for (part, first_line, source) in parts(&text.content) {
                let part_name = match part {
                    Some(part) => format!("{name}#{part}"),
                    None => name.clone(),
                };
                environment
                    .add_template_owned(part_name, source)
                    .map_err(|error| {
                        broken(first_line + error.line().unwrap_or(1), error.to_string())
                    })?;
            }
        }
        Ok(Self { environment })
    }

    /// Renders a file without parts.
    pub fn render_plain(&self, name: &str, context: impl Serialize) -> Result<String, PromptError> {
        self.environment
            .get_template(&format!("{name}.md"))
            .and_then(|template| template.render(Value::from(Serde(context))))
            .map(|text| text.trim().to_owned())
            .map_err(|error| PromptError::Unrenderable {
                name: format!("{name}.md"),
                message: format!("{error:#}"),
            })
    }

    /// Renders the three parts of `NAME.md` with the given context.
    pub fn render(&self, name: &str, context: &Value) -> Result<Prompt, PromptError> {
        let part = |part: &str| {
            self.environment
                .get_template(&format!("{name}.md#{part}"))
                .and_then(|template| template.render(context))
                .map(|text| text.trim().to_owned())
                .map_err(|error| PromptError::Unrenderable {
                    name: format!("{name}.md, part '=== {part}'"),
                    message: format!("{error:#}"),
                })
        };
        Ok(Prompt {
            system: part("system")?,
            shared: part("shared")?,
            own: part("own")?,
        })
    }
}

/// The parts of a prompt file with the number of lines before each. A file without parts is one piece, to be included.
///
/// Parts are told apart before anything is filled in, so no question and no reply can add one.
fn parts(content: &str) -> Vec<(Option<String>, usize, String)> {
    let mut found = vec![(None, 0, String::new())];
    for (number, line) in content.lines().enumerate() {
        if let Some(part) = line.strip_prefix("=== ") {
            found.push((Some(part.trim().to_owned()), number + 1, String::new()));
        } else if let Some((_, _, source)) = found.last_mut() {
            source.push_str(line);
            source.push('\n');
        }
    }
    if found.len() > 1 {
        found.remove(0);
    }
    found
}

/// Puts words of a model into a block that they cannot close: any tag of the block inside is made harmless.
///
/// `{{ text | quoted("the skeptic, round ", round) }}`: who said it may be put together from several pieces. They are written in
/// their place at once; joined by the template engine first, they would take longer than all the rest of a quote.
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
    // More than who says it takes, so that the block seldom has to be moved.
    const AROUND: usize = 100;
    let mut block = String::with_capacity(text.len() + AROUND);
    block.push_str("<quote by=\"");
    for piece in by {
        // Writing to a string cannot fail.
        let _ = write!(Attribute(&mut block), "{piece}");
    }
    block.push_str("\">\n");
    push_harmless(&mut block, text.trim());
    block.push_str("\n</quote>");
    block
}

/// What stands between the quotation marks of a tag and cannot end it.
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

fn push_harmless(safe: &mut String, text: &str) {
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
