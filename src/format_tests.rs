use super::*;

#[test]
fn numbers_are_written_for_people() {
    let numbers: Vec<_> = [0, 999, 1000, 1_234_567].map(grouped).into();
    assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
    let times: Vec<_> = [999, 1000, 119_999, 120_000].map(duration).into();
    assert_eq!(times, ["999 ms", "1.0 s", "119.9 s", "2 min 0 s"]);
    assert_eq!(
        [counted(1, "round"), counted(2, "round")],
        ["1 round", "2 rounds"]
    );
}

/// An unknown price is not free.
#[test]
fn c11_an_unknown_price_is_shown_as_unknown() {
    assert_eq!(money(None, 0), "price unknown");
    assert_eq!(money(Some(Money::ZERO), 1), "free");
    assert_eq!(money(Some(Money::ZERO), 0), "no cost");
    assert_eq!(money(Money::from_dollars(0.0123), 1), "$0.0123");
}

#[test]
fn a_long_text_is_cut_to_one_line() {
    assert_eq!(short("a\n b\u{1b}c", 10), "a bc");
    assert_eq!(short("abcdef", 6), "abcdef");
    assert_eq!(short("abcdefg", 6), "abcde…");
}

#[test]
fn sizes_are_rounded() {
    let sizes = [98_362_432, 999_999_999, 1_000_000_000, 2_497_281_120];
    assert_eq!(sizes.map(size), ["99 MB", "1000 MB", "1.0 GB", "2.5 GB"]);
}
