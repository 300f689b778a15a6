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

#[test]
fn small_models_write_less() {
    let small = UsageEstimate::of_calls(9).of_small_models();
    assert_eq!((small.calls, small.usage.output), (9, 9 * 150));
}

#[test]
fn the_cost_estimate_is_rounded() {
    let text = |price: Option<Price>| {
        let estimate = UsageEstimate::of_calls(9);
        format!(
            "{}, {}",
            estimate.size_text(),
            estimate.cost_text(price.as_ref())
        )
    };
    let price = Price {
        input: 3.0,
        output: 15.0,
        cached: None,
    };
    assert_eq!(text(Some(price)), "9 calls, 20,000 tokens, $0.11");
    assert_eq!(text(Some(Price::FREE)), "9 calls, 20,000 tokens, free");
    assert_eq!(text(None), "9 calls, 20,000 tokens, price unknown");
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
