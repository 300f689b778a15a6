use super::Utf8Decoder;

#[test]
fn split_characters_are_joined_and_invalid_ones_replaced() {
    let text = "Zürich 🏔 naïve";
    let mut decoder = Utf8Decoder::default();
    let decoded: Vec<String> = text.bytes().map(|byte| decoder.push(&[byte])).collect();
    let expected: Vec<String> = text
        .chars()
        .flat_map(|character| {
            let before = std::iter::repeat_n(String::new(), character.len_utf8() - 1);
            before.chain([character.to_string()])
        })
        .collect();
    assert_eq!(decoded, expected);

    assert_eq!(decoder.push(b"a\xffb\xf0\x9f"), "a\u{fffd}b");
    assert_eq!(decoder.finish(), "\u{fffd}");
    assert_eq!(decoder.finish(), "");
}
