//! The calculator tool of seats (M-15): arithmetic on decimal numbers.
//!
//! Every input gives a finite number or a [`CalculatorError`], never panics, and takes time linear in its length. `%` between
//! two values is the remainder; after a value that no other value follows, it is a percentage (`15%` is 0.15).

use serde::{Deserialize, Serialize};

pub const MAX_CHARACTERS: usize = 500;
/// Maximum nesting of parentheses, signs and powers.
pub const MAX_DEPTH: usize = 40;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum CalculatorError {
    #[error("there is nothing to calculate")]
    Empty,
    #[error("the expression has more than {MAX_CHARACTERS} characters")]
    TooLong,
    #[error("the expression is nested more than {MAX_DEPTH} deep")]
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
    if expression.chars().nth(MAX_CHARACTERS).is_some() {
        return Err(CalculatorError::TooLong);
    }
    let tokens = tokenize(expression)?;
    if tokens.is_empty() {
        return Err(CalculatorError::Empty);
    }
    let mut parser = Parser {
        tokens: &tokens,
        next: 0,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.tokens.get(parser.next) {
        None => Ok(value),
        Some(token) => Err(token.unexpected()),
    }
}

/// Formats a result without the rounding noise of binary fractions.
pub fn format_number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-6..1e15).contains(&size) {
        return format!("{value:e}");
    }
    // Twelve significant digits; the noise is in the digits after them.
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
    Symbol(char),
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

fn tokenize(expression: &str) -> Result<Vec<Token>, CalculatorError> {
    let chars: Vec<char> = expression.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let start = at;
        let kind = match c {
            _ if c.is_whitespace() => {
                at += 1;
                continue;
            }
            '0'..='9' | '.' => {
                at = end_of_number(&chars, at);
                let text: String = chars[start..at].iter().filter(|c| **c != '_').collect();
                let value: f64 = text.parse().map_err(|_| CalculatorError::Unexpected {
                    found: text.clone(),
                    at: start + 1,
                })?;
                Kind::Number(finite(value)?)
            }
            'a'..='z' | 'A'..='Z' => {
                while chars.get(at).is_some_and(char::is_ascii_alphanumeric) {
                    at += 1;
                }
                let name: String = chars[start..at].iter().collect();
                Kind::Name(name.to_ascii_lowercase())
            }
            '+' | '-' | '*' | '/' | '^' | '%' | '(' | ')' | ',' => {
                at += 1;
                Kind::Symbol(c)
            }
            // Typographic variants.
            '×' | '·' | '÷' | '−' | '–' => {
                at += 1;
                Kind::Symbol(match c {
                    '÷' => '/',
                    '−' | '–' => '-',
                    _ => '*',
                })
            }
            _ => {
                return Err(CalculatorError::Unexpected {
                    found: c.to_string(),
                    at: at + 1,
                });
            }
        };
        tokens.push(Token {
            kind,
            text: chars[start..at].iter().collect(),
            at: start + 1,
        });
    }
    Ok(tokens)
}

/// Digits with `_` between them, a decimal point, an exponent. A comma separates arguments and never belongs to a number.
fn end_of_number(chars: &[char], from: usize) -> usize {
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let mut at = from;
    while is_digit(at) || matches!(chars.get(at), Some('.' | '_')) {
        at += 1;
    }
    if matches!(chars.get(at), Some('e' | 'E')) {
        let signed = usize::from(matches!(chars.get(at + 1), Some('+' | '-')));
        if is_digit(at + 1 + signed) {
            at += 1 + signed;
            while is_digit(at) {
                at += 1;
            }
        }
    }
    at
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn symbol(&self) -> Option<char> {
        match &self.tokens.get(self.next)?.kind {
            Kind::Symbol(symbol) => Some(*symbol),
            Kind::Number(_) | Kind::Name(_) => None,
        }
    }

    fn eat(&mut self, symbol: char) -> bool {
        let is_next = self.symbol() == Some(symbol);
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, symbol: char) -> Result<(), CalculatorError> {
        if self.eat(symbol) {
            return Ok(());
        }
        Err(self.unexpected())
    }

    fn unexpected(&self) -> CalculatorError {
        let token = self.tokens.get(self.next);
        token.map_or(CalculatorError::EndsEarly, Token::unexpected)
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CalculatorError>,
    ) -> Result<T, CalculatorError> {
        if self.depth >= MAX_DEPTH {
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
            if self.eat('+') {
                value = finite(value + self.product()?)?;
            } else if self.eat('-') {
                value = finite(value - self.product()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, CalculatorError> {
        let mut value = self.signed()?;
        loop {
            if self.eat('*') {
                value = finite(value * self.signed()?)?;
            } else if self.eat('/') {
                let divisor = non_zero(self.signed()?)?;
                value = finite(value / divisor)?;
            } else if self.eat('%') {
                let divisor = non_zero(self.signed()?)?;
                value = finite(value % divisor)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// A sign binds less tightly than a power: `-2^2` is −4.
    fn signed(&mut self) -> Result<f64, CalculatorError> {
        if self.eat('-') {
            return self.nested(Self::signed).map(|value| -value);
        }
        if self.eat('+') {
            return self.nested(Self::signed);
        }
        self.power()
    }

    /// Right-associative: `2^3^2` is `2^9`.
    fn power(&mut self) -> Result<f64, CalculatorError> {
        let base = self.percentage()?;
        if !self.eat('^') {
            return Ok(base);
        }
        let exponent = self.nested(Self::signed)?;
        if base == 0.0 && exponent < 0.0 {
            return Err(CalculatorError::DivisionByZero);
        }
        defined(base.powf(exponent), || {
            format!("{}^{}", format_number(base), format_number(exponent))
        })
    }

    fn percentage(&mut self) -> Result<f64, CalculatorError> {
        let mut value = self.value()?;
        while self.symbol() == Some('%') && !self.begins_value(self.next + 1) {
            self.next += 1;
            value /= 100.0;
        }
        Ok(value)
    }

    /// Whether the token can only start a value. A sign cannot: `5% - 1` subtracts from a percentage.
    fn begins_value(&self, at: usize) -> bool {
        match self.tokens.get(at).map(|token| &token.kind) {
            Some(Kind::Number(_) | Kind::Name(_)) => true,
            Some(Kind::Symbol(symbol)) => *symbol == '(',
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
                self.call_or_constant(name)
            }
            Kind::Symbol('(') => {
                self.next += 1;
                let value = self.nested(Self::sum)?;
                self.expect(')')?;
                Ok(value)
            }
            Kind::Symbol(_) => Err(token.unexpected()),
        }
    }

    fn call_or_constant(&mut self, name: &str) -> Result<f64, CalculatorError> {
        if self.symbol() != Some('(') {
            return match name {
                "pi" => Ok(std::f64::consts::PI),
                "e" => Ok(std::f64::consts::E),
                _ => Err(CalculatorError::UnknownFunction {
                    name: name.to_owned(),
                }),
            };
        }
        self.next += 1;
        let mut args = Vec::new();
        if self.symbol() != Some(')') {
            loop {
                args.push(self.nested(Self::sum)?);
                if !self.eat(',') {
                    break;
                }
            }
        }
        self.expect(')')?;
        apply(name, &args)
    }
}

fn apply(name: &str, args: &[f64]) -> Result<f64, CalculatorError> {
    let wrong = |takes: &str| CalculatorError::Arguments {
        name: name.to_owned(),
        takes: takes.to_owned(),
        given: args.len(),
    };
    let shown = |value: f64| format!("{name}({})", format_number(value));
    match (name, args) {
        ("sqrt", [value]) => defined(value.sqrt(), || shown(*value)),
        ("ln", [value]) if *value <= 0.0 => Err(CalculatorError::Undefined {
            what: shown(*value),
        }),
        ("ln", [value]) => Ok(value.ln()),
        ("exp", [value]) => finite(value.exp()),
        ("abs", [value]) => Ok(value.abs()),
        ("round", [value]) => Ok(value.round()),
        ("round", [value, places]) => round_to(*value, *places),
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

/// Rounds to 0 to 12 decimal places.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked first"
)]
fn round_to(value: f64, places: f64) -> Result<f64, CalculatorError> {
    if !(0.0..=12.0).contains(&places) || places.fract() != 0.0 {
        return Err(CalculatorError::Undefined {
            what: format!("round(…, {})", format_number(places)),
        });
    }
    let factor = 10_f64.powi(places as i32);
    let scaled = (value * factor).round() / factor;
    // Overflows only for numbers so large that they have no decimal places.
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
