//! How a debate ends: stop rules, the answer, training data, costs.

use super::*;

/// P-05: a ready skeptic ends the debate in any round; `early_stopped` is true before the cap.
#[tokio::test]
async fn p05_a_ready_skeptic_ends_the_debate_in_the_first_round() {
    let model = Scripted::new(|request: &Request, before| {
        if name(request) == "critique" {
            return Ok(serde_json::json!({
                "assessment": "Nothing to add.", "issues": [], "quality_score": 5, "ready_for_synthesis": true,
            })
            .to_string());
        }
        good_script(request, before)
    });
    let trace = played(&model, &Arc::default()).await;
    let verdict = trace.result.unwrap();
    assert_eq!(
        (
            verdict.stop_reason.as_str(),
            trace.total_rounds,
            trace.early_stopped
        ),
        ("skeptic_ready", 1, true)
    );
}

/// P-05: with a critical issue open, the round cap ends the debate; that is not an early stop.
#[tokio::test]
async fn p05_the_round_cap_ends_the_debate_while_a_critical_issue_is_open() {
    let model = Scripted::new(|request: &Request, before| {
        if name(request) == "review" {
            return Ok(serde_json::json!({
                "assessment": "No.", "verdicts": [], "new_issues": [], "quality_score": 3, "ready_for_synthesis": false,
            })
            .to_string());
        }
        good_script(request, before)
    });
    let trace = played(&model, &Arc::default()).await;
    let verdict = trace.result.unwrap();
    assert_eq!(
        (
            verdict.stop_reason.as_str(),
            trace.total_rounds,
            trace.early_stopped
        ),
        ("round_cap", 5, false)
    );
}

/// C-22: the result says whether the skeptic challenged the answer, and what came of it.
#[tokio::test]
async fn c22_the_result_says_whether_the_answer_was_challenged() {
    let sentence = async |model: &Arc<Scripted>| {
        let journal = Arc::default();
        let verdict = played(model, &journal).await.result.unwrap();
        let sentence = verdict.scrutiny.unwrap().sentence();
        let report = format!("{:?}", crate::protocols::report(&entries(&journal)));
        assert!(report.contains(&sentence), "{report}");
        sentence
    };
    assert_eq!(
        sentence(&Scripted::new(good_script)).await,
        "Challenged: 3 objections, 1 open."
    );
    let unsettled = with_replies("review", |mut reply, _| {
        reply["verdicts"] = serde_json::json!([]);
        reply
    });
    let unsettled = sentence(&unsettled).await;
    assert!(unsettled.starts_with("Challenged: "), "{unsettled}");
    assert_ne!(unsettled, "Challenged: 3 objections, 1 open.");
    let content = with_replies("critique", |mut reply, _| {
        reply["issues"] = serde_json::json!([]);
        reply["ready_for_synthesis"] = serde_json::json!(true);
        reply
    });
    assert_eq!(
        sentence(&content).await,
        "Not challenged: the skeptic raised no issue in 1 round."
    );
    let absent = Scripted::new(|request: &Request, before| match name(request).as_str() {
        "critique" => Err(ModelError::Unreachable {
            detail: "gone".into(),
        }),
        _ => good_script(request, before),
    });
    assert_eq!(
        sentence(&absent).await,
        "Not challenged: the skeptic did not answer."
    );
}

/// P-05: the ending names the critical issues that a ready skeptic leaves open.
#[tokio::test]
async fn p05_a_ready_skeptic_with_a_critical_issue_open_is_shown_as_such() {
    let model = with_replies("critique", |mut reply, _| {
        reply["ready_for_synthesis"] = serde_json::json!(true);
        reply["quality_score"] = serde_json::json!(2);
        reply
    });
    let trace = played(&model, &Arc::default()).await;
    assert_eq!(
        trace.result.unwrap().stop_explanation,
        "the skeptic called it ready (1 critical issue open)"
    );
}

/// P-06: an empty insight is sent back; what is still empty is left out.
#[tokio::test]
async fn p06_an_empty_insight_is_refused() {
    let model = with_replies("synthesis", |mut reply, _| {
        reply["insights"] = serde_json::json!(["It holds.", " "]);
        reply
    });
    let trace = played(&model, &Arc::default()).await;
    assert_eq!(asked_of(&model, "synthesis").len(), 2);
    let result = trace.result.unwrap();
    assert_eq!(result.insights, ["It holds."]);
    assert!(!result.final_answer.unwrap().contains("- \n"));
}

/// P-06: an answer that mentions the debate is sent back once, then kept with a remark.
#[tokio::test]
async fn p06_an_answer_that_mentions_the_debate_is_sent_back_once() {
    let model = Scripted::new(|request: &Request, before| {
        let said = good_script(request, before)?;
        Ok(if name(request) == "synthesis" {
            said.replace("Put a queue", "As the skeptic said, put a queue")
        } else {
            said
        })
    });
    let trace = played(&model, &Arc::default()).await;
    assert_eq!(asked_of(&model, "synthesis").len(), 2);
    assert_eq!(
        trace.result.unwrap().remarks,
        ["The answer must stand alone, but it says 'the skeptic'."]
    );
    assert_eq!(trace.state, State::Complete);
}

/// P-08: the pairs for training.
#[tokio::test]
async fn p08_a_trace_becomes_training_data() {
    let trace = played(&Scripted::new(good_script), &Arc::default()).await;
    let pair = preference(&trace).unwrap();
    assert_eq!(
        serde_json::to_value(example(&trace)).unwrap(),
        serde_json::json!({ "messages": [
            { "role": "user", "content": QUESTION },
            { "role": "assistant", "content": "Put a queue in front of the writes." },
        ]})
    );
    assert_eq!(pair.rejected[0].content, "Use a **queue**.");
    assert_eq!(
        pair.chosen[0].content,
        "Put a queue in front of the writes."
    );
    assert_eq!(candidate(&trace, 1).unwrap().score(), Some(7.7));
}

/// P-08: a partial debate is not used as training data, with any score.
#[tokio::test]
async fn p08_a_partial_debate_is_no_training_data() {
    let partial = played(&Scripted::new(first_critique_fails), &Arc::default()).await;
    assert!(partial.auto_score.is_some());
    assert_eq!(candidate(&partial, 0), None);
    let whole = played(&Scripted::new(good_script), &Arc::default()).await;
    assert!(candidate(&whole, 0).is_some());
}

/// C-11: synthesis and marking are no part of the last round.
#[tokio::test]
async fn c11_steps_after_the_rounds_are_counted_by_phase() {
    let totals = played(&Scripted::new(good_script), &Arc::default())
        .await
        .totals;
    let rounds: Vec<_> = totals.rounds.values().map(|sum| sum.calls).collect();
    assert_eq!(rounds, [2, 2, 2]);
    let phases: Vec<_> = totals
        .phases
        .iter()
        .map(|(p, s)| (p.as_str(), s.calls))
        .collect();
    assert_eq!(phases, [("score", 1), ("synthesis", 1)]);
}

/// C-17: the report has the cost of the first and of the debated answer.
#[tokio::test]
async fn c17_the_report_says_what_each_answer_cost() {
    let journal = Arc::default();
    played(&Scripted::new(good_script), &journal).await;
    let report = crate::protocols::report(&entries(&journal));
    let fact = |label: &str| {
        let fact = report.facts.iter().find(|fact| fact.name == label);
        fact.unwrap().value.clone()
    };
    assert_eq!(fact("First answer cost"), "120 tokens, $0.0001");
    assert_eq!(fact("Debated answer cost"), "960 tokens, $0.0011");
}
