use super::*;

/// Without colours.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn streamed(text: &str, cut: usize, width: usize) -> String {
    let mut stream = MarkdownStream::new(width, 2);
    let mut out = stream.push(&text[..cut]);
    out.push_str(&stream.push(&text[cut..]));
    out.push_str(&stream.end());
    out
}

/// A streamed text looks like a whole one, wherever the chunks are cut.
#[test]
fn a_streamed_text_looks_like_a_whole_one() {
    let text = "## Position\n\nUse a **big queue** now\n\n- four `five six`\n- seven";
    let expected = "  Position\n\n  Use a big\n  queue now\n\n  • four five\n    six\n  • seven\n";
    for cut in 0..text.len() {
        assert_eq!(plain(&streamed(text, cut, 13)), expected, "cut at {cut}");
    }
}

#[test]
fn marks_become_styles() {
    assert_eq!(
        render("**Vote:** MINOR", 80, 0),
        format!("{} MINOR", painted(Style::new().bold(), "Vote:"))
    );
    assert_eq!(
        render("## Open points", 80, 0),
        format!(
            "{} {}",
            painted(Style::new().bold(), "Open"),
            painted(Style::new().bold(), "points")
        )
    );
    assert_eq!(
        render("*so* `--decide`", 80, 0),
        format!(
            "{} {}",
            painted(Style::new().italic(), "so"),
            painted(CODE, "--decide")
        )
    );
}

/// Stars that are no emphasis, names with underscores and escaped marks stay.
#[test]
fn other_characters_stay() {
    for text in ["2 * 3 ** 4", "a*b*c", "max_tokens_total", "# of 3", "#1"] {
        let shown = plain(&render(text, 80, 0));
        let expected = text.strip_prefix("# ").unwrap_or(text);
        assert_eq!(shown, expected);
    }
    assert_eq!(plain(&render("\\*x\\*", 80, 0)), "*x*");
}

/// Emphasis that is never closed ends with its paragraph.
#[test]
fn open_emphasis_ends_with_the_paragraph() {
    let shown = render("a **b\n\nc", 80, 0);
    assert_eq!(
        shown,
        format!("a {}\n\nc", painted(Style::new().bold(), "b"))
    );
}

#[test]
fn code_blocks_keep_their_lines() {
    let text = "So:\n```sh\nfor x in 1 2 3 4 5 6 7; do\n    echo **x**\ndone\n```\nDone.";
    let expected = "So:\nfor x in 1 2 3 4 5 6 7; do\n    echo **x**\ndone\nDone.";
    assert_eq!(plain(&render(text, 10, 0)), expected);
}

/// R9: neither words nor flags are split, also if they are longer than the line. Wide characters take two columns.
#[test]
fn words_are_never_split() {
    let text = "a incomprehensibilities --max-tokens-total b";
    let lines = "a\nincomprehensibilities\n--max-tokens-total\nb";
    assert_eq!(plain(&render(text, 8, 0)), lines);
    assert_eq!(plain(&render("日本 語 x", 6, 0)), "日本\n語 x");
}
