use llama_cpp_2::token::LlamaToken;

use super::{Beginning, Cache, Change, Slot};

fn tokens(ids: impl IntoIterator<Item = i32>) -> Vec<LlamaToken> {
    ids.into_iter().map(LlamaToken).collect()
}

fn beginning(slot: usize, tokens: usize) -> Beginning {
    Beginning {
        slot: Slot(slot),
        tokens,
    }
}

#[test]
fn a_shared_beginning_is_counted_once_and_stays_while_anyone_holds_it() {
    let mut cache = Cache::new(12, 12, 4);
    let first = cache.open(None).unwrap();
    cache.append(first, &tokens(0..6)).unwrap();

    let second = tokens([0, 1, 2, 3, 90, 91]);
    let shared = cache.longest_beginning(&second);
    assert_eq!(shared, Some(beginning(0, 4)));
    assert_eq!(cache.claim(shared, second.len()), 2);

    let second_slot = cache.open(shared).unwrap();
    cache.append(second_slot, &second[4..]).unwrap();
    assert_eq!(cache.busy_cells(), 8);

    // The first is idle now: only what it alone holds is no longer busy.
    cache.settle(beginning(0, 6));
    assert_eq!(cache.busy_cells(), 6);
    assert_eq!(
        cache.take_changes(),
        [Change::Copy {
            from: beginning(0, 4),
            to: Slot(1)
        }]
    );
}

#[test]
fn idle_sequences_give_way_longest_unused_first_and_busy_ones_never() {
    let mut cache = Cache::new(8, 8, 4);
    for ids in [0..3, 10..13] {
        let slot = cache.open(None).unwrap();
        cache.append(slot, &tokens(ids)).unwrap();
        cache.settle(Beginning { slot, tokens: 3 });
    }
    // Using the older one makes the other the longest unused.
    let slot = cache.open(Some(beginning(0, 2))).unwrap();
    cache.append(slot, &tokens(20..24)).unwrap();
    assert_eq!(
        cache.take_changes(),
        [
            Change::Copy {
                from: beginning(0, 2),
                to: slot
            },
            Change::Clear(Slot(1)),
        ]
    );
    // Room for the last cells comes from the other idle one; then only busy cells are left.
    cache.append(slot, &tokens(24..26)).unwrap();
    assert_eq!(cache.take_changes(), [Change::Clear(Slot(0))]);
    assert!(cache.append(slot, &tokens([26])).is_err());
}

#[test]
fn what_another_sequence_holds_completely_does_not_stay() {
    let mut cache = Cache::new(16, 16, 4);
    let short = cache.open(None).unwrap();
    cache.append(short, &tokens(0..3)).unwrap();
    cache.settle(beginning(0, 3));
    let long = cache.open(Some(beginning(0, 3))).unwrap();
    cache.append(long, &tokens(3..6)).unwrap();
    cache.settle(beginning(1, 6));
    assert_eq!(cache.take_changes().last(), Some(&Change::Clear(short)));
    assert_eq!(
        cache.longest_beginning(&tokens(0..9)),
        Some(Beginning {
            slot: long,
            tokens: 6
        })
    );
}

#[test]
fn idle_sequences_keep_their_beginning_and_no_more_than_their_share() {
    let mut cache = Cache::new(16, 4, 4);
    for ids in [0..6, 10..16] {
        let slot = cache.open(None).unwrap();
        cache.append(slot, &tokens(ids)).unwrap();
        cache.settle(Beginning { slot, tokens: 3 });
    }
    assert_eq!(
        cache.take_changes(),
        [
            Change::Cut(beginning(0, 3)),
            Change::Cut(beginning(1, 3)),
            Change::Clear(Slot(0)),
        ]
    );
    // The newest stays, however long it is.
    let slot = cache.open(None).unwrap();
    cache.append(slot, &tokens(20..28)).unwrap();
    cache.settle(Beginning { slot, tokens: 8 });
    assert_eq!(cache.take_changes(), [Change::Clear(Slot(1))]);
    assert_eq!(
        cache.longest_beginning(&tokens(20..28)),
        Some(Beginning { slot, tokens: 8 })
    );
}
