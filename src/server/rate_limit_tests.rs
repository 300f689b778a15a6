use super::*;

const RATE: Rate = Rate {
    per_second: 2.0,
    burst: 3.0,
};

fn address(number: u32) -> RateKey {
    RateKey::Address(IpAddr::from(number.to_be_bytes()))
}

#[test]
fn a_bucket_allows_a_burst_and_refills() {
    let limiter = RateLimiter::default();
    let start = Instant::now();
    let check = |ms| limiter.check_at(address(1), RATE, start + Duration::from_millis(ms));
    assert_eq!([check(0), check(0), check(0)], [Ok(()); 3]);
    assert_eq!(check(0), Err(Duration::from_millis(500)));
    assert_eq!(check(499).map_err(|wait| wait.as_millis()), Err(1));
    assert_eq!(check(500), Ok(()));
    assert!(check(500).is_err());
    // Another sender is not affected.
    assert_eq!(limiter.check_at(address(2), RATE, start), Ok(()));
}

#[test]
fn the_number_of_buckets_is_bounded_and_recent_senders_are_kept() {
    let limiter = RateLimiter::default();
    let now = Instant::now();
    let check = |number| limiter.check_at(address(number), RATE, now);
    for _ in 0..3 {
        check(0).unwrap();
    }
    for number in 1..30_000 {
        check(number).unwrap();
        if number % 1_000 == 0 {
            // The limited sender keeps trying, and stays limited.
            assert!(check(0).is_err(), "forgotten after {number} others");
        }
        let generations = limiter.generations.lock().unwrap();
        let buckets = generations.young.len() + generations.old.len();
        assert!(buckets <= 2 * MAX_PER_GENERATION, "{buckets}");
    }
    // The first of the others was forgotten after a long idle time.
    let generations = limiter.generations.lock().unwrap();
    assert!(!generations.young.contains_key(&address(1)));
    assert!(!generations.old.contains_key(&address(1)));
}
