use super::*;

fn is_fine(expression: &str) -> bool {
    is_satisfied(&normalize(expression), &|name| {
        ["MIT", "ISC", "Apache-2.0"].contains(&name)
    })
}

#[test]
fn one_alternative_is_enough_and_a_conjunction_needs_all() {
    for allowed in [
        "MIT",
        "MIT OR GPL-3.0",
        "MIT/GPL-3.0",
        "GPL-3.0 / MIT",
        "Apache-2.0 AND ISC",
        "(GPL-3.0 OR MIT) AND ISC",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
    ] {
        assert!(is_fine(allowed), "{allowed}");
    }
    for denied in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR ISC) AND GPL-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "MIT AND GPL-3.0 OR GPL-2.0",
    ] {
        assert!(!is_fine(denied), "{denied}");
    }
}

#[test]
fn an_unreadable_expression_allows_nothing() {
    for unreadable in [
        "", "MIT OR", "(MIT", "MIT)", "MIT ISC", "OR MIT", "MIT WITH",
    ] {
        assert!(!is_fine(unreadable), "{unreadable}");
    }
}
