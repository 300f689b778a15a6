//! Numbers in running text: `1,200`, `1.2 million`, `12%`, `$3.5bn`, `2024`. Two are compared only if they are of the same kind,
//! with the precision of the less precise one.

/// The quantity that a number measures, as far as its notation shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Percent,
    Money,
    Year,
    Plain,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) kind: Kind,
    pub(super) value: f64,
    /// Half a unit of the last written digit.
    slack: f64,
    /// As written in the text.
    pub(super) text: String,
}

impl Figure {
    /// Whether both are equal up to rounding.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        let comparable = self.kind == other.kind
            // "3.5" may mean "$3.5", and "2024" may mean "2,024".
            || self.kind == Kind::Plain && other.kind != Kind::Percent
            || other.kind == Kind::Plain && self.kind != Kind::Percent;
        let distance = (self.value - other.value).abs();
        comparable && distance <= self.slack.max(other.slack) * (1.0 + 1e-9)
    }
}

const CURRENCIES: [char; 5] = ['$', '€', '£', '¥', '₹'];

/// All numbers of a text, in order.
pub(super) fn figures(text: &str) -> Vec<Figure> {
    let letters: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let in_word = before.is_some_and(|c| c.is_alphanumeric() || *c == '_');
        if letters[at].is_ascii_digit() && !in_word {
            let (figure, end) = read(&letters, at);
            found.extend(figure);
            at = end;
        } else if letters[at].is_ascii_digit() {
            // Skip a number that is part of a version or a name: `v1.2.3`.
            let is_part = |at: &usize| {
                let dotted =
                    letters[*at] == '.' && letters.get(at + 1).is_some_and(char::is_ascii_digit);
                letters[*at].is_alphanumeric() || dotted
            };
            at = (at..letters.len())
                .find(|at| !is_part(at))
                .unwrap_or(letters.len());
        } else {
            at += 1;
        }
    }
    found
}

fn read(letters: &[char], start: usize) -> (Option<Figure>, usize) {
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let mut end = start;
    let mut digits = String::new();
    let mut places = None;
    let mut is_grouped = false;
    while let Some(&letter) = letters.get(end) {
        match letter {
            '0'..='9' => {
                digits.push(letter);
                places = places.map(|places: i32| places + 1);
            }
            // A comma groups thousands; a comma before anything but three digits ends the number.
            ',' if places.is_none()
                && (1..=3).all(|next| is_digit(end + next))
                && !is_digit(end + 4) =>
            {
                is_grouped = true;
            }
            '.' if places.is_none() && is_digit(end + 1) => {
                digits.push('.');
                places = Some(0);
            }
            _ => break,
        }
        end += 1;
    }
    let Ok(number) = digits.parse::<f64>() else {
        return (None, end);
    };
    let rest: String = letters[end..].iter().take(12).collect();
    // Versions such as 1.2.3 are not figures, and neither are `3rd`, `4x` and `10am` below.
    if rest.starts_with('.') && is_digit(end + 1) {
        let after = (end..letters.len()).find(|at| !is_digit(*at) && letters[*at] != '.');
        return (None, after.unwrap_or(letters.len()));
    }
    let Unit {
        scale,
        is_percent,
        suffix,
    } = unit(&rest);
    let attached = rest.starts_with(char::is_alphabetic) && suffix == 0;
    if attached {
        return (None, end);
    }
    let before = start.checked_sub(1).and_then(|before| letters.get(before));
    let is_money = before.is_some_and(|c| CURRENCIES.contains(c));
    let is_year = !is_grouped
        && places.is_none()
        && scale.is_none()
        && digits.len() == 4
        && (1900.0..=2100.0).contains(&number);
    let kind = match (is_percent, is_money, is_year) {
        (true, _, _) => Kind::Percent,
        (false, true, _) => Kind::Money,
        (false, false, true) => Kind::Year,
        (false, false, false) => Kind::Plain,
    };
    let last_place = 10_f64.powi(-places.unwrap_or(0));
    let from = if is_money { start - 1 } else { start };
    let figure = Figure {
        kind,
        value: number * scale.unwrap_or(1.0),
        slack: if places.is_none() && scale.is_none() {
            0.0
        } else {
            last_place * scale.unwrap_or(1.0) / 2.0
        },
        text: letters[from..(end + suffix).min(letters.len())]
            .iter()
            .collect(),
    };
    (Some(figure), end + suffix)
}

/// The unit after a number.
#[derive(Default)]
struct Unit {
    /// The factor.
    scale: Option<f64>,
    is_percent: bool,
    /// Its length in characters, including the blank before it.
    suffix: usize,
}

fn unit(rest: &str) -> Unit {
    const UNITS: [(&str, Option<f64>); 14] = [
        ("%", None),
        ("percent", None),
        ("per cent", None),
        ("thousand", Some(1e3)),
        ("million", Some(1e6)),
        ("billion", Some(1e9)),
        ("trillion", Some(1e12)),
        ("mn", Some(1e6)),
        ("bn", Some(1e9)),
        ("tn", Some(1e12)),
        ("k", Some(1e3)),
        ("m", Some(1e6)),
        ("b", Some(1e9)),
        ("t", Some(1e12)),
    ];
    let lower = rest.to_lowercase();
    let trimmed = lower.trim_start_matches(' ');
    let blanks = lower.len() - trimmed.len();
    for (name, scale) in UNITS {
        // Abbreviations must touch the number: "5 m" means metres.
        let is_near = name.len() > 2 || name == "%" || blanks == 0;
        if let Some(after) = trimmed.strip_prefix(name)
            && is_near
            && blanks <= 1
            && (name == "%" || !after.starts_with(char::is_alphanumeric))
        {
            return Unit {
                scale,
                is_percent: scale.is_none(),
                suffix: blanks + name.chars().count(),
            };
        }
    }
    Unit::default()
}
