use super::*;

/// Without colours.
fn plain(text: &str, width: usize) -> String {
    anstream::adapter::strip_str(&render(text, width)).to_string()
}

#[test]
fn a_table_has_aligned_columns() {
    let text = "Compare:\n\n| Option | **Cost** |\n|:---|---:|\n| `Queue` | 5 |\n| A \\| B | 120 |\n\nSo *take* it.";
    assert_eq!(
        plain(text, 80),
        "Compare:\n\n  Option  Cost\n  Queue      5\n  A | B    120\n\nSo take it."
    );
}

#[test]
fn a_wide_table_is_wrapped() {
    let text = "|Name|Reason|\n|---|---|\n|one|a reason of several words|\n|two|";
    assert_eq!(
        plain(text, 24),
        "  Name  Reason\n  one   a reason of\n        several words\n  two"
    );
}

/// Rows in code, and rows without a line of dashes, are no table.
#[test]
fn other_lines_with_bars_stay() {
    for text in ["| a | b |\n| c | d |", "| a |", "a | b\n--- | ---"] {
        assert_eq!(plain(text, 80), text);
    }
    assert_eq!(
        plain("```\n| a |\n|---|\n| b |\n```", 80),
        "| a |\n|---|\n| b |"
    );
}
