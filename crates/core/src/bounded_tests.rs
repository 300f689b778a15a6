use super::*;

#[test]
fn ranges_include_their_ends_and_reject_values_outside() {
    for (inside, outside) in [(0.0, -1e-9), (1.0, 1.0 + 1e-9), (0.5, f64::NAN)] {
        assert!(Probability::new(inside).is_ok());
        assert!(Probability::new(outside).is_err());
        assert!(Confidence::new(inside).is_ok());
        assert!(Confidence::new(outside).is_err());
    }
    for (inside, outside) in [(1.0, 0.99), (10.0, 10.01), (5.5, f64::INFINITY)] {
        assert!(Score::new(inside).is_ok());
        assert!(Score::new(outside).is_err());
        assert!(OutOfTen::try_from(inside).is_ok());
        assert!(OutOfTen::try_from(outside).is_err());
    }
}

/// A critic that writes `-0.0` adjusts nothing, and no text shows the sign.
#[test]
fn zero_has_no_sign() {
    let zero = Adjustment::new(-0.0).unwrap();
    assert_eq!(serde_json::to_string(&zero).unwrap(), "0.0");
    assert_eq!(format!("{:+}", zero.value()), "+0");
}

#[test]
fn deserializing_enforces_the_range() {
    assert!(serde_json::from_str::<Probability>("1.2").is_err());
    assert!(serde_json::from_str::<OutOfTen>("0").is_err());
    assert_eq!(
        OutOfTen::new(8).ok(),
        serde_json::from_str::<OutOfTen>("8.0").ok()
    );
}

#[test]
fn an_error_names_the_value_and_the_range() {
    assert_eq!(
        Score::new(11.0).unwrap_err().to_string(),
        "11 is not a score: it must be a number from 1 to 10"
    );
}
