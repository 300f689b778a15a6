use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use roundtable_engine::event::{Setup, State};
use serde_json::json;
use sqlx::{Executor, Row};
use uuid::Uuid;

use super::{
    Conditions, ListPosition, MAX_COUNTED, MAX_LISTED_QUESTION, SEARCH_BOUNDS, SearchBounds,
};
use crate::store::dialect::Dialect;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::{ended, finished, keyed, opened, setup, spent};
use crate::store::{Filter, FindError, Store};

fn id(text: &str) -> Uuid {
    text.parse().unwrap()
}

const FIRST: &str = "aaaa0000-0000-4000-8000-000000000001";
const SECOND: &str = "aaaa1111-0000-4000-8000-000000000002";
const THIRD: &str = "bbbb0000-0000-4000-8000-000000000003";

async fn three_debates(store: &Store) {
    let judged = Setup {
        protocol: "councils".into(),
        ..setup("100% sure_ of it!")
    };
    store
        .create(id(FIRST), &setup("Is Rust FAST?"), 1_000)
        .await
        .unwrap();
    store.create(id(SECOND), &judged, 2_000).await.unwrap();
    let lease = store
        .create(id(THIRD), &setup("Is it so?"), 3_000)
        .await
        .unwrap();
    lease
        .journal()
        .append(vec![keyed(1, ended(State::Complete))])
        .await
        .unwrap();
}

async fn listed(store: &Store, filter: Filter) -> (Vec<String>, u64) {
    let page = store.list(&filter).await.unwrap();
    let ids = page.debates.iter().map(|row| row.id.to_string()).collect();
    (ids, page.total)
}

/// C-14: lists newest first, filtered by state, protocol and text, in pages.
async fn c14_debates_are_listed(test_store: TestStore) {
    let store = test_store.open().await;
    three_debates(&store).await;
    let all = Filter::default;
    let search = |text: &str| Filter {
        search: Some(text.into()),
        ..all()
    };
    let none = (vec![], 0);
    assert_eq!(
        listed(&store, all()).await,
        (vec![THIRD.into(), SECOND.into(), FIRST.into()], 3)
    );
    assert_eq!(
        listed(
            &store,
            Filter {
                limit: 1,
                offset: 1,
                ..all()
            }
        )
        .await,
        (vec![SECOND.into()], 3)
    );
    assert_eq!(
        listed(
            &store,
            Filter {
                state: Some(State::Complete),
                ..all()
            }
        )
        .await,
        (vec![THIRD.into()], 1)
    );
    assert_eq!(
        listed(
            &store,
            Filter {
                protocol: Some("councils".into()),
                ..all()
            }
        )
        .await,
        (vec![SECOND.into()], 1)
    );
    assert_eq!(
        listed(&store, search("rust fast")).await,
        (vec![FIRST.into()], 1)
    );
    assert_eq!(
        listed(&store, search("% sure_ of it!")).await,
        (vec![SECOND.into()], 1)
    );
    assert_eq!(listed(&store, search("Rust_FAST")).await, none);
    assert_eq!(
        store.ids().await,
        Ok(vec![id(FIRST), id(SECOND), id(THIRD)])
    );
}

/// C-14: an id may be shortened to an unambiguous prefix.
async fn c14_a_debate_is_found_by_id_prefix(test_store: TestStore) {
    let store = test_store.open().await;
    assert_eq!(store.find("last").await, Err(FindError::Empty));
    three_debates(&store).await;
    let found = async |wanted: &str| store.find(wanted).await.map(|row| row.id);
    let missing = |wanted: &str| {
        Err(FindError::NotFound {
            wanted: wanted.into(),
        })
    };
    assert_eq!(found("bb").await, Ok(id(THIRD)));
    assert_eq!(found("AAAA1").await, Ok(id(SECOND)));
    assert_eq!(found(FIRST).await, Ok(id(FIRST)));
    assert_eq!(found("last").await, Ok(id(THIRD)));
    assert_eq!(found("").await, missing(""));
    assert_eq!(found("%").await, missing("%"));
    assert_eq!(found("cc").await, missing("cc"));
    let ambiguous = FindError::Ambiguous {
        wanted: "aa".into(),
        candidates: vec![
            store.get(id(SECOND)).await.unwrap().unwrap(),
            store.get(id(FIRST)).await.unwrap().unwrap(),
        ],
    };
    assert_eq!(
        ambiguous.to_string(),
        format!("several debate ids start with 'aa': {SECOND}, {FIRST}; use a longer prefix")
    );
    assert_eq!(store.find("aa").await, Err(ambiguous));
}

/// C-14: the output of `list --json`.
async fn c14_a_row_is_plain_json(test_store: TestStore) {
    let store = test_store.open().await;
    let lease = store
        .create(id(FIRST), &setup("Why?"), 1_800_000_000_000)
        .await
        .unwrap();
    let batch = vec![
        keyed(1, opened("Why?")),
        keyed(2, finished("r1/a", spent(Some(0.25)))),
        keyed(3, ended(State::Complete)),
    ];
    lease.journal().append(batch).await.unwrap();
    let row = store.find("last").await.unwrap();
    assert_eq!(
        serde_json::to_value(row).unwrap(),
        json!({
            "id": FIRST,
            "protocol": "dialectic",
            "question": "Why?",
            "state": "complete",
            "created_at": "2027-01-15T08:00:00.000Z",
            "updated_at": "2027-01-15T08:00:00.003Z",
            "ended_at": "2027-01-15T08:00:00.003Z",
            "totals": {
                "calls": 2,
                "retries": 1,
                "input_tokens": 100,
                "output_tokens": 20,
                "cached_tokens": 60,
                "cost_usd": 0.25,
            },
            "rating": null,
            "parent": null,
        })
    );
}

/// The plan of a listing in SQLite.
async fn plan(store: &Store, filter: &Filter) -> String {
    let conditions = Conditions::of(filter, &HashSet::new(), Dialect::Sqlite);
    let (sql, conditions) = conditions.rows(filter);
    let rows = conditions
        .bind(&format!("EXPLAIN QUERY PLAN {sql}"))
        .fetch_all(&store.reader)
        .await
        .unwrap();
    let lines = rows.iter().map(|row| row.get::<String, _>("detail"));
    format!("{sql}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// C-14: a listing reads an index in its order, and looks into no question unless it searches.
#[tokio::test]
async fn c14_a_listing_uses_an_index() {
    let test_store = TestStore::sqlite();
    let store = test_store.open().await;
    let page = |state: Option<State>, protocol: Option<&str>| Filter {
        state,
        protocol: protocol.map(str::to_owned),
        limit: 25,
        ..Filter::default()
    };
    for (filter, index) in [
        (page(None, None), "debates_by_creation"),
        (page(Some(State::Complete), None), "debates_by_state"),
        (
            page(Some(State::Complete), Some("modes")),
            "debates_by_protocol",
        ),
    ] {
        let plan = plan(&store, &filter).await;
        assert!(plan.contains(&format!("INDEX {index}")), "{plan}");
        assert!(!plan.contains("lower("), "{plan}");
    }
    let searching = Filter {
        search: Some("x".into()),
        ..Filter::default()
    };
    assert!(plan(&store, &searching).await.contains("instr(lower("));
}

/// C-14: a listing has the beginning of a question; the debate has all of it.
async fn c14_long_questions_are_shortened_in_listings(test_store: TestStore) {
    let store = test_store.open().await;
    let whole = "ü".repeat(MAX_LISTED_QUESTION);
    let long = format!("{whole}!");
    for (text, expected) in [(&whole, whole.clone()), (&long, format!("{whole}…"))] {
        let id = Uuid::new_v4();
        drop(store.create(id, &setup(text), 1).await.unwrap());
        let listed = store.list(&Filter::default()).await.unwrap().debates;
        let listed = listed.into_iter().find(|row| row.id == id).unwrap();
        assert_eq!(listed.question, expected);
        assert_eq!(store.get(id).await.unwrap().unwrap().question, *text);
        store.delete(id).await.unwrap();
    }
}

/// C-14: counting stops at a limit.
async fn c14_debates_are_counted_up_to_a_limit(test_store: TestStore) {
    let store = test_store.open().await;
    store.create(id(FIRST), &setup("Why?"), 1).await.unwrap();
    let all = async || store.list(&Filter::default()).await.unwrap().total;
    assert_eq!(all().await, 1);
    for number in [MAX_COUNTED - 1, MAX_COUNTED, MAX_COUNTED + 1] {
        let copies = format!(
            "INSERT INTO debates (id, protocol, state, epoch, generation, created_at, updated_at, calls, retries, input_tokens, \
             output_tokens, cached_tokens, cost_usd, cost_known, question, setup) \
             WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < {number}) \
             SELECT 'copy-' || n, protocol, 'complete', epoch, generation, created_at, updated_at, calls, retries, input_tokens, \
             output_tokens, cached_tokens, cost_usd, cost_known, question, setup FROM debates, numbers WHERE id = '{FIRST}'"
        );
        let statement = sqlx::query(sqlx::AssertSqlSafe(copies));
        let deleted = sqlx::query("DELETE FROM debates WHERE id LIKE 'copy-%'");
        store.writer.change(deleted).await.unwrap();
        store.writer.change(statement).await.unwrap();
        let page = Filter {
            limit: 0,
            ..Filter::default()
        };
        let total = store.list(&page).await.unwrap().total;
        assert_eq!(total, number.min(MAX_COUNTED));
    }
}

/// The home page needs one query.
async fn the_home_page_needs_one_query(test_store: TestStore) {
    let store = test_store.open().await;
    three_debates(&store).await;
    let before = store.reads.load(Ordering::Relaxed);
    let newest = Filter {
        limit: 2,
        ..Filter::default()
    };
    let newest = store.list_uncounted(&newest).await.unwrap();
    let ids: Vec<Uuid> = newest.iter().map(|row| row.id).collect();
    assert_eq!(ids, [id(THIRD), id(SECOND)]);
    assert_eq!(store.reads.load(Ordering::Relaxed) - before, 2);
}

/// Searches run one at a time, and a listing does not wait for them.
#[tokio::test]
async fn c14_a_search_waits_for_another_one() {
    let test_store = TestStore::sqlite();
    let store = test_store.open().await;
    three_debates(&store).await;
    let searching = store.searches.permits.acquire().await.unwrap();
    assert_eq!(listed(&store, Filter::default()).await.1, 3);
    let search = Filter {
        search: Some("rust".into()),
        ..Filter::default()
    };
    let refused = store.list(&search).await.unwrap_err();
    assert!(refused.is_transient(), "{refused}");
    drop(searching);
    assert_eq!(listed(&store, search).await.1, 1);
}

/// C-14: a search in windows finds the same as a search in one piece, for every window and page.
async fn c14_a_search_looks_at_one_window_after_the_other(test_store: TestStore) {
    let store = test_store.open().await;
    for number in 0..7_u64 {
        let (id, question) = (
            Uuid::new_v4(),
            ["Rust?", "Go?"][usize::from(number % 3 == 1)],
        );
        // Two of each time.
        drop(
            store
                .create(id, &setup(question), number / 2)
                .await
                .unwrap(),
        );
    }
    let all = store.list(&Filter::default()).await.unwrap().debates;
    let matches = all.iter().filter(|row| row.question == "Rust?");
    let expected: Vec<Uuid> = matches.map(|row| row.id).collect();
    assert_eq!(expected.len(), 5);
    let search = Filter {
        search: Some("rust".into()),
        ..Filter::default()
    };
    let whole = SearchBounds {
        window: 100,
        ..SEARCH_BOUNDS
    };
    for window in [1, 2, 3, 7, 8] {
        let bounds = SearchBounds { window, ..whole };
        for (offset, limit) in [(0, 100), (0, 2), (2, 2), (4, 2), (9, 2)] {
            for after in
                std::iter::once(None).chain(all.iter().map(|row| Some(ListPosition::of(row))))
            {
                let filter = Filter {
                    after,
                    limit,
                    offset,
                    ..search.clone()
                };
                let page = store.search(&filter, bounds).await.unwrap();
                let ids: Vec<Uuid> = page.debates.iter().map(|row| row.id).collect();
                let later = all
                    .iter()
                    .filter(|row| after.is_none_or(|after| ListPosition::of(row) < after));
                let expected: Vec<Uuid> = later
                    .filter(|row| expected.contains(&row.id))
                    .skip(usize::try_from(offset).unwrap())
                    .take(limit as usize)
                    .map(|row| row.id)
                    .collect();
                assert_eq!((ids, page.total), (expected, 5), "{filter:?} {window}");
            }
        }
    }
    let no_time = SearchBounds {
        window: 1,
        time: Duration::ZERO,
    };
    let refused = store.search(&search, no_time).await.unwrap_err();
    assert!(
        refused.to_string().contains("the search took too long"),
        "{refused}"
    );
}

/// A slow query on a server is cancelled, except when whole tables are copied.
#[tokio::test]
async fn queries_on_postgres_have_a_time_limit() {
    let test_store = TestStore::postgres();
    let store = test_store.open().await;
    let mut connection = store.reader.acquire().await.unwrap();
    let mut limit = async || {
        let row = connection.fetch_one("SHOW statement_timeout").await;
        let now: String = row.unwrap().get(0);
        let begin = Dialect::Postgres.begin_read();
        connection.execute(begin).await.unwrap();
        let row = connection.fetch_one("SHOW statement_timeout").await;
        connection.execute("COMMIT").await.unwrap();
        (now, row.unwrap().get::<String, _>(0))
    };
    assert_eq!(limit().await, ("10s".into(), "0".into()));
}

on_both!(
    c14_a_search_looks_at_one_window_after_the_other,
    c14_long_questions_are_shortened_in_listings,
    c14_debates_are_counted_up_to_a_limit,
    the_home_page_needs_one_query,
    c14_debates_are_listed,
    c14_a_debate_is_found_by_id_prefix,
    c14_a_row_is_plain_json
);
