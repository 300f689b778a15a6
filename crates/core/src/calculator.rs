//! A calculator for seats (M-15): arithmetic on decimal numbers, total and bounded.
//!
//! Every text gives either a finite number or a [`CalculatorError`]; nothing panics, nothing takes longer than its text is
//! long. `%` behind a value that nothing follows is a percentage (`15%` is 0.15), between two values the remainder.

use serde::{Deserialize, Serialize};

/// The longest expression, in characters.
pub const MOST_CHARACTERS: usize = 500;
/// How deep parentheses, signs and powers may be nested.
pub const DEEPEST: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CalculatorError {
    #[error("there is nothing to calculate")]
    Empty,
    #[error("the expression has more than {MOST_CHARACTERS} characters")]
    TooLong,
    #[error("the expression is nested more than {DEEPEST} deep")]
    TooDeep,
    #[error("'{found}' at character {at} is not expected there")]
    Unexpected { found: String, at: usize },
    #[error("the expression ends too early")]
    EndsEarly,
    #[error(
        "there is no function '{name}'; there are sqrt, ln, exp, abs, min, max, round, and the constants pi and e"
    )]
    UnknownFunction { name: String },
    #[error("{name} takes {takes}, not {given}")]
    Arguments {
        name: String,
        takes: String,
        given: usize,
    },
    #[error("division by zero")]
    DivisionByZero,
    #[error("{what} is not defined")]
    Undefined { what: String },
    #[error("the result is too large to be written")]
    Overflow,
}

/// The value of an expression such as `(1200 - 340) * 15% / sqrt(16)`.
pub fn evaluate(expression: &str) -> Result<f64, CalculatorError> {
    if expression.chars().nth(MOST_CHARACTERS).is_some() {
        return Err(CalculatorError::TooLong);
    }
    let tokens = tokens(expression)?;
    if tokens.is_empty() {
        return Err(CalculatorError::Empty);
    }
    let mut reader = Reader {
        tokens: &tokens,
        next: 0,
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.tokens.get(reader.next) {
        None => Ok(value),
        Some(token) => Err(token.unexpected()),
    }
}

/// A result as people write it: without noise in the last places of binary fractions.
pub fn written(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-6..1e15).contains(&size) {
        return format!("{value:e}");
    }
    // Twelve digits that count; what binary fractions add stands behind them.
    let mut whole_digits = 1_usize;
    let mut bound = 10.0;
    while size >= bound {
        whole_digits += 1;
        bound *= 10.0;
    }
    let text = format!("{value:.*}", 12_usize.saturating_sub(whole_digits));
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Number(f64),
    Name(String),
    Mark(char),
}

#[derive(Debug, Clone, PartialEq)]
struct Token {
    kind: Kind,
    text: String,
    /// Counted from 1.
    at: usize,
}

impl Token {
    fn unexpected(&self) -> CalculatorError {
        CalculatorError::Unexpected {
            found: self.text.clone(),
            at: self.at,
        }
    }
}

fn tokens(expression: &str) -> Result<Vec<Token>, CalculatorError> {
    let letters: Vec<char> = expression.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let start = at;
        let kind = match letter {
            _ if letter.is_whitespace() => {
                at += 1;
                continue;
            }
            '0'..='9' | '.' => {
                at = end_of_number(&letters, at);
                let text: String = letters[start..at].iter().filter(|c| **c != '_').collect();
                let value: f64 = text.parse().map_err(|_| CalculatorError::Unexpected {
                    found: text.clone(),
                    at: start + 1,
                })?;
                Kind::Number(finite(value)?)
            }
            'a'..='z' | 'A'..='Z' => {
                while letters.get(at).is_some_and(char::is_ascii_alphanumeric) {
                    at += 1;
                }
                let name: String = letters[start..at].iter().collect();
                Kind::Name(name.to_ascii_lowercase())
            }
            '+' | '-' | '*' | '/' | '^' | '%' | '(' | ')' | ',' => {
                at += 1;
                Kind::Mark(letter)
            }
            // What people and models write for the same.
            '×' | '·' | '÷' | '−' | '–' => {
                at += 1;
                Kind::Mark(match letter {
                    '÷' => '/',
                    '−' | '–' => '-',
                    _ => '*',
                })
            }
            _ => {
                return Err(CalculatorError::Unexpected {
                    found: letter.to_string(),
                    at: at + 1,
                });
            }
        };
        tokens.push(Token {
            kind,
            text: letters[start..at].iter().collect(),
            at: start + 1,
        });
    }
    Ok(tokens)
}

/// Digits with `_` between them, a point, an exponent. A comma is no part of a number: it parts arguments.
fn end_of_number(letters: &[char], from: usize) -> usize {
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let mut at = from;
    while is_digit(at) || matches!(letters.get(at), Some('.' | '_')) {
        at += 1;
    }
    if matches!(letters.get(at), Some('e' | 'E')) {
        let signed = usize::from(matches!(letters.get(at + 1), Some('+' | '-')));
        if is_digit(at + 1 + signed) {
            at += 1 + signed;
            while is_digit(at) {
                at += 1;
            }
        }
    }
    at
}

struct Reader<'a> {
    tokens: &'a [Token],
    next: usize,
    depth: usize,
}

impl Reader<'_> {
    fn mark(&self) -> Option<char> {
        match &self.tokens.get(self.next)?.kind {
            Kind::Mark(mark) => Some(*mark),
            Kind::Number(_) | Kind::Name(_) => None,
        }
    }

    fn take(&mut self, mark: char) -> bool {
        let is_there = self.mark() == Some(mark);
        self.next += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, mark: char) -> Result<(), CalculatorError> {
        if self.take(mark) {
            return Ok(());
        }
        Err(self.unexpected())
    }

    fn unexpected(&self) -> CalculatorError {
        let token = self.tokens.get(self.next);
        token.map_or(CalculatorError::EndsEarly, Token::unexpected)
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CalculatorError>,
    ) -> Result<T, CalculatorError> {
        if self.depth >= DEEPEST {
            return Err(CalculatorError::TooDeep);
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn sum(&mut self) -> Result<f64, CalculatorError> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value = finite(value + self.product()?)?;
            } else if self.take('-') {
                value = finite(value - self.product()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, CalculatorError> {
        let mut value = self.signed()?;
        loop {
            if self.take('*') {
                value = finite(value * self.signed()?)?;
            } else if self.take('/') {
                let divisor = non_zero(self.signed()?)?;
                value = finite(value / divisor)?;
            } else if self.take('%') {
                let divisor = non_zero(self.signed()?)?;
                value = finite(value % divisor)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// A sign binds weaker than a power: `-2^2` is −4.
    fn signed(&mut self) -> Result<f64, CalculatorError> {
        if self.take('-') {
            return self.deeper(Self::signed).map(|value| -value);
        }
        if self.take('+') {
            return self.deeper(Self::signed);
        }
        self.power()
    }

    /// From the right: `2^3^2` is `2^9`.
    fn power(&mut self) -> Result<f64, CalculatorError> {
        let base = self.percentage()?;
        if !self.take('^') {
            return Ok(base);
        }
        let exponent = self.deeper(Self::signed)?;
        if base == 0.0 && exponent < 0.0 {
            return Err(CalculatorError::DivisionByZero);
        }
        defined(base.powf(exponent), || {
            format!("{}^{}", written(base), written(exponent))
        })
    }

    fn percentage(&mut self) -> Result<f64, CalculatorError> {
        let mut value = self.value()?;
        while self.mark() == Some('%') && !self.begins_value(self.next + 1) {
            self.next += 1;
            value /= 100.0;
        }
        Ok(value)
    }

    /// Whether what stands there can only be a value: a sign behind `%` adds to a percentage.
    fn begins_value(&self, at: usize) -> bool {
        match self.tokens.get(at).map(|token| &token.kind) {
            Some(Kind::Number(_) | Kind::Name(_)) => true,
            Some(Kind::Mark(mark)) => *mark == '(',
            None => false,
        }
    }

    fn value(&mut self) -> Result<f64, CalculatorError> {
        let Some(token) = self.tokens.get(self.next) else {
            return Err(CalculatorError::EndsEarly);
        };
        match &token.kind {
            Kind::Number(value) => {
                self.next += 1;
                Ok(*value)
            }
            Kind::Name(name) => {
                self.next += 1;
                self.named(name)
            }
            Kind::Mark('(') => {
                self.next += 1;
                let value = self.deeper(Self::sum)?;
                self.expect(')')?;
                Ok(value)
            }
            Kind::Mark(_) => Err(token.unexpected()),
        }
    }

    fn named(&mut self, name: &str) -> Result<f64, CalculatorError> {
        if self.mark() != Some('(') {
            return match name {
                "pi" => Ok(std::f64::consts::PI),
                "e" => Ok(std::f64::consts::E),
                _ => Err(CalculatorError::UnknownFunction {
                    name: name.to_owned(),
                }),
            };
        }
        self.next += 1;
        let mut given = Vec::new();
        if self.mark() != Some(')') {
            loop {
                given.push(self.deeper(Self::sum)?);
                if !self.take(',') {
                    break;
                }
            }
        }
        self.expect(')')?;
        applied(name, &given)
    }
}

fn applied(name: &str, given: &[f64]) -> Result<f64, CalculatorError> {
    let wrong = |takes: &str| CalculatorError::Arguments {
        name: name.to_owned(),
        takes: takes.to_owned(),
        given: given.len(),
    };
    let shown = |value: f64| format!("{name}({})", written(value));
    match (name, given) {
        ("sqrt", [value]) => defined(value.sqrt(), || shown(*value)),
        ("ln", [value]) if *value <= 0.0 => Err(CalculatorError::Undefined {
            what: shown(*value),
        }),
        ("ln", [value]) => Ok(value.ln()),
        ("exp", [value]) => finite(value.exp()),
        ("abs", [value]) => Ok(value.abs()),
        ("round", [value]) => Ok(value.round()),
        ("round", [value, places]) => rounded(*value, *places),
        ("min", [first, rest @ ..]) => Ok(rest.iter().copied().fold(*first, f64::min)),
        ("max", [first, rest @ ..]) => Ok(rest.iter().copied().fold(*first, f64::max)),
        ("sqrt" | "ln" | "exp" | "abs", _) => Err(wrong("one value")),
        ("round", _) => Err(wrong("a value and, if wished, a number of places")),
        ("min" | "max", _) => Err(wrong("one or more values")),
        _ => Err(CalculatorError::UnknownFunction {
            name: name.to_owned(),
        }),
    }
}

/// To so many places behind the point, from 0 to 12.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked before"
)]
fn rounded(value: f64, places: f64) -> Result<f64, CalculatorError> {
    if !(0.0..=12.0).contains(&places) || places.fract() != 0.0 {
        return Err(CalculatorError::Undefined {
            what: format!("round(…, {})", written(places)),
        });
    }
    let factor = 10_f64.powi(places as i32);
    let scaled = (value * factor).round() / factor;
    // A number so large that it has no places behind the point is round already.
    Ok(if scaled.is_finite() { scaled } else { value })
}

fn finite(value: f64) -> Result<f64, CalculatorError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(CalculatorError::Overflow)
    }
}

fn defined(value: f64, what: impl FnOnce() -> String) -> Result<f64, CalculatorError> {
    if value.is_nan() {
        return Err(CalculatorError::Undefined { what: what() });
    }
    finite(value)
}

fn non_zero(value: f64) -> Result<f64, CalculatorError> {
    if value == 0.0 {
        Err(CalculatorError::DivisionByZero)
    } else {
        Ok(value)
    }
}

#[cfg(test)]
#[path = "calculator_tests.rs"]
mod tests;
