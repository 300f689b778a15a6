use proptest::prelude::*;

use super::*;

/// Allowed elements; links may have `href` and `rel`, lists `start`.
const ELEMENTS: &[&str] = &[
    "p",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "pre",
    "code",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "em",
    "strong",
    "del",
];

/// Reports every tag that is not allowed or not balanced.
fn faults(html: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let Some(end) = rest[at..].find('>') else {
            faults.push(format!("unclosed angle bracket: {}", &rest[at..]));
            break;
        };
        let tag = &rest[at + 1..at + end];
        rest = &rest[at + end + 1..];
        if matches!(tag, "hr /" | "br /") {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop().as_deref() != Some(name) {
                faults.push(format!("</{name}> has no opening tag"));
            }
            continue;
        }
        let name = tag.split(' ').next().unwrap_or_default();
        let allowed = if name == "a" {
            let url = tag
                .strip_prefix("a href=\"")
                .and_then(|tag| tag.strip_suffix("\" rel=\"noopener noreferrer nofollow\""));
            url.is_some_and(|url| {
                let lower = url.to_lowercase();
                SCHEMES.iter().any(|scheme| lower.starts_with(scheme)) && !url.contains('"')
            })
        } else if let Some(start) = tag.strip_prefix("ol start=\"") {
            start.trim_end_matches('"').parse::<u64>().is_ok()
        } else {
            ELEMENTS.contains(&tag)
        };
        if !allowed {
            faults.push(format!("<{tag}>"));
        }
        open.push(name.to_owned());
    }
    faults.extend(
        open.into_iter()
            .map(|name| format!("<{name}> is not closed")),
    );
    faults
}

/// C-12: scripts, script links and remote images in a reply become readable text.
#[test]
fn c12_a_hostile_reply_is_sanitised() {
    let hostile = include_str!("hostile.md");
    let shown = html(hostile);
    assert_eq!(faults(shown.as_str()), Vec::<String>::new());
    insta::assert_snapshot!(shown.as_str());
}

#[test]
fn ordinary_markdown_is_rendered() {
    insta::assert_snapshot!(html(
        "# Use a queue\n\nBecause **bursts** are *real*, ~~not~~ `measured`:\n\n1. one\n2. two\n   - deep\n\n\
         > quoted\n\n```rust\nlet x = 1 < 2;\n```\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\n\
         See [the logs](https://example.org/a?b=1&c=2) or <me@example.org>.\n\n---\n"
    ).as_str());
}

#[test]
fn c12_nesting_is_limited() {
    let deep = html(&format!("{}deep", "> ".repeat(5000)));
    assert_eq!(faults(deep.as_str()), Vec::<String>::new());
    assert_eq!(deep.as_str().matches("<blockquote>").count(), MAX_DEPTH);
    assert!(deep.as_str().contains("deep"));
}

/// Random combinations of pieces with a meaning in Markdown or HTML find more than random characters.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<script>alert(1)</script>"),
        Just("<img src=x onerror=alert(1)>"),
        Just("<!--"),
        Just("-->"),
        Just("<![CDATA["),
        Just("]]>"),
        Just("<?"),
        Just("</p>"),
        Just("<"),
        Just(">"),
        Just("&lt;script&gt;"),
        Just("&#106;avascript:"),
        Just("javascript:alert(1)"),
        Just("JaVaScRiPt:x"),
        Just("data:text/html,<b>"),
        Just("vbscript:x"),
        Just("file:///etc"),
        Just("//evil.example"),
        Just("https://example.org/\"onclick=\"x"),
        Just("["),
        Just("]"),
        Just("("),
        Just(")"),
        Just("]("),
        Just("!["),
        Just("[a]: "),
        Just("[a]"),
        Just("][a]"),
        Just("<javascript:x>"),
        Just("\""),
        Just("'"),
        Just("`"),
        Just("```"),
        Just("~~~html\n"),
        Just("\\"),
        Just("*"),
        Just("_"),
        Just("~~"),
        Just("\n"),
        Just("\n\n"),
        Just("    "),
        Just("\t"),
        Just("- "),
        Just("1. "),
        Just("> "),
        Just("# "),
        Just("|"),
        Just("\n|-|-|\n"),
        Just("\u{0}"),
        Just("\u{1b}[31m"),
        Just("\u{202e}"),
        Just("word"),
        Just("😀"),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn c12_only_allowed_elements_are_rendered(text in pieces()) {
        prop_assert_eq!(faults(html(&text).as_str()), Vec::<String>::new());
    }

    #[test]
    fn c12_arbitrary_text_is_sanitised(text in any::<String>()) {
        prop_assert_eq!(faults(html(&text).as_str()), Vec::<String>::new());
    }

    /// Exported Markdown contains no HTML, images or links other than to the web.
    #[test]
    fn c12_exported_markdown_is_sanitised(text in pieces()) {
        let file = defused(&text);
        prop_assert_eq!(unsafe_offsets(&file), Vec::<usize>::new());
        let shown = Parser::new_ext(&file, options());
        for event in shown {
            let is_active = matches!(event, Event::Html(_) | Event::InlineHtml(_))
                || matches!(&event, Event::Start(tag) if is_unsafe(tag));
            prop_assert!(!is_active, "{:?}", event);
        }
    }
}

/// C-12: no character can reverse the direction of the text after it, such as a file name or an amount.
#[test]
fn c12_direction_controls_are_removed() {
    let text =
        "pay \u{202e}001\u{202c} to `a\u{2066}b\u{2069}`\u{200f} [x\u{61c}](https://e.x/\u{202d})";
    for shown in [html(text).as_str(), &defused(text)] {
        assert!(
            !shown
                .chars()
                .any(roundtable_core::characters::is_bidi_control),
            "{shown}"
        );
        assert!(shown.contains("pay 001 to"), "{shown}");
    }
}

/// Headings of an answer rank below the document's own, however they are written; code is not touched.
#[test]
fn headings_rank_below_a_section() {
    let text = "# One\n\ntext\n\n## Two ##\n\n##### Five\n\nUnder\n=====\n\nline\n----\n\n```\n# code\n```\n";
    assert_eq!(
        below_section(text),
        "### One\n\ntext\n\n#### Two ##\n\n###### Five\n\n### Under\n\n#### line\n\n```\n# code\n```\n"
    );
    assert_eq!(below_section("no heading"), "no heading");
}

/// The processor time that a call takes on this thread, which other processes do not change.
#[cfg(target_os = "linux")]
fn cpu_time(call: impl Fn()) -> std::time::Duration {
    let now = || {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        stat.split(' ').next().unwrap().parse().unwrap()
    };
    let before: u64 = now();
    call();
    std::time::Duration::from_nanos(now() - before)
}

/// C-12: a text sixteen times as long takes about sixteen times as long, not 256 times.
#[cfg(target_os = "linux")]
#[test]
fn c12_hostile_markdown_takes_linear_time() {
    for hostile in [
        "<",
        "</",
        "`<`",
        "`",
        "[",
        "![",
        "[a](javascript:x)",
        "![a](x)",
        "# a\n",
        "a\n=\n",
        "\\",
        "\\<",
        "> ",
        "* ",
        "&",
        "<!--",
        "<?",
        "<a ",
        "**a",
        "|",
        "\"",
        "- a\n",
    ] {
        let time = |length: usize| {
            let text = hostile.repeat(length / hostile.len());
            cpu_time(|| {
                below_section(&defused(&text));
                html(&text);
            })
        };
        let (short, long) = (time(10_000), time(160_000));
        let most = short * 16 * 4 + std::time::Duration::from_millis(100);
        assert!(long < most, "{hostile:?}: {short:?} and {long:?}");
    }
}

#[test]
fn c12_two_megabytes_of_angle_brackets_are_escaped_one_by_one() {
    let escaped = defused(&"<".repeat(2_000_000));
    assert_eq!(escaped, "\\<".repeat(2_000_000));
}

/// Code stays as it is, before, between and after text that is escaped.
#[test]
fn c12_code_spans_are_not_escaped() {
    let text = "`<a>` < `<b>` < <c> `<d>`";
    assert_eq!(defused(text), "`<a>` \\< `<b>` \\< \\<c> `<d>`");
}
