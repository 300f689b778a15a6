use proptest::prelude::*;

use super::*;

#[test]
fn m12_a_long_text_is_cut_at_a_word() {
    assert_eq!(shorten("short", 5), "short");
    assert_eq!(
        shorten("one two three four five six seven eight", 5),
        "one two three …"
    );
}

proptest! {
    /// M-12: whatever the text, it fits; what fits already is left alone.
    #[test]
    fn m12_a_shortened_text_fits(text in "(\\PC| |\n){0,300}", limit in 4_u64..60) {
        let short = shorten(&text, limit);
        prop_assert!(count(&short) <= limit, "{} > {limit}: {short}", count(&short));
        if count(&text) <= limit {
            prop_assert_eq!(short, text);
        }
    }
}
