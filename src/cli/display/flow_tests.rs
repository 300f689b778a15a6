use super::*;

#[test]
fn words_wrap_wherever_the_pieces_are_cut() {
    let text = "one two three\n\n- four five";
    let whole = "  one two\n  three\n\n  - four\n  five\n";
    for cut in 0..text.len() {
        let mut flow = Flow::new(10, 2);
        let mut out = flow.take(&text[..cut]);
        out.push_str(&flow.take(&text[cut..]));
        out.push_str(&flow.end());
        assert_eq!(out, whole, "cut at {cut}");
    }
}

#[test]
fn a_word_longer_than_the_line_stands_alone() {
    let mut flow = Flow::new(8, 0);
    let mut out = flow.take("a incomprehensibilities b");
    out.push_str(&flow.end());
    assert_eq!(out, "a\nincomprehensibilities\nb\n");
}
