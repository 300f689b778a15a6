use super::*;

fn marks(correctness: u8, completeness: u8, clarity: u8, depth: u8) -> Marks {
    let mark = |value| OutOfTen::new(value).unwrap();
    Marks {
        correctness: mark(correctness),
        completeness: mark(completeness),
        clarity: mark(clarity),
        depth: mark(depth),
    }
}

/// P-08: correctness 40, completeness 25, clarity 20, depth 15.
#[test]
fn p08_the_weights_are_the_designs() {
    let with_one_ten = [
        (marks(10, 1, 1, 1), 4.6),
        (marks(1, 10, 1, 1), 3.3), // 3.25 rounds up
        (marks(1, 1, 10, 1), 2.8),
        (marks(1, 1, 1, 10), 2.4), // 2.35 rounds up
        (marks(10, 10, 10, 10), 10.0),
        (marks(1, 1, 1, 1), 1.0),
    ];
    for (marks, expected) in with_one_ten {
        let found = marks.score().value();
        assert!((found - expected).abs() < 0.051, "{marks:?}: {found}");
    }
}

proptest::proptest! {
    #[test]
    fn a_score_lies_between_its_marks(a in 1..=10_u8, b in 1..=10_u8, c in 1..=10_u8, d in 1..=10_u8) {
        let score = marks(a, b, c, d).score().value();
        let low = f64::from(a.min(b).min(c).min(d));
        let high = f64::from(a.max(b).max(c).max(d));
        proptest::prop_assert!((low..=high).contains(&score));
    }
}
