use super::*;
use crate::tokens;

/// The estimate is close to a real tokenizer's count.
#[test]
fn f15_the_token_estimate_is_close_to_the_count() {
    for text in [
        "Wage growth in services keeps core prices up while energy base effects fade.",
        "historian 1: Base rates are low; 2 (within 60%): Every wage round since 1999 faded within a year",
        "Simulation: above 20%; within 50%; below 30%",
        "Data on: Euro area; 2020-01-01 to 2026-10-31",
        "No data on, so do not assume it: rents in Italy",
    ] {
        let (estimate, count) = (estimate_tokens(text), tokens::count(text));
        let range = count - count / 8..=count + count / 3 + 2;
        assert!(range.contains(&estimate), "{text}: {estimate} for {count}");
    }
}

#[test]
fn lines_get_the_largest_word_cap_that_fits() {
    let text = "one two three four five six seven eight nine ten eleven twelve";
    let lines = |cap: usize| vec![shortened(text, cap); 2];
    assert_eq!(fit_lines(100, lines)[0], text);
    assert_eq!(fit_lines(16, lines)[0], "one two three four five six …");
    assert_eq!(fit_lines(1, lines)[0], "one two three four five …");
}

/// F-21: a figure is not what is cut off.
#[test]
fn f21_shortening_keeps_every_figure() {
    let text =
        "Wage growth in services slowed for the third quarter in a row, to 3.4% from 4.1% in May";
    assert_eq!(shortened(text, 30), text);
    assert_eq!(
        shortened(text, 8),
        "Wage growth in services slowed for … 3.4% … 4.1% …"
    );
    assert_eq!(shortened(text, 1), "… 3.4% … 4.1% …");
    assert_eq!(
        shortened("2 of 10 such bills passed since 1990", 4),
        "2 of 10 … 1990"
    );
}
