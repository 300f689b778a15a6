use super::*;

fn draft(text: &str) -> Typed {
    Typed::Draft(text.to_owned())
}

fn line(text: &str) -> Typed {
    Typed::Line(text.to_owned())
}

fn fed(pieces: &[&str]) -> Vec<Typed> {
    let mut editor = LineEditor::default();
    let typed = pieces
        .iter()
        .flat_map(|piece| editor.feed(piece.as_bytes()));
    let mut typed: Vec<Typed> = typed.collect();
    typed.extend(editor.end());
    typed
}

#[test]
fn e10_keys_become_lines() {
    assert_eq!(
        fed(&["a", "b", "\n"]),
        [draft("a"), draft("ab"), line("ab")]
    );
    assert_eq!(
        fed(&["one\ntwo\nthr"]),
        [line("one"), line("two"), draft("thr"), line("thr")]
    );
    assert_eq!(fed(&["one\r\ntwo\r\n"]), [line("one"), line("two")]);
    assert_eq!(fed(&["\n\n"]), [line(""), line("")]);
}

#[test]
fn e10_a_line_can_be_corrected() {
    let last = |pieces: &[&str]| fed(pieces).pop().unwrap();
    assert_eq!(last(&["né\u{7f}\u{7f}\u{7f}\u{7f}ok\n"]), line("ok"));
    assert_eq!(last(&["wrong\u{15}right\n"]), line("right"));
    assert_eq!(last(&["a\u{1b}[D\u{1b}[3~b\n"]), line("ab"));
    assert_eq!(last(&["a\tb\u{1}\n"]), line("a b"));
}
