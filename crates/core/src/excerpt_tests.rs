use super::*;

#[test]
fn markup_headings_tables_and_code_are_left_out() {
    let markdown = "## Answer\n\nUse **REST**, see [the guide](https://x.org/a) and `cache`.\n\n| a | b |\n|---|---|\n\n\
                    ```\ncode\n```\n\n- *first* item\n- second item\n\n1. third\n---\nThe end: 2 * 3.";
    assert_eq!(
        excerpt(markdown, 400),
        "Use REST, see the guide and cache. first item; second item; third; The end: 2 * 3."
    );
}

#[test]
fn a_long_text_ends_after_a_sentence() {
    let text = "One sentence is here. Another one is here. A third one that is long.";
    assert_eq!(
        excerpt(text, 50),
        "One sentence is here. Another one is here. …"
    );
    assert_eq!(excerpt(text, 68), text);
    assert_eq!(
        excerpt(text, 67),
        "One sentence is here. Another one is here. …"
    );
}

#[test]
fn a_long_sentence_ends_after_a_word_and_a_long_word_anywhere() {
    assert_eq!(excerpt("many words without an end", 17), "many words…");
    assert_eq!(excerpt(&"x".repeat(40), 10), "xxxxxxxx…");
    assert_eq!(excerpt("ä".repeat(40).as_str(), 10), "ääääääää…");
}

#[test]
fn a_text_of_headings_alone_is_kept() {
    assert_eq!(excerpt("# Yes\n", 40), "Yes");
    assert_eq!(excerpt("", 40), "");
}

#[test]
fn control_characters_are_left_out() {
    assert_eq!(excerpt("a\u{1b}[2Jb\u{202e}c", 40), "a[2Jbc");
}

#[test]
fn brackets_that_are_no_link_stay() {
    assert_eq!(excerpt("See [1] and [E2](x", 40), "See [1] and [E2](x");
}
