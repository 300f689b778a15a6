use super::*;

const OPTIONAL: &[(&str, Concession)] = &[
    ("temperature", Concession::Temperature),
    ("seed", Concession::Seed),
    ("max_tokens", Concession::OtherLimitName),
    ("max_tokens", Concession::NoLimit),
];

#[test]
fn a_refusal_costs_what_it_names_and_only_once() {
    let none = Concessions::default();
    let temperature = none.with(Concession::Temperature);
    let says = "Unsupported value: 'temperature' does not support 0.7 with this model.";
    assert_eq!(Some(temperature), none.after(says, OPTIONAL));
    assert_eq!(None, temperature.after(says, OPTIONAL));
    assert_eq!(None, none.after("the seeds of doubt", OPTIONAL));
}

#[test]
fn a_limit_is_renamed_first_and_dropped_next_but_dropped_at_once_if_too_large() {
    let none = Concessions::default();
    let renamed = none.with(Concession::OtherLimitName);
    let unsupported = "Unsupported parameter: 'max_tokens' is not supported with this model.";
    assert_eq!(Some(renamed), none.after(unsupported, OPTIONAL));
    assert_eq!(
        Some(renamed.with(Concession::NoLimit)),
        renamed.after(unsupported, OPTIONAL)
    );
    let too_large = "max_tokens is too large: 100000. This model supports at most 16384.";
    assert_eq!(
        Some(none.with(Concession::NoLimit)),
        none.after(too_large, OPTIONAL)
    );
}

#[test]
fn names_that_providers_would_refuse_are_made_plain() {
    assert_eq!("critique-1", plain_name("critique-1"));
    assert_eq!("r_sum__", plain_name("résumé "));
    assert_eq!("reply", plain_name(""));
    assert_eq!(64, plain_name(&"x".repeat(99)).len());
}
