use proptest::prelude::*;

use super::*;

#[test]
fn m12_a_long_text_is_truncated_at_a_word() {
    assert_eq!(shorten("short", 5), "short");
    assert_eq!(
        shorten("one two three four five six seven eight", 5),
        "one two three …"
    );
}

proptest! {
    /// M-12: a shortened text is within the limit; a text within it is unchanged.
    #[test]
    fn m12_a_shortened_text_fits(text in "(\\PC| |\n){0,300}", limit in 4_u64..60) {
        let short = shorten(&text, limit);
        prop_assert!(count(&short) <= limit, "{} > {limit}: {short}", count(&short));
        if count(&text) <= limit {
            prop_assert_eq!(short, text);
        }
    }
}
