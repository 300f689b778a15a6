use super::*;

const NOW: Millis = 10 * HOUR_MS;

fn dollars(amount: f64) -> Option<Money> {
    Money::from_dollars(amount)
}

fn call(at: Millis, tokens: u64, cost: Option<Money>) -> TestCall {
    TestCall { at, tokens, cost }
}

#[test]
fn at_most_six_test_calls_start_per_minute() {
    let unlimited = Budget::default();
    let calls = vec![call(NOW, 1, None); MAX_PER_MINUTE];
    assert_eq!(refusal(&calls[1..], &unlimited, NOW), None);
    assert_eq!(refusal(&calls, &unlimited, NOW), Some(TestRefused::Rate));
    let later = NOW + MINUTE_MS;
    assert_eq!(
        refusal(&calls, &unlimited, later - 1),
        Some(TestRefused::Rate)
    );
    assert_eq!(refusal(&calls, &unlimited, later), None);
}

/// The account is bounded like a debate: one token or cent below the limit another call starts, at the limit none.
#[test]
fn c19_test_calls_of_an_hour_stay_within_the_limits_of_a_debate() {
    let limits = Budget {
        max_tokens: Some(100),
        max_cost: dollars(0.50),
        ..Budget::default()
    };
    let used_up = |what: &str| Some(TestRefused::UsedUp(what.into()));
    let below = [call(1, 60, dollars(0.30)), call(2, 39, dollars(0.19))];
    assert_eq!(refusal(&below, &limits, NOW), None);
    let cost = [below[0], call(2, 39, dollars(0.20))];
    assert_eq!(refusal(&cost, &limits, NOW), used_up("$0.5000"));
    let tokens = [below[0], call(2, 40, None)];
    assert_eq!(refusal(&tokens, &limits, NOW), used_up("100 tokens"));

    assert_eq!(
        summary(&tokens).as_deref(),
        Some("Test calls in the last hour: 2 calls, 100 tokens, price unknown.")
    );
    assert_eq!(summary(&[]), None);
}
