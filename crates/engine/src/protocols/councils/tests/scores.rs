//! Consensus, spread, disagreements and the overall score.

#![expect(clippy::float_cmp, reason = "the figures are exact, or rounded before")]

use roundtable_core::councils::Basis;

use super::*;
use crate::cast::Cast;
use crate::model::Request;
use crate::protocols::councils::disagreements::DisagreementSeverity;
use crate::protocols::councils::judge_results::Attendance;

/// T-05, T-06, T-08, T-10: the scores, computed by hand.
#[tokio::test]
async fn t06_numbers_disagreements_and_moves_are_as_computed_by_hand() {
    let record = run(&ScriptedModels::good(), &cast("themis"), Mode::Full).await;
    let verdict = result_of(&record);
    // The score of a single judge, moved by the exchange from 72 to 75 and by the finding to 69.
    let hook = dimension(&record, "hook_effectiveness");
    assert_eq!(
        hook.consensus
            .as_ref()
            .map(|consensus| (consensus.score.value(), consensus.basis)),
        Some((72.0, Basis::Single))
    );
    let exchange = hook.exchange.as_ref().unwrap();
    assert_eq!(
        (exchange.change.from.value(), exchange.change.to.value()),
        (72.0, 75.0)
    );
    assert_eq!(
        (
            hook.moves[0].change.from.value(),
            hook.moves[0].change.to.value()
        ),
        (75.0, 69.0)
    );
    assert_eq!(hook.shown, Some(69));
    // (44·0.85 + 75·0.7 + 62·0.8) / 2.35 = 59.36
    let whole = dimension(&record, "content_assessment");
    assert_eq!(
        format!("{:.2}", whole.consensus.as_ref().unwrap().score.value()),
        "59.36"
    );
    let kept: Vec<_> = verdict
        .council_disagreements
        .iter()
        .map(|disagreement| {
            (
                disagreement.id.as_str(),
                disagreement.dimension.as_str(),
                disagreement.points,
                disagreement.severity,
                disagreement.critic.is_some(),
            )
        })
        .collect();
    assert_eq!(
        kept,
        [
            (
                "D1",
                "content_assessment",
                31.0,
                DisagreementSeverity::High,
                true
            ),
            (
                "D2",
                "trend_alignment",
                23.0,
                DisagreementSeverity::Ordinary,
                true
            ),
        ]
    );
    let positions: Vec<_> = verdict.council_disagreements[0]
        .positions
        .iter()
        .map(|position| (position.judge.as_str(), position.reasoning.as_str()))
        .collect();
    assert_eq!(
        positions,
        [
            ("hook", "hook on content_assessment."),
            ("production", "production on content_assessment."),
            ("emotion", "emotion on content_assessment."),
        ]
    );
    let agreed: Vec<_> = verdict
        .high_confidence_agreements
        .iter()
        .map(|agreement| agreement.dimension.as_str())
        .collect();
    assert_eq!(agreed, ["market_assessment"]);
    // 69·25 + 60·20 + 60·15 + 56.5·20 + 63.5·20
    let overall = verdict.overall.as_ref().unwrap();
    assert_eq!(format!("{:.4}", overall.overall.score.value()), "62.2500");
    assert_eq!(
        (overall.overall.shown, overall.tier.as_str()),
        (62, "spreads")
    );
    // The lowest is emotion's 0.7; the critic subtracts 0.1.
    let confidence = verdict.confidence.as_ref().unwrap();
    assert_eq!(
        (confidence.lowest.value(), confidence.value.value()),
        (0.7, 0.6)
    );
    assert!(overall.uncertainty.unwrap() > 1.0);
}

/// T-02: the authenticity judge takes part in both rounds and gets the figures; its 81 is not part of any consensus.
#[tokio::test]
async fn t02_the_authenticity_judge_is_not_part_of_the_score() {
    let models = ScriptedModels::good();
    let record = run(&models, &cast("themis"), Mode::Full).await;
    let verdict = result_of(&record);
    assert!(verdict.dimensions.iter().all(|dimension| {
        dimension
            .judges
            .iter()
            .all(|judge| judge.judge != "authenticity")
    }));
    let authenticity = verdict.authenticity.as_ref().unwrap();
    let judgement = authenticity.judgement.as_ref().unwrap();
    assert_eq!(judgement.scores[0].score.last().unwrap().value(), 81.0);
    assert_eq!(judgement.assessment, "The second word of authenticity.");
    assert!(authenticity.limits.contains("no proof"));
    let prompt = |seat: &str| {
        models.asked_of(seat, "evaluation")[0].messages[1]
            .text
            .clone()
    };
    assert!(
        prompt("authenticity").contains("Burstiness")
            && prompt("authenticity").contains("no proof of anything")
    );
    assert!(!prompt("hook").contains("Burstiness"));
}

/// T-03, C-05: scores such as 110, "8/10" and "seventy" are sent back once and never guessed.
#[tokio::test]
async fn t03_an_invalid_score_is_sent_back_once_and_never_guessed() {
    for wrong in [
        "110",
        "\"8/10\"",
        "\"seventy\"",
        "8/10",
        "seventy",
        "-1",
        "null",
        "\"70\"",
        "true",
    ] {
        let spoilt = move |request: &Request| {
            let said = good("hook", request).to_string();
            let spoilt = said.replacen("\"score\":72.0", &format!("\"score\":{wrong}"), 1);
            assert_ne!(said, spoilt);
            spoilt
        };
        // Wrong once: the second reply counts.
        let once = ScriptedModels::new(move |seat, request, before| {
            let is_spoilt = seat == "hook" && name(request) == "evaluation" && before == 0;
            Ok(if is_spoilt {
                spoilt(request)
            } else {
                good(seat, request).to_string()
            })
        });
        let record = run(&once, &cast("themis"), Mode::Fast).await;
        assert_eq!(once.asked_of("hook", "evaluation").len(), 2, "{wrong}");
        assert_eq!(record.state, State::Complete, "{wrong}");
        assert_eq!(
            dimension(&record, "hook_effectiveness").shown,
            Some(69),
            "{wrong}"
        );
        // Wrong twice: the score is left out and the judge's other scores count (T-14), unless the reply is no JSON.
        let always = ScriptedModels::new(move |seat, request, _| {
            let is_spoilt = seat == "hook" && name(request) == "evaluation";
            Ok(if is_spoilt {
                spoilt(request)
            } else {
                good(seat, request).to_string()
            })
        });
        let record = run(&always, &cast("themis"), Mode::Fast).await;
        // What is not JSON may be put into the schema by two more calls.
        let is_json = serde_json::from_str::<Value>(wrong).is_ok();
        let calls = if is_json { 2 } else { 4 };
        assert_eq!(
            always.asked_of("hook", "evaluation").len(),
            calls,
            "{wrong}"
        );
        let state = if is_json {
            State::Complete
        } else {
            State::Partial
        };
        assert_eq!(record.state, state, "{wrong}");
        assert_eq!(
            dimension(&record, "hook_effectiveness").final_score,
            None,
            "{wrong}"
        );
        let others = &dimension(&record, "content_assessment").judges;
        let counts = others.iter().any(|judge| judge.judge == "hook");
        assert_eq!(counts, is_json, "{wrong}");
        let remark = "hook, round 1: There is no score for 'hook_effectiveness'.";
        let is_remarked = result_of(&record).remarks.iter().any(|said| said == remark);
        assert_eq!(is_remarked, is_json, "{wrong}");
        assert_eq!(
            result_of(&record)
                .overall
                .as_ref()
                .unwrap()
                .overall
                .left_out,
            ["hook_effectiveness"]
        );
    }
}

/// T-05: a reply without a valid confidence is sent back once; then the score is excluded, and the result says so.
#[tokio::test]
async fn t05_a_missing_confidence_is_excluded_and_shown() {
    for unreadable in [
        None,
        Some(json!("high")),
        Some(json!(1.2)),
        Some(Value::Null),
    ] {
        let given = unreadable.clone();
        let models = except("emotion", "evaluation", move |mut said, _| {
            let scores = said["scores"].as_array_mut().unwrap();
            let whole = scores
                .iter_mut()
                .find(|score| score["dimension"] == "content_assessment")
                .unwrap();
            match given.clone() {
                Some(confidence) => whole["confidence"] = confidence,
                None => drop(whole.as_object_mut().unwrap().remove("confidence")),
            }
            Ok(said)
        });
        let record = run(&models, &cast("themis"), Mode::Fast).await;
        let asked = models.asked_of("emotion", "evaluation");
        let sent_back = models.sent_back_to("emotion", "evaluation");
        assert!(
            sent_back.contains("The score for 'content_assessment' has no confidence from 0 to 1."),
            "{sent_back}"
        );
        assert_eq!(record.state, State::Complete, "{unreadable:?}");
        let whole = dimension(&record, "content_assessment");
        // (40·0.85 + 62·0.8) / 1.65
        assert_eq!(
            format!("{:.2}", whole.consensus.as_ref().unwrap().score.value()),
            "50.67"
        );
        assert_eq!(whole.consensus.as_ref().unwrap().excluded, ["emotion"]);
        assert_eq!(
            whole.spread.as_ref().unwrap().points,
            35.0,
            "its score still counts for the spread"
        );
        let sent = serde_json::to_value(&asked[0].schema.as_ref().unwrap().json).unwrap();
        let required = &sent["properties"]["scores"]["items"]["required"];
        assert!(
            required.as_array().unwrap().contains(&json!("confidence")),
            "it is asked for"
        );
    }
}

/// T-05: if all confidences are zero, the consensus is the plain mean and marked as such.
#[tokio::test]
async fn t05_all_confidences_zero_give_the_plain_mean() {
    let models = ScriptedModels::new(|seat, request, _| {
        let mut said = good(seat, request);
        if let Some(scores) = said["scores"].as_array_mut() {
            for score in scores {
                score["confidence"] = json!(0);
            }
        }
        Ok(said.to_string())
    });
    let record = run(&models, &cast("themis"), Mode::Fast).await;
    let whole = dimension(&record, "content_assessment")
        .consensus
        .as_ref()
        .unwrap();
    assert_eq!((whole.score.value(), whole.basis), (59.0, Basis::PlainMean));
    assert_eq!(
        result_of(&record)
            .confidence
            .as_ref()
            .unwrap()
            .value
            .value(),
        0.0
    );
}

/// A cast whose second council has one judge.
fn with_one_judge() -> Cast {
    let mut cast = cast("themis");
    let panel = cast.panel.as_mut().unwrap();
    panel.councils[1].judges.truncate(1);
    cast
}

/// T-01: a council of one judge has no second round; its scores are the consensus.
#[tokio::test]
async fn t01_a_council_of_one_judge_has_one_round() {
    let models = ScriptedModels::good();
    let record = run(&models, &with_one_judge(), Mode::Full).await;
    assert_eq!(record.state, State::Complete);
    assert!(models.asked_of("trend", "judge_revision").is_empty());
    let trend = dimension(&record, "trend_alignment")
        .consensus
        .as_ref()
        .unwrap();
    assert_eq!((trend.score.value(), trend.basis), (70.0, Basis::Single));
    assert_eq!(
        result_of(&record).councils[1].judges[0].attendance,
        Attendance::OneRound
    );
}

/// C-17: the blind first round compared with the debated result.
#[tokio::test]
async fn c17_the_result_says_what_the_debate_was_worth() {
    let record = run(&ScriptedModels::good(), &cast("themis"), Mode::Full).await;
    let worth = &result_of(&record).worth;
    let (blind, debated) = (
        worth.blind.as_ref().unwrap(),
        worth.debated.as_ref().unwrap(),
    );
    // 72·25 + 60·20 + 60·15 + 57.5·20 + 63.5·20
    assert_eq!(
        format!("{:.2} {:.2}", blind.score.value(), debated.score.value()),
        "63.20 62.25"
    );
    assert_eq!((blind.tokens, debated.tokens), (7 * 120, 20 * 120));
    assert_eq!(serde_json::to_value(worth.changed).unwrap(), json!("moved"));
}
