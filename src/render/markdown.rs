//! Markdown that a model or a person wrote, made harmless (C-12).
//!
//! It is filtered as events, before any HTML exists: raw HTML becomes text, an image becomes its description, a link is kept
//! only to http, https and mailto, and of headings, code and tables only the bare elements remain. What comes out holds no
//! attribute but `href` and `rel`, so there is nothing for a script, a style or a request to hide in.

use std::ops::Range;

use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd,
};

use super::html::{Html, escape};

/// Deeper quotes and lists than any reader follows; a browser's own limit is not far above.
const DEEPEST: usize = 24;

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

/// The same for a Markdown file: it stays Markdown, and whatever shows it finds no HTML, no image and no link to elsewhere
/// than the web.
pub(crate) fn defused(markdown: &str) -> String {
    let mut text = without_controls(markdown);
    // Taking one link apart may make another of its halves.
    for _ in 0..8 {
        let mut marks = dangers(&text);
        if marks.is_empty() {
            return text;
        }
        marks.sort_unstable();
        marks.dedup();
        for at in marks.into_iter().rev() {
            text.insert(at, '\\');
        }
    }
    // Nothing in a code block is ever more than text.
    let lines: Vec<String> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// Where a backslash takes the meaning from what follows. Every angle bracket outside of code and of web links counts:
/// not everything that shows Markdown agrees on what is HTML.
fn dangers(text: &str) -> Vec<usize> {
    let mut marks = Vec::new();
    let mut harmless: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match &event {
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => harmless.push(range),
            Event::Start(tag) if leads_astray(tag) => marks.push(range.start),
            Event::Start(Tag::Link {
                link_type: LinkType::Autolink | LinkType::Email,
                ..
            }) => harmless.push(range),
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
    let angles = text.match_indices('<').map(|(at, _)| at);
    marks.extend(angles.filter(|at| {
        let slashes = text[..*at].bytes().rev().take_while(|byte| *byte == b'\\');
        slashes.count() % 2 == 0 && !harmless.iter().any(|range| range.contains(at))
    }));
    marks
}

fn leads_astray(tag: &Tag) -> bool {
    if let Tag::Link {
        link_type,
        dest_url,
        ..
    } = tag
    {
        target(*link_type, dest_url).is_none()
    } else {
        matches!(tag, Tag::Image { .. })
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

fn without_controls(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

/// The address, if it leads where a reader may be sent.
fn target(kind: LinkType, url: &str) -> Option<String> {
    let url = if kind == LinkType::Email {
        format!("mailto:{url}")
    } else {
        url.to_owned()
    };
    let lower = url.to_ascii_lowercase();
    let leads_out = SCHEMES.iter().any(|scheme| lower.starts_with(scheme));
    (leads_out && !url.chars().any(|c| c.is_control() || c.is_whitespace())).then_some(url)
}

#[derive(Default)]
struct Filter {
    /// For every open element, whether it is written.
    open: Vec<bool>,
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
            // Not asked of the parser; if it made one, its text would do.
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
        let too_deep = is_container && self.depth > DEEPEST;
        let written = if too_deep { None } else { Self::kept(tag) };
        self.open.push(written.is_some());
        written
    }

    fn kept(tag: Tag<'_>) -> Option<Event<'_>> {
        match tag {
            Tag::Image { .. } => Some(Event::Text("[image: ".into())),
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => target(link_type, &dest_url).map(|url| Event::InlineHtml(anchor(&url))),
            Tag::Heading { level, .. } => Some(Event::Start(Tag::Heading {
                level: below_the_page(level),
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })),
            Tag::CodeBlock(_) => Some(Event::Start(Tag::CodeBlock(CodeBlockKind::Indented))),
            Tag::HtmlBlock => Some(Event::Start(Tag::Paragraph)),
            // An alignment would be written as a style.
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
        if !self.open.pop().unwrap_or(false) {
            return None;
        }
        match tag {
            TagEnd::Image => Some(Event::Text("]".into())),
            TagEnd::Link => Some(Event::InlineHtml("</a>".into())),
            TagEnd::Heading(level) => Some(Event::End(TagEnd::Heading(below_the_page(level)))),
            TagEnd::HtmlBlock => Some(Event::End(TagEnd::Paragraph)),
            TagEnd::BlockQuote(_) => Some(Event::End(TagEnd::BlockQuote(None))),
            TagEnd::Paragraph
            | TagEnd::CodeBlock
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::Table
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough => Some(Event::End(tag)),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => None,
        }
    }
}

fn anchor(url: &str) -> CowStr<'static> {
    format!(
        "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">",
        escape(url)
    )
    .into()
}

/// The page, its parts and its turns have the first three levels.
fn below_the_page(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HeadingLevel::H6,
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
