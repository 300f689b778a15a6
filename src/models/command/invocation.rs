//! From a request to the arguments, environment, files and standard input of a program.

use std::path::{Path, PathBuf};

use roundtable_engine::model::{Request, Speaker};

use super::super::schema;
use super::super::wire::{Adjustment, Adjustments};
use crate::config::{Argument, CommandSpec, PromptVia, SchemaDialect};

/// The model name for which the program chooses its own model.
const DEFAULT_MODEL: &str = "default";

/// A program with everything it gets. Arguments and environment may contain [`FOLDER`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Invocation {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub environment: Vec<(String, String)>,
    pub stdin: String,
    /// By name and content.
    pub files: Vec<(String, String)>,
}

/// Stands for the folder of the files, which is known when the program is started. It has a NUL byte, so no prompt contains it
/// and no program could receive it.
const FOLDER: &str = "\0files";

const PROMPT_FILE: &str = "prompt.txt";
const SYSTEM_FILE: &str = "system.txt";
const SCHEMA_FILE: &str = "schema.json";

impl Invocation {
    /// Fails if the name of the model is invalid.
    pub(super) fn new(
        spec: &CommandSpec,
        program: PathBuf,
        request: &Request,
    ) -> Result<Self, String> {
        let values = Values::new(spec, request)?;
        let mut args = Vec::new();
        for argument in &spec.args {
            let parts = argument.parts().iter();
            let parts: Option<Vec<String>> = parts.map(|part| values.fill(part)).collect();
            match (parts, argument) {
                (Some(parts), _) => args.extend(parts),
                (None, Argument::Group(_)) => {}
                (None, Argument::Always(part)) if part.contains("{model}") => {
                    return Err("this program has no default model: name one".to_owned());
                }
                (None, Argument::Always(_)) => args.push(String::new()),
            }
        }
        let passed = spec.environment.iter();
        let mut environment: Vec<(String, String)> = passed
            .map(|(name, value)| (name.clone(), value.expose().to_owned()))
            .chain(PLAIN_OUTPUT.map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect();
        for (name, value) in &spec.set_environment {
            if let Some(value) = values.fill(value) {
                environment.push((name.clone(), value));
            }
        }
        Ok(Self {
            program,
            args,
            environment,
            stdin: match spec.prompt {
                PromptVia::Stdin => values.prompt.clone(),
                PromptVia::Argument | PromptVia::File => String::new(),
            },
            files: values.files(spec),
        })
    }

    /// Arguments and environment with the folder of the files.
    pub(super) fn place_files(&mut self, folder: &Path) {
        let folder = folder.to_string_lossy();
        let texts = self.environment.iter_mut().map(|(_, value)| value);
        for text in self.args.iter_mut().chain(texts) {
            if text.contains(FOLDER) {
                *text = text.replace(FOLDER, &folder);
            }
        }
    }
}

/// Without colours and cursor movements.
const PLAIN_OUTPUT: [(&str, &str); 2] = [("NO_COLOR", "1"), ("TERM", "dumb")];

/// Whether the program gets the schema in a flag, not in words.
pub(super) fn takes_schema(spec: &CommandSpec) -> bool {
    mentions(spec, "{schema}") || mentions(spec, "{schema_file}")
}

fn mentions(spec: &CommandSpec, placeholder: &str) -> bool {
    let args = spec.args.iter().flat_map(Argument::parts);
    let values = spec.set_environment.iter().map(|(_, value)| value);
    args.chain(values).any(|text| text.contains(placeholder))
}

/// The values of the placeholders.
struct Values {
    model: Option<String>,
    system: Option<String>,
    schema: Option<String>,
    prompt: String,
}

impl Values {
    fn new(spec: &CommandSpec, request: &Request) -> Result<Self, String> {
        if !is_plain(&request.model) {
            return Err(
                "a model of a program is named with letters, digits and . _ : / @ + -".to_owned(),
            );
        }
        let (own, words) = (Adjustments::default(), Adjustment::SecondSchemaMode);
        let schema_mode = if takes_schema(spec) {
            own
        } else {
            own.with(words)
        };
        let system = schema_mode.system(words, request);
        let takes_system = mentions(spec, "{system}") || mentions(spec, "{system_file}");
        let mut prompt = String::new();
        if !takes_system && !system.is_empty() {
            prompt.push_str(&system);
            prompt.push_str("\n\n");
        }
        prompt.push_str(&conversation(request));
        // A program would take it for an option.
        if spec.prompt == PromptVia::Argument && prompt.starts_with('-') {
            prompt.insert(0, '\n');
        }
        Ok(Self {
            model: Some(request.model.clone()).filter(|model| model != DEFAULT_MODEL),
            system: Some(system.into_owned()).filter(|system| takes_system && !system.is_empty()),
            schema: request
                .schema
                .as_ref()
                .map(|schema| match spec.schema_dialect {
                    None => schema.json.text().to_owned(),
                    Some(dialect) => translated(dialect, &schema.json),
                }),
            prompt,
        })
    }

    /// The text with its placeholders filled in; `None` if one of them has no value. Values are not searched again.
    fn fill(&self, text: &str) -> Option<String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, from) = rest.split_at(start);
            filled.push_str(before);
            let name = from.find('}').map(|end| &from[..=end]).unwrap_or_default();
            let file = |name: &str| format!("{FOLDER}/{name}");
            let value = match name {
                "{model}" => self.model.clone(),
                "{system}" => self.system.clone(),
                "{system_file}" => self.system.as_ref().map(|_| file(SYSTEM_FILE)),
                "{schema}" => self.schema.clone(),
                "{schema_file}" => self.schema.as_ref().map(|_| file(SCHEMA_FILE)),
                "{prompt}" => Some(self.prompt.clone()),
                "{prompt_file}" => Some(file(PROMPT_FILE)),
                "{files}" => Some(FOLDER.to_owned()),
                // Not a placeholder, such as the brace of a JSON text.
                _ => {
                    filled.push('{');
                    rest = &from[1..];
                    continue;
                }
            };
            filled.push_str(&value?);
            rest = &from[name.len()..];
        }
        filled.push_str(rest);
        Some(filled)
    }

    fn files(&self, spec: &CommandSpec) -> Vec<(String, String)> {
        let mut files = spec.files.clone();
        let mut add = |placeholder, name: &str, content: Option<&String>| {
            if let Some(content) = content.filter(|_| mentions(spec, placeholder)) {
                files.push((name.to_owned(), content.clone()));
            }
        };
        add("{prompt_file}", PROMPT_FILE, Some(&self.prompt));
        add("{system_file}", SYSTEM_FILE, self.system.as_ref());
        add("{schema_file}", SCHEMA_FILE, self.schema.as_ref());
        files
    }
}

/// A client of a server may name any model, and a name like `--flag` would be read as an option.
fn is_plain(model: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+-".contains(c);
    !model.starts_with('-') && !model.is_empty() && model.chars().all(plain)
}

fn translated(dialect: SchemaDialect, schema: &serde_json::Value) -> String {
    let dialect = match dialect {
        SchemaDialect::OpenAi => schema::OPENAI_STRICT,
        SchemaDialect::Anthropic => schema::ANTHROPIC,
        SchemaDialect::Gemini => schema::GEMINI,
    };
    dialect.translate(schema).to_string()
}

/// The messages as one text.
fn conversation(request: &Request) -> String {
    let messages = request.messages.iter().filter(|one| !one.text.is_empty());
    let texts = messages.map(|message| match message.speaker {
        Speaker::User => message.text.clone(),
        Speaker::Assistant => format!(
            "[Your earlier reply]\n{}\n[End of your earlier reply]",
            message.text
        ),
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
#[path = "invocation_tests.rs"]
mod tests;
