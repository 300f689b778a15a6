use super::*;

/// P-01: the built-in cast has the design's seats and temperatures.
#[test]
fn p01_the_built_in_cast_has_the_designs_temperatures_and_models() {
    let cast = Cast::load(&Data::built_in(), "dialectic").unwrap();
    let found: Vec<_> = cast
        .seats
        .iter()
        .map(|seat| {
            (
                seat.name.as_str(),
                seat.temperature,
                seat.prefers.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("proposer", 0.7, Some("qwen3:32b")),
            ("skeptic", 0.8, Some("llama3.3:70b")),
            ("synthesizer", 0.5, Some("qwen3:32b")),
            ("judge", 0.0, None),
        ]
    );
}

#[test]
fn an_unknown_cast_or_seat_names_the_nearest() {
    let data = Data::built_in();
    let error = Cast::load(&data, "dialectics").unwrap_err().to_string();
    assert!(error.contains("did you mean 'dialectic'"), "{error}");
    let cast = Cast::load(&data, "dialectic").unwrap();
    let error = cast.seat("sceptic").unwrap_err().to_string();
    assert!(error.contains("did you mean 'skeptic'"), "{error}");
}
