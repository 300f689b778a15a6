use super::*;

#[test]
fn b01_equal_answers_have_one_form() {
    for (answer, expected) in [
        ("B", Some("B")),
        (" (b). ", Some("B")),
        ("**C**", Some("C")),
        ("1,200", Some("1200")),
        ("$ 1200.00", Some("1200")),
        ("12%", Some("12")),
        ("-0", Some("0")),
        ("-3.50", Some("-3.5")),
        ("The Eiffel Tower.", Some("eiffel tower")),
        ("eiffel  tower", Some("eiffel tower")),
        ("Yes", Some("yes")),
        ("nan", Some("nan")),
        ("", None),
        ("  ", None),
        ("...", None),
    ] {
        assert_eq!(canonical(answer).as_deref(), expected, "{answer}");
    }
}

fn choice_of(text: &str) -> Option<String> {
    let key = Key::Choice {
        right: 1,
        options: ["Lyon", "Paris", "Nice", "Lille"]
            .map(str::to_owned)
            .to_vec(),
    };
    key.extract(None, text)
}

#[test]
fn b01_a_choice_is_found_by_the_usual_forms_in_order() {
    for (text, expected) in [
        ("First (A), but then (B).", Some("B")),
        ("So it is \\boxed{C}, I think", Some("C")),
        ("The answer is D because", Some("D")),
        ("**Answer:** B", Some("B")),
        ("Reasons.\n\nAnswer: (C)", Some("C")),
        ("Position: Paris", Some("B")),
        ("Because of its age:\nB. It is old.", Some("B")),
        ("I would say C) then", Some("C")),
        // Options beyond the last one are no answers.
        ("(E)", None),
        ("A good question. I do not know", None),
        ("The answer is Apple", None),
        ("", None),
    ] {
        assert_eq!(choice_of(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn b01_a_typed_choice_needs_no_extraction() {
    let key = Key::Choice {
        right: 1,
        options: ["Lyon", "Paris"].map(str::to_owned).to_vec(),
    };
    for (typed, expected) in [
        ("B", Some("B")),
        ("b", Some("B")),
        ("(B) Paris", Some("B")),
        ("Paris.", Some("B")),
        ("B: Paris", Some("B")),
        ("Marseille", None),
    ] {
        assert_eq!(key.extract(Some(typed), "").as_deref(), expected, "{typed}");
    }
    assert!(key.is_right("B") && !key.is_right("A"));
    // A typed answer that says nothing falls back to the text.
    assert_eq!(key.extract(Some("unsure"), "(A)").as_deref(), Some("A"));
}

#[test]
fn b01_a_number_is_the_marked_one_or_the_last() {
    let key = Key::Number {
        right: 1200.0,
        tolerance: TOLERANCE,
    };
    for (typed, text, expected) in [
        (None, "3 and 4 make \\boxed{1,200} units", Some("1200")),
        (None, "20 * 60 = 1200\n#### 1,200", Some("1200")),
        (None, "The answer is $1,200.00 for 3 days", Some("1200")),
        (None, "from 7 to 1200.", Some("1200")),
        (None, "it is -5", Some("-5")),
        (Some("1200 "), "7", Some("1200")),
        (Some("many"), "7", Some("7")),
        (None, "none", None),
    ] {
        assert_eq!(key.extract(typed, text).as_deref(), expected, "{text}");
    }
    assert!(key.is_right("1200.001"));
    assert!(!key.is_right("1200.01"));
    let wide = Key::Number {
        right: 100.0,
        tolerance: 0.05,
    };
    assert!(wide.is_right("105") && !wide.is_right("105.1"));
}

#[test]
fn b01_a_text_is_compared_without_case_articles_and_punctuation() {
    let key = Key::Text(vec!["the Eiffel Tower".into(), "La tour Eiffel".into()]);
    let found = key.extract(Some("Eiffel tower."), "").unwrap();
    assert!(key.is_right(&found));
    let found = key.extract(None, "Well.\nAnswer: la Tour Eiffel").unwrap();
    assert!(key.is_right(&found));
    assert!(!key.is_right("louvre"));
    assert_eq!(key.extract(None, " "), None);
}

#[test]
fn b01_a_probability_is_found_and_scored() {
    let key = Key::Probability { happened: true };
    for (typed, text, expected) in [
        (Some("0.62"), "", Some("0.62")),
        (Some("62%"), "", Some("0.62")),
        (Some("Yes: 62%"), "", Some("0.62")),
        (Some("No: 25%"), "", Some("0.75")),
        (Some("unclear"), "In 2026 …\n\nAnswer: 0.3", Some("0.3")),
        (None, "I would say 40%.\nThat is all.", Some("0.4")),
        (None, "**Answer:** 1", Some("1")),
        (None, "It cannot be known.", None),
    ] {
        assert_eq!(
            key.extract(typed, text).as_deref(),
            expected,
            "{typed:?} {text}"
        );
    }
    let scored = key.outcome(Some("0.62"), Spent::default());
    assert!((scored.brier.unwrap() - 0.1444).abs() < 1e-9);
    assert!((scored.credit - 1.0).abs() < 1e-9);
    assert!(!key.outcome(None, Spent::default()).is_answered);
    // The mean of the first two.
    let three = ["0.2", "0.6", "1"].map(|p| Some(p.to_owned()));
    let mean = key.together(2, &three, Spent::default()).unwrap();
    assert!((mean.brier.unwrap() - 0.36).abs() < 1e-9);
    assert_eq!(key.together(4, &three, Spent::default()), None);
}
