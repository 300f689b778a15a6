use std::collections::BTreeMap;

use proptest::prelude::*;
use roundtable_core::bounded::Confidence;
use roundtable_core::citations::{EvidenceKind, Reference};
use roundtable_core::labels::Label;
use roundtable_core::stance::Stance;
use roundtable_core::state::{Ground, Moves, NewClaim, Objection};
use roundtable_core::votes::Vote;

use super::*;
use crate::mode::Visibility;

const FIXED: u64 = 1500;

/// A generated reply: number of claims, objections to earlier ones, vote.
#[derive(Debug, Clone)]
struct Drawn {
    claims: usize,
    opposes: Vec<prop::sample::Index>,
    supports: Vec<prop::sample::Index>,
    references: usize,
    vote: Vote,
    confidence: f64,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (
        0..=3_usize,
        prop::collection::vec(any::<prop::sample::Index>(), 0..=4),
        prop::collection::vec(any::<prop::sample::Index>(), 0..=3),
        0..=2_usize,
        prop::sample::select(Vote::ALL.to_vec()),
        0.0..=1.0_f64,
    )
        .prop_map(
            |(claims, opposes, supports, references, vote, confidence)| Drawn {
                claims,
                opposes,
                supports,
                references,
                vote,
                confidence,
            },
        )
}

fn moves(drawn: &Drawn, state: &DebateState, name: &str) -> Moves {
    let id = |index: &prop::sample::Index| index.get(&state.claims).id.clone();
    let ids = |indices: &[prop::sample::Index]| -> Vec<String> {
        if state.claims.is_empty() {
            Vec::new()
        } else {
            indices.iter().map(id).collect()
        }
    };
    Moves {
        position: format!("{name} holds that it depends on the load, on the hour and on who is asked about it."),
        confidence: Confidence::new(drawn.confidence).unwrap(),
        vote: drawn.vote,
        blocker: (drawn.vote == Vote::Blocker).then(|| format!("{name} wants the load measured before anything is built.")),
        stance: None,
        alignment: Some("A queue in front".into()),
        estimate: None,
        claims: (0..drawn.claims)
            .map(|number| NewClaim {
                text: format!("Claim {number} of {name}: the load doubles every second winter unless somebody moves the night jobs away."),
                label: if number == 0 { Label::Fact } else { Label::Infer },
                citations: if number == 0 && drawn.references > 0 { "[1]".into() } else { String::new() },
            })
            .collect(),
        references: (1..=drawn.references)
            .map(|number| Reference {
                number: u32::try_from(number).unwrap(),
                title: format!("{name} and others, volume {number} of the yearbook on load and weather"),
                url: None,
                gist: "Load follows the temperature with a delay of two days.".into(),
                kind: EvidenceKind::Citation,
            })
            .collect(),
        supports: ids(&drawn.supports),
        opposes: ids(&drawn.opposes)
            .into_iter()
            .map(|claim| Objection {
                claim,
                ground: Ground::InferenceGap,
                because: "the figures are from another site with other jobs and a milder winter".into(),
                counter: None,
            })
            .collect(),
        retracts: Vec::new(),
        decisions: Vec::new(),
        concern: None,
    }
}

fn view<'a>(
    visibility: Visibility,
    last_round: u32,
    named: &'a BTreeSet<String>,
    notes: &'a BTreeMap<String, String>,
) -> View<'a> {
    View {
        visibility,
        last_round,
        named,
        notes,
    }
}

fn rendered(state: &DebateState, visibility: Visibility, budget: u64) -> StateShown {
    let (named, notes) = (BTreeSet::new(), BTreeMap::new());
    let last_round = state.agent_status.iter().map(|s| s.round).max();
    let view = view(visibility, last_round.unwrap_or(0), &named, &notes);
    StateText::of(state, &view).fit(budget, 2500)
}

struct Played {
    state: DebateState,
    contexts: Vec<Context>,
}

/// A debate of `seats` seats; a seat's arguments have the same length in every round.
fn played(
    rounds: &[Vec<Drawn>],
    words: &[usize],
    visibility: Visibility,
    mut each: impl FnMut(u32, &DebateState, &Context),
) -> Played {
    let seats: Vec<String> = (0..words.len())
        .map(|index| format!("seat-{index}"))
        .collect();
    let mut state = DebateState::of(seats.clone());
    let (mut summaries, mut previous) = (Vec::new(), Vec::<PastTurn>::new());
    let mut window = Window::new(Limits::FULL);
    let mut contexts = Vec::new();
    for (round, drawn) in (1..).zip(rounds) {
        let (named, notes) = (BTreeSet::new(), BTreeMap::new());
        let material = Material {
            state: &state,
            summaries: &summaries,
            previous: &previous,
            view: view(visibility, round - 1, &named, &notes),
            fixed: &Fixed {
                others: FIXED,
                ..Fixed::default()
            },
        };
        let context = window.compose(&material);
        each(round, &state, &context);
        contexts.push(context);
        let said: Vec<_> = seats
            .iter()
            .zip(drawn)
            .map(|(seat, drawn)| {
                (
                    seat.clone(),
                    moves(drawn, &state, &format!("{seat}, round {round}")),
                )
            })
            .collect();
        let taken = state.take(round, &said);
        let figures = state.figures(round, taken.new_facts.len());
        summaries.push(RoundSummary::of(&state, &taken, &figures));
        previous = seats
            .iter()
            .zip(words)
            .map(|(seat, words)| PastTurn {
                by: seat.clone(),
                head: "MINOR, confidence 0.70. Position: it depends.".into(),
                points: Vec::new(),
                argument: "the load in winter ".repeat(words / 4),
            })
            .collect();
    }
    Played { state, contexts }
}

fn check_limits(round: u32, state: &DebateState, context: &Context) {
    let all = |shown: &[Shown]| shown.iter().map(|s| tokens::count(&s.text)).sum::<u64>();
    assert!(
        tokens::count(&context.state) <= 2500,
        "state in round {round}"
    );
    assert!(
        context
            .summaries
            .iter()
            .all(|s| tokens::count(&s.text) <= 400),
        "summaries in round {round}"
    );
    assert!(context.summaries.len() <= 2);
    assert!(all(&context.previous) <= 5000, "previous in round {round}");
    assert!(
        context.size(tokens::count) + FIXED <= 10_000,
        "all in round {round}"
    );
    let words: Vec<&str> = context.state.split([' ', '\n']).collect();
    for claim in state.contested() {
        assert!(
            words.contains(&claim.id.as_str()),
            "contested {} is missing in round {round}",
            claim.id
        );
    }
    // M-16: a contested claim with words has its objections, and evidence that is named has words.
    for claim in state.contested() {
        let head = format!("{} ", claim.id);
        let line = context.state.lines().find(|line| line.starts_with(&head));
        assert!(
            line.is_none_or(|line| line.contains("| against: ")),
            "{line:?} in round {round}"
        );
    }
    for id in ids_in(&context.state).filter(|id| id.starts_with('E')) {
        let head = format!("{id} ");
        assert!(
            context.state.lines().any(|line| line.starts_with(&head)),
            "{id} has no words in round {round}"
        );
    }
    for blocker in state.open_blockers() {
        let line = context
            .state
            .lines()
            .find(|line| line.starts_with(&format!("{} ", blocker.id)));
        let words = blocker.text.split(' ').next().unwrap();
        assert!(
            line.is_some_and(|line| line.contains(words)),
            "{} is missing in round {round}",
            blocker.id
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// M-12: 5 seats and 12 rounds of arbitrary moves. Every limit holds in every round, no contested claim or BLOCKER is
    /// missing, and the context of round 12 is at most 1.1 times that of round 4.
    #[test]
    fn m12_the_context_is_bounded_and_loses_nothing_that_is_open(
        rounds in prop::collection::vec(prop::collection::vec(drawn(), 5), 12),
        words in prop::collection::vec(40..900_usize, 5),
    ) {
        let played = played(&rounds, &words, Visibility::Named, check_limits);
        let size = |round: usize| played.contexts[round - 1].size(tokens::count) + FIXED;
        prop_assert!(
            size(12) * 10 <= size(4) * 11,
            "round 12 takes {}, round 4 took {} ({} claims, {} contested)",
            size(12), size(4), played.state.claims.len(), played.state.contested().count()
        );
    }
}

/// M-12: eight seats that contest everything for twenty rounds still fit.
#[test]
fn m12_the_worst_debate_still_fits() {
    let hostile = Drawn {
        claims: 3,
        opposes: Vec::new(),
        supports: Vec::new(),
        references: 2,
        vote: Vote::Blocker,
        confidence: 0.9,
    };
    let seats: Vec<String> = (0..8).map(|index| format!("seat-{index}")).collect();
    let mut state = DebateState::of(seats.clone());
    for round in 1..=20 {
        let said: Vec<_> = seats
            .iter()
            .map(|seat| {
                let mut all = moves(&hostile, &state, &format!("{seat}, round {round}"));
                let last = state.claims.iter().rev().take(24);
                all.opposes = last
                    .filter(|claim| claim.introduced_by != *seat)
                    .map(|claim| Objection {
                        claim: claim.id.clone(),
                        ground: Ground::FactConflict,
                        because: "no".into(),
                        counter: None,
                    })
                    .collect();
                (seat.clone(), all)
            })
            .collect();
        state.take(round, &said);
    }
    assert_eq!(state.claims.len(), 480);
    let contested = state.contested().count();
    assert!(contested > 400, "{contested}");
    for visibility in [Visibility::Named, Visibility::Anonymous] {
        let text = rendered(&state, visibility, 2200).text;
        assert!(tokens::count(&text) <= 2500, "{}", tokens::count(&text));
        let words: Vec<&str> = text.split([' ', '\n']).collect();
        assert!(
            state
                .contested()
                .all(|claim| words.contains(&claim.id.as_str()))
        );
    }
}

/// M-02: an anonymous context contains no seat names, and numbers as median and quartiles.
#[test]
fn m02_an_anonymous_context_contains_no_seat_names() {
    let everyone = Drawn {
        claims: 2,
        opposes: Vec::new(),
        supports: Vec::new(),
        references: 1,
        vote: Vote::Blocker,
        confidence: 0.6,
    };
    let seats = ["ada", "bo"].map(str::to_owned);
    let mut state = DebateState::of(seats.clone());
    let said: Vec<_> = seats
        .iter()
        .map(|seat| (seat.clone(), moves(&everyone, &state, "somebody")))
        .collect();
    let taken = state.take(1, &said);
    let figures = state.figures(1, taken.new_facts.len());
    let summary = RoundSummary::of(&state, &taken, &figures);
    let text = format!(
        "{}\n{}",
        rendered(&state, Visibility::Anonymous, 1600).text,
        summary.text(Visibility::Anonymous, 250, &BTreeSet::new())
    );
    assert!(
        text.contains("Confidence: median 0.60, quartiles 0.60 and 0.60"),
        "{text}"
    );
    for seat in &seats {
        assert!(
            !text
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == seat),
            "{text}"
        );
    }
}

/// M-12: before round N, rounds N−2 and N−3 are summaries, older ones only in the state, and N−1 is in full.
#[test]
fn m12_rounds_before_the_last_three_are_in_the_state_only() {
    let calm = Drawn {
        claims: 1,
        opposes: Vec::new(),
        supports: Vec::new(),
        references: 0,
        vote: Vote::Minor,
        confidence: 0.7,
    };
    let rounds = vec![vec![calm; 3]; 6];
    let played = played(&rounds, &[100, 100, 100], Visibility::Named, check_limits);
    let summarised: Vec<Vec<&str>> = played
        .contexts
        .iter()
        .map(|context| context.summaries.iter().map(|s| s.by.as_str()).collect())
        .collect();
    assert_eq!(
        summarised,
        [
            vec![],
            vec![],
            vec!["round 1"],
            vec!["round 1", "round 2"],
            vec!["round 2", "round 3"],
            vec!["round 3", "round 4"]
        ]
    );
    assert!(
        played.contexts[5].previous[0]
            .text
            .ends_with(&"the load in winter ".repeat(25))
    );
}

/// M-12: what short turns leave of the budget goes to longer ones.
#[test]
fn m12_short_turns_leave_room_for_long_ones() {
    assert_eq!(fair_share(&[10, 10, 1000], 500), 480);
    assert_eq!(fair_share(&[10, 10], 500), 10);
    assert_eq!(fair_share(&[600, 600], 500), 250);
    assert_eq!(fair_share(&[], 500), 0);
}

/// M-13: status, agreements, disagreements by agent, positions and new evidence come from the state without a model call.
#[test]
fn m13_a_rounds_summary_is_made_from_the_state() {
    let seats = ["ada".to_owned(), "ben".to_owned()];
    let mut state = DebateState::of(seats.to_vec());
    let first = Drawn {
        claims: 2,
        opposes: Vec::new(),
        supports: Vec::new(),
        references: 1,
        vote: Vote::Minor,
        confidence: 0.6,
    };
    let quiet = Drawn {
        claims: 0,
        references: 0,
        vote: Vote::Accept,
        ..first.clone()
    };
    let opening = [
        (seats[0].clone(), moves(&first, &state, "ada")),
        (seats[1].clone(), moves(&quiet, &state, "ben")),
    ];
    state.take(1, &opening);
    let mut objecting = moves(&quiet, &state, "ben");
    objecting.vote = Vote::Blocker;
    objecting.blocker = Some("Measure it first.".into());
    objecting.opposes = vec![Objection {
        claim: "C2".into(),
        ground: Ground::InferenceGap,
        because: "winter was mild".into(),
        counter: None,
    }];
    objecting.supports = vec!["C1".into()];
    let reply = [
        (seats[0].clone(), moves(&quiet, &state, "ada")),
        (seats[1].clone(), objecting),
    ];
    let taken = state.take(2, &reply);
    let figures = state.figures(2, taken.new_facts.len());
    insta::assert_json_snapshot!(RoundSummary::of(&state, &taken, &figures));
}

/// M-12: a text within the limit in bytes is not tokenized; a longer one is, on both sides of the limit.
#[test]
fn m12_short_contexts_are_not_counted_and_long_ones_are() {
    let words = "queue ".repeat(100);
    let context = Context {
        state: words.clone(),
        ids: BTreeSet::new(),
        summaries: Vec::new(),
        previous: vec![Shown {
            by: "seat".into(),
            text: words.clone(),
        }],
    };
    let fixed = Fixed {
        texts: vec![&words],
        others: 10,
        reserved: 0,
    };
    let bytes = 3 * words.len() as u64 + QUOTE_TOKENS + 10;
    let counted = 3 * tokens::count(&words) + QUOTE_TOKENS + 10;
    assert!(counted < bytes / 2);
    for (limit, fits) in [
        (bytes, true),
        (bytes - 1, true),
        (counted, true),
        (counted - 1, false),
    ] {
        assert_eq!(context.fits(&fixed, limit), fits, "{limit}");
    }
}

/// M-12: turns within the budget are unchanged, by bytes or by tokens.
#[test]
fn m12_turns_within_the_budget_are_unchanged() {
    let turn = |words: usize| PastTurn {
        by: "seat".into(),
        head: "MINOR 0.60".into(),
        points: Vec::new(),
        argument: "queue ".repeat(words).trim().to_owned(),
    };
    let turns = [turn(10), turn(200)];
    let whole: Vec<String> = turns
        .iter()
        .map(|turn| format!("{}\n\n{}", turn.head, turn.argument))
        .collect();
    let texts = |budget| {
        let fitted = shorten_turns(&turns, budget).into_iter();
        fitted.map(|shown| shown.text).collect::<Vec<_>>()
    };
    let bytes: usize = turns
        .iter()
        .map(|turn| turn.head.len() + turn.argument.len())
        .sum();
    let heads = turns.iter().map(|turn| tokens::count(&turn.head));
    // One more for each line break.
    let arguments = turns.iter().map(|turn| tokens::count(&turn.argument) + 1);
    let counted = heads.chain(arguments).sum::<u64>();
    assert_eq!(texts(bytes as u64), whole);
    assert_eq!(texts(counted), whole);
    let cut = texts(counted - 1);
    assert_eq!(cut[0], whole[0]);
    assert!(cut[1].ends_with('…') && cut[1].len() < whole[1].len());
}

/// M-13, M-17: opposite answers are at most MEDIUM consensus, even if all seats vote ACCEPT, and LOW without a majority.
#[test]
fn m13_opposite_answers_are_no_high_consensus_of_a_round() {
    let accepting = Drawn {
        claims: 1,
        opposes: Vec::new(),
        supports: Vec::new(),
        references: 0,
        vote: Vote::Accept,
        confidence: 0.8,
    };
    for (stances, expected) in [
        (&[Stance::Yes, Stance::Yes][..], "HIGH (100%)"),
        (&[Stance::Yes, Stance::No], "LOW (100%, but"),
        (&[Stance::Yes, Stance::Yes, Stance::No], "MEDIUM (100%, but"),
        (
            &[Stance::Yes, Stance::Yes, Stance::No, Stance::No],
            "LOW (100%, but",
        ),
    ] {
        let seats = ["ada", "bo", "cy", "di"].map(str::to_owned);
        let seats = seats.into_iter().zip(stances);
        let mut state = DebateState::of(seats.clone().map(|(seat, _)| seat));
        let said: Vec<_> = seats
            .map(|(seat, stance)| {
                let said = Moves {
                    stance: Some(*stance),
                    ..moves(&accepting, &state, &seat)
                };
                (seat, said)
            })
            .collect();
        let taken = state.take(1, &said);
        let figures = state.figures(1, taken.new_facts.len());
        let summary = RoundSummary::of(&state, &taken, &figures);
        let text = summary.text(Visibility::Named, 250, &BTreeSet::new());
        assert!(text.starts_with(&format!("Consensus {expected}")), "{text}");
    }
}
