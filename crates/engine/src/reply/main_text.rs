//! Incremental extraction of the main text from streamed JSON (C-09).

/// Fed with pieces of a JSON object, returns the decoded pieces of one top-level string field as they arrive.
///
/// It never fails: on invalid JSON it returns nothing, and the complete reply is validated at the end.
#[derive(Debug)]
pub struct MainText {
    field: &'static str,
    depth: u32,
    place: Place,
    /// The key being read, or the last one read at the top level.
    key: String,
    escape: Escape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between tokens. At the top level, a string here is a key.
    Key,
    /// After the colon of a top-level key.
    Value,
    InKey,
    InMain,
    /// In any other string.
    InOther,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Backslash,
    /// Hex digits read so far, their value, and a preceding high surrogate.
    Unicode {
        digits: u8,
        value: u32,
        high: Option<u32>,
    },
    /// A high surrogate was read; `\` and then `u` must follow.
    AwaitLow {
        high: u32,
        backslash: bool,
    },
}

impl MainText {
    pub fn new(field: &'static str) -> Self {
        Self {
            field,
            depth: 0,
            place: Place::Key,
            key: String::new(),
            escape: Escape::None,
        }
    }

    pub fn feed(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for c in piece.chars() {
            match self.place {
                Place::Done => break,
                Place::InKey | Place::InMain | Place::InOther => self.in_string(c, &mut out),
                Place::Key | Place::Value => self.between(c),
            }
        }
        out
    }

    fn between(&mut self, c: char) {
        match c {
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.place = Place::Done;
                }
            }
            ':' if self.depth == 1 => self.place = Place::Value,
            ',' if self.depth == 1 => self.place = Place::Key,
            '"' => {
                self.place = match (self.depth, self.place) {
                    (1, Place::Key) => {
                        self.key.clear();
                        Place::InKey
                    }
                    (1, Place::Value) if self.key == self.field => Place::InMain,
                    _ => Place::InOther,
                }
            }
            _ => {}
        }
    }

    fn in_string(&mut self, c: char, out: &mut String) {
        match self.escape {
            Escape::None => match c {
                '\\' => self.escape = Escape::Backslash,
                '"' => self.close(),
                c => self.put(c, out),
            },
            Escape::Backslash => {
                self.escape = Escape::None;
                match c {
                    'n' => self.put('\n', out),
                    't' => self.put('\t', out),
                    'r' => self.put('\r', out),
                    'b' => self.put('\u{8}', out),
                    'f' => self.put('\u{c}', out),
                    'u' => {
                        self.escape = Escape::Unicode {
                            digits: 0,
                            value: 0,
                            high: None,
                        }
                    }
                    c => self.put(c, out),
                }
            }
            Escape::Unicode {
                digits,
                value,
                high,
            } => self.hex(c, digits, value, high, out),
            Escape::AwaitLow { high, backslash } => match (c, backslash) {
                ('\\', false) => {
                    self.escape = Escape::AwaitLow {
                        high,
                        backslash: true,
                    };
                }
                ('u', true) => {
                    self.escape = Escape::Unicode {
                        digits: 0,
                        value: 0,
                        high: Some(high),
                    };
                }
                (c, backslash) => {
                    self.put(char::REPLACEMENT_CHARACTER, out);
                    self.escape = if backslash {
                        Escape::Backslash
                    } else {
                        Escape::None
                    };
                    self.in_string(c, out);
                }
            },
        }
    }

    fn hex(&mut self, c: char, digits: u8, value: u32, high: Option<u32>, out: &mut String) {
        let value = value * 16 + c.to_digit(16).unwrap_or(0);
        if digits < 3 {
            self.escape = Escape::Unicode {
                digits: digits + 1,
                value,
                high,
            };
            return;
        }
        self.escape = Escape::None;
        match (high, value) {
            (None, 0xD800..=0xDBFF) => {
                self.escape = Escape::AwaitLow {
                    high: value,
                    backslash: false,
                };
            }
            (Some(high), 0xDC00..=0xDFFF) => {
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (value - 0xDC00);
                self.put(
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                    out,
                );
            }
            (lone, value) => {
                if lone.is_some() {
                    self.put(char::REPLACEMENT_CHARACTER, out);
                }
                self.put(
                    char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER),
                    out,
                );
            }
        }
    }

    fn put(&mut self, c: char, out: &mut String) {
        match self.place {
            Place::InMain => out.push(c),
            Place::InKey => self.key.push(c),
            Place::InOther | Place::Key | Place::Value | Place::Done => {}
        }
    }

    fn close(&mut self) {
        self.place = match self.place {
            // A duplicate main field is ignored.
            Place::InMain => Place::Done,
            Place::InKey => Place::Key,
            // At the top level the next comma switches back to `Key`.
            Place::InOther | Place::Key | Place::Value | Place::Done => Place::Value,
        };
    }
}

#[cfg(test)]
#[path = "main_text_tests.rs"]
mod tests;
