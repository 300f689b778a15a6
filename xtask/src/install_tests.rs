use super::*;

#[test]
fn what_stays_missing_is_reported_with_the_reasons_and_what_to_do() {
    let need = Need {
        name: "cmake",
        purpose: Purpose::Embed,
        because: "configures the runtime",
        find: |_| None,
        ways: &[],
        by_hand: "brew install cmake",
    };
    let obstacles = ["apt-get: switched off", "pip: not on this machine"].map(str::to_owned);
    assert_eq!(
        describe(&need, &obstacles),
        "cmake is missing: it configures the runtime.\n    \
         apt-get: switched off\n    \
         pip: not on this machine\n  \
         To install it yourself: brew install cmake\n"
    );
}
