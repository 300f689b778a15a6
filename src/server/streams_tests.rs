use super::*;

fn streams(total: usize, per_token: usize) -> Streams {
    Streams::new(StreamLimits {
        total,
        per_token,
        check_interval: Duration::from_secs(30),
    })
}

fn status(refused: Result<Slot, Problem>) -> Option<StatusCode> {
    refused.err().map(|problem| problem.status())
}

#[test]
fn streams_are_limited_per_token_and_in_all() {
    let streams = streams(3, 2);
    let (ada, bob) = (Some(Uuid::new_v4()), Some(Uuid::new_v4()));
    let first = streams.take(ada);
    let second = streams.take(ada);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(
        status(streams.take(ada)),
        Some(StatusCode::TOO_MANY_REQUESTS)
    );
    let third = streams.take(bob);
    assert!(third.is_ok());
    assert_eq!(
        status(streams.take(bob)),
        Some(StatusCode::SERVICE_UNAVAILABLE)
    );
    drop(first);
    let again = streams.take(ada);
    assert!(again.is_ok());
    drop((second, third, again));
    assert_eq!(*lock(&streams.open), Open::default());
}

/// A server without tokens has one limit only.
#[test]
fn streams_without_a_token_are_limited_in_all() {
    let streams = streams(3, 2);
    let open: Vec<_> = (0..3).map(|_| streams.take(None)).collect();
    assert!(open.iter().all(Result::is_ok));
    assert_eq!(
        status(streams.take(None)),
        Some(StatusCode::SERVICE_UNAVAILABLE)
    );
}
