use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::cast::Cast;
use crate::data::Data;

const POLICY: DealPolicy = DealPolicy {
    diversity: Diversity::Families,
    max_price_ratio: 2.0,
};

fn candidate(model: &str, family: &str, price: f64) -> Candidate {
    Candidate {
        model: model.into(),
        family: family.into(),
        tier: Tier::Deliberate,
        line: 0,
        price: Some(price),
    }
}

fn three() -> Vec<Candidate> {
    vec![
        candidate("a:claude-5", "claude", 3.0),
        candidate("o:gpt-6", "gpt", 3.0),
        candidate("g:gemini-3", "gemini", 4.0),
    ]
}

fn place(seat: &str, judges: &[&str]) -> Place {
    Place {
        seat: seat.into(),
        tier: Tier::Deliberate,
        wishes: Wishes {
            judges: judges.iter().map(|&seat| seat.to_owned()).collect(),
            ..Wishes::default()
        },
        taken_by: None,
    }
}

fn wishing(seat: &str, wishes: Wishes) -> Place {
    Place {
        wishes,
        ..place(seat, &[])
    }
}

fn models(dealt: &[Dealt]) -> Vec<&str> {
    dealt.iter().map(|one| one.model.as_str()).collect()
}

fn cast_of(name: &str, candidates: &[Candidate]) -> Vec<(String, String)> {
    let cast = Cast::load(&Data::built_in(), name).unwrap();
    let mut both = candidates.to_vec();
    let fast = candidates.iter().cloned().map(|one| Candidate {
        tier: Tier::Fast,
        ..one
    });
    both.extend(fast);
    let dealt = deal(&cast.places(), &both, POLICY).unwrap();
    dealt
        .into_iter()
        .map(|one| (one.seat, one.family))
        .collect()
}

/// C-04: in a debate of three families the synthesizer is of the third, and the judge is not of the synthesizer's.
#[test]
fn c04_a_dialectic_gets_three_families() {
    let seated = cast_of("dialectic", &three());
    let expected = [
        ("proposer", "claude"),
        ("skeptic", "gpt"),
        ("synthesizer", "gemini"),
        ("judge", "claude"),
    ];
    assert_eq!(
        expected.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec(),
        seated
    );
    let seated = cast_of("dialectic", &three()[..2]);
    let families: Vec<&str> = seated.iter().map(|(_, family)| family.as_str()).collect();
    assert_eq!(["claude", "gpt", "claude", "gpt"].to_vec(), families);
}

/// C-04: chairs, critics and judges of every built-in cast are known to judge, and all casts seat three families.
#[test]
fn c04_every_built_in_cast_gets_three_families() {
    for (name, judge) in [
        ("dialectic", "judge"),
        ("forecast", "judge"),
        ("modes", "chair"),
        ("panel", "chair"),
        ("themis", "critic"),
        ("essay", "orchestrator"),
        ("rfc", "critic"),
    ] {
        let seated = cast_of(name, &three());
        let families: BTreeSet<&String> = seated.iter().map(|(_, family)| family).collect();
        assert_eq!(3, families.len(), "{name}");
        let cast = Cast::load(&Data::built_in(), name).unwrap();
        let places = cast.places();
        let place = places.iter().find(|place| place.seat == judge).unwrap();
        assert!(!place.wishes.judges.is_empty(), "{name}");
        assert!(!place.wishes.judges.contains(&place.seat), "{name}");
    }
}

/// C-04: both sides of the price class.
#[test]
fn c04_a_dearer_family_is_taken_up_to_the_ratio() {
    let seats = [place("one", &[]), place("two", &[])];
    for (price, expected) in [(6.0, "b:b"), (6.01, "a:a")] {
        let candidates = [candidate("a:a", "a", 3.0), candidate("b:b", "b", price)];
        let dealt = deal(&seats, &candidates, POLICY).unwrap();
        assert_eq!(["a:a", expected].to_vec(), models(&dealt), "{price}");
    }
}

/// An unknown price cannot be compared with a known one.
#[test]
fn c04_unknown_prices_are_a_class_of_their_own() {
    let seats = [place("one", &[]), place("two", &[])];
    let unknown = |one: Candidate| Candidate { price: None, ..one };
    let (a, b) = (candidate("a:a", "a", 3.0), candidate("b:b", "b", 3.0));
    for (candidates, expected) in [
        ([a.clone(), unknown(b.clone())], "a:a"),
        ([unknown(a.clone()), b.clone()], "a:a"),
        ([unknown(a), unknown(b)], "b:b"),
    ] {
        let dealt = deal(&seats, &candidates, POLICY).unwrap();
        assert_eq!(["a:a", expected].to_vec(), models(&dealt));
    }
}

/// The first line in the price class counts, and its models take turns; those of a later line are not its equals.
#[test]
fn models_of_a_familys_first_line_take_turns() {
    let seats: Vec<Place> = ["one", "two", "three", "four"]
        .map(|name| place(name, &[]))
        .to_vec();
    let line = |one: Candidate, line| Candidate { line, ..one };
    let candidates = [
        candidate("a:new", "a", 3.0),
        candidate("a:newer", "a", 3.0),
        line(candidate("a:other", "a", 1.0), 1),
        line(candidate("b:dear", "b", 9.0), 0),
        line(candidate("b:fair", "b", 4.0), 1),
    ];
    let dealt = deal(&seats, &candidates, POLICY).unwrap();
    assert_eq!(
        ["a:new", "b:fair", "a:newer", "b:fair"].to_vec(),
        models(&dealt)
    );
    let one_family = &candidates[..3];
    let dealt = deal(&seats[..2], one_family, POLICY).unwrap();
    assert_eq!(["a:new", "a:new"].to_vec(), models(&dealt));
    let by_model = DealPolicy {
        diversity: Diversity::Models,
        ..POLICY
    };
    let dealt = deal(&seats[..3], one_family, by_model).unwrap();
    assert_eq!(["a:new", "a:newer", "a:new"].to_vec(), models(&dealt));
    let one = DealPolicy {
        diversity: Diversity::One,
        ..POLICY
    };
    let dealt = deal(&seats, &candidates, one).unwrap();
    assert!(dealt.iter().all(|seat| seat.model == "a:new"), "{dealt:?}");
}

/// C-04: pins win over price, tier and diversity; preferences stay in the price class; what is forbidden is never taken.
#[test]
fn c04_a_cast_pins_prefers_and_forbids() {
    let mut candidates = three();
    candidates.push(candidate("x:grok-4", "grok", 99.0));
    let pin = |text: &str| Wishes {
        pin: Some(text.to_owned()),
        ..Wishes::default()
    };
    let prefer = |texts: &[&str]| Wishes {
        prefer: texts.iter().map(|&text| text.to_owned()).collect(),
        ..Wishes::default()
    };
    let forbid = |texts: &[&str]| Wishes {
        forbid: texts.iter().map(|&text| text.to_owned()).collect(),
        ..Wishes::default()
    };
    for (wishes, expected, why) in [
        (pin("grok"), "x:grok-4", "the cast pins grok"),
        (pin("gpt-*"), "o:gpt-6", "the cast pins gpt-*"),
        (pin("g:gemini-3"), "g:gemini-3", "the cast pins g:gemini-3"),
        (
            prefer(&["grok", "gemini"]),
            "g:gemini-3",
            "the cast prefers gemini",
        ),
        (prefer(&["grok"]), "a:claude-5", "families in turn"),
        (
            forbid(&["claude", "o:*"]),
            "g:gemini-3",
            "the only family left",
        ),
    ] {
        let dealt = deal(&[wishing("one", wishes)], &candidates, POLICY).unwrap();
        assert_eq!(
            (expected, why),
            (dealt[0].model.as_str(), dealt[0].why.as_str())
        );
    }
    let error = deal(&[wishing("one", pin("llama"))], &candidates, POLICY).unwrap_err();
    assert_eq!(
        "the cast pins seat 'one' to 'llama', but no such model was found",
        error.to_string()
    );
    let all = forbid(&["claude", "gpt", "gemini"]);
    let error = deal(&[wishing("one", all)], &candidates, POLICY).unwrap_err();
    assert!(
        error.to_string().contains("forbids claude, gpt, gemini"),
        "{error}"
    );
}

/// A judge avoids the family of a model that the user has named.
#[test]
fn a_named_model_counts_for_those_who_judge_it() {
    let mut named = place("one", &[]);
    named.taken_by = Some("claude".into());
    let dealt = deal(&[named, place("judge", &["one"])], &three(), POLICY).unwrap();
    assert_eq!(["o:gpt-6"].to_vec(), models(&dealt));
    assert_eq!("another family than those it judges", dealt[0].why);
}

fn any_place(seats: usize) -> impl Strategy<Value = Place> {
    let judged = prop::collection::btree_set(0..seats, 0..seats);
    (0..seats, judged).prop_map(|(_, judged)| Place {
        wishes: Wishes {
            judges: judged
                .into_iter()
                .map(|index| format!("s{index}"))
                .collect(),
            ..Wishes::default()
        },
        ..place("", &[])
    })
}

fn any_places() -> impl Strategy<Value = Vec<Place>> {
    (1..9_usize)
        .prop_flat_map(|seats| prop::collection::vec(any_place(seats), seats))
        .prop_map(|mut places| {
            for (index, place) in places.iter_mut().enumerate() {
                place.seat = format!("s{index}");
                let own = place.seat.clone();
                place.wishes.judges.retain(|judged| *judged != own);
            }
            places
        })
}

fn any_candidates() -> impl Strategy<Value = Vec<Candidate>> {
    let one = (
        "[a-e]",
        0..3_u32,
        0..4_u32,
        prop::option::weighted(0.8, 0.5..8.0),
    );
    prop::collection::vec(one, 1..10).prop_map(|all| {
        let each = all
            .into_iter()
            .map(|(family, number, line, price)| Candidate {
                model: format!("p:{family}-{number}"),
                family,
                tier: Tier::Deliberate,
                line,
                price,
            });
        each.collect()
    })
}

proptest! {
    /// C-04: every seat has a model, in the order of the cast, and the same one every time.
    #[test]
    fn c04_every_seat_is_filled_and_the_same_way_each_time(
        places in any_places(),
        candidates in any_candidates(),
        which in 0..3_usize,
    ) {
        let policy = DealPolicy { diversity: Diversity::ALL[which], ..POLICY };
        let dealt = deal(&places, &candidates, policy).unwrap();
        let seats: Vec<&String> = dealt.iter().map(|one| &one.seat).collect();
        let expected: Vec<&String> = places.iter().map(|place| &place.seat).collect();
        prop_assert_eq!(expected, seats);
        prop_assert_eq!(&dealt, &deal(&places, &candidates, policy).unwrap());
    }

    /// C-04: as many families as possible, none above the price class.
    #[test]
    fn c04_as_many_families_as_possible_within_the_price_class(
        places in any_places(),
        candidates in any_candidates(),
    ) {
        let first = candidates[0].price;
        let in_class = |one: &&Candidate| POLICY.is_in_price_class(one.price, first);
        let families: BTreeSet<&str> =
            candidates.iter().filter(in_class).map(|one| one.family.as_str()).collect();
        let dealt = deal(&places, &candidates, POLICY).unwrap();
        let seated: BTreeSet<&str> = dealt.iter().map(|one| one.family.as_str()).collect();
        prop_assert_eq!(families.len().min(places.len()), seated.len());
        for one in &dealt {
            let mut same = candidates.iter().filter(|other| other.model == one.model);
            prop_assert!(same.any(|other| in_class(&other)), "{one:?}");
        }
    }

    /// C-04: whoever judges sits on another family than the seats dealt before it, unless all are among them; with two families
    /// and one judged seat that always holds.
    #[test]
    fn c04_a_judge_is_of_another_family_if_one_is_left(
        panel in 1..6_usize,
        candidates in any_candidates(),
    ) {
        let names: Vec<String> = (0..panel).map(|index| format!("s{index}")).collect();
        let judged: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut places: Vec<Place> = judged.iter().map(|name| place(name, &[])).collect();
        places.insert(0, place("judge", &judged));
        let dealt = deal(&places, &candidates, POLICY).unwrap();
        let (judge, panel) = dealt.split_first().unwrap();
        let first = candidates[0].price;
        let all: BTreeSet<&str> = candidates
            .iter()
            .filter(|one| POLICY.is_in_price_class(one.price, first))
            .map(|one| one.family.as_str())
            .collect();
        let on_panel: BTreeSet<&str> = panel.iter().map(|one| one.family.as_str()).collect();
        let is_apart = !on_panel.contains(judge.family.as_str());
        prop_assert_eq!(all.len() > on_panel.len(), is_apart);
        if panel.len() == 1 {
            prop_assert_eq!(all.len() > 1, is_apart);
        }
    }

    /// C-04: a pin wins, whatever it costs.
    #[test]
    fn c04_pins_win(
        places in any_places(),
        candidates in any_candidates(),
        which in any::<prop::sample::Index>(),
        seat in any::<prop::sample::Index>(),
    ) {
        let mut places = places;
        let pinned = &candidates[which.index(candidates.len())].model;
        let at = seat.index(places.len());
        places[at].wishes.pin = Some(pinned.clone());
        let dealt = deal(&places, &candidates, POLICY).unwrap();
        prop_assert_eq!(pinned, &dealt[at].model);
    }
}
