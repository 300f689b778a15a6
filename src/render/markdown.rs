//! Sanitised rendering of Markdown written by models and users (C-12).
//!
//! The parser's events are filtered before any HTML exists: raw HTML becomes text, an image becomes its description, links
//! are kept only to http, https and mailto, and headings, code and tables lose their attributes. The output has no
//! attributes other than `href`, `rel` and `start`, so it cannot carry a script, a style or a request.

use roundtable_core::characters::is_deceptive;
use std::ops::Range;

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
};

use super::html::{Html, escape};

/// Maximum nesting of quotes and lists, well below the limits of browsers.
const MAX_DEPTH: usize = 24;

const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

pub(crate) fn html(markdown: &str) -> Html {
    let clean = without_controls(markdown);
    let mut filter = Filter::default();
    let events: Vec<Event> = Parser::new_ext(&clean, options())
        .filter_map(|event| filter.pass(event))
        .collect();
    let mut out = String::with_capacity(clean.len() * 2);
    pulldown_cmark::html::push_html(&mut out, events.into_iter());
    Html::trusted(out)
}

/// Sanitises Markdown for export as Markdown: HTML, images and links other than to the web are escaped.
pub(crate) fn defused(markdown: &str) -> String {
    let mut text = without_controls(markdown);
    // Escaping one link may turn its parts into another.
    for _ in 0..8 {
        let offsets = unsafe_offsets(&text);
        if offsets.is_empty() {
            return text;
        }
        text = escaped_at(&text, offsets);
    }
    // Fallback: an indented code block is always plain text.
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// The text with a backslash before each of these offsets.
fn escaped_at(text: &str, mut offsets: Vec<usize>) -> String {
    offsets.sort_unstable();
    offsets.dedup();
    let mut escaped = String::with_capacity(text.len() + offsets.len());
    let mut from = 0;
    for at in offsets {
        escaped.push_str(&text[from..at]);
        escaped.push('\\');
        from = at;
    }
    escaped.push_str(&text[from..]);
    escaped
}

/// Markdown for a section of a document: its headings rank below the section's own, which has rank 2.
pub(crate) fn below_section(markdown: &str) -> String {
    const LOWER_BY: usize = 2;
    const LOWEST: usize = 6;
    let mut text = String::with_capacity(markdown.len());
    let mut from = 0;
    for (event, range) in Parser::new_ext(markdown, options()).into_offset_iter() {
        let Event::Start(Tag::Heading { level, .. }) = event else {
            continue;
        };
        text.push_str(&markdown[from..range.start]);
        from = range.end;
        text.push_str(&"#".repeat((level as usize + LOWER_BY).min(LOWEST)));
        let heading = &markdown[range];
        let title = heading.trim_start_matches('#');
        if title.len() < heading.len() {
            text.push_str(title);
            continue;
        }
        // Underlined: the last line is the rule.
        let lines: Vec<&str> = heading.trim_end().lines().collect();
        let words = lines
            .split_last()
            .map_or("", |(_, words)| words.first().unwrap_or(&""));
        text.push(' ');
        text.push_str(words.trim());
        text.push('\n');
    }
    text.push_str(&markdown[from..]);
    text
}

/// Offsets at which a backslash is needed. This includes every angle bracket outside of code and web links, because
/// Markdown renderers disagree on what is HTML.
fn unsafe_offsets(text: &str) -> Vec<usize> {
    let mut offsets = Vec::new();
    let mut safe: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match &event {
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => safe.push(range),
            Event::Start(tag) if is_unsafe(tag) => offsets.push(range.start),
            Event::Start(Tag::Link {
                link_type: LinkType::Autolink | LinkType::Email,
                ..
            }) => safe.push(range),
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    // Both are in the order of the text, so that one pass is enough.
    let mut safe = safe.into_iter().peekable();
    let angles = text.match_indices('<').map(|(at, _)| at);
    offsets.extend(angles.filter(|at| {
        while safe.next_if(|range| range.end <= *at).is_some() {}
        let is_safe = safe.peek().is_some_and(|range| range.start <= *at);
        let slashes = text[..*at].bytes().rev().take_while(|byte| *byte == b'\\');
        !is_safe && slashes.count() % 2 == 0
    }));
    offsets
}

fn is_unsafe(tag: &Tag) -> bool {
    if let Tag::Link {
        link_type,
        dest_url,
        ..
    } = tag
    {
        safe_url(*link_type, dest_url).is_none()
    } else {
        matches!(tag, Tag::Image { .. })
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

fn without_controls(text: &str) -> String {
    text.chars().filter(|c| !is_deceptive(*c)).collect()
}

/// The URL, if its scheme is allowed.
fn safe_url(kind: LinkType, url: &str) -> Option<String> {
    let url = if kind == LinkType::Email {
        format!("mailto:{url}")
    } else {
        url.to_owned()
    };
    let lower = url.to_ascii_lowercase();
    let is_allowed = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    (is_allowed && !url.chars().any(|c| c.is_control() || c.is_whitespace())).then_some(url)
}

#[derive(Default)]
struct Filter {
    /// For every open element, the event that ends it; `None` if it is not part of the output.
    open: Vec<Option<Event<'static>>>,
    depth: usize,
}

impl Filter {
    fn pass<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::Text(_) | Event::Code(_) | Event::SoftBreak | Event::HardBreak | Event::Rule => {
                Some(event)
            }
            // These extensions are off; their text is kept in case the parser emits one.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                Some(Event::Text(text))
            }
            Event::TaskListMarker(_) => None,
        }
    }

    fn start<'a>(&mut self, tag: Tag<'a>) -> Option<Event<'a>> {
        let is_container = matches!(tag, Tag::BlockQuote(_) | Tag::List(_) | Tag::Item);
        if is_container {
            self.depth += 1;
        }
        let too_deep = is_container && self.depth > MAX_DEPTH;
        let is_image = matches!(tag, Tag::Image { .. });
        let event = if too_deep { None } else { Self::kept(tag) };
        self.open.push(event.as_ref().map(|event| match event {
            Event::Start(tag) => Event::End(tag.to_end()),
            _ if is_image => Event::Text("]".into()),
            _ => Event::InlineHtml("</a>".into()),
        }));
        event
    }

    fn kept(tag: Tag<'_>) -> Option<Event<'_>> {
        match tag {
            Tag::Image { .. } => Some(Event::Text("[image: ".into())),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => safe_url(link_type, &dest_url).map(|url| Event::InlineHtml(anchor(&url))),
            Tag::Heading { level, .. } => Some(Event::Start(Tag::Heading {
                level: demoted(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })),
            Tag::CodeBlock(_) => Some(Event::Start(Tag::CodeBlock(CodeBlockKind::Indented))),
            Tag::HtmlBlock => Some(Event::Start(Tag::Paragraph)),
            // Alignment would be rendered as a style attribute.
            Tag::Table(columns) => Some(Event::Start(Tag::Table(
                columns
                    .iter()
                    .map(|_| pulldown_cmark::Alignment::None)
                    .collect(),
            ))),
            Tag::BlockQuote(_) => Some(Event::Start(Tag::BlockQuote(None))),
            Tag::Paragraph
            | Tag::List(_)
            | Tag::Item
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough => Some(Event::Start(tag)),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => None,
        }
    }

    fn end<'a>(&mut self, tag: TagEnd) -> Option<Event<'a>> {
        if matches!(tag, TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item) {
            self.depth = self.depth.saturating_sub(1);
        }
        self.open.pop().flatten()
    }
}

fn anchor(url: &str) -> CowStr<'static> {
    format!(
        "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">",
        escape(url)
    )
    .into()
}

/// The page uses the first three heading levels.
fn demoted(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
