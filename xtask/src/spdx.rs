//! SPDX licence expressions: `MIT OR (Apache-2.0 AND ISC)`.

/// The expression in today's notation: older manifests separate alternatives by a slash.
pub(crate) fn normalize(expression: &str) -> String {
    let spaced = expression.replace('/', " OR ");
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the allowed licences satisfy a normalized expression. False for one that cannot be parsed.
pub(crate) fn is_satisfied(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser {
        words: &words,
        is_allowed,
    };
    parser.any() == Some(true) && parser.words.is_empty()
}

struct Parser<'a> {
    words: &'a [&'a str],
    is_allowed: &'a dyn Fn(&str) -> bool,
}

impl Parser<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut satisfied = self.all()?;
        while self.take("OR") {
            satisfied |= self.all()?;
        }
        Some(satisfied)
    }

    fn all(&mut self) -> Option<bool> {
        let mut satisfied = self.one()?;
        while self.take("AND") {
            satisfied &= self.one()?;
        }
        Some(satisfied)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let inner = self.any()?;
            return self.take(")").then_some(inner);
        }
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        // An exception only adds permissions, but has to be allowed by its full name.
        let name = if self.take("WITH") {
            let (exception, rest) = self.words.split_first()?;
            self.words = rest;
            format!("{first} WITH {exception}")
        } else {
            (*first).to_owned()
        };
        Some((self.is_allowed)(&name))
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
#[path = "spdx_tests.rs"]
mod tests;
