use super::*;

fn minilm() -> Scale {
    Scale::new(vec![
        [-1.0, -1.0],
        [0.0, 0.0],
        [0.19, 0.38],
        [0.34, 0.67],
        [0.53, 0.84],
        [1.0, 1.0],
    ])
    .unwrap()
}

/// C-16: the design's three example rounds, embedded with MiniLM, fall into the expected bands.
#[test]
fn c16_the_example_rounds_fall_into_their_bands() {
    for (raw, expected) in [(0.19, 0.38), (0.34, 0.67), (0.53, 0.84)] {
        let read = minilm().read(raw);
        assert!((read.scaled - expected).abs() < 1e-12, "{raw}");
        assert!((read.raw - raw).abs() < 1e-12, "the raw value is kept");
    }
}

#[test]
fn values_beyond_the_ends_are_clamped() {
    assert!((minilm().read(1.000_001).scaled - 1.0).abs() < 1e-12);
    assert!((minilm().read(-1.5).scaled + 1.0).abs() < 1e-12);
}

#[test]
fn a_decreasing_scale_is_rejected() {
    assert_eq!(
        Scale::new(vec![[0.0, 0.5], [1.0, 0.4]]),
        Err(ScaleError::NotRising([0.0, 0.5], [1.0, 0.4]))
    );
    assert_eq!(Scale::new(vec![[0.0, 0.0]]), Err(ScaleError::TooFewPoints));
}

proptest::proptest! {
    #[test]
    fn order_is_kept(a in -1.0..1.0_f64, b in -1.0..1.0_f64) {
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        proptest::prop_assert!(minilm().read(low).scaled <= minilm().read(high).scaled);
    }

    #[test]
    fn identity_changes_nothing(raw in -1.0..1.0_f64) {
        proptest::prop_assert!((Scale::identity().read(raw).scaled - raw).abs() < 1e-12);
    }
}
