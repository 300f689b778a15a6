//! Lenient JSON parser for replies that are almost JSON. It repairs syntax and never invents content: a reply with a missing or
//! truncated value is refused.
//!
//! Accepted: extra or missing commas, single or no quotes, unescaped quotes, line breaks and backslashes within strings,
//! comments, Python's `True`/`False`/`None`, and missing closing braces after a complete value.

use serde_json::{Map, Number, Value};

/// The repaired object; `None` if the text cannot be repaired.
pub(super) fn repaired(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.matches(['{', '[']).count() > MAX_NESTING {
        return None;
    }
    let mut reader = Reader {
        rest: text.strip_prefix('{')?,
    };
    let object = reader.object()?;
    reader.skip(" ");
    reader.rest.is_empty().then_some(object)
}

/// Bounds the recursion, as each brace or bracket may be one level.
const MAX_NESTING: usize = 256;

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// Reads an object after its brace. A closing bracket of an outer list, or the end of the text after a complete property,
    /// closes it too.
    fn object(&mut self) -> Option<Value> {
        let mut fields = Map::new();
        loop {
            self.skip(" ,");
            match self.rest.chars().next() {
                None if fields.is_empty() => return None,
                None | Some(']') => break,
                Some('}') => {
                    self.rest = &self.rest[1..];
                    break;
                }
                Some(_) => {
                    let name = self.name()?;
                    self.skip(" ");
                    self.rest = self.rest.strip_prefix(':')?;
                    self.skip(" ");
                    fields.insert(name, self.value()?);
                }
            }
        }
        Some(Value::Object(fields))
    }

    /// Reads a list after its bracket.
    fn list(&mut self) -> Option<Value> {
        let mut items = Vec::new();
        loop {
            self.skip(" ,");
            match self.rest.chars().next() {
                None if items.is_empty() => return None,
                None | Some('}') => break,
                Some(']') => {
                    self.rest = &self.rest[1..];
                    break;
                }
                Some(_) => items.push(self.value()?),
            }
        }
        Some(Value::Array(items))
    }

    fn name(&mut self) -> Option<String> {
        if let Some(quote @ ('"' | '\'')) = self.rest.chars().next() {
            return self.text(quote);
        }
        let name = self.bare();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then(|| name.to_owned())
    }

    fn value(&mut self) -> Option<Value> {
        let first = self.rest.chars().next()?;
        match first {
            '{' => {
                self.rest = &self.rest[1..];
                self.object()
            }
            '[' => {
                self.rest = &self.rest[1..];
                self.list()
            }
            '"' | '\'' => self.text(first).map(Value::String),
            _ => match self.bare() {
                "true" | "True" => Some(Value::Bool(true)),
                "false" | "False" => Some(Value::Bool(false)),
                "null" | "None" => Some(Value::Null),
                // A number at the very end may be truncated.
                number if !self.rest.is_empty() => number.parse::<Number>().ok().map(Value::Number),
                _ => None,
            },
        }
    }

    /// An unquoted word or number.
    fn bare(&mut self) -> &'t str {
        let ends = |c: char| c.is_whitespace() || "{}[],:\"'/#".contains(c);
        let length = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word
    }

    /// A quoted string. A quote that cannot be the end of a string belongs to its content.
    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.chars();
        characters.next();
        while let Some(c) = characters.next() {
            let after = characters.as_str();
            if c == quote && may_follow_text(after) {
                self.rest = after;
                return Some(text);
            }
            match escaped(after).filter(|_| c == '\\') {
                Some((decoded, length)) => {
                    text.push(decoded);
                    characters = after[length..].chars();
                }
                // A backslash that escapes nothing is content, as in `\alpha` or `C:\data`.
                None => text.push(c),
            }
        }
        None
    }

    /// Skips whitespace, comments and the characters in `over`.
    fn skip(&mut self, over: &str) {
        loop {
            let passes = |c: char| c.is_whitespace() || over.contains(c);
            self.rest = self.rest.trim_start_matches(passes);
            let after = if let Some(comment) = self.rest.strip_prefix("/*") {
                comment.split_once("*/").map(|(_, after)| after)
            } else if self.rest.starts_with("//") || self.rest.starts_with('#') {
                Some(self.rest.split_once('\n').map_or("", |(_, after)| after))
            } else {
                None
            };
            match after {
                Some(after) => self.rest = after,
                None => return,
            }
        }
    }
}

/// Whether a string may end before `rest`: at a closing brace or separator, a comment, or the next string if a comma is missing.
fn may_follow_text(rest: &str) -> bool {
    let rest = rest.trim_start();
    match rest.chars().next() {
        None | Some(',' | ':' | '}' | ']' | '"' | '\'' | '#') => true,
        Some('/') => rest.starts_with("//") || rest.starts_with("/*"),
        Some(_) => false,
    }
}

/// The character escaped after a backslash and its length in bytes; `None` if it is not a valid escape.
fn escaped(after: &str) -> Option<(char, usize)> {
    let decoded = match after.chars().next()? {
        c @ ('"' | '\'' | '\\' | '/') => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(after),
        _ => return None,
    };
    Some((decoded, 1))
}

/// `u00e9`, or a surrogate pair: `ud83d\ude00`.
fn unicode(after: &str) -> Option<(char, usize)> {
    let unit = |text: &str| {
        let digits = text.strip_prefix('u')?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(after)?;
    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((c, 5));
    }
    let second = unit(after.get(5..)?.strip_prefix('\\')?)?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    Some((c, 11))
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
