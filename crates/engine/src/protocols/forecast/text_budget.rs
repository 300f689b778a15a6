//! Short forms of what was said, for prompts that have to stay small.

/// The first words on one line; a cut is shown.
pub(super) fn clipped(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() <= most {
        return words.join(" ");
    }
    format!("{} …", words[..most].join(" "))
}

/// `46%`
pub(super) fn share(value: f64) -> String {
    format!("{:.0}%", value * 100.0)
}

/// About how many tokens a text takes, a little too many rather than too few. Unlike a count it needs no vocabulary, which
/// takes longer to load than everything else between two calls.
pub(super) fn weight(text: &str) -> u64 {
    let mut weight = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = Kind::of(first);
        let end = rest
            .find(|c: char| Kind::of(c) != kind)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        weight += kind.weight(run.chars().count() as u64);
        rest = after;
    }
    weight
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Foreign,
    Number,
    Space,
    Mark,
}

impl Kind {
    fn of(c: char) -> Self {
        if c.is_ascii_alphabetic() {
            Self::Word
        } else if c.is_ascii_digit() {
            Self::Number
        } else if c.is_whitespace() {
            Self::Space
        } else if c.is_alphanumeric() {
            Self::Foreign
        } else {
            Self::Mark
        }
    }

    fn weight(self, characters: u64) -> u64 {
        match self {
            Self::Word => characters.div_ceil(8),
            Self::Number => characters.div_ceil(3),
            Self::Space => characters.saturating_sub(1),
            Self::Foreign | Self::Mark => characters,
        }
    }
}

/// The most words for which the lines fit into the room; with the fewest they may take more.
pub(super) fn fitting(room: u64, lines: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    const CAPS: [usize; 12] = [30, 24, 20, 16, 14, 12, 10, 9, 8, 7, 6, 5];
    let size = |lines: &[String]| lines.iter().map(|line| weight(line) + 1).sum::<u64>();
    let all = CAPS.iter().map(|cap| lines(*cap));
    let mut tightest = Vec::new();
    for lines in all {
        if size(&lines) <= room {
            return lines;
        }
        tightest = lines;
    }
    tightest
}

#[cfg(test)]
#[path = "text_budget_tests.rs"]
mod tests;
