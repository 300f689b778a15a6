use proptest::prelude::*;

use super::*;
use crate::citations::Reference;

const SEATS: [&str; 3] = ["ada", "bo", "cy"];

fn state() -> DebateState {
    DebateState::of(SEATS.map(str::to_owned))
}

fn moves() -> Moves {
    Moves {
        position: "We should.".into(),
        confidence: Confidence::new(0.6).unwrap(),
        vote: Vote::Minor,
        blocker: None,
        stance: None,
        alignment: None,
        estimate: None,
        claims: Vec::new(),
        references: Vec::new(),
        supports: Vec::new(),
        opposes: Vec::new(),
        retracts: Vec::new(),
        decisions: Vec::new(),
        concern: None,
    }
}

fn claim(text: &str, label: Label, citations: &str) -> NewClaim {
    NewClaim {
        text: text.into(),
        label,
        citations: citations.into(),
    }
}

fn reference(number: u32, title: &str) -> Reference {
    Reference {
        number,
        title: title.into(),
        url: None,
        gist: String::new(),
        kind: EvidenceKind::Citation,
    }
}

fn against(claim: &str) -> Objection {
    Objection {
        claim: claim.into(),
        ground: Ground::InferenceGap,
        because: "it does not follow".into(),
        counter: None,
    }
}

fn said(seat: &str, moves: Moves) -> (String, Moves) {
    (seat.to_owned(), moves)
}

fn statuses(state: &DebateState) -> Vec<(&str, ClaimStatus)> {
    state
        .claims
        .iter()
        .map(|claim| (claim.id.as_str(), claim.status))
        .collect()
}

/// M-11: ids in the order of the seats, equal claims and sources merged, references resolved into one registry.
#[test]
fn m11_claims_and_evidence_of_several_seats_are_merged() {
    let mut state = state();
    let ada = Moves {
        claims: vec![
            claim("Bursts come at nine.", Label::Fact, "[1]"),
            claim("So a queue helps.", Label::Infer, ""),
        ],
        references: vec![reference(1, "Logs, March 2024")],
        ..moves()
    };
    let bo = Moves {
        claims: vec![
            claim("bursts come at NINE", Label::Fact, "[2]"),
            claim("We can pay.", Label::Assume, ""),
        ],
        references: vec![
            reference(1, "Another source"),
            reference(2, "logs march 2024"),
        ],
        ..moves()
    };
    // Given in reverse: the order of the seats counts.
    let taken = state.take(1, &[said("bo", bo), said("ada", ada)]);
    let texts: Vec<_> = state
        .claims
        .iter()
        .map(|claim| {
            (
                claim.id.as_str(),
                claim.text.as_str(),
                claim.supporters.len(),
            )
        })
        .collect();
    assert_eq!(
        texts,
        [
            ("C1", "Bursts come at nine.", 2),
            ("C2", "So a queue helps.", 1),
            ("C3", "We can pay.", 1)
        ]
    );
    let sources: Vec<_> = state
        .evidence
        .iter()
        .map(|e| (e.id.as_str(), e.title.as_str(), e.supports.clone()))
        .collect();
    assert_eq!(
        sources,
        [
            ("E1", "Logs, March 2024", vec!["C1".to_owned()]),
            ("E2", "Another source", vec![])
        ]
    );
    assert_eq!(taken.new_facts, ["C1"]);
    assert_eq!(
        statuses(&state)[0].1,
        ClaimStatus::Accepted,
        "two of three seats"
    );
}

/// M-11: contested by an objection, settled when the objector withdraws it, retracted by its supporters.
#[test]
fn m11_a_claim_goes_through_its_states() {
    let mut state = state();
    state.take(
        1,
        &[said(
            "ada",
            Moves {
                claims: vec![claim("A queue helps.", Label::Infer, "")],
                ..moves()
            },
        )],
    );
    assert_eq!(statuses(&state), [("C1", ClaimStatus::Open)]);
    state.take(
        2,
        &[said(
            "bo",
            Moves {
                opposes: vec![against("[c1]")],
                ..moves()
            },
        )],
    );
    assert_eq!(statuses(&state), [("C1", ClaimStatus::Contested)]);
    // Support from another seat does not settle it.
    state.take(
        3,
        &[said(
            "cy",
            Moves {
                supports: vec!["C1".into()],
                ..moves()
            },
        )],
    );
    assert_eq!(statuses(&state), [("C1", ClaimStatus::Contested)]);
    state.take(
        4,
        &[said(
            "bo",
            Moves {
                supports: vec!["C1".into()],
                ..moves()
            },
        )],
    );
    assert_eq!(statuses(&state), [("C1", ClaimStatus::Accepted)]);
    for (round, seat) in [(5, "ada"), (6, "bo"), (7, "cy")] {
        state.take(
            round,
            &[said(
                seat,
                Moves {
                    retracts: vec!["C1".into()],
                    ..moves()
                },
            )],
        );
    }
    assert_eq!(statuses(&state), [("C1", ClaimStatus::Retracted)]);
    assert_eq!(
        (
            state.claims[0].introduced_round,
            state.claims[0].last_updated_round
        ),
        (1, 7)
    );
}

/// M-11: ids that do not exist are reported and change nothing.
#[test]
fn m11_unknown_ids_are_reported_and_ignored() {
    let mut state = state();
    let wild = Moves {
        supports: vec!["C99".into()],
        opposes: vec![Objection {
            counter: Some("E7".into()),
            ..against("c98")
        }],
        retracts: vec!["D3".into(), "What the other seat said".into()],
        references: vec![reference(1, "E5")],
        claims: vec![claim("Sure.", Label::Fact, "[1]")],
        ..moves()
    };
    let before = state.unknown(&wild);
    assert_eq!(
        before,
        ["C98", "C99", "D3", "E5", "E7", "What the other seat said"]
            .map(str::to_owned)
            .into()
    );
    let taken = state.take(1, &[said("ada", wild)]);
    assert_eq!(taken.unknown["ada"], before);
    assert!(state.evidence.is_empty());
    assert_eq!(state.claims[0].tag(), "[FACT, uncited]");
    assert!(
        taken.new_facts.is_empty(),
        "a fact without a source is none"
    );
}

/// M-04: known evidence is cited by its id in the reply's reference list.
#[test]
fn m04_known_evidence_is_cited_by_its_id() {
    let mut state = state();
    let first = Moves {
        references: vec![reference(1, "Logs")],
        ..moves()
    };
    state.take(1, &[said("ada", first)]);
    let again = Moves {
        references: vec![reference(1, "E1")],
        claims: vec![claim("It bursts.", Label::Fact, "[1]")],
        ..moves()
    };
    state.take(2, &[said("bo", again)]);
    assert_eq!(state.evidence.len(), 1);
    assert_eq!(state.claims[0].support, ["E1"]);
    assert_eq!(
        state.evidence[0].cited_by,
        ["ada", "bo"].map(str::to_owned).into()
    );
}

/// M-05, M-11: a BLOCKER is open until its own seat votes otherwise; only its text may change.
#[test]
fn m05_a_blocker_is_open_until_its_seat_withdraws_it() {
    let mut state = state();
    let block = |text: &str| Moves {
        vote: Vote::Blocker,
        blocker: Some(text.into()),
        ..moves()
    };
    state.take(
        1,
        &[said("ada", block("Measure first.")), said("bo", moves())],
    );
    state.take(2, &[said("ada", block("Measure on Mondays."))]);
    let open: Vec<_> = state
        .open_blockers()
        .map(|b| (b.id.as_str(), b.text.as_str(), b.raised_round))
        .collect();
    assert_eq!(open, [("B1", "Measure on Mondays.", 1)]);
    state.take(3, &[said("bo", moves())]);
    assert_eq!(state.open_blockers().count(), 1, "its seat was absent");
    state.take(4, &[said("ada", moves())]);
    assert_eq!(state.open_blockers().count(), 0);
    assert_eq!(state.blockers[0].resolved_round, Some(4));
}

/// M-11: decisions are merged, and adopted by more than half of the seats.
#[test]
fn m11_a_decision_is_adopted_by_more_than_half() {
    let mut state = state();
    let propose = Moves {
        decisions: vec!["No downtime.".into()],
        ..moves()
    };
    let taken = state.take(1, &[said("ada", propose)]);
    assert_eq!(
        (taken.new_decisions, state.decisions[0].adopted),
        (vec!["D1".to_owned()], false)
    );
    state.take(
        2,
        &[said(
            "bo",
            Moves {
                supports: vec!["D1".into()],
                ..moves()
            },
        )],
    );
    assert!(state.decisions[0].adopted);
}

/// M-11: confidence and its change; M-07: a concern counts once.
#[test]
fn m11_agent_status_has_the_change_of_confidence() {
    let mut state = state();
    let sure = |value: f64| Moves {
        confidence: Confidence::new(value).unwrap(),
        concern: Some("It may leak.".into()),
        ..moves()
    };
    state.take(1, &[said("bo", sure(0.79)), said("ada", sure(0.5))]);
    state.take(2, &[said("bo", sure(0.85))]);
    let status: Vec<_> = state
        .agent_status
        .iter()
        .map(|status| (status.agent.as_str(), status.confidence_delta))
        .collect();
    assert_eq!(status, [("ada", 0.0), ("bo", 0.06)]);
    assert_eq!(state.concerns.len(), 1);
    assert_eq!(
        state.known_concern("it MAY leak").unwrap().text,
        "It may leak."
    );
    assert!(state.known_concern("It may cost too much.").is_none());
}

/// M-03, M-04: all faults of a reply's labels and citations are listed at once.
#[test]
fn m03_m04_faults_of_a_reply() {
    let reply = Moves {
        claims: vec![
            claim("Sure.", Label::Fact, ""),
            claim("Given.", Label::Assume, "[1]"),
            claim("Known.", Label::Fact, "[9]"),
            claim("Said.", Label::Fact, "Smith 2024"),
        ],
        references: vec![
            reference(1, "One"),
            reference(2, "Two"),
            reference(3, "Three"),
        ],
        ..moves()
    };
    let faults: Vec<String> = reply
        .faults("As (Smith, 2024) says.[FACT]")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(faults.len(), 7, "{faults:#?}");
    let good = Moves {
        claims: vec![claim("Sure.", Label::Fact, "[1]")],
        references: vec![reference(1, "One")],
        ..moves()
    };
    assert_eq!(good.faults("It is.[FACT][1]"), []);
}

fn any_moves() -> impl Strategy<Value = Moves> {
    let id = prop::sample::select(vec!["C1", "C2", "C3", "C5", "C9", "D1", "E1", "x"]);
    let text = prop::sample::select(vec!["One.", "one", "Two!", "Three, or four", "Fünf", "六"]);
    let label = prop::sample::select(Label::ALL.to_vec());
    let cite = prop::sample::select(vec!["", "[1]", "[2]", "[1-2]", "[7]"]);
    let new = (text.clone(), label, cite).prop_map(|(text, label, cite)| claim(text, label, cite));
    let title = prop::sample::select(vec!["Logs", "logs.", "Paper", "E1", "E4"]);
    (
        prop::collection::vec(new, 0..3),
        prop::collection::vec(title, 0..3),
        prop::collection::vec(id.clone(), 0..3),
        prop::collection::vec(id.clone(), 0..3),
        prop::collection::vec(id, 0..2),
        prop::sample::select(Vote::ALL.to_vec()),
        0.0..=1.0_f64,
        prop::collection::vec(text, 0..2),
    )
        .prop_map(
            |(claims, titles, supports, opposes, retracts, vote, confidence, decisions)| Moves {
                claims,
                references: (1..)
                    .zip(titles)
                    .map(|(number, title)| reference(number, title))
                    .collect(),
                supports: supports.into_iter().map(str::to_owned).collect(),
                opposes: opposes.into_iter().map(against).collect(),
                retracts: retracts.into_iter().map(str::to_owned).collect(),
                decisions: decisions.into_iter().map(str::to_owned).collect(),
                vote,
                blocker: (vote == Vote::Blocker).then(|| "Change it.".to_owned()),
                confidence: Confidence::new(confidence).unwrap(),
                ..moves()
            },
        )
}

fn any_debate() -> impl Strategy<Value = Vec<Vec<Option<Moves>>>> {
    prop::collection::vec(
        prop::collection::vec(prop::option::weighted(0.8, any_moves()), 3),
        1..7,
    )
}

fn batch(round: &[Option<Moves>]) -> Vec<(String, Moves)> {
    let seats = SEATS.iter().zip(round);
    seats
        .filter_map(|(seat, moves)| moves.clone().map(|moves| said(seat, moves)))
        .collect()
}

proptest! {
    /// M-11: the order in which the replies of a parallel round arrive does not matter.
    #[test]
    fn m11_the_order_within_a_round_does_not_matter(debate in any_debate()) {
        let (mut there, mut back) = (state(), state());
        for (number, round) in (1..).zip(&debate) {
            let mut replies = batch(round);
            let taken = there.take(number, &replies);
            replies.reverse();
            prop_assert_eq!(back.take(number, &replies), taken);
        }
        prop_assert_eq!(there, back);
    }

    /// M-11: ids and the texts behind them never change, and nothing ever vanishes.
    #[test]
    fn m11_ids_are_stable(debate in any_debate()) {
        let mut state = state();
        let mut known: Vec<(String, String)> = Vec::new();
        let mut sources: Vec<(String, String)> = Vec::new();
        for (number, round) in (1..).zip(&debate) {
            state.take(number, &batch(round));
            let now: Vec<_> = state.claims.iter().map(|claim| (claim.id.clone(), claim.text.clone())).collect();
            prop_assert!(now.starts_with(&known));
            known = now;
            let now: Vec<_> = state.evidence.iter().map(|e| (e.id.clone(), e.title.clone())).collect();
            prop_assert!(now.starts_with(&sources));
            sources = now;
            let forms: BTreeSet<_> = state.claims.iter().map(|claim| normal(&claim.text)).collect();
            prop_assert_eq!(forms.len(), state.claims.len(), "no claim is there twice");
        }
    }

    /// M-11, M-12: a contested claim stays contested until one side withdraws; a BLOCKER stays open until its seat does.
    #[test]
    fn m11_nothing_contested_and_no_blocker_is_lost(debate in any_debate()) {
        let mut state = state();
        for (number, round) in (1..).zip(&debate) {
            let before = state.clone();
            let replies = batch(round);
            state.take(number, &replies);
            for claim in before.contested() {
                let now = state.claim(&claim.id).unwrap();
                if now.status != ClaimStatus::Contested {
                    let sides: BTreeSet<&str> = claim.supporters.iter().map(String::as_str)
                        .chain(claim.opponents.iter().map(|opponent| opponent.seat.as_str())).collect();
                    prop_assert!(replies.iter().any(|(seat, _)| sides.contains(seat.as_str())));
                }
            }
            for blocker in before.open_blockers() {
                let gave_up = replies.iter().any(|(seat, moves)| *seat == blocker.seat && moves.vote.agrees());
                prop_assert_eq!(state.open_blockers().any(|open| open.id == blocker.id), !gave_up);
            }
            let blocking = state.agent_status.iter().filter(|status| status.vote == Vote::Blocker).count();
            prop_assert_eq!(state.open_blockers().count(), blocking);
        }
    }
}

/// M-09: redaction removes the text and keeps every id.
#[test]
fn m09_a_redacted_turn_keeps_its_ids_and_loses_its_text() {
    let mut state = state();
    let bad = Moves {
        position: "SECRET".into(),
        alignment: Some("SECRET".into()),
        vote: Vote::Blocker,
        blocker: Some("SECRET".into()),
        claims: vec![claim("SECRET one", Label::Fact, "[1]")],
        references: vec![reference(1, "SECRET book")],
        decisions: vec!["SECRET rule".into()],
        concern: Some("SECRET worry".into()),
        ..moves()
    };
    state.take(1, &[said("ada", bad), said("bo", moves())]);
    state.redact(1, "ada", "[withheld]");
    let text = serde_json::to_string(&state).unwrap();
    assert!(!text.contains("SECRET"), "{text}");
    assert_eq!(
        (state.claims[0].id.as_str(), state.open_blockers().count()),
        ("C1", 1)
    );
    assert_eq!(state.agent_status[1].position, "We should.");
}

/// M-16: claims, objections, positions, BLOCKERs, concerns and decisions cite the registry, not a seat's own list.
#[test]
fn m16_the_state_cites_the_registry() {
    let mut state = state();
    let ada = Moves {
        claims: vec![claim("Demand falls.[INFER][1]", Label::Infer, "[1]")],
        references: vec![reference(1, "Logs of March")],
        ..moves()
    };
    state.take(1, &[said("ada", ada)]);
    assert_eq!(state.claims[0].text, "Demand falls.[INFER][E1]");
    let bo = Moves {
        position: "Wait, by [1].".into(),
        vote: Vote::Blocker,
        blocker: Some("Read [1] first.".into()),
        concern: Some("Nobody reads [1].".into()),
        decisions: vec!["Publish [1].".into()],
        references: vec![reference(1, "Counts of April"), reference(2, "E1")],
        opposes: vec![Objection {
            because: "[1] shows the opposite of [2]".into(),
            counter: Some("[1]".into()),
            ..against("C1")
        }],
        ..moves()
    };
    let taken = state.take(2, &[said("bo", bo)]);
    let opponent = &state.claims[0].opponents[0];
    assert_eq!(opponent.because, "[E2] shows the opposite of [E1]");
    assert_eq!(opponent.counter.as_deref(), Some("E2"));
    assert_eq!(state.claims[0].opposition, ["E2"]);
    assert_eq!(state.agent_status[1].position, "Wait, by [E2].");
    assert_eq!(state.blockers[0].text, "Read [E2] first.");
    assert_eq!(state.concerns[0].text, "Nobody reads [E2].");
    assert_eq!(state.decisions[0].text, "Publish [E2].");
    assert_eq!(taken.unknown, BTreeMap::new());
    assert_eq!(
        taken.registered["bo"],
        Registered {
            references: [(1, "E2".to_owned()), (2, "E1".to_owned())].into(),
            claims: BTreeMap::new(),
            decisions: vec!["D1".into()],
        }
    );
}

/// M-11: a claim that is repeated with the numbers of another list is still the same claim.
#[test]
fn m16_renumbered_claims_are_still_merged() {
    let mut state = state();
    let with = |title: &str| Moves {
        claims: vec![claim("Demand falls [1].", Label::Fact, "[1]")],
        references: vec![reference(1, title)],
        ..moves()
    };
    state.take(1, &[said("ada", with("Logs of March"))]);
    let taken = state.take(2, &[said("bo", with("Counts of April"))]);
    assert_eq!(state.claims.len(), 1);
    assert_eq!(state.claims[0].support, ["E1", "E2"]);
    assert_eq!(taken.registered["bo"].claims, [(0, "C1".to_owned())].into());
}

/// M-16: every objection keeps its own reason and its own counter id.
#[test]
fn m16_objections_are_kept_apart() {
    let mut state = state();
    let ada = Moves {
        claims: vec![
            claim("Ferries are dear.", Label::Infer, ""),
            claim("Ferries are cheap.", Label::Infer, ""),
        ],
        ..moves()
    };
    state.take(1, &[said("ada", ada)]);
    let objects = |ground, because: &str, counter: Option<&str>| Moves {
        opposes: vec![Objection {
            claim: "C1".into(),
            ground,
            because: because.into(),
            counter: counter.map(str::to_owned),
        }],
        ..moves()
    };
    state.take(
        2,
        &[
            said(
                "bo",
                objects(Ground::FactConflict, "they are cheap", Some("C2")),
            ),
            said("cy", objects(Ground::InferenceGap, "no figures", None)),
        ],
    );
    let kept: Vec<_> = state.claims[0]
        .opponents
        .iter()
        .map(|o| (o.seat.as_str(), o.because.as_str(), o.counter.as_deref()))
        .collect();
    assert_eq!(
        kept,
        [
            ("bo", "they are cheap", Some("C2")),
            ("cy", "no figures", None)
        ]
    );
}

/// M-18: in a given order, ids follow that order and not the seats.
#[test]
fn m18_ids_follow_the_given_order() {
    let replies = SEATS.map(|seat| {
        let claims = vec![claim(&format!("{seat} says so."), Label::Assume, "")];
        said(seat, Moves { claims, ..moves() })
    });
    let [ada, bo, cy] = &replies;
    let mut shuffled = state();
    shuffled.take_in_order(1, &[cy, ada, bo]);
    let by: Vec<_> = shuffled
        .claims
        .iter()
        .map(|c| c.introduced_by.as_str())
        .collect();
    assert_eq!(by, ["cy", "ada", "bo"]);
    let mut in_seat_order = state();
    in_seat_order.take(1, &[cy.clone(), ada.clone(), bo.clone()]);
    let by: Vec<_> = in_seat_order
        .claims
        .iter()
        .map(|c| c.introduced_by.as_str())
        .collect();
    assert_eq!(by, SEATS);
}

#[test]
fn m16_ids_are_found_in_text() {
    let found: Vec<_> = ids_in("C1 and [E12], not c1, CO2, D, X3; (D4) B2.").collect();
    assert_eq!(found, ["C1", "E12", "D4", "B2"]);
}
