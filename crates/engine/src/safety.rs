//! The first tier of safety (M-09): a light monitor over everything a model says, always on.
//!
//! What it withholds never leaves the step in which it was said: not to another seat, not to a listener, not into the
//! journal. The journal says that something was withheld, where and why. It knows patterns, not meaning: the later tiers
//! are for what it cannot see.

use std::fmt::Write;
use std::sync::{LazyLock, Once, OnceLock};

use regex::{Regex, RegexSet, RegexSetBuilder, SetMatches, bytes};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that was said and is not passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    pub rule: String,
    pub why: String,
    /// The field of the reply, as a JSON pointer.
    pub at: String,
}

/// Why a debate is looked at more closely (the second tier).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    begin: Late,
    then: Late,
}

/// A pattern that is compiled when it is first needed: nearly all debates need none of them, and compiling all would hold
/// up the first words of each.
#[derive(Debug)]
struct Late {
    pattern: String,
    compiled: OnceLock<Regex>,
}

impl From<String> for Late {
    fn from(pattern: String) -> Self {
        Self {
            pattern,
            compiled: OnceLock::new(),
        }
    }
}

impl Late {
    #[expect(
        clippy::expect_used,
        reason = "the rules are part of the program and a test compiles each; without them nothing may run"
    )]
    fn regex(&self) -> &Regex {
        self.compiled
            .get_or_init(|| Regex::new(&self.pattern).expect("a built-in rule of safety"))
    }
}

struct Monitor {
    /// All beginnings at once: nearly every text is done with after this.
    begins: RegexSet,
    rules: Vec<Rule>,
    topics: Named,
    intents: Named,
    vulnerable: Named,
}

/// Patterns that are only asked whether they match, all at once.
struct Named {
    names: Vec<String>,
    patterns: bytes::RegexSet,
}

impl Named {
    fn read(all: Vec<Pattern>) -> Result<Self, String> {
        let (names, patterns): (Vec<_>, Vec<_>) =
            all.into_iter().map(|it| (it.name, it.pattern)).unzip();
        let patterns = bytes::RegexSetBuilder::new(patterns).unicode(false).build();
        Ok(Self {
            names,
            patterns: patterns.map_err(|error| error.to_string())?,
        })
    }

    fn found<'a>(&'a self, text: &str) -> impl Iterator<Item = &'a str> {
        let found = self.patterns.matches(text.as_bytes());
        found
            .into_iter()
            .filter_map(|index| self.names.get(index).map(String::as_str))
    }
}

/// How far `then` may begin after `begin`.
const SPAN: usize = 240;
/// The longest beginning.
const LOOKBACK: usize = 64;

#[expect(
    clippy::expect_used,
    reason = "the rules are part of the program and a test reads them; without them nothing may run"
)]
static MONITOR: LazyLock<Monitor> = LazyLock::new(|| {
    Monitor::read(include_str!("safety.toml")).expect("the built-in rules of safety")
});

static READY: Once = Once::new();

/// Whether the rules have been read.
pub fn is_ready() -> bool {
    READY.is_completed()
}

/// Reads the rules, which takes some milliseconds: better while a model is waited for than when it has answered.
pub fn prepare() {
    READY.call_once(|| {
        LazyLock::force(&MONITOR);
    });
}

impl Monitor {
    fn read(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let begins = file.withhold.iter().map(|it| it.begin.as_str());
        // The rules are written for English: without the tables of Unicode the set is ready at once.
        let begins = RegexSetBuilder::new(begins).unicode(false).build();
        Ok(Self {
            begins: begins.map_err(|error| error.to_string())?,
            topics: Named::read(file.topic)?,
            intents: Named::read(file.intent)?,
            vulnerable: Named::read(file.vulnerable)?,
            rules: file
                .withhold
                .into_iter()
                .map(|it| Rule {
                    begin: it.begin.into(),
                    then: it.then.into(),
                    name: it.name,
                    why: it.why,
                })
                .collect(),
        })
    }

    /// Which rules begin in a text. Nearly always none does, and that is told sooner than which.
    fn begun(&self, text: &str) -> Option<SetMatches> {
        let any = self.begins.is_match(text);
        any.then(|| self.begins.matches(text))
    }

    fn broken(&self, text: &str) -> Option<&Rule> {
        let begun = self.begun(text)?;
        let mut rules = begun.into_iter().filter_map(|index| self.rules.get(index));
        rules.find(|rule| {
            rule.begin
                .regex()
                .find_iter(text)
                .any(|found| rule.then.regex().is_match(after(text, found.end())))
        })
    }
}

/// What follows within the span.
fn after(text: &str, from: usize) -> &str {
    let rest = &text[from..];
    &rest[..rest.floor_char_boundary(SPAN)]
}

/// Takes out of a reply every text that must not be passed on, and says which.
pub fn withhold(reply: &mut Value) -> Vec<Withheld> {
    let mut withheld = Vec::new();
    walk(reply, &mut String::new(), &mut withheld);
    withheld
}

fn walk(value: &mut Value, at: &mut String, withheld: &mut Vec<Withheld>) {
    let length = at.len();
    match value {
        Value::String(text) => {
            if let Some(rule) = MONITOR.broken(text) {
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

/// The same for a text that is no reply, such as one that could not be read. What is hidden in escapes is seen too.
pub fn withhold_text(text: &str) -> String {
    let broken = MONITOR
        .broken(text)
        .or_else(|| MONITOR.broken(&unescaped(text)));
    broken.map_or_else(|| text.to_owned(), note)
}

/// `\u0041` and `\n` as JSON would read them; everything else as it is.
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
            // A line break or a quotation mark is a gap like any other.
            plain.push(' ');
            let skipped = tail.chars().next().map_or(0, char::len_utf8);
            rest = &tail[skipped..];
        }
    }
    plain.push_str(rest);
    plain
}

/// How much of a text that is still growing may be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// So many bytes: what follows may turn out to be the beginning of something else.
    UpTo(usize),
    /// Something in it is withheld.
    Nothing,
}

/// `heard` bytes of `text` have been passed on already.
pub fn release(text: &str, heard: usize) -> Release {
    // A beginning may have been heard in part, before it was one.
    let from = text.floor_char_boundary(heard.saturating_sub(LOOKBACK));
    let Some(fresh) = text.get(from..) else {
        return Release::UpTo(heard);
    };
    let begun = MONITOR.begun(fresh);
    if begun.is_some() && MONITOR.broken(fresh).is_some() {
        return Release::Nothing;
    }
    let beginnings = begun
        .into_iter()
        .flatten()
        .filter_map(|index| MONITOR.rules.get(index))
        .flat_map(|rule| {
            let found = rule.begin.regex().find_iter(fresh);
            found.map(|it| (it.start(), it.end()))
        });
    // A beginning stays undecided until its whole span, and room for what `then` may match, has been seen.
    let undecided = beginnings.filter(|(_, end)| fresh.len() < end + 2 * SPAN);
    let first = undecided.map(|(start, _)| from + start).min();
    // So does a word that is still being written.
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let whole = text.trim_end_matches(is_word).len();
    Release::UpTo(first.map_or(whole, |start| start.min(whole)).max(heard))
}

/// What about a question makes it worth looking at more closely.
pub fn alarms(question: &str) -> Vec<Alarm> {
    let monitor = &*MONITOR;
    let named = |patterns: &Named, alarm: fn(String) -> Alarm| -> Vec<Alarm> {
        let found = patterns.found(question);
        found.map(|name| alarm(name.to_owned())).collect()
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
