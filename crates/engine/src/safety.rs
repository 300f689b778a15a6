//! Safety tier 1 (M-09): a pattern monitor over all model output, always on.
//!
//! Withheld text never leaves its step: not to other seats, not to listeners, not into the journal, which records only that
//! something was withheld, where and why. The monitor matches patterns, not meaning; later tiers cover the rest.

use std::fmt::Write;
use std::sync::{LazyLock, Once, OnceLock};

use regex::{Regex, RegexSet, RegexSetBuilder, SetMatches, bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A text that was withheld.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Withheld {
    pub rule: String,
    pub why: String,
    /// The field of the reply, as a JSON pointer.
    pub at: String,
}

/// Why a debate gets the second safety tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", content = "what")]
pub enum Alarm {
    Mode(String),
    Topic(String),
    Intent(String),
    Context(String),
}

impl Alarm {
    pub fn reason(&self) -> String {
        match self {
            Self::Mode(name) => format!("the mode {name} speaks of attacks and failures"),
            Self::Topic(name) => format!("the question is about {name}"),
            Self::Intent(name) => format!("something points to an intent to do harm ({name})"),
            Self::Context(name) => format!("it may concern {name}"),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    withhold: Vec<PatternPair>,
    topic: Vec<Pattern>,
    intent: Vec<Pattern>,
    vulnerable: Vec<Pattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternPair {
    name: String,
    why: String,
    begin: String,
    then: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pattern {
    name: String,
    pattern: String,
}

struct Rule {
    name: String,
    why: String,
    begin: LazyRegex,
    then: LazyRegex,
}

/// A regex compiled on first use. Most debates need none, and compiling all of them would delay the first token.
#[derive(Debug)]
struct LazyRegex {
    pattern: String,
    compiled: OnceLock<Regex>,
}

impl From<String> for LazyRegex {
    fn from(pattern: String) -> Self {
        Self {
            pattern,
            compiled: OnceLock::new(),
        }
    }
}

impl LazyRegex {
    #[expect(
        clippy::expect_used,
        reason = "the rules are built in and a test compiles each; nothing may run without them"
    )]
    fn regex(&self) -> &Regex {
        self.compiled
            .get_or_init(|| Regex::new(&self.pattern).expect("a valid built-in safety rule"))
    }
}

struct Monitor {
    /// All `begin` patterns in one set: most texts match none and are done.
    begins: RegexSet,
    rules: Vec<Rule>,
    topics: NamedPatterns,
    intents: NamedPatterns,
    vulnerable: NamedPatterns,
}

/// Named patterns that are matched as one set.
struct NamedPatterns {
    names: Vec<String>,
    patterns: bytes::RegexSet,
}

impl NamedPatterns {
    fn compile(all: Vec<Pattern>) -> Result<Self, String> {
        let (names, patterns): (Vec<_>, Vec<_>) =
            all.into_iter().map(|p| (p.name, p.pattern)).unzip();
        let patterns = bytes::RegexSetBuilder::new(patterns).unicode(false).build();
        Ok(Self {
            names,
            patterns: patterns.map_err(|error| error.to_string())?,
        })
    }

    fn matches<'a>(&'a self, text: &str) -> impl Iterator<Item = &'a str> {
        let matches = self.patterns.matches(text.as_bytes());
        matches
            .into_iter()
            .filter_map(|index| self.names.get(index).map(String::as_str))
    }
}

/// In how many bytes after `begin` a match of `then` counts.
const SPAN: usize = 240;
/// The longest match of a `begin` pattern, in bytes.
const LOOKBACK: usize = 64;

#[expect(
    clippy::expect_used,
    reason = "the rules are built in and a test parses them; nothing may run without them"
)]
static MONITOR: LazyLock<Monitor> = LazyLock::new(|| {
    Monitor::parse(include_str!("safety.toml")).expect("valid built-in safety rules")
});

static READY: Once = Once::new();

/// Whether the rules are loaded.
pub fn is_ready() -> bool {
    READY.is_completed()
}

/// Loads the rules, which takes some milliseconds, so that the first reply does not have to wait for it.
pub fn prepare() {
    READY.call_once(|| {
        LazyLock::force(&MONITOR);
    });
}

impl Monitor {
    fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let begins = file.withhold.iter().map(|rule| rule.begin.as_str());
        // The rules are English; without Unicode tables the set compiles much faster.
        let begins = RegexSetBuilder::new(begins).unicode(false).build();
        Ok(Self {
            begins: begins.map_err(|error| error.to_string())?,
            topics: NamedPatterns::compile(file.topic)?,
            intents: NamedPatterns::compile(file.intent)?,
            vulnerable: NamedPatterns::compile(file.vulnerable)?,
            rules: file
                .withhold
                .into_iter()
                .map(|rule| Rule {
                    begin: rule.begin.into(),
                    then: rule.then.into(),
                    name: rule.name,
                    why: rule.why,
                })
                .collect(),
        })
    }

    /// The rules whose `begin` matches. `is_match` comes first because it is faster and usually false.
    fn matching_begins(&self, text: &str) -> Option<SetMatches> {
        let any = self.begins.is_match(text);
        any.then(|| self.begins.matches(text))
    }

    fn violated(&self, text: &str) -> Option<&Rule> {
        let matches = self.matching_begins(text)?;
        let mut rules = matches
            .into_iter()
            .filter_map(|index| self.rules.get(index));
        rules.find(|rule| {
            rule.begin
                .regex()
                .find_iter(text)
                .any(|found| rule.then.regex().is_match(after(text, found.end())))
        })
    }
}

/// The text within the span after `from`.
fn after(text: &str, from: usize) -> &str {
    let rest = &text[from..];
    &rest[..rest.floor_char_boundary(SPAN)]
}

/// Replaces every string of a reply that violates a rule, and returns which ones.
pub fn withhold(reply: &mut Value) -> Vec<Withheld> {
    let mut withheld = Vec::new();
    walk(reply, &mut String::new(), &mut withheld);
    withheld
}

fn walk(value: &mut Value, at: &mut String, withheld: &mut Vec<Withheld>) {
    let length = at.len();
    match value {
        Value::String(text) => {
            if let Some(rule) = MONITOR.violated(text) {
                *text = note(rule);
                withheld.push(Withheld {
                    rule: rule.name.clone(),
                    why: rule.why.clone(),
                    at: at.clone(),
                });
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let _ = write!(at, "/{index}");
                walk(item, at, withheld);
                at.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                at.push('/');
                at.push_str(name);
                walk(field, at, withheld);
                at.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn note(rule: &Rule) -> String {
    format!("[withheld: {}]", rule.why)
}

/// Like [`withhold`] for a text that is not a valid reply. It also looks behind JSON escapes.
pub fn withhold_text(text: &str) -> String {
    let rule = MONITOR
        .violated(text)
        .or_else(|| MONITOR.violated(&unescaped(text)));
    rule.map_or_else(|| text.to_owned(), note)
}

/// Decodes `\u0041`; other escapes become a space.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let code = tail.strip_prefix('u').and_then(|hex| hex.get(..4));
        let decoded = code
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .and_then(char::from_u32);
        if let Some(decoded) = decoded {
            plain.push(decoded);
            rest = &tail[5..];
        } else {
            // A line break or a quote separates words like a space.
            plain.push(' ');
            let skipped = tail.chars().next().map_or(0, char::len_utf8);
            rest = &tail[skipped..];
        }
    }
    plain.push_str(rest);
    plain
}

/// How much of a streamed text may be announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// This many bytes; the rest is undecided.
    UpTo(usize),
    /// The text violates a rule.
    Nothing,
}

/// `released` bytes of `text` have been announced already.
pub fn release(text: &str, released: usize) -> Release {
    // Part of a `begin` match may have been released before it matched.
    let from = text.floor_char_boundary(released.saturating_sub(LOOKBACK));
    let Some(fresh) = text.get(from..) else {
        return Release::UpTo(released);
    };
    let matches = MONITOR.matching_begins(fresh);
    if matches.is_some() && MONITOR.violated(fresh).is_some() {
        return Release::Nothing;
    }
    let begins = matches
        .into_iter()
        .flatten()
        .filter_map(|index| MONITOR.rules.get(index))
        .flat_map(|rule| {
            let found = rule.begin.regex().find_iter(fresh);
            found.map(|m| (m.start(), m.end()))
        });
    // A `begin` match is undecided until its span and a whole match of `then` would have been seen.
    let undecided = begins.filter(|(_, end)| fresh.len() < end + 2 * SPAN);
    let first = undecided.map(|(start, _)| from + start).min();
    // So is an incomplete word.
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let whole = text.trim_end_matches(is_word).len();
    Release::UpTo(first.map_or(whole, |start| start.min(whole)).max(released))
}

/// The reasons in a question for the second safety tier.
pub fn alarms(question: &str) -> Vec<Alarm> {
    let monitor = &*MONITOR;
    let named = |patterns: &NamedPatterns, alarm: fn(String) -> Alarm| -> Vec<Alarm> {
        let names = patterns.matches(question);
        names.map(|name| alarm(name.to_owned())).collect()
    };
    [
        named(&monitor.topics, Alarm::Topic),
        named(&monitor.intents, Alarm::Intent),
        named(&monitor.vulnerable, Alarm::Context),
    ]
    .concat()
}

#[cfg(test)]
#[path = "safety_tests.rs"]
mod tests;
