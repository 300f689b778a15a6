use super::*;
use crate::store::test_stores::{TestStore, on_both};

fn call() -> TestCall {
    TestCall {
        at: 5_000,
        tokens: 512,
        cost: Money::from_dollars(0.25),
    }
}

/// C-19: every process of a store sees the calls of the others; those that are too old are deleted.
async fn c19_test_calls_are_shared_by_the_processes_of_a_store(test_store: TestStore) {
    let (one, other) = (test_store.open().await, test_store.open().await);
    let first = one.add_test_call(call(), 0).await.unwrap();
    assert_eq!(other.test_calls(4_999).await, Ok(vec![call()]));
    assert_eq!(other.test_calls(5_000).await, Ok(vec![]));

    let cost = Money::from_dollars(0.01);
    other.end_test_call(first, 99, cost).await.unwrap();
    let ended = TestCall {
        tokens: 99,
        cost,
        ..call()
    };
    assert_eq!(one.test_calls(0).await, Ok(vec![ended]));

    let unpriced = TestCall {
        at: 9_000,
        cost: None,
        ..call()
    };
    other.add_test_call(unpriced, 5_000).await.unwrap();
    assert_eq!(one.test_calls(0).await, Ok(vec![unpriced]));
}

on_both!(c19_test_calls_are_shared_by_the_processes_of_a_store);
