//! Enhanced debates from end to end, against scripted seats.

use roundtable_core::bounded::Probability;
use roundtable_core::convergence::{Explanation, Status, Warning};
use roundtable_core::evidence::{EvidenceType, Level, Weights};
use roundtable_core::state::ClaimStatus;

use super::super::enhanced::{self, Enhanced, OVERRIDE};
use super::*;
use crate::algorithm::{self, Algorithm};
use crate::journal::Keyed;
use crate::table::Halt;

fn enhanced_by(algorithm: &str, mode: &str, max_rounds: u32) -> Rules {
    let algorithm = Algorithm::load(&Data::built_in(), algorithm).unwrap();
    rules(mode, max_rounds).enhanced(Enhanced::by(algorithm))
}

fn enhanced_setup(mode: &str, seats: usize, max_rounds: u32) -> Setup {
    setup_of(
        &enhanced_by(algorithm::ENHANCED, mode, max_rounds),
        seats,
        Ability::Full,
    )
}

/// A reply in good order with its evidence; critiques stand where objections did.
fn backed(request: &Request, vote: &str, confidence: f64) -> Value {
    let mut reply = good(request, vote, confidence);
    let objects = text_of(request).contains("critical-objection round");
    reply.as_object_mut().unwrap().remove("opposes");
    reply["backing"] = json!([
        { "of": "N1", "evidence": [{ "type": "EMPIRICAL", "source": "[1]" }], "confidence": 0.8 },
        { "of": "N2", "evidence": [{ "type": "LOGICAL", "source": "Bursts fill what is not buffered." }], "confidence": 0.5 },
    ]);
    reply["critiques"] = if objects {
        json!([{ "claim": "C1", "grade": "HIGH", "counter": [{ "type": "EMPIRICAL", "source": "Log of another month" }],
                 "synthesis": "Only in some months.", "concession": null }])
    } else {
        json!([])
    };
    reply
}

/// Three seats that come together: far apart, nearer, of one mind.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a script may fail; this one does not"
)]
fn converging(request: &Request, _: usize) -> Result<String, ModelError> {
    if let Some(reply) = beside(request) {
        return Ok(reply);
    }
    let (seat, round) = (seat_of(request), round_of(request));
    let mut reply = backed(request, "MINOR", 0.75);
    let (position, option) = match (seat.as_str(), round) {
        ("sentinel", 1) => (
            "Wait until somebody has measured the load",
            "Wait and measure",
        ),
        ("builder", 1) => ("Put one queue before every writer", "Use a queue"),
        (_, 1) => ("Buy larger hardware instead", "Buy hardware"),
        ("sentinel", 2) => (
            "Put one queue before every writer once the load is known",
            "Use a queue",
        ),
        ("builder", 2) => (
            "Put one queue before every writer and watch it",
            "Use a queue",
        ),
        (_, 2) => ("Put larger hardware before every writer", "Buy hardware"),
        (_, _) => (
            "Put one queue before every writer and limit it",
            "Use a queue",
        ),
    };
    reply["position"] = json!(position);
    reply["debate_alignment"] = json!(option);
    if seat == "analyst" && round == 3 {
        reply["critiques"] = json!([{ "claim": "C3", "grade": "HIGH", "counter": [], "synthesis": null,
                                      "concession": "The log is plain." }]);
        reply["moved_by"] = json!(["C9"]);
    }
    if round > 1 {
        reply["references"] = json!([
            reply["references"][0],
            { "number": 2, "title": "Queueing theory, third edition", "url": null, "gist": "Bursts queue.", "kind": "citation" },
        ]);
        reply["backing"][1]["evidence"][0] = json!({ "type": "DOCUMENTED", "source": "[2]" });
    }
    Ok(reply.to_string())
}

/// The same, with something changed.
fn changed(
    script: Script,
    change: impl Fn(&Request, usize, &mut Value) + Send + Sync + 'static,
) -> Arc<Scripted> {
    Scripted::new(move |request: &Request, before| {
        let said = script(request, before)?;
        if name(request) != "contribution" {
            return Ok(said);
        }
        let mut reply: Value = serde_json::from_str(&said).unwrap();
        change(request, before, &mut reply);
        Ok(reply.to_string())
    })
}

fn enhancement(verdict: &Verdict) -> &enhanced::Enhancement {
    verdict.enhanced.as_ref().unwrap()
}

fn debate_of(journal: &MemoryJournal) -> Debate {
    followed(&entries(journal)).unwrap()
}

/// E-08, E-11, E-12: an enhanced debate from end to end, as its journal, its report and its record tell it.
#[tokio::test]
async fn e08_an_enhanced_debate_converges_round_by_round() {
    let (model, journal) = (Scripted::new(converging), Arc::default());
    let verdict = played(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(
        (
            verdict.stop_reason.as_str(),
            verdict.total_rounds,
            verdict.violations.len()
        ),
        ("consensus_with_diverse_evidence", 3, 0),
        "{:?}",
        verdict.violations
    );
    let it = enhancement(&verdict);
    assert_eq!(it.level, Some(Level::MediumHigh));
    assert_eq!(
        (it.escalation, it.human_override, it.flags),
        (false, false, 0)
    );
    assert_eq!(it.answer.as_deref(), Some("Use a queue"));
    let most = &it.evidence[0];
    assert_eq!(
        (most.source.as_str(), most.cited_by.len(), most.agents),
        ("Queueing theory, third edition", 3, 3)
    );
    insta::assert_json_snapshot!("enhanced_log", log(&journal));
    insta::assert_json_snapshot!("enhanced_report", protocols::report(&entries(&journal)));
    let record = enhanced::record("id", &entries(&journal)).unwrap();
    let yaml = serde_saphyr::to_string(&record).unwrap();
    assert_eq!(
        serde_saphyr::from_str::<crate::retrospective::DebateRecord>(&yaml).unwrap(),
        record
    );
    let mut json = serde_json::to_value(&record).unwrap();
    crate::scripted::strip_times(&mut json);
    insta::assert_json_snapshot!("enhanced_record", json);
}

/// E: usable with every mode of M.
#[tokio::test]
async fn e08_every_mode_can_be_enhanced() {
    for mode in MODES {
        let (model, journal) = (Scripted::new(converging), Arc::default());
        let verdict = played(enhanced_setup(mode, 3, 4), &model, &journal).await;
        assert_eq!(verdict.violations, BTreeMap::new(), "{mode}");
        let it = enhancement(&verdict);
        assert_eq!(
            it.decision.as_ref().unwrap().basis,
            roundtable_core::convergence::Basis::Measured
        );
        // Assigned stances contradict each other by design: such a debate ends with its last round.
        let expected = if mode == "devils-advocate" {
            "round_cap"
        } else {
            "consensus_with_diverse_evidence"
        };
        assert_eq!(verdict.stop_reason, expected, "{mode}");
        assert!(protocols::progress(&entries(&journal)).is_some(), "{mode}");
    }
}

/// C-08: killed after every single journal entry and resumed, an enhanced debate is the same, and so is one that waited.
#[tokio::test]
async fn c08_an_enhanced_debate_killed_after_every_entry_is_the_same() {
    for mode in ["collaborative", "adversarial"] {
        holds_over_kills(|| enhanced_setup(mode, 3, 5), converging, is_finished_step).await;
    }
}

/// E-05: what was measured is in the journal, so a replay needs no embedder.
#[tokio::test]
async fn e05_a_replay_needs_no_embedder() {
    let journal = Arc::<MemoryJournal>::default();
    let setup = enhanced_setup("collaborative", 3, 5);
    let first = played(setup.clone(), &Scripted::new(converging), &journal).await;
    let kept: Vec<Keyed> = journal
        .keyed()
        .into_iter()
        .filter(|it| !matches!(it.entry.event, Event::Ended(_)))
        .collect();
    let silent = Scripted::new(|_: &Request, _| panic!("nobody is asked again"));
    let journal = Arc::new(MemoryJournal::holding(kept));
    let mut deps = kit_of(&setup, &silent, Arc::clone(&journal) as Arc<dyn Journal>);
    deps.embedder = None;
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let end = play(&table, &Modes).await.unwrap();
    assert_eq!(verdict_of(&end), first);
}

/// Where there is no embedder, that is said, and the typed answers decide alone.
#[tokio::test]
async fn e19_without_an_embedder_the_answers_decide_and_it_is_said() {
    let journal = Arc::<MemoryJournal>::default();
    let model = Scripted::new(converging);
    let setup = enhanced_setup("collaborative", 3, 5);
    let mut deps = kit_of(&setup, &model, Arc::clone(&journal) as Arc<dyn Journal>);
    deps.embedder = None;
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let verdict = verdict_of(&play(&table, &Modes).await.unwrap());
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus_with_diverse_evidence", 3)
    );
    assert_eq!(enhancement(&verdict).similarity, None);
    let report = serde_json::to_string(&protocols::report(&entries(&journal))).unwrap();
    assert!(
        report.contains(
            "Nothing was measured (there is no embedder): the typed answers decide alone."
        ),
        "{report}"
    );
}

/// E-02: a claim without evidence is asked about once, then counted and shown as SPECULATIVE.
#[tokio::test]
async fn e02_a_claim_without_evidence_is_asked_about_once() {
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            reply["backing"].as_array_mut().unwrap().truncate(1);
        }
    });
    let journal = Arc::default();
    let verdict = played(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("evidence".to_owned(), 1)])
    );
    let asked = model.heard();
    let again: Vec<_> = asked
        .iter()
        .filter(|it| it.messages.len() > 2)
        .map(|it| it.messages.last().unwrap().text.clone())
        .collect();
    assert_eq!(again.len(), 1);
    assert!(again[0].contains("N2 rests on nothing"), "{}", again[0]);
    let debate = debate_of(&journal);
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    let claim = debate
        .state
        .claims
        .iter()
        .find(|it| it.text.contains("helps the builder in month 1"))
        .unwrap();
    assert_eq!(ledger.kinds_of(&claim.id), [EvidenceType::Speculative]);
    let report = serde_json::to_string(&protocols::report(&entries(&journal))).unwrap();
    assert!(report.contains("rests on nothing: it counts as SPECULATIVE"));
}

/// E-02, bad input: a type that does not exist, no source, a citation of itself, confidences that are none. The turn is
/// heard; what is wrong is sent back once, then left out and flagged, and nothing is filled in.
#[tokio::test]
async fn e02_bad_evidence_costs_the_piece_and_not_the_turn() {
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 1 {
            reply["backing"] = json!([
                { "of": "N1", "evidence": [{ "type": "ANECDOTAL", "source": "A friend" }, { "type": "DOCUMENTED", "source": "N1" },
                                           { "type": "EMPIRICAL", "source": "" }, { "type": "EMPIRICAL", "source": "[9]" }],
                  "confidence": 1.7 },
                { "of": "N2", "evidence": [{ "source": "Somewhere" }], "confidence": "high" },
                { "of": "C77", "evidence": [], "confidence": null },
            ]);
        }
    });
    let journal = Arc::default();
    let verdict = played(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(verdict.missing, []);
    let debate = debate_of(&journal);
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    let flags: Vec<String> = ledger.flags.iter().map(|it| it.flag.to_string()).collect();
    insta::assert_json_snapshot!("enhanced_flags", flags);
    for claim in debate
        .state
        .claims
        .iter()
        .filter(|it| it.introduced_by == "builder" && it.introduced_round == 1)
    {
        let grounding = &ledger.claims[&claim.id]["builder"];
        assert_eq!(
            (grounding.stated, grounding.grade.level),
            (None, Level::VeryLow)
        );
    }
}

/// E-07: one source under three spellings is one, and all three agents cite it.
#[tokio::test]
async fn e07_one_source_under_three_spellings_is_shared() {
    let model = changed(converging, |request, _, reply| {
        let spelling = match seat_of(request).as_str() {
            "sentinel" => ("Queueing theory (https://example.org/queues/)", Value::Null),
            "builder" => (
                "QUEUEING THEORY",
                json!("http://www.example.org/queues#top"),
            ),
            _ => (
                "the queueing theory",
                json!("https://example.org/queues?utm_source=mail"),
            ),
        };
        reply["references"] = json!([{ "number": 1, "title": spelling.0, "url": spelling.1, "gist": "", "kind": "citation" }]);
        reply["backing"][1]["evidence"][0] = json!({ "type": "LOGICAL", "source": "So it is." });
    });
    let journal = Arc::default();
    played(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let debate = debate_of(&journal);
    let play = debate.enhanced.as_ref().unwrap();
    let shares: Vec<f64> = play.rounds.iter().map(|it| it.metrics.evidence).collect();
    assert_eq!(shares, [1.0, 1.0, 1.0]);
    assert_eq!(play.rounds[2].decision.status, Status::ConsensusReached);
}

/// E-03: a concession is recorded and changes the claim's status; counter-evidence that is too weak does not.
#[tokio::test]
async fn e03_concessions_and_counter_evidence_change_the_claim() {
    let model = changed(converging, |request, _, reply| {
        let (seat, round) = (seat_of(request), round_of(request));
        let critique = |counter: &str, source: &str, concession: Option<&str>| {
            let counter = if counter.is_empty() {
                json!([])
            } else {
                json!([{ "type": counter, "source": source }])
            };
            json!([{ "claim": "C1", "grade": "MEDIUM", "counter": counter,
                     "synthesis": concession.is_none().then_some("Some of both."), "concession": concession }])
        };
        match (seat.as_str(), round) {
            ("analyst", 2) => reply["critiques"] = critique("EMPIRICAL", "Our own log", None),
            ("builder", 2) => reply["critiques"] = critique("LOGICAL", "It cannot be.", None),
            ("analyst", 3) => {
                reply["critiques"] = critique("", "", Some("The log was of another machine."));
            }
            _ => {}
        }
    });
    let journal = Arc::<MemoryJournal>::default();
    let verdict = played(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let statuses = [2, 3].map(|round| {
        let all = entries(&journal);
        let end = all
            .iter()
            .position(|it| matches!(&it.event, Event::RoundStarted { round: number, .. } if *number == round + 1))
            .unwrap_or(all.len());
        let debate = followed(&all[..end]).unwrap();
        let claim = debate.state.claim("C1").unwrap().clone();
        (claim.status, claim.opponents.iter().map(|it| it.seat.clone()).collect::<Vec<_>>())
    });
    assert_eq!(
        statuses,
        [
            (ClaimStatus::Contested, vec!["analyst".to_owned()]),
            (ClaimStatus::Accepted, vec![])
        ]
    );
    let debate = debate_of(&journal);
    let ledger = &debate.enhanced.as_ref().unwrap().ledger;
    assert_eq!(ledger.concessions.len(), 1);
    assert_eq!(
        ledger.concessions[0].because,
        "The log was of another machine."
    );
    // The weak critique was sent back once, and what stayed weak is named.
    assert_eq!(
        verdict.violations,
        BTreeMap::from([("critique".to_owned(), 1)])
    );
    assert!(ledger.flags.iter().any(
        |it| it.flag.to_string() == "the critique of C1 brings nothing as strong as EMPIRICAL"
    ));
}

/// E-03, E-15: the weights of the rules decide what is strong enough.
#[tokio::test]
async fn e03_the_weights_a_debate_is_opened_with_are_used() {
    let mut rules = enhanced_by(algorithm::ENHANCED, "collaborative", 5);
    rules.enhanced.as_mut().unwrap().weights = Weights {
        logical: Probability::percent(86),
        ..Weights::default()
    };
    let model = changed(converging, |request, _, reply| {
        if seat_of(request) == "builder" && round_of(request) == 2 {
            reply["critiques"] = json!([{ "claim": "C1", "grade": "LOW", "counter": [{ "type": "LOGICAL", "source": "It cannot be." }],
                                          "synthesis": "Neither.", "concession": null }]);
        }
    });
    let verdict = played(setup_of(&rules, 3, Ability::Full), &model, &Arc::default()).await;
    assert_eq!(verdict.violations, BTreeMap::new());
    let heard = model.heard();
    let first = heard.iter().find(|it| name(it) == "contribution").unwrap();
    assert!(
        first.system.contains("- LOGICAL (0.86): reasoning"),
        "{}",
        first.system
    );
}

/// E-18: claims that cite what the user gave are held against it: supported with the passage, not found, or contradicted; an
/// EMPIRICAL claim against a given figure is flagged; what cites something else is left alone.
#[tokio::test]
async fn e18_claims_are_held_against_the_sources_of_the_user() {
    use roundtable_core::sources::{Checked, Source, Sources, of_text};
    let text = "The write load peaks at 400 requests per second.\n\nThe queue holds messages for 7 days.\n";
    let source = Source {
        name: "plan.md".into(),
        sha256: String::new(),
        passages: of_text("plan.md", text),
    };
    let rules = enhanced_by(algorithm::ENHANCED, "collaborative", 5)
        .with_sources(Sources::new(vec![source]));
    let model = changed(converging, |request, _, reply| {
        if round_of(request) > 1 {
            return;
        }
        let (claim, kind, cited) = match seat_of(request).as_str() {
            "sentinel" => (
                "The write load peaks at 400 requests per second.",
                "DOCUMENTED",
                "plan.md",
            ),
            "builder" => (
                "The write load peaks at 900 requests per second.",
                "DOCUMENTED",
                "plan.md",
            ),
            _ => (
                "The queue holds messages for 30 days.",
                "EMPIRICAL",
                "Our own test",
            ),
        };
        reply["claims"][1]["text"] = json!(claim);
        reply["backing"][1]["evidence"][0] = json!({ "type": kind, "source": cited });
        if seat_of(request) == "sentinel" {
            reply["backing"][0]["evidence"][0] =
                json!({ "type": "DOCUMENTED", "source": "plan.md" });
        }
    });
    let journal = Arc::default();
    let verdict = played(setup_of(&rules, 3, Ability::Full), &model, &journal).await;
    let results: Vec<(String, EvidenceType, String)> = enhancement(&verdict)
        .source_checks
        .iter()
        .map(|it| {
            let result = match &it.result {
                Checked::Supported { .. } => "supported".to_owned(),
                Checked::NotFound => "not found".to_owned(),
                Checked::Contradicted { figure, .. } => format!("contradicted by {figure}"),
            };
            (it.seat.clone(), it.kind, result)
        })
        .collect();
    let of = |seat: &str, kind, result: &str| (seat.to_owned(), kind, result.to_owned());
    assert_eq!(
        results,
        [
            of("sentinel", EvidenceType::Documented, "not found"),
            of("sentinel", EvidenceType::Documented, "supported"),
            of("builder", EvidenceType::Documented, "contradicted by 400"),
            of("analyst", EvidenceType::Empirical, "contradicted by 7"),
        ]
    );
    let found = &enhancement(&verdict).source_checks[1];
    assert!(
        found.passage.as_deref().unwrap().contains("peaks at 400"),
        "{found:?}"
    );
    let report = serde_json::to_string(&protocols::report(&entries(&journal))).unwrap();
    assert!(
        report.contains("Claims held against your sources"),
        "{report}"
    );
}

/// Everybody says the same at once.
fn unanimous(request: &Request, before: usize) -> Result<String, ModelError> {
    let said = converging(request, before)?;
    if name(request) != "contribution" {
        return Ok(said);
    }
    let mut reply: Value = serde_json::from_str(&said).unwrap();
    reply["position"] = json!("Put one queue before every writer and limit it");
    reply["debate_alignment"] = json!("Use a queue");
    reply["moved_by"] = json!([]);
    Ok(reply.to_string())
}

/// E-08: an early consensus has to stand a devil's-advocate round before the debate may end.
#[tokio::test]
async fn e08_an_early_consensus_plays_a_devils_advocate_round_first() {
    let (model, journal) = (Scripted::new(unanimous), Arc::default());
    let verdict = played(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus_reached", 2)
    );
    let debate = debate_of(&journal);
    let kinds: Vec<Kind> = debate.rounds.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Ordinary, Kind::Objection]);
    let first = &debate.enhanced.as_ref().unwrap().rounds[0].decision;
    assert_eq!(first.warnings, [Warning::EarlyConsensus]);
    // Even where only one round was allowed.
    let verdict = played(
        enhanced_setup("collaborative", 3, 1),
        &Scripted::new(unanimous),
        &Arc::default(),
    )
    .await;
    assert_eq!(verdict.total_rounds, 2);
}

/// E-19: the same words over different answers are reported as a contradiction and are no consensus.
#[tokio::test]
async fn e19_alike_words_over_different_answers_are_no_consensus() {
    let model = changed(unanimous, |request, _, reply| {
        if seat_of(request) == "analyst" {
            reply["debate_alignment"] = json!("Buy hardware");
        }
    });
    let journal = Arc::default();
    let verdict = played(enhanced_setup("collaborative", 3, 2), &model, &journal).await;
    assert_eq!(verdict.stop_reason, "round_cap");
    let decision = enhancement(&verdict).decision.clone().unwrap();
    assert_eq!((decision.status, decision.vetoed), (Status::Continue, true));
    let report = serde_json::to_string(&protocols::report(&entries(&journal))).unwrap();
    assert!(
        report.contains("The words are alike, but the answers contradict each other"),
        "{report}"
    );
    assert_eq!(enhancement(&verdict).minority[0].agent, "analyst");
}

/// E-20: a move that names something new is explained, one that names nothing is shown as unexplained.
#[tokio::test]
async fn e20_moves_are_explained_or_shown_as_unexplained() {
    let journal = Arc::default();
    played(
        enhanced_setup("collaborative", 3, 5),
        &Scripted::new(converging),
        &journal,
    )
    .await;
    let debate = debate_of(&journal);
    let rounds = &debate.enhanced.as_ref().unwrap().rounds;
    let explained = |round: usize, seat: &str| {
        let positions = &rounds[round].positions;
        positions
            .iter()
            .find(|it| it.seat == seat)
            .unwrap()
            .explanation
            .clone()
    };
    assert_eq!(explained(0, "analyst"), Explanation::NotNeeded);
    assert_eq!(explained(1, "sentinel"), Explanation::Unexplained);
    assert_eq!(explained(2, "analyst"), Explanation::By(vec!["C9".into()]));
    let turned: Vec<_> = rounds.iter().map(|it| it.metrics.turned.clone()).collect();
    assert_eq!(
        turned,
        [
            vec![],
            vec!["sentinel".to_owned()],
            vec!["analyst".to_owned()]
        ]
    );
}

/// Three seats that do not move.
fn stuck(request: &Request, before: usize) -> Result<String, ModelError> {
    let said = converging(request, before)?;
    if name(request) != "contribution" {
        return Ok(said);
    }
    let mut reply: Value = serde_json::from_str(&said).unwrap();
    let (position, option) = match seat_of(request).as_str() {
        "sentinel" => (
            "Wait until somebody has measured the load",
            "Wait and measure",
        ),
        "builder" => ("Put one queue before every writer", "Use a queue"),
        _ => ("Buy larger hardware instead", "Buy hardware"),
    };
    reply["position"] = json!(position);
    reply["debate_alignment"] = json!(option);
    Ok(reply.to_string())
}

/// E-09: a debate without progress waits, durably, for a person: who accepts, chooses, or lets it go on. The record says
/// `human_override`; E-10: what was said meanwhile is its `user_input`.
#[tokio::test]
async fn e09_diminishing_returns_wait_for_a_person() {
    for (choice, stop, rounds, overridden, answer) in [
        (ACCEPT, "human_override", 3, true, "Buy hardware"),
        ("Use a queue", "human_override", 3, true, "Use a queue"),
        (ANOTHER_ROUND, "", 4, false, ""),
    ] {
        let (model, journal) = (Scripted::new(stuck), Arc::<MemoryJournal>::default());
        let table = sit(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
        table.say("Mind the price.".into(), None).await.unwrap();
        let waits = |round: u32| Halt::Waiting {
            key: format!("r{round}/diminishing-returns"),
        };
        assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(3));
        let question = crate::table::open_question(&entries(&journal))
            .unwrap()
            .clone();
        assert_eq!(
            question.options,
            [
                ACCEPT,
                ANOTHER_ROUND,
                "Buy hardware",
                "Use a queue",
                "Wait and measure"
            ]
        );
        decide(
            journal.as_ref(),
            0,
            choice.into(),
            Some("Ada".into()),
            Some("It has to end.".into()),
        )
        .await
        .unwrap();
        let table = sit(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
        let end = play(&table, &Modes).await;
        let debate = debate_of(&journal);
        assert_eq!(debate.rounds.len(), rounds, "{choice}");
        if choice == ANOTHER_ROUND {
            assert_eq!(end.unwrap_err(), waits(4));
            continue;
        }
        let verdict = verdict_of(&end.unwrap());
        assert_eq!(verdict.stop_reason, stop);
        let it = enhancement(&verdict);
        assert_eq!((it.escalation, it.human_override), (true, overridden));
        assert_eq!(it.answer.as_deref(), Some(answer));
        let record = enhanced::record("id", &entries(&journal)).unwrap();
        let consensus = record.final_consensus.unwrap();
        assert_eq!(
            (
                consensus.decision.as_str(),
                consensus.escalation,
                consensus.human_override
            ),
            (answer, true, overridden)
        );
        let said: Vec<_> = record
            .rounds
            .iter()
            .map(|it| it.user_input.clone())
            .collect();
        assert_eq!(said, [Some("Mind the price.".to_owned()), None, None]);
        assert!(!record.token_efficiency.consensus_reached);
        let report = serde_json::to_string(&protocols::report(&entries(&journal))).unwrap();
        assert!(
            report.contains("Ada decided after round 3, diminishing returns"),
            "{report}"
        );
    }
}

/// M-08 in an enhanced debate: objections that came to nothing wait for a person too.
#[tokio::test]
async fn e09_failed_objections_wait_for_a_person() {
    let model = changed(unanimous, |_, _, reply| {
        reply["confidence"] = json!(0.9);
        reply["claims"] = json!([]);
        reply["references"] = json!([]);
        reply["backing"] = json!([]);
        reply["critiques"] = json!([]);
    });
    let journal = Arc::<MemoryJournal>::default();
    let table = sit(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    let halt = play(&table, &Modes).await.unwrap_err();
    assert_eq!(
        halt,
        Halt::Waiting {
            key: "r2/groupthink".into()
        }
    );
    decide(journal.as_ref(), 0, ACCEPT.into(), None, None)
        .await
        .unwrap();
    let verdict = played(enhanced_setup("collaborative", 3, 5), &model, &journal).await;
    assert_eq!(verdict.stop_reason, "human_override");
    assert!(enhancement(&verdict).human_override);
}

/// E-21: democratic majority, on both sides of each of its lines.
#[tokio::test]
async fn e21_a_majority_is_counted_and_an_open_one_asks_a_person() {
    let with = |apart: usize| {
        changed(story, move |request, _, reply| {
            let seats = ["sentinel", "builder", "analyst", "ecologist"];
            let index = seats.iter().position(|it| *it == seat_of(request)).unwrap();
            reply["debate_alignment"] = json!(if index < apart {
                format!("Way {index}{index}")
            } else {
                "Use a queue".into()
            });
        })
    };
    let rules = enhanced_by(algorithm::DEFAULT, "collaborative", 5);
    let setup = || setup_of(&rules, 4, Ability::Full);
    for (apart, level) in [(0, Level::High), (1, Level::Medium)] {
        let verdict = played(setup(), &with(apart), &Arc::default()).await;
        let it = enhancement(&verdict);
        assert_eq!(
            (verdict.stop_reason.as_str(), it.level, it.minority.len()),
            ("consensus", Some(level), apart)
        );
        assert_eq!((it.escalation, it.similarity), (false, None));
    }
    let (model, journal) = (with(2), Arc::<MemoryJournal>::default());
    let table = sit(setup(), &model, &journal).await;
    let halt = play(&table, &Modes).await.unwrap_err();
    assert_eq!(
        halt,
        Halt::Waiting {
            key: "r2/no-majority".into()
        }
    );
    decide(journal.as_ref(), 0, "Way 00".into(), None, None)
        .await
        .unwrap();
    let verdict = played(setup(), &model, &journal).await;
    let it = enhancement(&verdict);
    assert_eq!(
        (it.level, it.human_override, it.answer.as_deref()),
        (Some(Level::Low), true, Some("Way 00"))
    );
    // Nothing of evidence was asked for.
    assert!(
        model
            .heard()
            .iter()
            .all(|it| !it.system.contains("# Evidence"))
    );
}

/// E-21: an open security objection halts until a person overrides it, or its seat withdraws it.
#[tokio::test]
async fn e21_a_security_objection_halts_until_a_person_overrides() {
    let model = changed(story, |request, _, reply| {
        if seat_of(request) == "sentinel" && round_of(request) < 3 {
            reply["security_objection"] = json!("The queue is open to everybody.");
        }
    });
    let rules = enhanced_by("security_first_veto", "collaborative", 5);
    let setup = || setup_of(&rules, 3, Ability::Full);
    let journal = Arc::<MemoryJournal>::default();
    let table = sit(setup(), &model, &journal).await;
    let waits = |round: u32| Halt::Waiting {
        key: format!("r{round}/security-objection"),
    };
    assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(1));
    decide(journal.as_ref(), 0, ANOTHER_ROUND.into(), None, None)
        .await
        .unwrap();
    let table = sit(setup(), &model, &journal).await;
    assert_eq!(play(&table, &Modes).await.unwrap_err(), waits(2));
    let forked = Arc::new(MemoryJournal::holding(journal.keyed()));

    decide(journal.as_ref(), 0, OVERRIDE.into(), None, None)
        .await
        .unwrap();
    let verdict = played(setup(), &model, &journal).await;
    let it = enhancement(&verdict);
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus", 2)
    );
    assert!(it.human_override);
    assert_eq!(it.security_objections[0].overridden_round, Some(2));

    // Or it is met: the seat no longer raises it.
    decide(forked.as_ref(), 0, ANOTHER_ROUND.into(), None, None)
        .await
        .unwrap();
    let verdict = played(setup(), &model, &forked).await;
    let it = enhancement(&verdict);
    assert_eq!(
        (verdict.stop_reason.as_str(), verdict.total_rounds),
        ("consensus", 3)
    );
    assert_eq!(
        (it.human_override, it.security_objections[0].withdrawn_round),
        (false, Some(3))
    );
}

/// A model that tells no usage: every token is counted here.
struct Counted(Arc<Scripted>);

impl Model for Counted {
    fn stream(&self, request: Request) -> Deltas {
        let deltas = self.0.stream(request);
        Box::pin(deltas.filter(|delta| {
            let is_usage = matches!(delta, Ok(crate::model::Delta::Usage(_)));
            std::future::ready(!is_usage)
        }))
    }
}

async fn counted(setup: Setup, model: &Arc<Scripted>) -> (Verdict, u64) {
    let mut deps = kit_of(&setup, model, Arc::<MemoryJournal>::default());
    for chair in deps.seat_models.values_mut() {
        chair.model = Arc::new(Counted(Arc::clone(model)));
    }
    let table = Table::open(setup, Budget::default(), deps).await.unwrap();
    let verdict = verdict_of(&play(&table, &Modes).await.unwrap());
    (verdict, table.spent().usage.total())
}

/// E-17: the overhead is counted from what a plain debate does not have; a plain debate with the same words used what was
/// said it would, to within 3%.
#[tokio::test]
async fn e17_the_overhead_over_a_plain_debate_is_measured() {
    let unsure = changed(converging, |_, _, reply| reply["confidence"] = json!(0.65));
    let (verdict, total) = counted(enhanced_setup("collaborative", 3, 3), &unsure).await;
    let it = enhancement(&verdict).overhead;
    assert_eq!((it.total_tokens, it.round_tokens), (total, 0));
    assert_eq!(it.plain_tokens + it.prompt_tokens + it.reply_tokens, total);
    assert!(it.embedded_tokens > 0);
    let bare = changed(converging, |_, _, reply| {
        reply["confidence"] = json!(0.65);
        let reply = reply.as_object_mut().unwrap();
        reply.remove("backing");
        reply.remove("critiques");
        reply.insert("opposes".into(), json!([]));
    });
    let (plain, used) = counted(setup("collaborative", 3, 3), &bare).await;
    assert_eq!((plain.total_rounds, plain.enhanced.is_some()), (3, false));
    let off = it.plain_tokens.abs_diff(used);
    assert!(
        off * 100 <= used * 3,
        "{} expected, {used} used",
        it.plain_tokens
    );

    // With votes that would have ended a plain debate at once, the later rounds are overhead as a whole.
    let (verdict, _) = counted(
        enhanced_setup("collaborative", 3, 5),
        &Scripted::new(converging),
    )
    .await;
    let it = enhancement(&verdict).overhead;
    assert!(it.round_tokens > it.prompt_tokens, "{it:?}");
    assert_eq!(it.plain_tokens + it.added(), it.total_tokens);
}

/// M-12 in an enhanced debate: 5 seats and 12 rounds, every prompt under 10,000 tokens and no growth after round 4.
#[tokio::test]
async fn m12_prompts_of_an_enhanced_debate_are_bounded() {
    let model = Scripted::new(|request: &Request, before| {
        let said = stubborn(request, before)?;
        if name(request) != "contribution" {
            return Ok(said);
        }
        let mut reply: Value = serde_json::from_str(&said).unwrap();
        let more = backed(request, "MINOR", 0.5);
        reply.as_object_mut().unwrap().remove("opposes");
        reply["backing"] = more["backing"].clone();
        reply["critiques"] = more["critiques"].clone();
        let (seat, round) = (seat_of(request), round_of(request));
        reply["position"] = json!(format!(
            "{seat}{round} wants {seat}{round} and {round}{seat} for {seat}"
        ));
        reply["debate_alignment"] = json!(format!("{seat} {round}{round}"));
        Ok(reply.to_string())
    });
    let mut rules = enhanced_by(algorithm::ENHANCED, "collaborative", 12);
    rules.enhanced.as_mut().unwrap().required_questions = (1..=8)
        .map(|n| format!("What are the expected patterns of load number {n}?"))
        .collect();
    let verdict = played(setup_of(&rules, 5, Ability::Full), &model, &Arc::default()).await;
    assert_eq!(
        (verdict.total_rounds, verdict.violations),
        (12, BTreeMap::new())
    );
    let mut by_round: BTreeMap<u32, u64> = BTreeMap::new();
    for request in model.heard().iter().filter(|it| name(it) == "contribution") {
        let all: u64 = request.texts().map(tokens::count).sum();
        assert!(all <= 10_000, "{all} tokens");
        *by_round.entry(round_of(request)).or_default() += all;
    }
    assert!(by_round[&12] * 10 <= by_round[&4] * 11, "{by_round:?}");
}

/// The prompts of an enhanced debate, for a large and for a small model.
#[tokio::test]
async fn every_enhanced_prompt_has_a_snapshot() {
    let mut seen = BTreeMap::new();
    let mut rules = enhanced_by(algorithm::ENHANCED, "collaborative", 5);
    rules.enhanced.as_mut().unwrap().required_questions =
        vec!["What are the expected query patterns?".into()];
    let model = Scripted::new(converging);
    played(setup_of(&rules, 3, Ability::Full), &model, &Arc::default()).await;
    for request in model
        .heard()
        .iter()
        .filter(|it| name(it) == "contribution" && seat_of(it) == "builder")
    {
        let label = format!("enhanced_prompt_full_{}", round_of(request));
        seen.entry(label).or_insert_with(|| prompt(request));
    }
    let veto = enhanced_by("security_first_veto", "collaborative", 5);
    let model = Scripted::new(story);
    played(setup_of(&veto, 3, Ability::Full), &model, &Arc::default()).await;
    let first = model
        .heard()
        .into_iter()
        .find(|it| name(it) == "contribution")
        .unwrap();
    seen.insert("enhanced_prompt_security".into(), prompt(&first));

    let small = Scripted::new(|request: &Request, _| {
        Ok(beside(request).unwrap_or_else(|| {
            json!({ "argument": "Use a queue.", "position": "Use one.", "confidence": 0.7, "vote": "MINOR",
                    "claims": [{ "text": "It bursts.", "label": "ASSUME" }], "supports": [], "opposes": [],
                    "backing": [{ "of": "N1", "evidence": [{ "type": "SPECULATIVE", "source": "A guess." }], "confidence": 0.2 }] })
            .to_string()
        }))
    });
    let verdict = played(setup_of(&rules, 3, Ability::Small), &small, &Arc::default()).await;
    assert_eq!(verdict.sent_back, 0, "{:?}", verdict.violations);
    let first = small
        .heard()
        .into_iter()
        .find(|it| name(it) == "contribution")
        .unwrap();
    seen.insert("enhanced_prompt_small".into(), prompt(&first));
    let schema = first.schema.unwrap();
    assert_eq!(
        schema.json["properties"]["backing"]["items"]["properties"]["evidence"]["items"]["properties"]
            ["type"]["enum"][0],
        "DOCUMENTED"
    );
    for (label, text) in seen {
        insta::assert_snapshot!(label, text);
    }
}
