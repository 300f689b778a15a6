//! Speaking order, visibility and critical path of each mode.

use super::*;
use crate::scripted::{longest_chain, rules_at};

/// M-01, M-02: every mode from end to end, with its journal as a snapshot.
#[tokio::test]
async fn m01_every_mode_runs_from_end_to_end() {
    for mode in MODES {
        let (model, journal) = (Scripted::new(story), Arc::default());
        // Assigned stances are no consensus, so the round limit ends such a debate.
        let (rounds, stop) = if mode == "devils-advocate" {
            (2, "round_cap")
        } else {
            (5, "consensus")
        };
        let verdict = play_to_end(setup(mode, 3, rounds), &model, &journal).await;
        assert_eq!(
            (verdict.stop_reason.as_str(), verdict.total_rounds),
            (stop, 2),
            "{mode}"
        );
        assert_eq!(
            (verdict.sent_back, verdict.violations.len()),
            (0, 0),
            "{mode}: {:?}",
            verdict.violations
        );
        assert_eq!(verdict.answer.as_deref(), Some("Use a queue, and measure."));
        insta::assert_json_snapshot!(format!("log_{mode}"), log(&journal));
    }
}

/// M-02: which seats hear which within a round, in each speaking order.
#[tokio::test]
async fn m02_seats_hear_only_the_seats_before_them() {
    let heard = |mode: &'static str| async move {
        let (model, journal) = (Scripted::new(story), Arc::default());
        play_to_end(setup(mode, 4, 5), &model, &journal).await;
        let first: Vec<_> = model
            .heard()
            .into_iter()
            .filter(|request| name(request) == "contribution" && round_of(request) == 1)
            .map(|request| {
                let own = request.messages.last().unwrap().text.clone();
                let names = ["sentinel", "builder", "analyst", "ecologist"];
                let others: Vec<_> = names
                    .into_iter()
                    .filter(|seat| own.contains(&format!("The {seat} says")))
                    .collect();
                (seat_of(&request), others)
            })
            .collect();
        first
    };
    for mode in ["collaborative", "expert-panel", "delphi"] {
        assert!(
            heard(mode)
                .await
                .iter()
                .all(|(_, others)| others.is_empty()),
            "{mode}"
        );
    }
    for mode in ["adversarial", "socratic", "devils-advocate"] {
        let lines: Vec<_> = heard(mode)
            .await
            .into_iter()
            .map(|(seat, others)| (seat, others.len()))
            .collect();
        assert_eq!(
            lines,
            [
                ("sentinel".to_owned(), 0),
                ("builder".to_owned(), 1),
                ("analyst".to_owned(), 2),
                ("ecologist".to_owned(), 3)
            ],
            "{mode}"
        );
    }
    assert_eq!(
        heard("red-team-blue-team").await,
        [
            ("sentinel".to_owned(), vec![]),
            ("analyst".to_owned(), vec![]),
            ("builder".to_owned(), vec!["sentinel", "analyst"]),
            ("ecologist".to_owned(), vec!["sentinel", "analyst"]),
        ]
    );
}

/// A script whose replies name no seat in their content.
fn nameless(request: &Request, before: usize) -> Result<String, ModelError> {
    let reply = story(request, before)?;
    let renamed = [
        ("sentinel", "dock"),
        ("builder", "yard"),
        ("analyst", "mill"),
    ];
    let reply = renamed
        .iter()
        .fold(reply, |reply, (seat, word)| reply.replace(seat, word));
    Ok(reply)
}

/// M-02: delphi shows who said what nowhere, and the group's values as quartiles.
#[tokio::test]
async fn m02_delphi_is_anonymous() {
    let model = changed(nameless, |request, _, reply| {
        reply["estimate"] = json!(if seat_of(request) == "sentinel" {
            40
        } else {
            60
        });
    });
    play_to_end(setup("delphi", 3, 5), &model, &Arc::default()).await;
    let second: Vec<_> = contributions_in(&model, 2);
    assert_eq!(second.len(), 3);
    for request in &second {
        let shared = request.messages[0].text.to_lowercase();
        let me = seat_of(request);
        for word in [
            "sentinel",
            "builder",
            "analyst",
            "risk-attentive",
            "implementation-focused",
        ] {
            assert!(!shared.contains(word), "{me} reads '{word}': {shared}");
        }
        assert!(
            shared.contains("confidence: median 0.70, quartiles 0.65 and 0.70"),
            "{shared}"
        );
        assert!(
            shared.contains("estimate: median 60, quartiles 50 and 60"),
            "{shared}"
        );
    }
}

/// M-18: delphi masks who a seat says it is, in its argument and in its claims, and changes no other word.
#[tokio::test]
async fn m18_delphi_masks_self_identification_and_nothing_else() {
    const CONTENT: &str = "Auditor General, Report on the Operator: OpenAI's prices rose, one analyst of the builders wrote.";
    let model = changed(nameless, |request, _, reply| {
        let seat = seat_of(request);
        reply["argument"] = json!(format!(
            "{} I, the {}, say so. I run on test:scripted. I am GPT-4 by OpenAI. {CONTENT}",
            reply["argument"].as_str().unwrap(),
            seat.to_uppercase()
        ));
        reply["claims"][0]["text"] = json!(format!(
            "As Claude, I saw bursts in the {} in month {}.",
            ["dock", "yard", "mill"][seat.len() % 3],
            round_of(request)
        ));
        reply["risks"][0]["failure"] = json!("The auditor of the builders leaves.");
        reply["references"][0]["title"] = json!(CONTENT);
    });
    let journal = Arc::<MemoryJournal>::default();
    play_to_end(setup("delphi", 3, 5), &model, &journal).await;
    let heard = model.heard();
    let later = heard.iter().filter(|request| {
        name(request) == "conclusion" || name(request) == "contribution" && round_of(request) == 2
    });
    let later: Vec<_> = later.collect();
    assert_eq!(later.len(), 4);
    for request in later {
        let shared = &request.messages[0].text;
        for masked in [
            "I, a participant, say so.",
            "I run on a model.",
            "I am a participant.",
            "As a participant, I saw bursts",
        ] {
            assert!(shared.contains(masked), "'{masked}' is missing: {shared}");
        }
        for kept in [CONTENT, "Risk: The auditor of the builders leaves."] {
            assert!(shared.contains(kept), "'{kept}' is missing: {shared}");
        }
        for leak in ["GPT-4", "Claude", "test:scripted", "SENTINEL"] {
            assert!(!shared.contains(leak), "'{leak}' leaks: {shared}");
        }
    }
    // Users read what was said.
    let said = by_key(&journal)["r1/analyst/speak"].to_string();
    assert!(said.contains("I am GPT-4 by OpenAI."), "{said}");
}

/// The seats in the order in which their claims of a round got ids.
fn numbered(debate: &Debate, round: u32) -> Vec<String> {
    let claims = debate.state.claims.iter();
    let claims = claims.filter(|claim| claim.introduced_round == round);
    let mut seats: Vec<String> = claims.map(|claim| claim.introduced_by.clone()).collect();
    seats.dedup();
    seats
}

/// M-18: in delphi, ids follow another order of the seats in every round, and the same one on replay. Other modes, and debates
/// of earlier versions, number by seat.
#[tokio::test]
async fn m18_ids_do_not_follow_the_seats() {
    let in_seat_order = ["sentinel", "builder", "analyst", "ecologist", "auditor"];
    let played = |mode: &'static str| async move {
        let journal = Arc::<MemoryJournal>::default();
        play_to_end(setup(mode, 5, 6), &Scripted::new(stubborn), &journal).await;
        entries(&journal)
    };
    let mut journal = played("delphi").await;
    let debate = Debate::from_journal(&journal).unwrap();
    let orders: BTreeSet<Vec<String>> = (1..=6).map(|round| numbered(&debate, round)).collect();
    assert!(orders.len() >= 5, "{orders:?}");
    assert!(orders.iter().all(|order| order.len() == 5));
    let again = Debate::from_journal(&journal).unwrap();
    assert_eq!(again.state, debate.state);
    let live = journal.iter().find_map(|entry| match &entry.event {
        Event::Ended(end) => Some(verdict_of(end)),
        _ => None,
    });
    assert_eq!(live.unwrap().state, debate.state);

    for entry in &mut journal {
        if let Event::Opened(setup) = &mut entry.event {
            let rules = Arc::make_mut(setup).rules.as_object_mut().unwrap();
            assert_eq!(rules.remove("numbering"), Some(json!("shuffled")));
        }
    }
    let earlier = Debate::from_journal(&journal).unwrap();
    let named = Debate::from_journal(&played("collaborative").await).unwrap();
    for round in 1..=6 {
        assert_eq!(numbered(&earlier, round), in_seat_order);
        assert_eq!(numbered(&named, round), in_seat_order);
    }
}

/// C-13: the shared part of the prompt comes first and is byte-identical for all seats of a round.
#[tokio::test]
async fn c13_the_shared_part_is_identical_for_all_seats_of_a_round() {
    for mode in MODES {
        let model = Scripted::new(story);
        play_to_end(setup(mode, 4, 2), &model, &Arc::default()).await;
        let mut rounds: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for request in &contributions(&model) {
            assert!(request.messages[0].shared && !request.messages[1].shared);
            rounds
                .entry(round_of(request))
                .or_default()
                .insert(format!("{}\n{}", request.system, request.messages[0].text));
        }
        assert_eq!(rounds.len(), 2);
        assert!(rounds.values().all(|prompts| prompts.len() == 1), "{mode}");
    }
}

/// M-07: anchors are permanent, and assigned in turn if the cast has none.
#[test]
fn m07_every_seat_has_one_perspective() {
    let mut setup = setup("collaborative", 5, 5);
    for seated in &mut setup.seats {
        seated.seat.anchor = None;
    }
    let panel = Panel::of(&setup, &rules("collaborative", 5));
    let anchors: Vec<_> = panel.seats.iter().map(|seat| seat.anchor.name()).collect();
    assert_eq!(
        anchors,
        [
            "risk-attentive",
            "implementation-focused",
            "evidence-calibrated",
            "systems-aware",
            "risk-attentive"
        ]
    );
}

/// M-06: a debate of an earlier version keeps the stances that its seats were assigned.
#[test]
fn m06_stances_of_stored_debates_do_not_change() {
    let stances = |rules: &Rules| -> Vec<&str> {
        let panel = Panel::of(&setup("devils-advocate", 4, 5), rules);
        let stances = panel.seats.iter().map(|seat| seat.stance.unwrap().name());
        stances.collect()
    };
    let new = rules("devils-advocate", 5);
    assert_eq!(stances(&new), ["YES", "NO", "NEUTRAL", "NEUTRAL"]);
    let mut stored = serde_json::to_value(&new).unwrap();
    for field in ["edition", "escalation", "majority"] {
        stored.as_object_mut().unwrap().remove(field).unwrap();
    }
    let old: Rules = serde_json::from_value(stored).unwrap();
    assert_eq!(stances(&old), ["YES", "NO", "NEUTRAL", "YES"]);
    assert_eq!(old.majority_rule(), None);
}

/// A model that takes a second for each answer.
struct Slow(Arc<Scripted>);

impl Model for Slow {
    fn stream(&self, request: Request) -> Deltas {
        let inner = Arc::clone(&self.0);
        let answer = async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            inner.stream(request)
        };
        Box::pin(stream::once(answer).flatten())
    }
}

/// Wall time is at most 1.05 of the critical path. With 5 seats, 2 rounds and the chair: 3 sequential calls in parallel modes, 5
/// a round in sequence, 2 a round for red and blue, and one more for the safety evaluator.
#[tokio::test(start_paused = true)]
async fn every_mode_takes_no_longer_than_its_critical_path() {
    for (mode, path) in [
        ("collaborative", 2 + 1),
        ("expert-panel", 2 + 1),
        ("delphi", 2 + 1),
        ("socratic", 10 + 1),
        ("adversarial", 10 + 1 + 1),
        ("devils-advocate", 10 + 1 + 1),
        ("red-team-blue-team", 4 + 1 + 1),
    ] {
        let model = Scripted::new(story);
        let setup = setup(mode, 5, 2);
        let mut deps = deps_for(&setup, &model, Arc::<MemoryJournal>::default());
        for seat_model in deps.seat_models.values_mut() {
            *seat_model = SeatModel {
                model: Arc::new(Slow(Arc::clone(&model))),
                price: None,
            };
        }
        let table = Table::open(setup, Budget::default(), deps).await.unwrap();
        let started = tokio::time::Instant::now();
        play(&table, &Modes).await.unwrap();
        let took = started.elapsed().as_secs_f64();
        let path = f64::from(path);
        assert!(
            took >= path && took <= 1.05 * path,
            "{mode}: {took} s for a path of {path} s"
        );
    }
}

/// M-14: the focus of a round is in the transcript, the record and the report, and one that was not used is named.
#[tokio::test]
async fn m14_a_focus_is_shown_with_its_round() {
    let focus = BTreeMap::from([
        (2, "What does it cost?".to_owned()),
        (5, "Who watches it?".to_owned()),
    ]);
    let mode = Mode::load(&Data::built_in(), "collaborative").unwrap();
    let rules = Rules::new(mode, 5, focus, Stakes::Ordinary).unwrap();
    let journal = Arc::default();
    let setup = setup_of(&rules, 3, Ability::Full);
    let verdict = play_to_end(setup, &Scripted::new(story), &journal).await;
    assert_eq!(verdict.total_rounds, 2);
    let entries = entries(&journal);
    let transcript = crate::transcript::Transcript::of("id", &entries).unwrap();
    let shown: Vec<_> = transcript
        .rounds
        .iter()
        .filter_map(|round| Some((round.number?, round.focus.as_deref()?)))
        .collect();
    assert_eq!(shown, [(2, "What does it cost?")]);
    let record = protocols::record("id", "then".into(), &entries).unwrap();
    assert_eq!(record["rounds"][0]["focus"], Value::Null);
    assert_eq!(record["rounds"][1]["focus"], "What does it cost?");
    let report = report_json(&journal);
    assert!(report.contains("Focus: What does it cost?"), "{report}");
    assert!(
        report.contains("Round 5 was not played; its focus was: Who watches it?"),
        "{report}"
    );
}

/// B-13: a quick debate is one round, the safety evaluation if there is an alarm, and the conclusion, in every mode and
/// also if all agree at once.
#[tokio::test(start_paused = true)]
async fn b13_a_quick_debate_is_at_most_three_calls_deep() {
    for (mode, script) in MODES
        .into_iter()
        .flat_map(|mode| [(mode, story as Script), (mode, herd)])
    {
        let input = json!({ "mode": mode });
        let rules = rules_at(&Modes, Depth::Quick, input, QUESTION);
        let rules: Rules = serde_json::from_value(rules).unwrap();
        let setup = setup_of(&rules, 5, Ability::Full);
        let (model, journal) = (Scripted::new(script), Arc::<MemoryJournal>::default());
        let deps = deps_for(&setup, &model, Arc::clone(&journal) as Arc<dyn Journal>);
        let chain = longest_chain(&Modes, setup, deps).await;
        let is_watched = model.asked().iter().any(|name| name == "evaluation");
        assert_eq!(chain, if is_watched { 3 } else { 2 }, "{mode}");
        assert_eq!(contributions(&model).len(), 5, "{mode}");
        let entries = entries(&journal);
        let end = entries.iter().rev().find_map(|entry| entry.event.ended());
        assert_eq!(end.unwrap().state, State::Complete, "{mode}");
    }
}
