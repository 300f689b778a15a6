//! Replies that break a rule are sent back once.

use super::*;
use crate::protocols;
use crate::protocols::councils::test_support::finding;

/// T-02: a reply that claims proof is sent back once, then kept with a remark.
#[tokio::test]
async fn t02_a_claim_of_proof_is_sent_back() {
    let models = except("authenticity", "evaluation", |mut said, _| {
        said["assessment"] = json!("The even sentences prove it: this is definitely a model.");
        Ok(said)
    });
    let record = run(&models, &cast("themis"), Mode::Fast).await;
    let sent_back = models.sent_back_to("authenticity", "evaluation");
    assert!(
        sent_back.contains("Nothing here can be proven, but it says 'definitely'"),
        "{sent_back}"
    );
    assert!(
        result_of(&record).remarks[0]
            .starts_with("authenticity, round 1: Nothing here can be proven")
    );
}

/// T-04: a change without a reason is sent back once, then recorded as unexplained and counted in the bias figures.
#[tokio::test]
async fn t04_a_revision_without_reasons_is_sent_back_once_then_recorded() {
    let models = except("hook", "judge_revision", |mut said, _| {
        said["changes"] = json!([]);
        Ok(said)
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    let asked = models.asked_of("hook", "judge_revision");
    assert_eq!(asked.len(), 2);
    let sent_back = models.sent_back_to("hook", "judge_revision");
    let fault = "\"Content as a whole\" was raised from 40 to 44 without a reason and a peer.";
    assert!(sent_back.contains(fault), "{sent_back}");
    let verdict = result_of(&record);
    assert_eq!(verdict.councils[0].judges[0].unexplained, [fault]);
    let hook = dimension(&record, "content_assessment")
        .judges
        .iter()
        .find(|judge| judge.judge == "hook")
        .unwrap();
    assert_eq!(hook.is_explained, Some(false));
    assert!(verdict.bias.convergence.as_ref().unwrap().unexplained > 0.0);
    assert_eq!(
        record.state,
        State::Complete,
        "an unexplained change does not make the judge absent"
    );
}

/// T-04: an unchanged judgement needs a reason, and a large difference to a peer a dispute.
#[tokio::test]
async fn t04_unchanged_scores_and_disputes_need_reasons() {
    let models = except("emotion", "judge_revision", |mut said, before| {
        if before == 0 {
            said["stands_because"] = json!(" ");
            said["disputes"] = json!([]);
        }
        Ok(said)
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    let sent_back = models.sent_back_to("emotion", "judge_revision");
    assert!(
        sent_back
            .contains("Nothing is changed, and there is no reason why the first judgement stands."),
        "{sent_back}"
    );
    assert!(
        sent_back.contains(
            "\"Content as a whole\" stays more than 20 points away from hook without a dispute."
        ),
        "{sent_back}"
    );
    assert_eq!(result_of(&record).remarks, [] as [String; 0]);
}

/// T-07: a narrative that leaves a judge out is sent back.
#[tokio::test]
async fn t07_the_lead_merges_every_judge() {
    let models = except("market-lead", "narrative", |mut said, before| {
        if before == 0 {
            said["merged"].as_array_mut().unwrap().remove(0);
        }
        Ok(said)
    });
    run(&models, &cast("themis"), Mode::Fast).await;
    let sent_back = models.sent_back_to("market-lead", "narrative");
    assert!(
        sent_back.contains("Nothing of what trend observed is in 'merged'."),
        "{sent_back}"
    );
}

/// T-08: a change beyond the limit is sent back, then rejected and reported.
#[tokio::test]
async fn t08_a_change_of_more_than_five_points_is_rejected() {
    let models = except("content-lead", "response", |mut said, _| {
        said["changes"][0]["to"] = json!(77.1);
        Ok(said)
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    assert_eq!(models.asked_of("content-lead", "response").len(), 2);
    let hook = dimension(&record, "hook_effectiveness");
    assert_eq!(
        (hook.exchange.is_none(), hook.moves[0].change.from.value()),
        (true, 72.0)
    );
    let refused = &result_of(&record).refused[0];
    assert_eq!(
        (refused.by.as_str(), refused.dimension.as_str()),
        ("content-lead", "hook_effectiveness")
    );
    assert_eq!(
        refused.why,
        "from 72 to 77.1 is 5.1 points; at most 5 are allowed"
    );
}

/// T-06: a disagreement of more than 30 points must be answered by the critic.
#[tokio::test]
async fn t06_the_critic_must_answer_a_severe_disagreement() {
    let models = except("critic", "council_critique", |mut said, before| {
        if before == 0 {
            said["disagreements"] = json!([]);
        }
        Ok(said)
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    let sent_back = models.sent_back_to("critic", "council_critique");
    assert!(
        sent_back.contains("The disagreement D1 is of high severity and has no answer"),
        "{sent_back}"
    );
    assert!(!sent_back.contains("D2"), "an ordinary one needs no answer");
    assert_eq!(
        result_of(&record).council_disagreements[0]
            .critic
            .as_deref(),
        Some("Emotion has the better reasons.")
    );
}

/// T-10: a critique without findings must list what was checked.
#[tokio::test]
async fn t10_a_critic_that_finds_nothing_says_what_it_checked() {
    let models = except("critic", "council_critique", |mut said, before| {
        said["findings"] = json!([]);
        if before == 0 {
            said["checked"] = json!([]);
        }
        Ok(said)
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    assert_eq!(models.asked_of("critic", "council_critique").len(), 2);
    let critic = result_of(&record).critic.as_ref().unwrap();
    assert_eq!((critic.findings.len(), critic.checked.len()), (0, 1));
    assert_eq!(record.state, State::Complete);
    let report = protocols::report(&[]);
    assert!(report.sections.is_empty());
}

/// T-10: a synthesis that leaves a finding unanswered is sent back; the finding is then kept as unanswered.
#[tokio::test]
async fn t10_every_finding_is_answered_or_shown_as_unanswered() {
    let models = except("orchestrator", "orchestration", |mut said, _| {
        said["answers"] = json!([{ "finding": "K1", "decision": "accepted", "reason": "So.", "moves": [{ "dimension": "hook_effectiveness", "to": 50 }] }]);
        Ok(said)
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    let sent_back = models.sent_back_to("orchestrator", "orchestration");
    assert!(
        sent_back.contains(
            "K1: 'hook_effectiveness' from 75 to 50 is 25 points; at most 10 are allowed"
        ),
        "{sent_back}"
    );
    assert!(
        sent_back.contains("The critic's finding K2 has no answer."),
        "{sent_back}"
    );
    let verdict = result_of(&record);
    let findings = &verdict.critic.as_ref().unwrap().findings;
    assert!(findings[0].answer.as_ref().unwrap().refused.is_some() && findings[1].answer.is_none());
    assert_eq!(dimension(&record, "hook_effectiveness").shown, Some(75));
}

/// T-09: the schema rejects other categories than the five.
#[tokio::test]
async fn t09_findings_are_in_one_of_five_categories() {
    let models = except("critic", "council_critique", |mut said, before| {
        if before == 0 {
            said["findings"] = json!([finding("bad_mood", "high", "hook", "It is grim.")]);
        }
        Ok(said)
    });
    run(&models, &cast("themis"), Mode::Fast).await;
    let asked = models.asked_of("critic", "council_critique");
    assert_eq!(asked.len(), 2);
    let sent = &asked[0].schema.as_ref().unwrap().json;
    let category = &sent["properties"]["findings"]["items"]["properties"]["category"];
    assert_eq!(
        category["enum"],
        json!([
            "logical_flaw",
            "contradiction",
            "anchoring_bias",
            "missing_consideration",
            "overconfidence"
        ])
    );
}

/// T-14: a value out of range costs that value, never the whole reply.
#[tokio::test]
async fn t14_a_value_out_of_range_costs_that_value_only() {
    let models = ScriptedModels::new(|seat, request, _| {
        let mut said = good(seat, request);
        match (seat, name(request).as_str()) {
            ("critic", _) => said["confidence_adjustment"] = json!(0.11),
            ("content-lead", "response") => said["changes"][0]["reason"] = json!(" "),
            ("hook", _) => said["scores"][1]["score"] = json!(110),
            _ => {}
        }
        Ok(said.to_string())
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    assert_eq!(record.state, State::Complete, "{:?}", record.reason);
    let sent_back = models.sent_back_to("critic", "council_critique");
    assert!(
        sent_back.contains("'confidence_adjustment' is not a number from -0.2 to +0.1."),
        "{sent_back}"
    );
    let verdict = result_of(&record);
    let confidence = verdict.confidence.as_ref().unwrap();
    assert_eq!(
        (confidence.adjustment, confidence.value),
        (None, confidence.lowest)
    );
    assert!(!verdict.critic.as_ref().unwrap().findings.is_empty());
    assert_eq!(verdict.refused[0].why, "it has no reason");
    let hook = &verdict.councils[0].judges[0];
    assert!(hook.assessment.is_some());
    let remark = "hook, round 1: There is no score for";
    assert!(
        verdict.remarks.iter().any(|said| said.starts_with(remark)),
        "{:?}",
        verdict.remarks
    );
}

/// T-04: a judge who changed nothing is not recorded as revised.
#[tokio::test]
async fn t04_an_unchanged_score_is_kept_not_revised() {
    let record = run(&ScriptedModels::good(), &cast("themis"), Mode::Full).await;
    let judges = &dimension(&record, "content_assessment").judges;
    let basis = |seat: &str| {
        judges
            .iter()
            .find(|judge| judge.judge == seat)
            .unwrap()
            .basis
    };
    assert_eq!(
        (basis("hook"), basis("emotion")),
        (ScoreBasis::Revised, ScoreBasis::Kept)
    );
}
