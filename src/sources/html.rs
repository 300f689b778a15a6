//! Converts HTML to text without scripts, styles and comments, with one line per block. Tolerates invalid markup and takes
//! linear time. (The crate html2text was considered: nested elements take quadratic time, and table cells are not separated.)

/// Elements whose content is dropped.
const DROPPED: [&str; 8] = [
    "script", "style", "template", "noscript", "svg", "head", "iframe", "object",
];

/// Elements that start and end a line.
const BLOCKS: [&str; 32] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "ul",
];

pub(super) fn text(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        add(&mut text, &rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = after.find("-->").map_or("", |end| &after[end + 3..]);
            continue;
        }
        let Some(tag) = Tag::read(rest) else {
            // A literal `<`, as in `a < b`.
            add(&mut text, "<");
            rest = &rest[1..];
            continue;
        };
        rest = &rest[end_of_tag(rest)..];
        if !tag.closes && DROPPED.contains(&tag.name.as_str()) {
            rest = skip_element(rest, &tag.name);
        } else {
            add_break(&mut text, &tag);
        }
    }
    add(&mut text, rest);
    normalize(&text)
}

struct Tag {
    name: String,
    closes: bool,
}

impl Tag {
    fn read(text: &str) -> Option<Self> {
        let inside = &text[1..];
        let closes = inside.starts_with('/');
        let named = inside.strip_prefix('/').unwrap_or(inside);
        let is_named = named.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_named && !inside.starts_with(['!', '?', '/']) {
            return None;
        }
        let name: String = named
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        Some(Self {
            name: name.to_ascii_lowercase(),
            closes,
        })
    }
}

/// The position after the closing `>`, ignoring those within quotes. An unclosed tag extends to the end.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return at + 1,
            // Quotes count only at the start of a value; elsewhere they are typos.
            (None, '"' | '\'') if previous == '=' => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None | Some(_), _) => {}
        }
        if !c.is_whitespace() {
            previous = c;
        }
    }
    text.len()
}

fn skip_element<'t>(text: &'t str, name: &str) -> &'t str {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let end = from + at;
        let tag = &text[end..];
        if Tag::read(tag).is_some_and(|tag| tag.name == name) {
            return &tag[end_of_tag(tag)..];
        }
        from = end + 2;
    }
    ""
}

/// Headings become Markdown headings, cells are separated by ` | `, and blocks start a line.
fn add_break(text: &mut String, tag: &Tag) {
    let rank = tag
        .name
        .strip_prefix('h')
        .and_then(|rank| rank.parse::<usize>().ok());
    match (tag.name.as_str(), rank) {
        (_, Some(rank @ 1..=6)) if !tag.closes => {
            text.push_str("\n\n");
            text.push_str(&"#".repeat(rank));
            text.push(' ');
        }
        ("p" | "table" | "ul" | "ol" | "blockquote" | "section" | "article", _) | (_, Some(_)) => {
            text.push_str("\n\n");
        }
        ("li", _) if !tag.closes => text.push_str("\n- "),
        ("tr", _) if !tag.closes => text.push('\n'),
        ("td" | "th", _) if tag.closes => text.push_str(" | "),
        (name, _) if BLOCKS.contains(&name) => text.push('\n'),
        _ => {}
    }
}

fn add(text: &mut String, piece: &str) {
    let mut rest = piece;
    while let Some(at) = rest.find('&') {
        push_text(text, &rest[..at]);
        rest = &rest[at..];
        if let Some((character, length)) = entity(rest) {
            text.push(character);
            rest = &rest[length..];
        } else {
            text.push('&');
            rest = &rest[1..];
        }
    }
    push_text(text, rest);
}

/// Line breaks in the source are spaces.
fn push_text(text: &mut String, piece: &str) {
    text.extend(
        piece
            .chars()
            .map(|c| if c.is_whitespace() { ' ' } else { c }),
    );
}

fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(12).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let character = if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        char::from_u32(code).filter(|c| !c.is_control())?
    } else {
        NAMED
            .iter()
            .find_map(|(known, character)| (*known == name).then_some(*character))?
    };
    Some((character, end + 1))
}

const NAMED: [(&str, char); 34] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ndash", '–'),
    ("mdash", '—'),
    ("hellip", '…'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("deg", '°'),
    ("plusmn", '±'),
    ("times", '×'),
    ("divide", '÷'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("sect", '§'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("szlig", 'ß'),
    ("eacute", 'é'),
    ("egrave", 'è'),
];

/// Collapses spaces and empty lines, and trims lines.
fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    let mut empty_lines = 0;
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.trim_end_matches(" |");
        if line.is_empty() || line.chars().all(|c| c == '#' || c == '-') {
            empty_lines += 1;
            continue;
        }
        if !normalized.is_empty() {
            normalized.push_str(if empty_lines > 0 { "\n\n" } else { "\n" });
        }
        normalized.push_str(line);
        empty_lines = 0;
    }
    normalized
}
