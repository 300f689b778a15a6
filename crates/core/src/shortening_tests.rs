use proptest::prelude::*;

use super::Detail::{Brief, Full, Gone, Id, Least, Short};
use super::*;

const GROUPS: [Group; 8] = [
    Group::Blocker,
    Group::Contested,
    Group::Accepted,
    Group::Open,
    Group::Retracted,
    Group::Decision,
    Group::Concern,
    Group::Evidence,
];

fn item(group: Group, round: u32) -> Item {
    Item {
        group,
        round,
        is_new: false,
        is_named: false,
        tokens: Tokens {
            id: 3,
            least: 10,
            brief: 15,
            short: 30,
            full: 50,
        },
        names: Vec::new(),
    }
}

fn any_item() -> impl Strategy<Value = Item> {
    let steps = (1..5_u64, 4..12_u64, 0..10_u64, 0..25_u64, 0..40_u64);
    (
        prop::sample::select(GROUPS.to_vec()),
        1..13_u32,
        any::<bool>(),
        any::<bool>(),
        steps,
        prop::collection::vec(0..120_usize, 0..4),
    )
        .prop_map(|(group, round, is_new, is_named, steps, names)| {
            let (id, least, brief, short, full) = steps;
            let tokens = Tokens {
                id,
                least: id + least,
                brief: id + least + brief,
                short: id + least + brief + short,
                full: id + least + brief + short + full,
            };
            Item {
                group,
                round,
                is_new: is_new && round == 12,
                is_named,
                tokens,
                names,
            }
        })
}

fn any_items() -> impl Strategy<Value = Vec<Item>> {
    prop::collection::vec(any_item(), 0..120).prop_map(|mut items| {
        let count = items.len();
        for item in &mut items {
            item.names.retain(|&named| named < count);
        }
        items
    })
}

fn total(items: &[Item], details: &[Detail]) -> u64 {
    let lengths = items.iter().zip(details);
    lengths.map(|(item, detail)| item.tokens.at(*detail)).sum()
}

proptest! {
    /// M-16: what a shown item names has words.
    #[test]
    fn m16_nothing_that_is_named_is_without_words(items in any_items(), budget in 0..3000_u64) {
        let details = choose(&items, budget, budget + 300);
        for (item, detail) in items.iter().zip(&details) {
            if *detail >= Detail::Short {
                for &named in &item.names {
                    prop_assert!(details[named] >= Detail::Least, "{named} is {:?}", details[named]);
                }
            }
        }
    }

    /// M-16: contested claims, BLOCKERs and new claims have words, unless these alone exceed the hard limit.
    #[test]
    fn m16_nothing_that_is_open_is_without_words(items in any_items(), budget in 0..3000_u64) {
        let limit = budget + 300;
        let details = choose(&items, budget, limit);
        let least: u64 = items.iter().map(|item| item.tokens.at(item.least())).sum();
        for (item, detail) in items.iter().zip(&details) {
            if item.group == Group::Blocker || least <= limit && item.least() != Detail::Gone {
                prop_assert!(*detail >= Detail::Least);
            }
            if item.least() != Detail::Gone {
                prop_assert!(*detail >= Detail::Id);
            }
        }
    }

    /// M-12: the budget holds, unless what must not be left out is longer; the hard limit holds, unless ids alone are longer.
    #[test]
    fn m12_the_budget_and_the_limit_hold(items in any_items(), budget in 0..3000_u64) {
        let limit = budget + 300;
        let found = total(&items, &choose(&items, budget, limit));
        let least: u64 = items.iter().map(|item| item.tokens.at(item.least())).sum();
        let ids: u64 = items.iter().map(|item| match item.least() {
            Detail::Least if item.is_claim() => item.tokens.id,
            other => item.tokens.at(other),
        }).sum();
        prop_assert!(found <= budget.max(least), "{found} of {budget}, at least {least}");
        prop_assert!(found <= limit.max(ids), "{found} of {limit}, at least {ids}");
    }

    /// M-16: while an item is shortened or left out, less than one step of it is free.
    #[test]
    fn m16_the_budget_is_used_before_anything_is_dropped(items in any_items(), budget in 0..3000_u64) {
        let details = choose(&items, budget, budget + 300);
        let free = budget.saturating_sub(total(&items, &details));
        for (item, detail) in items.iter().zip(&details) {
            let Some(next) = detail.next() else { continue };
            let wordless = item.names.iter().filter(|&&named| details[named] < Detail::Least);
            let names: u64 = wordless.map(|&named| items[named].tokens.least).sum();
            let step = item.tokens.at(next) - item.tokens.at(*detail);
            prop_assert!(free < step + names, "{free} tokens are free for {:?}", item.group);
        }
    }

    /// Nothing is shortened if everything fits.
    #[test]
    fn m16_everything_is_in_full_if_it_fits(items in any_items()) {
        let all: u64 = items.iter().map(|item| item.tokens.full).sum();
        prop_assert!(choose(&items, all, all).iter().all(|detail| *detail == Detail::Full));
    }
}

/// M-16: with room for 80% of the items, at least 80% of the budget is used.
#[test]
fn m16_a_long_state_uses_its_budget() {
    let items: Vec<Item> = (0..200)
        .map(|number| {
            let group = GROUPS[number % GROUPS.len()];
            item(group, u32::try_from(number / 10).unwrap())
        })
        .collect();
    for budget in [1000, 2000, 2200] {
        let details = choose(&items, budget, 2500);
        let found = total(&items, &details);
        assert!(found * 10 >= budget * 8, "{found} of {budget}");
        assert!(found <= budget, "{found} of {budget}");
    }
}

/// M-12: settled before open, old before new.
#[test]
fn m12_old_and_settled_items_are_shortened_first() {
    let items = [
        item(Group::Open, 1),
        item(Group::Open, 3),
        item(Group::Contested, 1),
        item(Group::Contested, 2),
        item(Group::Blocker, 1),
    ];
    let chosen = |budget| choose(&items, budget, budget);
    assert_eq!(chosen(30), [Gone, Gone, Least, Least, Least]);
    assert_eq!(chosen(29), [Gone, Gone, Id, Least, Brief]);
    assert_eq!(chosen(27), [Gone, Gone, Id, Least, Least]);
    assert_eq!(chosen(19), [Gone, Gone, Id, Id, Least]);
    assert_eq!(chosen(80), [Gone, Gone, Brief, Brief, Full]);
    assert_eq!(chosen(95), [Gone, Gone, Brief, Short, Full]);
    assert_eq!(chosen(125), [Gone, Brief, Short, Short, Full]);
    assert_eq!(chosen(140), [Gone, Least, Short, Full, Full]);
    assert_eq!(chosen(250), [Full; 5]);
}

/// M-16: above the hard limit, too, a longer text that costs nothing is shown.
#[test]
fn m16_a_step_without_cost_is_taken_above_the_limit() {
    let mut blocker = item(Group::Blocker, 1);
    blocker.tokens.brief = blocker.tokens.least;
    assert_eq!(choose(&[blocker], 5, 5), [Brief]);
}

/// M-16: a claim that cannot bring its evidence along is shown without naming it.
#[test]
fn m16_a_claim_names_its_evidence_only_if_both_fit() {
    let mut claim = item(Group::Open, 1);
    claim.names = vec![1];
    let items = [claim, item(Group::Evidence, 1)];
    let chosen = |budget| choose(&items, budget, budget);
    assert_eq!(chosen(39), [Detail::Brief, Detail::Brief]);
    assert_eq!(chosen(40), [Detail::Short, Detail::Least]);
}
