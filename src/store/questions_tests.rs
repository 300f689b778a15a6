use roundtable_engine::event::State;

use super::*;
use crate::store::CreateRequest;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support;

fn pair(id: &str, body: &str) -> (String, String) {
    (id.to_owned(), body.to_owned())
}

const fn counts(added: u64, changed: u64, unchanged: u64) -> ImportCounts {
    ImportCounts {
        added,
        changed,
        unchanged,
    }
}

async fn importing_again_changes_only_what_differs(test_store: TestStore) {
    let store = test_store.open().await;
    let import = async |questions: &[(String, String)]| {
        store.import_questions("s", questions).await.unwrap()
    };
    let (a, b) = (pair("a", "{\"\\u0000\":1}"), pair("b", "{}"));
    assert_eq!(import(&[b.clone(), a.clone()]).await, counts(2, 0, 0));
    assert_eq!(import(&[a.clone(), b.clone()]).await, counts(0, 0, 2));
    let third = pair("c", "3");
    assert_eq!(import(&[third, pair("a", "[]"), b]).await, counts(1, 1, 1));
    let all = store.questions_after("s", 0, 9).await.unwrap();
    let found: Vec<_> = all
        .iter()
        .map(|own| (own.id.as_str(), own.body.as_str()))
        .collect();
    assert_eq!(found, [("b", "{}"), ("a", "[]"), ("c", "3")]);
    let rest = store.questions_after("s", all[0].place, 1).await.unwrap();
    assert_eq!(rest, &all[1..2]);
    assert_eq!(store.questions_after("t", 0, 9).await.unwrap(), []);
    assert_eq!(store.remove_questions("s").await.unwrap(), 3);
    assert_eq!(store.question_sets().await.unwrap(), []);
}

async fn a_forecast_is_reserved_before_its_debate(test_store: TestStore) {
    let store = test_store.open().await;
    store
        .import_questions("s", &[pair("a", "1")])
        .await
        .unwrap();
    let (first, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let reserve = async |number, new| store.reserve_forecast("s", "a", number, new).await.unwrap();
    assert_eq!(reserve(1, first).await, first);
    assert_eq!(reserve(1, other).await, first);
    assert_eq!(reserve(2, other).await, other);
    let forecasts = store.forecasts_of("s", "a").await.unwrap();
    let found: Vec<_> = forecasts
        .iter()
        .map(|own| (own.number, own.debate, own.state))
        .collect();
    assert_eq!(found, [(1, first, None), (2, other, None)]);
    let setup = test_support::setup("Why?");
    let request = CreateRequest::default();
    let created = store
        .create_for_server(first, &setup, 1, State::Queued, &request)
        .await;
    drop(created.unwrap());
    let forecasts = store.forecasts_of("s", "a").await.unwrap();
    assert_eq!(forecasts[0].state, Some(State::Queued));
    assert_eq!(forecasts[0].cost, Some(Money::ZERO));
    assert_eq!(
        store.question_of(other).await.unwrap(),
        Some(pair("s", "a"))
    );
    assert_eq!(store.question_of(Uuid::from_u128(9)).await.unwrap(), None);
    assert_eq!(store.cost_of_set("s").await.unwrap(), Money::ZERO);
    let sets = store.question_sets().await.unwrap();
    assert_eq!((sets[0].questions, sets[0].forecast), (1, 0));
}

on_both!(
    importing_again_changes_only_what_differs,
    a_forecast_is_reserved_before_its_debate,
);
