use proptest::prelude::*;

use super::*;

fn value(expression: &str) -> String {
    match evaluate(expression) {
        Ok(value) => format_number(value),
        Err(error) => error.to_string(),
    }
}

#[test]
fn m15_expressions_follow_the_usual_precedence() {
    let known = [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("--3", "3"),
        ("10 - 4 - 3", "3"),
        ("100 / 8 / 2", "6.25"),
        ("17 % 5", "2"),
        ("15%", "0.15"),
        ("200 * 15%", "30"),
        ("200 + 15%", "200.15"),
        ("50% + 1", "1.5"),
        ("(10%) * 3", "0.3"),
        ("sqrt(16) + min(3, 1, 2) + max(4, 9)", "14"),
        ("round(2.345, 2)", "2.35"),
        ("round(2.5)", "3"),
        ("ln(e)", "1"),
        ("exp(0)", "1"),
        ("abs(-3)", "3"),
        ("1e3 + 1_000", "2000"),
        ("0.1 + 0.2", "0.3"),
        ("6 × 7 − 2 ÷ 2", "41"),
        ("1/3", "0.33333333333"),
        ("2^70", "1.1805916207174113e21"),
    ];
    for (expression, expected) in known {
        assert_eq!(expected, value(expression), "{expression}");
    }
}

#[test]
fn m15_invalid_expressions_give_a_specific_error() {
    let known = [
        ("", CalculatorError::Empty),
        ("  ", CalculatorError::Empty),
        ("1 / 0", CalculatorError::DivisionByZero),
        ("1 % 0", CalculatorError::DivisionByZero),
        ("0 ^ -1", CalculatorError::DivisionByZero),
        ("10^400", CalculatorError::Overflow),
        ("1e308 * 10", CalculatorError::Overflow),
        ("exp(1000)", CalculatorError::Overflow),
        ("1e999", CalculatorError::Overflow),
        ("2 +", CalculatorError::EndsEarly),
        ("(2", CalculatorError::EndsEarly),
        (
            "sqrt(-1)",
            CalculatorError::Undefined {
                what: "sqrt(-1)".into(),
            },
        ),
        (
            "ln(0)",
            CalculatorError::Undefined {
                what: "ln(0)".into(),
            },
        ),
        (
            "(-8)^0.5",
            CalculatorError::Undefined {
                what: "-8^0.5".into(),
            },
        ),
        (
            "round(1, 13)",
            CalculatorError::Undefined {
                what: "round(…, 13)".into(),
            },
        ),
        (
            "2 $ 3",
            CalculatorError::Unexpected {
                found: "$".into(),
                at: 3,
            },
        ),
        (
            "2 3",
            CalculatorError::Unexpected {
                found: "3".into(),
                at: 3,
            },
        ),
        (
            "1.2.3",
            CalculatorError::Unexpected {
                found: "1.2.3".into(),
                at: 1,
            },
        ),
        (
            "system(1)",
            CalculatorError::UnknownFunction {
                name: "system".into(),
            },
        ),
        (
            "x + 1",
            CalculatorError::UnknownFunction { name: "x".into() },
        ),
        (
            "sqrt()",
            CalculatorError::Arguments {
                name: "sqrt".into(),
                takes: "one value".into(),
                given: 0,
            },
        ),
        (
            "min()",
            CalculatorError::Arguments {
                name: "min".into(),
                takes: "one or more values".into(),
                given: 0,
            },
        ),
    ];
    for (expression, expected) in known {
        assert_eq!(Err(expected), evaluate(expression), "{expression}");
    }
}

#[test]
fn m15_length_and_depth_are_limited() {
    let long =
        |length: usize| "1".repeat(length.min(300)) + &" ".repeat(length.saturating_sub(300));
    assert!(evaluate(&long(MAX_CHARACTERS)).is_ok());
    assert_eq!(
        Err(CalculatorError::TooLong),
        evaluate(&long(MAX_CHARACTERS + 1))
    );
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(Ok(1.0), evaluate(&nested(MAX_DEPTH)));
    assert_eq!(
        Err(CalculatorError::TooDeep),
        evaluate(&nested(MAX_DEPTH + 1))
    );
    assert_eq!(
        Err(CalculatorError::TooDeep),
        evaluate(&format!("{}1", "-".repeat(MAX_DEPTH + 1)))
    );
    assert_eq!(
        Err(CalculatorError::TooDeep),
        evaluate(&format!("1{}", "^1".repeat(MAX_DEPTH + 1)))
    );
    assert_eq!(Ok(1.0), evaluate(&format!("1{}", "^1".repeat(MAX_DEPTH))));
}

proptest! {
    #[test]
    fn m15_any_text_gives_a_finite_number_or_an_error(text in "\\PC*") {
        if let Ok(value) = evaluate(&text) {
            prop_assert!(value.is_finite());
        }
    }

    #[test]
    fn m15_any_sequence_of_tokens_gives_a_finite_number_or_an_error(
        text in "[0-9.+*/^%(),e -]{0,80}|(sqrt|ln|exp|min|max|round|-|\\(|\\)|[0-9]|,|\\^|%){0,60}"
    ) {
        if let Ok(value) = evaluate(&text) {
            prop_assert!(value.is_finite());
        }
    }

    #[test]
    fn m15_arithmetic_matches_f64(a in -1e6_f64..1e6, b in -1e6_f64..1e6) {
        prop_assert_eq!(Ok(a + b), evaluate(&format!("({a}) + ({b})")));
        prop_assert_eq!(Ok(a * b), evaluate(&format!("({a}) * ({b})")));
        if b != 0.0 {
            prop_assert_eq!(Ok(a / b), evaluate(&format!("({a}) / ({b})")));
        }
    }

    #[test]
    fn m15_formatted_results_parse_back_to_nearly_the_same_value(value in prop::num::f64::NORMAL) {
        let back: f64 = format_number(value).parse().unwrap();
        prop_assert!((back - value).abs() <= value.abs() * 1e-5, "{value} {back}");
    }
}
