use super::*;

#[test]
fn the_duration_follows_from_calls_and_speed() {
    let text =
        |calls, seats, speed| on_embedded_model(UsageEstimate::of_calls(calls), seats, speed);
    // 9 calls of 450 tokens.
    assert_eq!(
        text(9, (3, 3), 9.4),
        "Embedded model: about 9 calls at 9 tokens/s, about 7 minutes."
    );
    assert_eq!(
        text(9, (3, 3), 150.0),
        "Embedded model: about 9 calls at 150 tokens/s, about 30 s."
    );
    // Half of the seats have a hosted model.
    assert_eq!(
        text(2, (1, 2), 0.64),
        "Embedded model: about 1 call at 0.6 tokens/s, about 12 minutes."
    );
    assert_eq!(
        text(30, (3, 3), 1.0),
        "Embedded model: about 30 calls at 1.0 tokens/s, about 4 hours."
    );
}

/// Earlier debates count as they were.
#[test]
fn small_models_write_less() {
    let small = UsageEstimate::of_calls(9).of_small_models();
    assert_eq!((small.calls, small.usage.output), (9, 9 * 150));
    let totals = Totals {
        calls: 5,
        output_tokens: 4_000,
        ..Totals::default()
    };
    let earlier = UsageEstimate::of_earlier(&[totals])
        .unwrap()
        .of_small_models();
    assert_eq!((earlier.calls, earlier.usage.output), (5, 4_000));
    assert_eq!(UsageEstimate::of_earlier(&[]), None);
}

#[test]
fn durations_change_their_unit() {
    let text = |seconds| about(Duration::from_secs(seconds));
    assert_eq!([text(0), text(11)], ["about 10 s", "about 20 s"]);
    assert_eq!([text(49), text(50)], ["about 50 s", "about 1 minute"]);
    assert_eq!(
        [text(5_399), text(5_400)],
        ["about 90 minutes", "about 2 hours"]
    );
}
