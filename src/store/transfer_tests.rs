use std::collections::{BTreeMap, BTreeSet};

use roundtable_core::learning::Audit;
use roundtable_core::usage::Money;
use roundtable_engine::event::State;
use uuid::Uuid;

use super::*;
use crate::store::test_stores::TestStore;
use crate::store::test_support::{
    audit_record, ended, failed, finished, keyed, opened, setup, spent,
};
use crate::store::{
    CreateRequest, Rating, Reach, Scope, SessionTimeouts, TokenLimits, TokenRow, Uses,
};

/// Fills every table, including unusual texts and numbers.
async fn fill(store: &Store) {
    for number in 0..3_u32 {
        let question = format!("Grüße № {number}: \u{0} \"'; DROP TABLE debates; -- 🦀");
        let lease = store
            .create(Uuid::new_v4(), &setup(&question), u64::from(number))
            .await
            .unwrap();
        let mut batch = vec![keyed(1, opened(&question))];
        batch.extend(
            (2..=80).map(|seq| keyed(seq, finished(&format!("r{seq}/a"), spent(Some(0.1))))),
        );
        batch.push(keyed(81, failed("r81/a", spent(None))));
        batch.push(keyed(82, ended(State::Partial)));
        lease.journal().append(batch).await.unwrap();
        let id = lease.id();
        drop(lease);
        let rating = Rating::new(7).unwrap();
        store.rate(id, rating, Some("so".into()), 9).await.unwrap();
    }
    let request = CreateRequest {
        key: Some("once".into()),
        fingerprint: "ff".into(),
        token: Some(Uuid::new_v4()),
        is_attended: false,
    };
    store
        .create_for_server(
            Uuid::new_v4(),
            &setup("Served?"),
            5,
            State::Queued,
            &request,
        )
        .await
        .unwrap();
    let token = TokenRow {
        expires_at: Some(9_000_000),
        reach: Reach::Own,
        limits: TokenLimits {
            max_running: Some(3),
            ..TokenLimits::default()
        },
        ..TokenRow::new("ada".into(), Scope::Run, [7; 32], 1)
    };
    store.add_token(&token).await.unwrap();
    let grace_end = 2_000_000;
    store
        .rotate_token("ada", &[9; 32], grace_end, token.expires_at)
        .await
        .unwrap();
    let timeouts = SessionTimeouts {
        idle: 1_000,
        total: 1_000_000,
    };
    store
        .open_session(&[8; 32], token.id, 1, timeouts)
        .await
        .unwrap();
    let uses = Uses {
        tokens: [(token.id, 3)].into(),
        sessions: [([8; 32], 4)].into(),
    };
    store.record_uses(&uses).await.unwrap();
    let plan = |_: &[Audit]| Ok::<_, std::convert::Infallible>(crate::learning::samples::audit());
    store.learn(plan).await.unwrap();
    let cost = Money::from_dollars(0.1).unwrap();
    store.add_cost(token.id, 5, cost).await.unwrap();
    let question = ("q1".to_owned(), "{}".to_owned());
    let imported = store.import_questions("set", &[question]).await;
    imported.unwrap();
    let forecast = store.reserve_forecast("set", "q1", 1, Uuid::from_u128(1));
    forecast.await.unwrap();
    for action in ["token-added", "token-revoked"] {
        store.append_audit(&audit_record(action)).await.unwrap();
    }
}

/// C-10: copying to PostgreSQL and back changes nothing.
#[tokio::test]
async fn c10_a_copy_to_postgres_and_back_is_identical() {
    let (first, server, last) = (
        TestStore::sqlite(),
        TestStore::postgres(),
        TestStore::sqlite(),
    );
    let (from, between, to) = (first.open().await, server.open().await, last.open().await);
    fill(&from).await;
    let before = from.content().await.unwrap();
    let rows: Vec<_> = before
        .iter()
        .map(|content| (content.table, content.rows))
        .collect();
    assert_eq!(
        rows,
        [
            ("debates", 4),
            ("journal", 3 * 83),
            ("tokens", 1),
            ("requests", 1),
            ("sessions", 1),
            ("shares", 0),
            ("pins", 0),
            ("tags", 0),
            ("questions", 1),
            ("question_forecasts", 1),
            ("learning", 4),
            ("other_costs", 1),
            ("audit_log", 2)
        ]
    );
    assert_eq!(from.copy_into(&between).await.unwrap(), before);
    assert_eq!(between.copy_into(&to).await.unwrap(), before);
    assert_eq!(to.content().await.unwrap(), before);
    // The copies can be used.
    for id in to.ids().await.unwrap() {
        assert_eq!(to.entries(id).await, from.entries(id).await);
        drop(to.lease(id).await.unwrap());
        drop(between.lease(id).await.unwrap());
    }
}

/// The copy of a store whose tokens are all revoked is as closed as the store.
#[tokio::test]
async fn a_copy_remembers_that_there_were_tokens() {
    for had_tokens in [false, true] {
        let (first, server) = (TestStore::sqlite(), TestStore::postgres());
        let (from, to) = (first.open().await, server.open().await);
        if had_tokens {
            let token = TokenRow::new("ada".into(), Scope::Run, [7; 32], 1);
            from.add_token(&token).await.unwrap();
            from.revoke_token("ada").await.unwrap();
        }
        from.copy_into(&to).await.unwrap();
        assert_eq!(to.had_tokens().await, Ok(had_tokens));
    }
}

/// A copy into a store with data is rejected and changes nothing.
#[tokio::test]
async fn a_copy_needs_an_empty_target() {
    let (first, server) = (TestStore::sqlite(), TestStore::postgres());
    let (from, to) = (first.open().await, server.open().await);
    fill(&from).await;
    fill(&to).await;
    let before = to.content().await.unwrap();
    let refused = from.copy_into(&to).await.unwrap_err();
    assert!(
        matches!(
            refused,
            CopyError::NotEmpty {
                table: "debates",
                rows: 4,
                ..
            }
        ),
        "{refused}"
    );
    assert_eq!(to.content().await.unwrap(), before);
}

/// A changed value changes the hash of its table and no other.
#[tokio::test]
async fn a_changed_value_changes_only_the_hash_of_its_table() {
    let test_store = TestStore::sqlite();
    let store = test_store.open().await;
    fill(&store).await;
    let before = store.content().await.unwrap();
    store
        .writer
        .run("UPDATE journal SET at = at + 1 WHERE seq = 40")
        .await;
    let after = store.content().await.unwrap();
    let changed: Vec<_> = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after)
        .map(|(before, _)| before.table)
        .collect();
    assert_eq!(changed, ["journal"]);
}

/// A table or column added by a later migration must be added to `TABLES` too, or a copy would lose it.
#[tokio::test]
async fn c10_every_table_and_column_is_copied() {
    let test_store = TestStore::sqlite();
    let store = test_store.open().await;
    let rows = sqlx::query(
        "SELECT tables.name AS in_table, columns.name AS in_column \
         FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'",
    )
    .fetch_all(&store.reader)
    .await
    .unwrap();
    let mut existing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows {
        let columns = existing.entry(row.get("in_table")).or_default();
        columns.insert(row.get("in_column"));
    }
    for not_copied in [
        "_sqlx_migrations",
        "owners",
        "orders",
        "server_flags",
        "test_calls",
        "compatibility",
    ] {
        assert!(existing.remove(not_copied).is_some(), "{not_copied}");
    }
    assert!(existing.get_mut("debates").unwrap().remove("owner"));
    let copied: BTreeMap<String, BTreeSet<String>> = TABLES
        .iter()
        .map(|table| {
            let columns = table.columns.iter().map(|(name, _)| (*name).to_owned());
            (table.name.to_owned(), columns.collect())
        })
        .collect();
    assert_eq!(copied, existing);
}
