use super::*;

/// A streamed text looks like a whole one, wherever the chunks are cut.
#[test]
fn a_streamed_text_is_wrapped_like_a_whole_one() {
    let text = "one two three\n\n- four five";
    let expected = "  one two\n  three\n\n  - four\n  five";
    assert_eq!(wrap(text, 10, 2), expected);
    for cut in 0..text.len() {
        let mut wrapper = StreamWrapper::new(10, 2);
        let mut out = wrapper.push(&text[..cut]);
        out.push_str(&wrapper.push(&text[cut..]));
        out.push_str(&wrapper.end());
        assert_eq!(out, format!("{expected}\n"), "cut at {cut}");
    }
}

#[test]
fn a_word_longer_than_the_line_gets_its_own_line() {
    let text = "a incomprehensibilities b";
    let lines = ["a", "incomprehensibilities", "b"];
    assert_eq!(wrap_line(text, Some(8)), lines);
    let mut wrapper = StreamWrapper::new(8, 0);
    let mut out = wrapper.push(text);
    out.push_str(&wrapper.end());
    assert_eq!(out, lines.join("\n") + "\n");
}

/// Wide characters take two columns.
#[test]
fn width_is_measured_in_columns() {
    assert_eq!(wrap_line("日本 語 x", Some(6)), ["日本", "語 x"]);
    assert_eq!(break_line("日本語", 4), ["日本", "語"]);
    let mut wrapper = StreamWrapper::new(6, 0);
    let mut out = wrapper.push("日本 語 x");
    out.push_str(&wrapper.end());
    assert_eq!(out, "日本\n語 x\n");
}
