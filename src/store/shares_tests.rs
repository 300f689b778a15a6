use roundtable_engine::event::State;

use super::*;
use crate::store::CreateRequest;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support;

fn share(number: u128, debate: Uuid, expires_at: Option<Millis>) -> ShareRow {
    ShareRow {
        id: Uuid::from_u128(number),
        debate,
        made_by: (number == 1).then(|| "ada".to_owned()),
        created_at: 1000 + u64::try_from(number).unwrap(),
        expires_at,
    }
}

async fn debate(store: &Store) -> Uuid {
    let id = Uuid::new_v4();
    let setup = test_support::setup("Why?");
    let request = CreateRequest::default();
    let created = store
        .create_for_server(id, &setup, 1, State::Queued, &request)
        .await;
    drop(created.unwrap());
    id
}

async fn a_link_leads_to_one_debate_until_it_expires_or_is_revoked(test_store: TestStore) {
    let store = test_store.open().await;
    let (mine, other) = (debate(&store).await, debate(&store).await);
    let (first, second) = (share(1, mine, Some(2000)), share(2, mine, None));
    assert!(store.add_share(&first, &[1; 32], 9).await.unwrap());
    assert!(store.add_share(&second, &[2; 32], 9).await.unwrap());
    let found = async |hash: u8, now| store.shared_debate(&[hash; 32], now).await.unwrap();
    assert_eq!(found(1, 1999).await, Some(mine));
    assert_eq!(found(1, 2000).await, None);
    assert_eq!(found(2, 1 << 50).await, Some(mine));
    assert_eq!(found(3, 0).await, None);
    let shown = async |now| store.shares_of(mine, now).await.unwrap();
    assert_eq!(shown(1999).await, [first.clone(), second.clone()]);
    assert_eq!(shown(2000).await, std::slice::from_ref(&second));
    assert_eq!(store.shares_of(other, 0).await.unwrap(), []);

    // Only through its own debate.
    assert!(!store.revoke_share(other, second.id).await.unwrap());
    assert!(store.revoke_share(mine, second.id).await.unwrap());
    assert!(!store.revoke_share(mine, second.id).await.unwrap());
    assert_eq!(found(2, 0).await, None);
}

async fn the_number_of_links_is_limited(test_store: TestStore) {
    let store = test_store.open().await;
    let id = debate(&store).await;
    assert!(
        store
            .add_share(&share(1, id, Some(1002)), &[1; 32], 2)
            .await
            .unwrap()
    );
    assert!(
        store
            .add_share(&share(0, id, None), &[0; 32], 2)
            .await
            .unwrap()
    );
    // The first has expired by now and makes room.
    assert!(
        store
            .add_share(&share(2, id, None), &[2; 32], 2)
            .await
            .unwrap()
    );
    assert!(
        !store
            .add_share(&share(3, id, None), &[3; 32], 2)
            .await
            .unwrap()
    );
    assert_eq!(store.shared_debate(&[3; 32], 0).await.unwrap(), None);
}

async fn deleting_a_debate_deletes_its_links(test_store: TestStore) {
    let store = test_store.open().await;
    let id = debate(&store).await;
    assert!(
        store
            .add_share(&share(1, id, None), &[1; 32], 9)
            .await
            .unwrap()
    );
    store.delete(id).await.unwrap();
    assert_eq!(store.shared_debate(&[1; 32], 0).await.unwrap(), None);
}

on_both!(
    a_link_leads_to_one_debate_until_it_expires_or_is_revoked,
    the_number_of_links_is_limited,
    deleting_a_debate_deletes_its_links,
);
