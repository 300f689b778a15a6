use super::*;

#[test]
fn digits_are_grouped_by_three() {
    let all = [0, 999, 1000, 1_234_567].map(grouped);
    assert_eq!(all, ["0", "999", "1,000", "1,234,567"]);
}

#[test]
fn only_one_is_singular() {
    let all = [0_u32, 1, 2].map(|number| counted(number, "round"));
    assert_eq!(all, ["0 rounds", "1 round", "2 rounds"]);
}

#[test]
fn a_cut_text_ends_with_an_ellipsis() {
    assert_eq!(truncated("äbc", 3), "äbc");
    assert_eq!(truncated("ab cd", 4), "ab…");
    assert_eq!(truncated("abc", 0), "…");
}
