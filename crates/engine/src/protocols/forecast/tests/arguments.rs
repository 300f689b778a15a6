//! Arguments: scoring, rewrites, invalid replies, absent roles.

use super::*;
use crate::protocols::forecast::extras::JudgePart;
use crate::scripted::sent_back;

/// F-06: an argument below 0.2 is rewritten once and the better version is kept; at 0.2 it is not.
#[tokio::test]
async fn f06_a_weak_argument_is_rewritten_and_the_better_version_kept() {
    let with = |first: f64, second: f64| {
        script(move |request, mut reply| {
            let text = all_text(request);
            if text.contains("Your first attempt was scored") {
                reply["argument"] = json!("The pessimist tries again.");
            }
            if name(request) == "scoring" {
                let score = if text.contains("tries again") {
                    Some(second)
                } else {
                    None
                };
                let weak = text
                    .contains("The pessimist argues in round 1.")
                    .then_some(first);
                if let Some(score) = score.or(weak) {
                    for criterion in ["logical_strength", "evidence_quality", "novelty"] {
                        reply["scores"][criterion] = json!(score);
                    }
                }
            }
            reply
        })
    };
    for (first, second, calls, kept) in [
        (0.2, 0.9, 31, "The pessimist argues in round 1."),
        (0.19, 0.5, 33, "The pessimist tries again."),
        (0.19, 0.1, 33, "The pessimist argues in round 1."),
        // Once only, even if the rewrite is weak.
        (0.1, 0.15, 33, "The pessimist tries again."),
    ] {
        let model = with(first, second);
        let journal = Arc::default();
        let result = played(&model, &journal).await;
        assert_eq!(model.asked().len(), calls, "{first} then {second}");
        let report = json!(crate::protocols::report(&entries(&journal))).to_string();
        let note = "Rewritten after a low score: pessimist in round 1.";
        assert_eq!(report.contains(note), kept.ends_with("again."));
        let arguments = &result.debate_log.rounds[0].arguments;
        let pessimist = arguments
            .iter()
            .find(|argument| argument.role == "pessimist")
            .unwrap();
        assert_eq!(pessimist.argument, kept, "{first} then {second}");
    }
}

/// F-06: the share of arguments above 0.4 against the target of 80%.
#[tokio::test]
async fn f06_the_share_of_good_arguments_is_reported() {
    let quality = played(&good_model(), &Arc::default())
        .await
        .roundtable
        .extras
        .quality;
    assert_eq!(
        (quality.scored, quality.above, quality.met),
        (15, 15, Some(true))
    );
    // 0.4 exactly is not above.
    let model = script(|request, mut reply| {
        if name(request) == "scoring" && !all_text(request).contains("round 1") {
            for criterion in ["logical_strength", "evidence_quality", "novelty"] {
                reply["scores"][criterion] = json!(0.4);
            }
        }
        reply
    });
    let quality = played(&model, &Arc::default())
        .await
        .roundtable
        .extras
        .quality;
    assert_eq!(
        (quality.scored, quality.above, quality.met),
        (15, 5, Some(false))
    );
}

/// F-08: percentages are understood; nothing is sent back.
#[tokio::test]
async fn f08_probabilities_in_percent_are_understood() {
    let model = script(|request, mut reply| {
        if name(request) == "argument" && who(request).0 == "optimist" {
            reply["probabilities"] = json!({ "above": 10, "within": 70, "below": "20%" });
            reply["confidence"] = json!(70);
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    let optimist = &result.probability_distribution[1].role_assessments[0];
    assert!((optimist.probability - 0.7).abs() < 1e-9);
    assert!((optimist.confidence.value() - 0.7).abs() < 1e-9);
    assert_eq!(result.roundtable.extras.remarks, Vec::<String>::new());
    assert_eq!(result.metadata.sonnet_calls, 31);
}

/// F-08: probabilities that sum to 1.3 are scaled, with a remark.
#[tokio::test]
async fn f08_a_sum_of_one_point_three_is_scaled() {
    let model = script(|request, mut reply| {
        if name(request) == "argument" && who(request) == ("optimist".into(), 3) {
            reply["probabilities"] = json!({ "above": 0.13, "within": 0.91, "below": 0.26 });
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    assert_eq!(result.roundtable.state, State::Complete);
    let optimist = &result.probability_distribution[0].role_assessments[0];
    assert!((optimist.probability - 0.1).abs() < 1e-9);
    assert_eq!(
        result.roundtable.extras.remarks,
        ["optimist-3: the probabilities summed to 1.30 and were scaled to 1"]
    );
}

/// F-08: many scaled sums are one remark with their number and range.
#[tokio::test]
async fn f08_many_scaled_sums_are_one_remark() {
    let model = script(|request, mut reply| {
        if name(request) == "argument" && who(request).1 > 1 {
            let within = if who(request).0 == "judge" { 0.9 } else { 0.8 };
            reply["probabilities"] = json!({ "above": 0.1, "within": within, "below": 0.2 });
            reply["supports"] = json!("within");
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    assert_eq!(
        result.roundtable.extras.remarks,
        ["the probabilities of 10 arguments summed to between 1.10 and 1.20 and were scaled to 1"]
    );
}

/// F-04: from round 2 an argument that rebuts no role has a remark, and so has one that supports an outcome that is not its most
/// probable one. A tie is fine. Repeated rebuttals count once.
#[tokio::test]
async fn f04_arguments_that_rebut_nobody_or_contradict_themselves_have_a_remark() {
    let model = script(|request, mut reply| {
        if name(request) == "argument" {
            match (who(request).0.as_str(), who(request).1) {
                ("optimist", 2) | ("historian", 3) => reply["rebuts"] = json!([]),
                ("contrarian", 2) => reply["rebuts"] = json!(["judge", "optimist", "judge"]),
                ("judge", 1) => reply["supports"] = json!("below"),
                ("judge", 2) => {
                    reply["probabilities"] = json!({ "above": 0.4, "within": 0.4, "below": 0.2 });
                }
                _ => {}
            }
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    assert_eq!(
        result.roundtable.extras.remarks,
        [
            "2 arguments rebut no other role: optimist-2, historian-3",
            "judge-1 supports an outcome that it does not consider the most probable",
        ]
    );
    // Each was sent back once; the tie was not.
    for (role, round, reason) in [
        ("optimist", 2, "name at least one role"),
        ("historian", 3, "name at least one role"),
        (
            "judge",
            1,
            "argue for the outcome you consider the most probable",
        ),
    ] {
        let asked = asked_of(&model, role, round);
        assert_eq!(asked.len(), 2, "{role} {round}");
        assert!(sent_back(&asked).contains(reason), "{role} {round}");
    }
    assert_eq!(asked_of(&model, "judge", 2).len(), 1);
    let contrarian = &result.debate_log.rounds[1].arguments[2];
    assert_eq!(contrarian.rebuts, ["judge", "optimist"]);
    assert_eq!(result.roundtable.state, State::Complete);
}

/// F-08, F-04: an invalid distribution or an unknown outcome is sent back once; then the step fails.
#[tokio::test]
async fn f08_unusable_replies_are_sent_back_once_and_then_fail() {
    let cases = [
        (
            json!({ "probabilities": { "above": 0, "within": 0, "below": 0 } }),
            "sum to 0",
        ),
        (
            json!({ "probabilities": { "above": -0.2, "within": 0.9, "below": 0.3 } }),
            "probabilities, above must be",
        ),
        (
            json!({ "probabilities": { "above": 60, "within": 30, "below": 15 } }),
            "probabilities, above must be",
        ),
        (
            json!({ "probabilities": { "above": "NaN", "within": 0.5, "below": 0.5 } }),
            "probabilities, above must be",
        ),
        (
            json!({ "probabilities": { "above": null, "within": 0.5, "below": 0.5 } }),
            "probabilities, above must be",
        ),
        (
            json!({ "probabilities": { "above": 0.5, "within": 0.5 } }),
            "missing for: below",
        ),
        (
            json!({ "probabilities": { "above": 0.5, "within": 0.3, "below": 0.1, "sideways": 0.1 } }),
            "no outcome: sideways",
        ),
        (json!({ "supports": "sideways" }), "which is no outcome"),
        (json!({ "supports": "" }), "which is no outcome"),
        (json!({ "confidence": "high" }), "confidence must be"),
    ];
    for (wrong, reason) in cases {
        let change = wrong.clone();
        let model = script(move |request, mut reply| {
            if name(request) == "argument" && who(request) == ("optimist".into(), 1) {
                for (field, value) in change.as_object().unwrap() {
                    reply[field] = value.clone();
                }
            }
            reply
        });
        let result = played(&model, &Arc::default()).await;
        let asked = asked_of(&model, "optimist", 1);
        assert_eq!(asked.len(), 2, "{wrong}");
        let sent_back = sent_back(&asked);
        assert!(sent_back.contains(reason), "{wrong}: {sent_back}");
        let extras = &result.roundtable.extras;
        assert_eq!(result.roundtable.state, State::Partial, "{wrong}");
        assert_eq!(extras.missing[0].step, "r1/optimist/argue", "{wrong}");
        assert!(extras.confidence < extras.confidence_stated, "{wrong}");
        // The role is asked again in the next round.
        assert_eq!(result.probability_distribution[0].role_assessments.len(), 5);
        let sum: f64 = result
            .probability_distribution
            .iter()
            .map(|outcome| outcome.probability)
            .sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
}

fn failing(role: &'static str) -> Arc<Scripted> {
    Scripted::new(move |request: &Request, _| {
        if name(request) == "argument" && who(request).0 == role {
            return Err(ModelError::Unreachable {
                detail: "gone".into(),
            });
        }
        Ok(good(request).to_string())
    })
}

/// F-08, F-18: if the judge never answers, the result is the consensus alone and says so.
#[tokio::test]
async fn f08_without_a_judge_the_result_is_the_consensus() {
    let result = played(&failing("judge"), &Arc::default()).await;
    let extras = &result.roundtable.extras;
    assert_eq!(result.roundtable.state, State::Partial);
    assert_eq!(extras.judge, JudgePart::Absent);
    assert_eq!(extras.absent_roles, ["judge"]);
    for outcome in &result.probability_distribution {
        assert_eq!(outcome.judge_probability, None);
        assert!((outcome.probability - outcome.consensus_probability).abs() < 1e-12);
        assert_eq!(outcome.role_assessments.len(), 4);
    }
}

/// F-08, F-18: a judge that fails only in the closing counts with its last argument, and the result says so.
#[tokio::test]
async fn f08_a_judge_without_a_closing_is_not_said_to_have_spoken() {
    let model = Scripted::new(move |request: &Request, _| {
        if name(request) == "argument" && who(request) == ("judge".into(), 3) {
            return Err(ModelError::Unreachable {
                detail: "gone".into(),
            });
        }
        Ok(good(request).to_string())
    });
    let journal = Arc::default();
    let result = played(&model, &journal).await;
    let extras = &result.roundtable.extras;
    assert_eq!(result.roundtable.state, State::Partial);
    assert_eq!(
        (extras.judge, extras.judge_round),
        (JudgePart::NoClosing, Some(2))
    );
    assert_eq!(extras.missing[0].step, "r3/judge/argue");
    // The judge has arguments, so it is not absent.
    assert!(extras.absent_roles.is_empty());
    let report = json!(crate::protocols::report(&entries(&journal))).to_string();
    let note = "The judge spoke until round 2 and gave no closing argument: its probabilities of round 2 count.";
    assert!(report.contains(note), "{report}");

    let whole = played(&good_model(), &Arc::default()).await;
    let extras = &whole.roundtable.extras;
    assert_eq!(
        (extras.judge, extras.judge_round),
        (JudgePart::Spoke, Some(3))
    );
}

/// F-18: a role that cannot be reached is named, the others continue, the confidence is lower.
#[tokio::test]
async fn f18_fewer_roles_give_a_partial_result_that_says_so() {
    let result = played(&failing("historian"), &Arc::default()).await;
    let extras = &result.roundtable.extras;
    assert_eq!(result.roundtable.state, State::Partial);
    assert_eq!(extras.absent_roles, ["historian"]);
    assert!(
        result
            .roundtable
            .reason
            .unwrap()
            .contains("the historian in round 1: cannot reach the server (gone)")
    );
    assert!(extras.confidence < extras.confidence_stated);
    assert_eq!(extras.precedents_dated, 0);
    assert_eq!(result.metadata.total_arguments, 12);
}

/// C-21: the answer of a partial forecast says what is missing and carries the lowered confidence, in report and record.
#[tokio::test]
async fn c21_a_partial_forecast_says_so_in_the_answer() {
    let journal = Arc::default();
    let result = played(&failing("historian"), &journal).await;
    let extras = &result.roundtable.extras;
    let shown = |value: Option<roundtable_core::bounded::Confidence>| value.unwrap().value();
    let answer = extras.summary.clone().unwrap();
    let expected = format!(
        "**Partial:** the historian was absent in rounds 1, 2 and 3. The confidence is lowered from {:.2} to {:.2}.\n\nMost likely",
        shown(extras.confidence_stated),
        shown(extras.confidence)
    );
    assert!(answer.starts_with(&expected), "{answer}");
    let report = crate::protocols::report(&entries(&journal));
    assert_eq!(report.answer.as_deref(), Some(answer.as_str()));

    let whole = played(&good_model(), &Arc::default()).await;
    let summary = whole.roundtable.extras.summary.unwrap();
    assert_eq!(summary, "Most likely inflation stays **between 2 and 3%**.");
}

/// C-21: without a synthesis the answer is the likeliest outcome, and says that it is partial.
#[tokio::test]
async fn c21_a_forecast_without_a_synthesis_names_the_likeliest_outcome() {
    let model = Scripted::new(|request: &Request, _| {
        if name(request) == "forecast_synthesis" {
            return Err(ModelError::Unreachable {
                detail: "gone".into(),
            });
        }
        Ok(good(request).to_string())
    });
    let result = played(&model, &Arc::default()).await;
    let answer = result.roundtable.extras.summary.unwrap();
    assert!(
        answer.starts_with("**Partial:** the synthesizer was absent (synthesis)."),
        "{answer}"
    );
    assert!(
        answer.ends_with("\n\nThe likeliest outcome is 'From 2 to 3%' with 54%."),
        "{answer}"
    );
}

/// C-22: rebuttals challenge a forecast; those between roles that still support different outcomes are open.
#[tokio::test]
async fn c22_a_forecast_says_whether_it_was_challenged() {
    let journal = Arc::default();
    let challenged = played(&good_model(), &journal).await;
    let scrutiny = challenged.roundtable.extras.scrutiny.unwrap();
    // Four roles rebut the pessimist, who rebuts the optimist; the contrarian alone supports another outcome at the end.
    assert_eq!(scrutiny.sentence(), "Challenged: 5 objections, 1 open.");
    let report = json!(crate::protocols::report(&entries(&journal))).to_string();
    assert!(report.contains(&scrutiny.sentence()), "{report}");

    let quiet = script(|request, mut reply| {
        if name(request) == "argument" {
            reply["rebuts"] = json!([]);
        }
        reply
    });
    let quiet = played(&quiet, &Arc::default()).await;
    let sentence = quiet.roundtable.extras.scrutiny.unwrap().sentence();
    assert_eq!(
        sentence,
        "Not challenged: no role rebutted another in 3 rounds."
    );

    let agreed = script(|request, mut reply| {
        if name(request) == "argument" {
            reply["rebuts"] = json!([]);
            reply["supports"] = json!("within");
        }
        reply
    });
    let agreed = played(&agreed, &Arc::default()).await;
    assert_eq!(
        agreed.roundtable.extras.scrutiny,
        Some(crate::protocols::Scrutiny::Unanimous)
    );
}

/// F-05: scores in words are invalid: the argument has no score.
#[tokio::test]
async fn f05_scores_in_words_are_rejected() {
    let model = script(|request, mut reply| {
        if name(request) == "scoring" && all_text(request).contains("The judge argues in round 1.")
        {
            reply["scores"]["novelty"] = json!("high");
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    assert_eq!(result.roundtable.state, State::Partial);
    assert_eq!(
        result.roundtable.extras.missing[0].step,
        "r1/scorer/score-judge"
    );
    let judge = &result.debate_log.rounds[0].arguments[4];
    assert_eq!((judge.role.as_str(), &judge.scores), ("judge", &None));
    assert_eq!(result.roundtable.extras.quality.scored, 14);
}

/// F-05: the scorer's prompt does not name the role.
#[tokio::test]
async fn f05_scoring_is_blind_to_the_role() {
    let model = script(|request, mut reply| {
        if name(request) == "argument" {
            reply["argument"] = json!("Prices rise.");
        }
        reply
    });
    played(&model, &Arc::default()).await;
    for request in model
        .heard()
        .iter()
        .filter(|request| name(request) == "scoring")
    {
        let text = all_text(request).to_lowercase();
        for role in ["optimist", "pessimist", "contrarian", "historian", "judge"] {
            assert!(!text.contains(role), "{text}");
        }
    }
}

/// F-05: the request's criteria and weights are used.
#[tokio::test]
async fn f05_other_criteria_replace_the_rubric() {
    let mut asked = request();
    asked["config"] = json!({ "scoring_criteria": ["clarity", "novelty"], "scoring_weights": { "clarity": 3, "novelty": 1 } });
    let model = script(|request, mut reply| {
        if name(request) == "scoring" {
            reply["scores"] = json!({ "clarity": 0.8, "novelty": 0.4 });
        }
        reply
    });
    let result = played_with(&model, &Arc::default(), setup_of(&asked), Budget::default()).await;
    let scores = result.debate_log.rounds[0].arguments[0]
        .scores
        .clone()
        .unwrap();
    let names: Vec<_> = scores.keys().map(String::as_str).collect();
    assert_eq!(names, ["clarity", "novelty", "composite"]);
    assert!((scores["composite"].as_f64().unwrap() - 0.7).abs() < 1e-12);
}

/// F-12: precedents without dates are sent back once; then the result says how many are dated.
#[tokio::test]
async fn f12_precedents_without_dates_are_sent_back_once() {
    let model = script(|request, mut reply| {
        if reply.get("precedents").is_some() && who(request).0 == "historian" {
            reply["precedents"] = json!([
                precedent("Oil shock", "long ago"),
                precedent("Gas shock", "2022")
            ]);
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    assert_eq!(asked_of(&model, "historian", 1).len(), 2);
    let extras = &result.roundtable.extras;
    assert_eq!(
        (extras.precedents_required, extras.precedents_dated),
        (2, 1)
    );
    assert_eq!(
        extras.remarks[0],
        "historian-1: 1 of at least 2 required precedents are past events with a date and an outcome."
    );
    assert_eq!(result.roundtable.state, State::Complete);
}

/// F-13: a closing without a reference is sent back once; its movement is then reported as unexplained.
#[tokio::test]
async fn f13_closings_refer_to_earlier_points_by_id() {
    let model = script(|request, mut reply| {
        if name(request) == "argument" && who(request) == ("pessimist".into(), 3) {
            reply["refers_to"] = json!([]);
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    let asked = asked_of(&model, "pessimist", 3);
    assert_eq!(asked.len(), 2);
    assert!(sent_back(&asked).contains("names in 'refers_to' the ids of earlier points"));
    let schema = &asked[0].schema.as_ref().unwrap().json["properties"]["refers_to"];
    assert_eq!(schema["items"]["enum"].as_array().unwrap().len(), 10);
    let movement = result.roundtable.extras.movement;
    let pessimist = movement
        .iter()
        .find(|movement| movement.role == "pessimist")
        .unwrap();
    let steps: Vec<_> = pessimist
        .steps
        .iter()
        .map(|step| {
            (
                step.from_round,
                step.to_round,
                (step.distance * 100.0).round(),
                step.explained,
            )
        })
        .collect();
    assert_eq!(steps, [(1, 2, 10.0, true), (2, 3, 20.0, false)]);
}

/// F-04: rebuttals of unknown roles are sent back once and then left out.
#[tokio::test]
async fn f04_a_role_rebuts_others_that_exist() {
    let model = script(|request, mut reply| {
        if name(request) == "argument" && who(request) == ("optimist".into(), 2) {
            reply["rebuts"] = json!(["optimist", "ghost", "pessimist"]);
        }
        reply
    });
    let result = played(&model, &Arc::default()).await;
    assert_eq!(asked_of(&model, "optimist", 2).len(), 2);
    assert_eq!(
        result.debate_log.rounds[1].arguments[0].rebuts,
        ["pessimist"]
    );
    assert!(
        result.debate_log.rounds[0]
            .arguments
            .iter()
            .all(|argument| argument.rebuts.is_empty())
    );
}

/// F-02: roles are data: a renamed historian must still give precedents, a renamed judge speaks last, a new role argues.
#[tokio::test]
async fn f02_roles_can_be_renamed_added_and_dropped() {
    let mut cast = cast();
    for (from, to) in [("historian", "archivist"), ("judge", "chair")] {
        let seat = cast
            .seats
            .iter_mut()
            .find(|seat| seat.name == from)
            .unwrap();
        seat.name = to.into();
        seat.persona = seat.persona.replace(&seat.title, &capital(to));
    }
    let mut engineer = cast.seats[0].clone();
    engineer.name = "engineer".into();
    engineer.persona = "You are the Engineer. You ask what is physically possible.".into();
    cast.seats.insert(4, engineer);
    cast.seats.retain(|seat| seat.name != "contrarian");
    let model = script(|_, mut reply| {
        if reply.get("refers_to").is_some() {
            reply["refers_to"] = json!(["engineer-1"]);
        }
        reply
    });
    let setup = setup_with(&request(), &cast, Ability::Full);
    let journal = Arc::default();
    let result = played_with(&model, &journal, setup, Budget::default()).await;
    let roles: Vec<_> = result.debate_log.rounds[0]
        .arguments
        .iter()
        .map(|argument| argument.role.as_str())
        .collect();
    assert_eq!(
        roles,
        ["optimist", "pessimist", "archivist", "engineer", "chair"]
    );
    assert!(
        result.probability_distribution[0]
            .judge_probability
            .is_some()
    );
    assert_eq!(result.historical_precedents.len(), 2);
    let keys: Vec<_> = journal.keyed().into_iter().map(|entry| entry.key).collect();
    let position = |key: &str| keys.iter().position(|known| known == key).unwrap();
    assert!(position("r3/chair/argue") > position("r3/engineer/argue"));
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}
