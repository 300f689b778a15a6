//! The text of an HTML page: no scripts, styles or comments, a line for every block, entities as their characters. Broken
//! markup gives whatever text is in it.

/// Elements whose content is no text.
const SILENT: [&str; 8] = [
    "script", "style", "template", "noscript", "svg", "head", "iframe", "object",
];

/// Elements that begin and end a line.
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
            // A bare sign, as in `a < b`.
            add(&mut text, "<");
            rest = &rest[1..];
            continue;
        };
        rest = &rest[tag.length..];
        if !tag.closes && SILENT.contains(&tag.name.as_str()) {
            rest = after_end_of(rest, &tag.name);
        } else {
            mark(&mut text, &tag);
        }
    }
    add(&mut text, rest);
    tidy(&text)
}

struct Tag {
    name: String,
    closes: bool,
    length: usize,
}

impl Tag {
    fn read(text: &str) -> Option<Self> {
        let inside = &text[1..];
        let closes = inside.starts_with('/');
        let named = inside.strip_prefix('/').unwrap_or(inside);
        let begins = named.starts_with(|c: char| c.is_ascii_alphabetic());
        if !begins && !inside.starts_with(['!', '?', '/']) {
            return None;
        }
        let name: String = named
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        Some(Self {
            name: name.to_ascii_lowercase(),
            closes,
            length: end_of_tag(text),
        })
    }
}

/// Behind the `>` that closes a tag: those within quotes do not. An unclosed tag takes the rest.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return at + 1,
            // A quotation begins a value; elsewhere it is a slip.
            (None, '"' | '\'') if before == '=' => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None | Some(_), _) => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    text.len()
}

fn after_end_of<'t>(text: &'t str, name: &str) -> &'t str {
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

/// What a tag does to the text: headings keep their rank, cells are set apart, blocks begin a line.
fn mark(text: &mut String, tag: &Tag) {
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
        push_words(text, &rest[..at]);
        rest = &rest[at..];
        if let Some((character, length)) = entity(rest) {
            text.push(character);
            rest = &rest[length..];
        } else {
            text.push('&');
            rest = &rest[1..];
        }
    }
    push_words(text, rest);
}

/// Line breaks of the source are blanks of the page.
fn push_words(text: &mut String, words: &str) {
    text.extend(
        words
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

/// Single blanks, no more than one empty line, nothing at the ends of lines.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.trim_end_matches(" |");
        if line.is_empty() || line.chars().all(|c| c == '#' || c == '-') {
            empty += 1;
            continue;
        }
        if !tidied.is_empty() {
            tidied.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        tidied.push_str(line);
        empty = 0;
    }
    tidied
}
