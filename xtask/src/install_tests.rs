use super::*;

#[test]
fn the_report_has_the_reasons_and_what_to_do() {
    let requirement = Requirement {
        name: "cmake",
        purpose: Purpose::EmbeddedModel,
        reason: "configures the runtime",
        find: |_| None,
        methods: &[],
        manual_install: "brew install cmake",
    };
    let obstacles = ["apt-get: disabled", "pip: not installed"].map(str::to_owned);
    assert_eq!(
        describe(&requirement, &obstacles),
        "cmake is missing: it configures the runtime.\n    \
         apt-get: disabled\n    \
         pip: not installed\n  \
         To install it yourself: brew install cmake\n"
    );
}
