use super::Pieces;

#[test]
fn characters_split_over_tokens_arrive_whole_and_broken_ones_are_marked() {
    let text = "Zürich 🏔 naïve";
    let mut pieces = Pieces::default();
    let arrived: Vec<String> = text.bytes().map(|byte| pieces.push(&[byte])).collect();
    let expected: Vec<String> = text
        .chars()
        .flat_map(|character| {
            let before = std::iter::repeat_n(String::new(), character.len_utf8() - 1);
            before.chain([character.to_string()])
        })
        .collect();
    assert_eq!(arrived, expected);

    assert_eq!(pieces.push(b"a\xffb\xf0\x9f"), "a\u{fffd}b");
    assert_eq!(pieces.finish(), "\u{fffd}");
    assert_eq!(pieces.finish(), "");
}
