use super::*;

fn dollars(amount: f64) -> Option<Money> {
    Money::from_dollars(amount)
}

#[tokio::test(start_paused = true)]
async fn at_most_six_test_calls_start_per_minute() {
    let calls = TestCalls::default();
    let unlimited = Budget::default();
    for _ in 0..MAX_PER_MINUTE {
        calls.admit(&unlimited).unwrap();
    }
    assert_eq!(calls.admit(&unlimited), Err(TestRefused::Rate));
    tokio::time::advance(MINUTE.saturating_sub(Duration::from_millis(1))).await;
    assert_eq!(calls.admit(&unlimited), Err(TestRefused::Rate));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(calls.admit(&unlimited).is_ok());
}

/// The account is bounded like a debate: one token or cent below the limit another call starts, at the limit none.
#[tokio::test(start_paused = true)]
async fn c19_test_calls_of_an_hour_stay_within_the_limits_of_a_debate() {
    let calls = TestCalls::default();
    let limits = Budget {
        max_tokens: Some(100),
        max_cost: dollars(0.50),
        ..Budget::default()
    };
    let first = calls.admit(&limits).unwrap();
    calls.record(first, 99, dollars(0.49));
    tokio::time::advance(Duration::from_secs(1)).await;
    let second = calls.admit(&limits).unwrap();
    calls.record(second, 0, dollars(0.01));
    assert_eq!(
        calls.admit(&limits),
        Err(TestRefused::UsedUp("$0.5000".into()))
    );
    let tokens_only = Budget {
        max_cost: None,
        ..limits
    };
    tokio::time::advance(Duration::from_secs(1)).await;
    let third = calls.admit(&tokens_only).unwrap();
    calls.record(third, 1, None);
    assert_eq!(
        calls.admit(&tokens_only),
        Err(TestRefused::UsedUp("100 tokens".into()))
    );
    assert_eq!(
        calls.summary().as_deref(),
        Some("Test calls on this server in the last hour: 3 calls, 100 tokens, price unknown.")
    );
    tokio::time::advance(HOUR).await;
    assert_eq!(calls.summary(), None);
    assert!(calls.admit(&limits).is_ok());
}
