use llama_cpp_2::token::LlamaToken;

use super::{CacheOp, KvCache, Prefix, Slot};

fn tokens(ids: impl IntoIterator<Item = i32>) -> Vec<LlamaToken> {
    ids.into_iter().map(LlamaToken).collect()
}

fn prefix(slot: usize, tokens: usize) -> Prefix {
    Prefix {
        slot: Slot(slot),
        tokens,
    }
}

#[test]
fn a_shared_prefix_is_counted_once_and_stays_while_a_sequence_uses_it() {
    let mut cache = KvCache::new(12, 12, 4);
    let first = cache.open(None).unwrap();
    cache.append(first, &tokens(0..6)).unwrap();

    let second = tokens([0, 1, 2, 3, 90, 91]);
    let shared = cache.longest_prefix(&second);
    assert_eq!(shared, Some(prefix(0, 4)));
    assert_eq!(cache.additional_cells(shared, second.len()), 2);

    let second_slot = cache.open(shared).unwrap();
    cache.append(second_slot, &second[4..]).unwrap();
    assert_eq!(cache.busy_cells(), 8);

    // The first is idle now: only the cells that it does not share are no longer busy.
    cache.retire(prefix(0, 6));
    assert_eq!(cache.busy_cells(), 6);
    assert_eq!(
        cache.take_ops(),
        [CacheOp::Copy {
            from: prefix(0, 4),
            to: Slot(1)
        }]
    );
}

#[test]
fn idle_sequences_are_evicted_in_lru_order_and_busy_ones_never() {
    let mut cache = KvCache::new(8, 8, 4);
    for ids in [0..3, 10..13] {
        let slot = cache.open(None).unwrap();
        cache.append(slot, &tokens(ids)).unwrap();
        cache.retire(Prefix { slot, tokens: 3 });
    }
    // Reusing the older one makes the other the least recently used.
    let slot = cache.open(Some(prefix(0, 2))).unwrap();
    cache.append(slot, &tokens(20..24)).unwrap();
    assert_eq!(
        cache.take_ops(),
        [
            CacheOp::Copy {
                from: prefix(0, 2),
                to: slot
            },
            CacheOp::Clear(Slot(1)),
        ]
    );
    // The other idle sequence is evicted next; then only busy cells are left.
    cache.append(slot, &tokens(24..26)).unwrap();
    assert_eq!(cache.take_ops(), [CacheOp::Clear(Slot(0))]);
    assert!(cache.append(slot, &tokens([26])).is_err());
}

#[test]
fn a_prefix_of_another_idle_sequence_is_cleared() {
    let mut cache = KvCache::new(16, 16, 4);
    let short = cache.open(None).unwrap();
    cache.append(short, &tokens(0..3)).unwrap();
    cache.retire(prefix(0, 3));
    let long = cache.open(Some(prefix(0, 3))).unwrap();
    cache.append(long, &tokens(3..6)).unwrap();
    cache.retire(prefix(1, 6));
    assert_eq!(cache.take_ops().last(), Some(&CacheOp::Clear(short)));
    assert_eq!(
        cache.longest_prefix(&tokens(0..9)),
        Some(Prefix {
            slot: long,
            tokens: 6
        })
    );
}

#[test]
fn idle_sequences_keep_their_prefix_within_the_limit() {
    let mut cache = KvCache::new(16, 4, 4);
    for ids in [0..6, 10..16] {
        let slot = cache.open(None).unwrap();
        cache.append(slot, &tokens(ids)).unwrap();
        cache.retire(Prefix { slot, tokens: 3 });
    }
    assert_eq!(
        cache.take_ops(),
        [
            CacheOp::Truncate(prefix(0, 3)),
            CacheOp::Truncate(prefix(1, 3)),
            CacheOp::Clear(Slot(0)),
        ]
    );
    // The newest stays even if it exceeds the limit.
    let slot = cache.open(None).unwrap();
    cache.append(slot, &tokens(20..28)).unwrap();
    cache.retire(Prefix { slot, tokens: 8 });
    assert_eq!(cache.take_ops(), [CacheOp::Clear(Slot(1))]);
    assert_eq!(
        cache.longest_prefix(&tokens(20..28)),
        Some(Prefix { slot, tokens: 8 })
    );
}
