use proptest::prelude::*;

use super::*;
use crate::bounded::Probability;
use crate::evidence::EvidenceType::{Documented, Empirical, Logical, Precedent};
use crate::evidence::{EvidenceType, Weights};

const NOW: Millis = 1_800_000_000_000;
const A_DAY: Millis = 86_400_000;

fn share(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn domain() -> Domain {
    Domain::new("API Design").unwrap()
}

fn lesson(project: &str, held: &[(EvidenceType, f64)]) -> Lesson {
    Lesson {
        project: project.into(),
        title: project.to_uppercase(),
        domain: domain(),
        at: NOW,
        decision_accuracy: Some(share(0.75)),
        with_learning: false,
        evidence: held
            .iter()
            .map(|(kind, held)| TypeObservation {
                kind: *kind,
                held: share(*held),
                pieces: 2,
                why: "seen".into(),
            })
            .collect(),
        agents: Vec::new(),
        questions: Vec::new(),
        asked: Vec::new(),
        skills: Vec::new(),
        rounds: Vec::new(),
        consensus_reached: true,
    }
}

fn projects(count: usize, held: &[(EvidenceType, f64)]) -> Vec<Lesson> {
    (1..=count)
        .map(|number| lesson(&format!("p{number}"), held))
        .collect()
}

fn known(lessons: &[Lesson]) -> Knowledge {
    Knowledge::of(&domain(), lessons, HalfLife::default(), NOW)
}

fn weight(knowledge: &Knowledge, kind: EvidenceType) -> f64 {
    let found = knowledge.weights.iter().find(|weight| weight.kind == kind);
    found.unwrap().weight.mean
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

/// E-16: three projects in which precedents were right, heeded or not, and logic went half the way.
#[test]
fn e16_the_designs_three_projects_give_its_weights() {
    let after = known(&projects(3, &[(Precedent, 1.0), (Logical, 0.5)]));
    assert_eq!(format!("{:.2}", weight(&after, Precedent)), "0.75");
    assert_eq!(format!("{:.2}", weight(&after, Logical)), "0.58");
    // Types without observations keep the prior.
    close(weight(&after, Documented), 0.90);
    let precedent = &after.weights[2];
    assert_eq!((precedent.weight.cases, precedent.prior), (3, 0.70));
    assert!(
        precedent.weight.low < 0.70 && precedent.weight.high > 0.75,
        "{precedent:?}"
    );
}

/// E-16: the design's figures after four projects, from the same prior.
#[test]
fn e16_the_designs_four_projects_give_its_weights() {
    let mut four = projects(
        4,
        &[
            (Documented, 1.0),
            (Empirical, 1.0),
            (Precedent, 1.0),
            (Logical, 0.5),
        ],
    );
    four[3].evidence[2].held = share(0.75);
    let after = known(&four);
    let shown = [Documented, Empirical, Precedent, Logical]
        .map(|kind| format!("{:.2}", weight(&after, kind)));
    assert_eq!(shown, ["0.92", "0.88", "0.75", "0.58"]);
}

#[test]
fn e16_one_project_moves_a_weight_by_a_sixteenth_of_the_way_at_most() {
    let up = known(&projects(1, &[(Logical, 1.0)]));
    close(weight(&up, Logical), 0.60 + 0.40 / 16.0);
    let down = known(&projects(1, &[(Logical, 0.0)]));
    close(weight(&down, Logical), 0.60 - 0.60 / 16.0);
    // After as many projects as the prior counts for, the weight is halfway.
    let many = known(&projects(15, &[(Logical, 0.0)]));
    close(weight(&many, Logical), 0.30);
}

#[test]
fn e16_contradictory_projects_meet_in_the_middle_and_narrow_the_interval() {
    let mut both = projects(10, &[(Precedent, 1.0)]);
    both.extend((11..=20).map(|number| lesson(&format!("p{number}"), &[(Precedent, 0.0)])));
    let (before, after) = (known(&[]), known(&both));
    close(weight(&after, Precedent), (0.70 * 15.0 + 10.0) / 35.0);
    let width = |of: &Knowledge| of.weights[2].weight.high - of.weights[2].weight.low;
    assert!(width(&after) < width(&before));
}

/// E-16: a lesson counts half after one half-life and a quarter after two; one from the future counts fully.
#[test]
fn e16_old_lessons_count_less() {
    let half_life = HalfLife::days(100.0).unwrap();
    close(half_life.weight(NOW, NOW), 1.0);
    close(half_life.weight(NOW - 100 * A_DAY, NOW), 0.5);
    close(half_life.weight(NOW - 200 * A_DAY, NOW), 0.25);
    close(half_life.weight(NOW + 5 * A_DAY, NOW), 1.0);
    let mut old = lesson("p1", &[(Precedent, 1.0)]);
    old.at = NOW - 100 * A_DAY;
    let after = Knowledge::of(&domain(), &[old], half_life, NOW);
    close(weight(&after, Precedent), (0.70 * 15.0 + 0.5) / 15.5);
    assert_eq!(
        (after.projects, after.weights[2].weight.effective),
        (1, 0.5)
    );
}

#[test]
fn e16_half_lives_from_a_day_to_a_century_are_allowed() {
    for days in [1.0, 365.0, 36_500.0] {
        assert!(HalfLife::days(days).is_some(), "{days}");
    }
    for days in [0.999, 36_500.1, 0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(HalfLife::days(days).is_none(), "{days}");
    }
    close(HalfLife::default().in_days(), 365.0);
}

#[test]
fn e15_domains_ignore_case_and_spacing() {
    assert_eq!(Domain::new("  API   design ").unwrap(), domain());
    assert_eq!(Domain::new(" \n"), Err(DomainError::Empty));
    assert!(Domain::new(&"x".repeat(80)).is_ok());
    assert_eq!(
        Domain::new(&"x".repeat(81)),
        Err(DomainError::Long { found: 81 })
    );
}

fn asking(project: &str, question: &str, helped: bool) -> Lesson {
    Lesson {
        asked: vec![AskedObservation {
            question: question.into(),
            helped,
        }],
        ..lesson(project, &[])
    }
}

fn proposing(project: &str, question: &str, estimate: Option<f64>) -> Lesson {
    Lesson {
        questions: vec![Proposal {
            question: question.into(),
            reason: format!("{project} missed it"),
            estimate: estimate.map(share),
        }],
        ..lesson(project, &[])
    }
}

/// E-15: the design's question: expected to help in 80%, then five projects in which it did.
#[test]
fn e15_the_designs_question_comes_to_0_92() {
    let question = "What's the team's experience level?";
    let mut lessons = vec![proposing("p0", question, Some(0.80))];
    lessons.extend((1..=5).map(|number| {
        // The same question with different punctuation.
        asking(
            &format!("p{number}"),
            "Whats the teams experience level",
            true,
        )
    }));
    lessons[1].asked[0].question = question.into();
    let after = known(&lessons[..2]);
    close(
        after.questions[0].effectiveness.mean,
        (0.8 * 3.5 + 1.0) / 4.5,
    );
    for lesson in &mut lessons[1..] {
        lesson.asked[0].question = question.to_uppercase();
    }
    let after = known(&lessons);
    assert_eq!(after.questions.len(), 1);
    let found = &after.questions[0];
    assert_eq!(
        (found.asked, found.helped, found.missed, found.of),
        (5, 5, 1, 6)
    );
    assert_eq!(format!("{:.2}", found.effectiveness.mean), "0.92");
    assert_eq!(found.question, question);
}

/// E-15: a question that does not help is retired, but not after one or two debates.
#[test]
fn e15_a_question_retires_below_0_30() {
    let asked = |times: usize| {
        let mut lessons = vec![proposing("p0", "Why?", None)];
        lessons.extend((1..=times).map(|number| asking(&format!("p{number}"), "Why?", false)));
        let knowledge = known(&lessons);
        let questions = knowledge.learned().unwrap().questions.len();
        (knowledge.questions[0].is_asked, questions)
    };
    assert_eq!(
        [asked(0), asked(2), asked(3)],
        [(true, 1), (true, 1), (false, 0)]
    );
    // At the threshold the question is still asked.
    let at = known(&[proposing("p0", "Why?", Some(RETIRED_BELOW))]);
    assert!(at.questions[0].is_asked);
    let below = known(&[proposing("p0", "Why?", Some(0.299))]);
    assert!(!below.questions[0].is_asked);
}

/// E-15: 3 of 5 is HIGH and 2 of 5 MEDIUM, as in the design; both thresholds on both sides; one project is never HIGH.
#[test]
fn e15_priorities_follow_the_share_of_projects() {
    let of = Priority::of;
    assert_eq!(
        [of(3, 5), of(2, 5), of(1, 5)],
        [Priority::High, Priority::Medium, Priority::Low]
    );
    assert_eq!([of(4, 8), of(4, 9)], [Priority::High, Priority::Medium]);
    assert_eq!([of(2, 6), of(2, 7)], [Priority::Medium, Priority::Low]);
    assert_eq!(of(1, 1), Priority::Medium);
}

fn needing(project: &str, skills: &[&str]) -> Lesson {
    let needs = skills.iter().map(|skill| SkillNeed {
        skill: (*skill).to_owned(),
        reason: format!("{project} went wrong"),
        evidence: vec!["week 3".into()],
        expected: None,
    });
    Lesson {
        skills: needs.collect(),
        ..lesson(project, &[])
    }
}

#[test]
fn e15_a_skill_is_recommended_with_its_evidence_and_counted_once_a_project() {
    let found = known(&[
        needing(
            "a",
            &[
                "Requirements Validation Expert",
                "requirements validation expert",
            ],
        ),
        needing(
            "b",
            &["Requirements validation expert", "API Pattern Specialist"],
        ),
        lesson("c", &[]),
    ]);
    let skills: Vec<_> = found
        .skills
        .iter()
        .map(|record| {
            (
                record.skill.as_str(),
                record.lacking,
                record.of,
                record.priority.name(),
                record.evidence.len(),
            )
        })
        .collect();
    assert_eq!(
        skills,
        [
            ("Requirements Validation Expert", 2, 3, "HIGH", 3),
            ("API Pattern Specialist", 1, 3, "LOW", 1),
        ]
    );
    assert_eq!(found.skills[0].evidence[2], "B: week 3");
}

fn playing(project: &str, rights: &[usize]) -> Lesson {
    let rounds = (1..).zip(rights).map(|(round, right)| RoundObservation {
        round,
        right: *right,
        wrong: 1,
    });
    Lesson {
        rounds: rounds.collect(),
        ..lesson(project, &[])
    }
}

/// E-15: later rounds are worth playing if they raised something right; advice needs three projects.
#[test]
fn e15_advice_on_rounds_needs_three_projects() {
    let two = [playing("a", &[2, 1, 0]), playing("b", &[1, 1, 0])];
    assert_eq!(known(&two).advice, None);
    let three = [two[0].clone(), two[1].clone(), playing("c", &[1, 0, 0])];
    let advice = known(&three).advice.unwrap();
    assert_eq!(
        (advice.enough, advice.projects, advice.instead),
        (2, 3, None)
    );
    let rounds: Vec<_> = known(&three)
        .rounds
        .iter()
        .map(|round| {
            (
                round.round,
                round.played,
                round.paid,
                round.right,
                round.wrong,
            )
        })
        .collect();
    assert_eq!(rounds, [(1, 3, 3, 4, 3), (2, 3, 2, 2, 3), (3, 3, 0, 0, 3)]);
    // Half of the projects is enough; fewer is not.
    let even = |paid: usize| {
        let lessons: Vec<_> = (0..4)
            .map(|number| playing(&format!("p{number}"), &[1, usize::from(number < paid)]))
            .collect();
        known(&lessons).advice.unwrap().enough
    };
    assert_eq!([even(2), even(1)], [2, 1]);
}

/// E-15: panels that agreed and were still partly wrong need a skill, not more rounds.
#[test]
fn e15_agreement_with_gaps_asks_for_a_skill_instead_of_rounds() {
    let mut lessons: Vec<_> = (0..4)
        .map(|number| Lesson {
            skills: needing("x", &["Requirements Validation Expert"]).skills,
            ..playing(&format!("p{number}"), &[1, 0])
        })
        .collect();
    let instead = |lessons: &[Lesson]| known(lessons).advice.unwrap().instead;
    assert_eq!(
        instead(&lessons).as_deref(),
        Some("Requirements Validation Expert")
    );
    lessons[0].decision_accuracy = Some(share(1.0));
    lessons[1].consensus_reached = false;
    assert!(instead(&lessons).is_some());
    lessons[2].decision_accuracy = None;
    assert_eq!(instead(&lessons), None);
}

fn judged(project: &str, agent: &str, score: AgentScore) -> Lesson {
    Lesson {
        agents: vec![AgentObservation {
            agent: agent.into(),
            score,
        }],
        ..lesson(project, &[])
    }
}

/// E-15: proper scores if there are probabilities, otherwise evidence; both are shrunk to the mean of all.
#[test]
fn e15_agents_are_scored_by_probability_verdict_or_evidence() {
    let sure = AgentScore::Probability {
        confidence: share(0.9),
        right: share(0.5),
    };
    let exact = AgentScore::Probability {
        confidence: share(0.8),
        right: share(0.8),
    };
    let by_evidence = AgentScore::Evidence {
        held: share(0.5),
        pieces: 4,
    };
    let found = known(&[
        judged("a", "gpt", exact),
        judged("b", "claude", sure),
        judged("c", "gemini", by_evidence),
    ]);
    let mean_right = (0.8 + 0.5 + 0.5) / 3.0;
    let mean_brier = 0.16 / 2.0;
    let [claude, gemini, gpt] = &found.agents[..] else {
        panic!("{:?}", found.agents);
    };
    close(gpt.accuracy.mean, (0.8 + 10.0 * mean_right) / 11.0);
    close(gpt.brier.unwrap(), (0.0 + 10.0 * mean_brier) / 11.0);
    close(claude.brier.unwrap(), (0.16 + 10.0 * mean_brier) / 11.0);
    close(claude.overconfidence.unwrap(), 0.4);
    assert_eq!(
        (gemini.brier, gemini.overconfidence, gemini.by_evidence),
        (None, None, 1)
    );
    assert_eq!((gpt.by_evidence, gpt.debates), (0, 1));
}

/// Weights, questions, skills and rounds; nothing if nothing was learned.
#[test]
fn e15_the_next_debate_starts_with_what_was_learned_and_reports_it() {
    assert_eq!(known(&[]).learned(), None);
    let mut lessons: Vec<_> = (0..3)
        .map(|number| Lesson {
            questions: proposing("x", "Which queries?", Some(0.85)).questions,
            skills: needing("x", &["Requirements Validation Expert"]).skills,
            rounds: playing("x", &[1, 1, 0]).rounds,
            ..lesson(&format!("p{number}"), &[(Precedent, 1.0), (Logical, 0.5)])
        })
        .collect();
    let learned = known(&lessons).learned().unwrap();
    assert_eq!(
        learned.summary(),
        [
            "Learned from 3 post-mortems of 'api design':",
            "Weights of evidence: PRECEDENT 0.70 → 0.75, LOGICAL 0.60 → 0.58.",
            "The panel is asked one question before round 1.",
            "Consider a seat for 'Requirements Validation Expert': 3 of 3 projects lacked it.",
            "In 3 projects rounds up to 2 were productive.",
        ]
    );
    let written = serde_json::to_string(&learned).unwrap();
    assert_eq!(serde_json::from_str::<Learned>(&written).unwrap(), learned);
    lessons.truncate(1);
    for number in 0..20 {
        let question = format!("Question {number}?");
        lessons[0]
            .questions
            .extend(proposing("x", &question, None).questions);
    }
    let learned = known(&lessons).learned().unwrap();
    assert_eq!((learned.questions.len(), learned.rounds), (12, None));
    assert_eq!(learned.questions[0].question, "Which queries?");
}

fn apply(audit: &mut Vec<Audit>, change: Change, at: Millis) {
    let entry = record(
        audit,
        domain(),
        change,
        "why".into(),
        HalfLife::default(),
        at,
    );
    audit.push(entry);
}

fn undo_entry(audit: &mut Vec<Audit>, number: Option<u64>) {
    let (_, change) = undo(audit, number, None).unwrap();
    apply(audit, change, NOW);
}

fn learned(lesson: &Lesson) -> Change {
    Change::Learned {
        lesson: Box::new(lesson.clone()),
    }
}

/// E-16: old value, new value and number of projects.
#[test]
fn e16_every_change_records_the_figures_it_moved() {
    let mut audit = Vec::new();
    apply(&mut audit, learned(&lesson("p1", &[(Precedent, 1.0)])), NOW);
    apply(&mut audit, learned(&needing("p2", &["Reader"])), NOW);
    let moves: Vec<_> = audit.iter().flat_map(|entry| &entry.moves).collect();
    assert_eq!(
        serde_json::to_value(&moves).unwrap(),
        serde_json::json!([
            { "topic": "weight", "name": "PRECEDENT", "old": 0.7, "new": 0.718_75, "from": 1 },
            { "topic": "skill", "name": "Reader", "old": null, "new": 1.0, "from": 2 },
        ])
    );
    let (_, change) = undo(&audit, Some(2), None).unwrap();
    apply(&mut audit, change, NOW);
    assert_eq!(
        serde_json::to_value(&audit[2].moves).unwrap(),
        serde_json::json!([{ "topic": "skill", "name": "Reader", "old": 1.0, "new": null, "from": 0 }])
    );
}

/// E-14: a project counts once, even if it is undone and learned again.
#[test]
fn e14_the_same_project_is_learned_from_once() {
    let one = lesson("p1", &[(Precedent, 1.0)]);
    let mut audit = Vec::new();
    let change = learn(&audit, one.clone()).unwrap();
    apply(&mut audit, change, NOW);
    let again = learn(&audit, one.clone()).unwrap_err();
    assert_eq!(
        again,
        LearnError::Twice {
            project: "p1".into(),
            entry: 1
        }
    );
    let elsewhere = Lesson {
        domain: Domain::general(),
        ..one.clone()
    };
    assert!(learn(&audit, elsewhere).is_err());
    undo_entry(&mut audit, None);
    let change = learn(&audit, one.clone()).unwrap();
    apply(&mut audit, change, NOW);
    // Undoing the undo restores the first lesson, but the project still counts once.
    undo_entry(&mut audit, Some(2));
    assert_eq!(lessons(&audit, &domain()), std::slice::from_ref(&one));
    apply(&mut audit, Change::Reset, NOW);
    assert_eq!(lessons(&audit, &domain()), []);
    assert!(learn(&audit, one).is_ok());
}

#[test]
fn e16_an_invalid_undo_is_rejected() {
    let mut audit = Vec::new();
    assert_eq!(undo(&audit, None, None), Err(UndoError::Nothing));
    apply(&mut audit, learned(&lesson("p1", &[])), NOW);
    assert_eq!(
        undo(&audit, Some(7), None),
        Err(UndoError::Unknown { number: 7 })
    );
    let other = Domain::general();
    assert_eq!(undo(&audit, None, Some(&other)), Err(UndoError::Nothing));
    assert_eq!(
        undo(&audit, Some(1), Some(&other)),
        Err(UndoError::OtherDomain {
            number: 1,
            domain: domain()
        })
    );
    undo_entry(&mut audit, None);
    assert_eq!(
        undo(&audit, Some(1), None),
        Err(UndoError::Already { number: 1, by: 2 })
    );
    assert_eq!(undo(&audit, None, None), Err(UndoError::Nothing));
}

#[test]
fn e16_an_export_can_be_imported() {
    let mut audit = Vec::new();
    for lesson in projects(3, &[(Precedent, 1.0), (Logical, 0.5)]) {
        apply(&mut audit, learned(&lesson), NOW);
    }
    let export = Export::of(&audit, None, HalfLife::default(), NOW);
    let written = serde_json::to_string(&export).unwrap();
    let read: Export = serde_json::from_str(&written).unwrap();
    assert_eq!(read, export);
    let mut there = Vec::new();
    for (of, change) in import(&there, &read).unwrap() {
        assert_eq!(of, domain());
        apply(&mut there, change, NOW);
    }
    let at = |audit: &[Audit]| Knowledge::from_audit(audit, &domain(), HalfLife::default(), NOW);
    assert_eq!(at(&there), at(&audit));
    assert_eq!(import(&there, &read), Err(ImportError::Nothing));
}

#[test]
fn e16_an_invalid_import_is_rejected_with_the_reason() {
    let mut audit = Vec::new();
    apply(&mut audit, learned(&lesson("p1", &[(Precedent, 1.0)])), NOW);
    let good = Export::of(&audit, Some(&domain()), HalfLife::default(), NOW);
    let newer = Export {
        roundtable_learning: FORMAT + 1,
        ..good.clone()
    };
    assert_eq!(
        import(&[], &newer),
        Err(ImportError::Newer { found: FORMAT + 1 })
    );
    let mut twice = good.clone();
    twice.domains[0].lessons.push(lesson("p1", &[]));
    assert_eq!(
        import(&[], &twice),
        Err(ImportError::Twice {
            project: "p1".into()
        })
    );
    let mut types = good.clone();
    types.domains[0].lessons[0] = lesson("p1", &[(Precedent, 1.0), (Precedent, 0.0)]);
    assert_eq!(
        import(&[], &types),
        Err(ImportError::TypeTwice {
            project: "p1".into(),
            kind: Precedent
        })
    );
    let mut elsewhere = good.clone();
    elsewhere.domains[0].domain = Domain::general();
    assert!(matches!(
        import(&[], &elsewhere),
        Err(ImportError::OtherDomain { .. })
    ));
    let text = serde_json::to_string(&good).unwrap();
    for (right, wrong) in [
        ("\"weight\":0.71875", "\"weight\":1.4"),
        ("\"held\":1.0", "\"held\":-0.1"),
    ] {
        assert!(text.contains(right), "{text}");
        let error = serde_json::from_str::<Export>(&text.replace(right, wrong)).unwrap_err();
        assert!(
            error.to_string().contains("must be a number from 0 to 1"),
            "{error}"
        );
    }
}

/// Any history of lessons (some of one project), resets and valid undos.
fn history() -> impl Strategy<Value = Vec<Audit>> {
    let step = (0..8_u8, 0..6_usize, 0.0..=1.0_f64, 0..400_u64);
    prop::collection::vec(step, 0..14).prop_map(|steps| {
        let mut audit: Vec<Audit> = Vec::new();
        for (what, which, held, age) in steps {
            let at = NOW - age * A_DAY;
            let change = match what {
                0 => Some(Change::Reset),
                1 | 2 => {
                    let number = u64::try_from(which).unwrap();
                    undo(&audit, Some(number), None)
                        .ok()
                        .map(|(_, change)| change)
                }
                _ => {
                    let kind = EvidenceType::ALL[which];
                    learn(
                        &audit,
                        Lesson {
                            at,
                            ..lesson(&format!("p{which}"), &[(kind, held)])
                        },
                    )
                    .ok()
                }
            };
            if let Some(change) = change {
                apply(&mut audit, change, at);
            }
        }
        audit
    })
}

proptest! {
    /// E-16: an undo restores the previous state bit for bit at every later moment, and undoing the undo restores the other.
    #[test]
    fn e16_undo_restores_exactly(
        audit in history(),
        held in 0.0..=1.0_f64,
        is_reset in any::<bool>(),
        later in 0..2_000_u64,
    ) {
        let at = |audit: &[Audit]| {
            Knowledge::from_audit(audit, &domain(), HalfLife::default(), NOW + later * A_DAY)
        };
        let before = at(&audit);
        let change = if is_reset { Change::Reset } else { learned(&lesson("new", &[(Logical, held)])) };
        let mut with = audit.clone();
        apply(&mut with, change, NOW);
        let after = at(&with);
        let number = with.last().unwrap().number;
        undo_entry(&mut with, Some(number));
        prop_assert_eq!(at(&with), before);
        undo_entry(&mut with, Some(number + 1));
        prop_assert_eq!(at(&with), after);
    }

    /// E-16: every weight lies between the prior and the mean of the projects, and inside its interval.
    #[test]
    fn e16_a_weight_lies_between_prior_and_data(audit in history()) {
        let found = Knowledge::from_audit(&audit, &domain(), HalfLife::default(), NOW);
        for learned in &found.weights {
            let data = learned.observed.unwrap_or(learned.prior);
            prop_assert!(learned.weight.mean >= learned.prior.min(data) - 1e-12);
            prop_assert!(learned.weight.mean <= learned.prior.max(data) + 1e-12);
            prop_assert!(learned.weight.low <= learned.weight.mean && learned.weight.mean <= learned.weight.high);
        }
        let weights = found.learned().map_or_else(Weights::default, |found| found.weights);
        for learned in &found.weights {
            prop_assert!((weights.of(learned.kind).value() - learned.weight.mean).abs() < 1e-15);
        }
    }

    /// The order in which projects are learned does not matter.
    #[test]
    fn e16_order_does_not_matter(held in prop::collection::vec(0.0..=1.0_f64, 1..8)) {
        let lessons: Vec<_> = (0..).zip(&held).map(|(number, held)| lesson(&format!("p{number}"), &[(Precedent, *held)])).collect();
        let turned: Vec<_> = lessons.iter().rev().cloned().collect();
        prop_assert!((weight(&known(&lessons), Precedent) - weight(&known(&turned), Precedent)).abs() < 1e-12);
    }
}
