//! Prompt templates: Jinja files with three parts; an undefined variable is an error.
//!
//! A prompt file has the parts `=== system`, `=== shared` and `=== own`, each on its own line. `shared` is the common prefix of
//! the calls of a round or debate, for prompt caches; `own` is specific to this call (C-13). Text of a model reaches another
//! model only through the filter `quoted` (C-12). The parts `=== example` and `=== reply` are optional: an exchange that is sent
//! before the question, as if it had taken place.
//!
//! `NAME-small.md` replaces `NAME.md` for small models. Small models repeat what they are told, so it shows an example instead
//! of explaining the fields of the reply.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Display, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, Serde};
use minijinja::{AutoEscape, Environment, ErrorKind, State, UndefinedBehavior, Value};
use roundtable_core::characters::{is_invisible, plain_name};
use serde::Serialize;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::data::{Data, DataError, DataKind, Origin, Text, closest};
use crate::model::Ability;

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub system: String,
    pub example: Option<Example>,
    pub shared: String,
    pub own: String,
}

/// A question of the prompt's kind and a reply to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    pub asked: String,
    pub replied: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error(transparent)]
    Data(#[from] DataError),
    /// `name` is the file with the line, if known.
    #[error("cannot render prompt {name}: {message}")]
    Unrenderable { name: String, message: String },
}

/// The name of the tag around quotes, drawn for each debate: a text that was written before it cannot name the tag (C-12).
///
/// It follows from seed and question, so a replay renders the same prompts. It is short, because every quote has it twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteTag(String);

impl QuoteTag {
    /// The variable of every prompt that has the tag.
    pub const VARIABLE: &str = "quote_tag";
    const LETTERS: usize = 4;

    pub fn of(seed: u64, question: &str) -> Self {
        let digest = Sha256::digest(format!("{seed}/{question}"));
        let letters = digest.iter().take(Self::LETTERS);
        let letters: String = letters.map(|byte| char::from(b'a' + byte % 26)).collect();
        Self(format!("{NAME}-{letters}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// See [`quoted`].
    pub fn quote(&self, text: &str, by: &str) -> String {
        block(&self.0, text, &[by])
    }

    /// The text without its quotes.
    pub fn outside(&self, text: &str) -> String {
        let (open, close) = (format!("<{} ", self.0), format!("</{}>", self.0));
        let mut pieces = text.split(open.as_str());
        let first = pieces.next().unwrap_or_default();
        let rest = pieces.filter_map(|piece| Some(piece.split_once(close.as_str())?.1));
        std::iter::once(first).chain(rest).collect()
    }
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
    /// The file of each template and the number of lines before it, for error messages.
    places: BTreeMap<String, (String, usize)>,
}

/// The parts of a prompt.
const PARTS: [&str; 3] = ["system", "shared", "own"];
/// The parts of an example: both or none.
const EXAMPLE: [&str; 2] = ["example", "reply"];
/// The end of the name of a prompt for small models.
const SMALL: &str = "-small";

impl Prompts {
    /// Loads and compiles all templates.
    ///
    /// # Errors
    /// [`PromptError::Data`] with file and line if a template cannot be read or compiled, lacks a part of the built-in prompt
    /// that it replaces, or uses a variable that no built-in prompt of its folder has.
    pub fn load(data: &Data) -> Result<Self, PromptError> {
        let mut prompts = Self {
            environment: environment()?,
            places: BTreeMap::new(),
        };
        let is_own = |text: &Text| text.origin != Origin::BuiltIn;
        let mut all = data.all(DataKind::Prompts)?;
        // A user's prompt is for all models, unless there is a user's prompt for small ones too.
        let own = all.iter().filter(|(_, text)| is_own(text));
        let own: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
        all.retain(|name, text| {
            is_own(text) || plain(name).is_none_or(|plain| !own.contains(&plain))
        });
        for (name, text) in &all {
            prompts.add(name, text)?;
        }
        if all.values().any(is_own) {
            let built_in = Self::load(&Data::built_in())?;
            for (name, text) in all.iter().filter(|(_, text)| is_own(text)) {
                check_parts(&built_in, name, text)?;
                prompts.check_variables(&built_in, name, text)?;
            }
        }
        Ok(prompts)
    }

    fn add(&mut self, name: &str, text: &Text) -> Result<(), DataError> {
        for (part, first_line, source) in parts(&text.content) {
            let template = template_name(name, part.as_deref());
            let place = (text.file(), first_line);
            self.places.insert(template.clone(), place);
            self.environment
                .add_template_owned(template, source)
                .map_err(|error| {
                    let line = first_line + error.line().unwrap_or(1);
                    text.broken(line, plain_message(&error))
                })?;
        }
        Ok(())
    }

    /// All variables of the prompts in a folder.
    fn variables(&self, folder: &str) -> BTreeSet<String> {
        let templates = self.environment.templates();
        let in_folder = templates.filter(|(name, _)| name.split('/').next() == Some(folder));
        in_folder
            .flat_map(|(_, template)| template.undeclared_variables(false))
            .collect()
    }

    fn check_variables(&self, built_in: &Self, name: &str, text: &Text) -> Result<(), DataError> {
        let folder = name.split('/').next().unwrap_or_default();
        let mut known = built_in.variables(folder);
        if known.is_empty() {
            return Ok(());
        }
        known.extend(built_in.variables("common"));
        known.extend(["seat", "small", "person", QuoteTag::VARIABLE].map(str::to_owned));
        known.extend(self.environment.globals().map(|(name, _)| name.to_owned()));
        for (part, first_line, source) in parts(&text.content) {
            let template = template_name(name, part.as_deref());
            let used = self.environment.get_template(&template);
            let used =
                used.map_or_else(|_| HashSet::new(), |used| used.undeclared_variables(false));
            let Some(unknown) = used.iter().filter(|used| !known.contains(*used)).min() else {
                continue;
            };
            let names = known.iter().map(String::as_str);
            let hint = match closest(unknown, names.clone()) {
                Some(close) => format!("did you mean '{close}'?"),
                None => format!("known: {}", names.collect::<Vec<_>>().join(", ")),
            };
            let line = source.lines().position(|line| line.contains(unknown));
            let line = first_line + 1 + line.unwrap_or(0);
            return Err(text.broken(line, format!("unknown variable '{unknown}'; {hint}")));
        }
        Ok(())
    }

    fn unrenderable(&self, template: &str, error: &minijinja::Error) -> PromptError {
        let place = self.places.get(error.name().unwrap_or(template));
        let name = match place {
            Some((file, before)) => format!("{file}:{}", before + error.line().unwrap_or(1)),
            None => template.to_owned(),
        };
        PromptError::Unrenderable {
            name,
            message: plain_message(error),
        }
    }

    /// Renders `NAME.md`, a file without parts.
    ///
    /// # Errors
    /// [`PromptError::Unrenderable`] if the template is missing or uses an undefined variable.
    pub fn render_plain(&self, name: &str, context: impl Serialize) -> Result<String, PromptError> {
        self.render_template(&format!("{name}.md"), &Value::from(Serde(context)))
    }

    /// Like [`Prompts::render`], for a call outside a debate.
    ///
    /// # Errors
    /// See [`Prompts::render_plain`].
    pub fn render_outside(
        &self,
        name: &str,
        ability: Ability,
        context: impl Serialize,
    ) -> Result<Prompt, PromptError> {
        self.render(name, ability, &Value::from(Serde(context)))
    }

    /// Renders the parts of `NAME.md`, or of `NAME-small.md` for a small model if there is one.
    ///
    /// # Errors
    /// See [`Prompts::render_plain`].
    pub fn render(
        &self,
        name: &str,
        ability: Ability,
        context: &Value,
    ) -> Result<Prompt, PromptError> {
        let small = format!("{name}{SMALL}.md");
        let file = match ability {
            Ability::Small if self.has_part(&small, PARTS[0]) => small,
            Ability::Small | Ability::Full => format!("{name}.md"),
        };
        let part = |part| self.render_template(&template_name(&file, Some(part)), context);
        let example = if EXAMPLE.iter().all(|part| self.has_part(&file, part)) {
            let [asked, replied] = EXAMPLE.map(part);
            Some(Example {
                asked: asked?,
                replied: replied?,
            })
        } else {
            None
        };
        Ok(Prompt {
            system: part("system")?,
            example,
            shared: part("shared")?,
            own: part("own")?,
        })
    }

    fn has_part(&self, file: &str, part: &str) -> bool {
        self.places.contains_key(&template_name(file, Some(part)))
    }

    fn render_template(&self, id: &str, context: &Value) -> Result<String, PromptError> {
        let template = self.environment.get_template(id);
        match template.and_then(|template| template.render(context)) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => Err(self.unrenderable(id, &error)),
        }
    }
}

fn environment() -> Result<Environment<'static>, PromptError> {
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
    environment.add_filter("named", named);
    Ok(environment)
}

/// `dialectic/mark.md` of `dialectic/mark-small.md`.
fn plain(file: &str) -> Option<String> {
    let name = file.strip_suffix(".md")?.strip_suffix(SMALL)?;
    Some(format!("{name}.md"))
}

fn template_name(prompt: &str, part: Option<&str>) -> String {
    match part {
        Some(part) => format!("{prompt}#{part}"),
        None => prompt.to_owned(),
    }
}

/// Without the name of the template: messages have the file and the line.
fn plain_message(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    }
}

/// A prompt has the parts of the built-in prompt that it replaces, and no others.
fn check_parts(built_in: &Prompts, name: &str, text: &Text) -> Result<(), DataError> {
    const EXPECTED: &str =
        "expected the lines '=== system', '=== shared' and '=== own', each followed by its text";
    let found = parts(&text.content);
    for (part, line, _) in &found {
        let is_known = |part: &&str| PARTS.contains(part) || EXAMPLE.contains(part);
        if let Some(part) = part.as_deref().filter(|part| !is_known(part)) {
            return Err(text.broken(*line, format!("unknown part '=== {part}': {EXPECTED}")));
        }
    }
    let has_parts = found.iter().any(|(part, ..)| part.is_some());
    if built_in.places.contains_key(name) && has_parts {
        let message = "unexpected parts: other prompts include this file as a whole";
        return Err(text.broken(1, message.to_owned()));
    }
    let is_prompt = built_in.has_part(name, PARTS[0])
        || plain(name).is_some_and(|plain| built_in.has_part(&plain, PARTS[0]));
    let is_there = |part: &&str| {
        let mut found = found.iter();
        found.any(|(found, ..)| found.as_deref() == Some(part))
    };
    if EXAMPLE.iter().filter(|part| is_there(part)).count() == 1 {
        let message = "an example has the parts '=== example' and '=== reply'";
        return Err(text.broken(1, message.to_owned()));
    }
    match PARTS.iter().find(|part| !is_there(part)) {
        Some(part) if is_prompt => {
            Err(text.broken(1, format!("missing part '=== {part}': {EXPECTED}")))
        }
        Some(_) | None => Ok(()),
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

/// A name from outside, such as that of a file, on one line and in quotation marks.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature is the template engine's"
)]
fn named(name: Cow<'_, str>) -> String {
    in_marks(&name)
}

/// See [`named`].
pub fn in_marks(name: &str) -> String {
    format!("\"{}\"", plain_name(name))
}

/// Wraps untrusted text in a block with the debate's tag that it cannot close: all tags like it inside are escaped.
///
/// `{{ text | quoted("the skeptic, round ", round) }}`: the attribution may have several pieces. Concatenating them in the template
/// would cost more than the rest of the filter.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature is the template engine's"
)]
fn quoted(
    state: &State<'_, '_>,
    text: Cow<'_, str>,
    by: Rest<Value>,
) -> Result<Value, minijinja::Error> {
    if by.is_empty() {
        return Err(ErrorKind::MissingArgument.into());
    }
    if by.iter().any(Value::is_undefined) {
        return Err(ErrorKind::UndefinedError.into());
    }
    let tag = state.lookup(QuoteTag::VARIABLE);
    let tag = tag.as_ref().and_then(Value::as_str);
    let tag = tag.ok_or(ErrorKind::UndefinedError)?;
    Ok(Value::from(block(tag, &text, by.as_slice())))
}

fn block(tag: &str, text: &str, by: &[impl Display]) -> String {
    // Room for the tags and the attribution, to avoid a reallocation.
    const OVERHEAD: usize = 100;
    let mut block = String::with_capacity(text.len() + OVERHEAD);
    // Writing to a `String` cannot fail.
    let _ = write!(block, "<{tag} by=\"");
    for piece in by {
        let _ = write!(Attribute(&mut block), "{piece}");
    }
    block.push_str("\">\n");
    push_escaped(&mut block, text.trim());
    let _ = write!(block, "\n</{tag}>");
    block
}

/// Writes into an attribute of a tag; characters that could end it are replaced.
struct Attribute<'a>(&'a mut String);

impl Write for Attribute<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let ends_tag = |c: char| {
            matches!(c, '"' | '<' | '>' | '\u{2028}' | '\u{2029}')
                || OPENING.contains(&c)
                || c.is_control()
        };
        for (number, piece) in text.split(ends_tag).enumerate() {
            if number > 0 {
                self.0.push('\'');
            }
            self.0.push_str(piece);
        }
        Ok(())
    }
}

/// Characters that read as `<`.
const OPENING: [char; 3] = ['<', '\u{ff1c}', '\u{fe64}'];

/// The prefix of the name of every tag around a quote.
const NAME: &str = "quote";

fn push_escaped(safe: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(OPENING) {
        let (before, tag) = rest.split_at(at);
        safe.push_str(before);
        let mut after = tag.chars();
        if let Some(opening) = after.next() {
            if opens_or_closes_quote(after.clone()) {
                safe.push_str("&lt;");
            } else {
                safe.push(opening);
            }
        }
        rest = after.as_str();
    }
    safe.push_str(rest);
}

/// Whether a reader may take `<` and the text after it for a quote tag. A model reads over blanks, invisible characters and
/// accents, and takes full-width and mathematical letters for plain ones.
fn opens_or_closes_quote(after: impl Iterator<Item = char>) -> bool {
    let name: String = after
        .filter(|c| !c.is_whitespace() && !c.is_control())
        .filter(|c| !is_invisible(*c) && !is_combining_mark(*c))
        .take("/".len() + NAME.len())
        .nfkc()
        .flat_map(char::to_lowercase)
        .collect();
    // The fraction slash and other slashes have no compatibility form.
    let name = name.trim_start_matches(['/', '\u{2044}', '\u{2215}', '\u{29f8}']);
    name.starts_with(NAME)
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
