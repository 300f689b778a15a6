//! Absent seats, budget limits and partial results.

use super::*;

/// C-06: a seat that only sends broken JSON is absent; the debate continues, is partial, and lists what is missing.
#[tokio::test]
async fn c06_a_skeptic_without_a_valid_reply_is_absent() {
    let model = Scripted::new(|request: &Request, before| match name(request).as_str() {
        "critique" => Ok("I would rather not use JSON.".into()),
        _ => good_script(request, before),
    });
    let journal = Arc::default();
    let trace = played(&model, &journal).await;
    let verdict = trace.result.unwrap();
    assert_eq!(trace.state, State::Partial);
    assert_eq!(verdict.stop_reason, "seats_absent");
    let missing: Vec<_> = verdict
        .missing
        .iter()
        .map(|missing| missing.step.as_str())
        .collect();
    assert_eq!(missing, ["r1/skeptic/criticise", "r2/skeptic/criticise"]);
    assert!(
        verdict.confidence < verdict.confidence_stated,
        "confidence is lowered"
    );
    assert!(verdict.final_answer.is_some());
    let texts: Vec<_> = entries(&journal)
        .iter()
        .filter_map(|entry| entry.event.failed()?.said.clone())
        .collect();
    assert_eq!(texts.len(), 2, "replies that were paid for are kept");
}

/// C-06: a skeptic that fails once is asked again in the next round; the proposer is not asked again without a critique.
#[tokio::test]
async fn c06_a_seat_absent_in_one_round_is_asked_again_in_the_next() {
    let failing = |request: &Request, before: usize| match (name(request).as_str(), before) {
        ("critique", 0) => Err(ModelError::Timeout {
            after: std::time::Duration::from_secs(1),
        }),
        _ => good_script(request, before),
    };
    let model = Scripted::new(failing);
    let trace = played(&model, &Arc::default()).await;
    assert_eq!(trace.state, State::Partial);
    assert_eq!(
        model.asked(),
        [
            "opening",
            "critique",
            "critique",
            "revision",
            "review",
            "revision",
            "review",
            "synthesis",
            "marking"
        ]
    );
}

/// C-06: without a synthesizer the latest proposal is the answer, and the result lists what is missing.
#[tokio::test]
async fn c06_without_a_synthesizer_the_latest_proposal_is_the_answer() {
    let model = Scripted::new(|request: &Request, before| match name(request).as_str() {
        "synthesis" => Err(ModelError::Unreachable {
            detail: "gone".into(),
        }),
        _ => good_script(request, before),
    });
    let trace = played(&model, &Arc::default()).await;
    assert_eq!(trace.state, State::Partial);
    assert_eq!(
        trace.final_answer.as_deref(),
        Some(
            "**Partial:** the synthesizer was absent (synthesis).\n\nUse a queue: 40 bursts a day, 3 dollars a month."
        )
    );
    assert_eq!(
        trace.reason.as_deref(),
        Some("the synthesizer (synthesis): cannot reach the server (gone)")
    );
}

/// C-06: if no model answers, the debate fails; resumed when the models are back, it completes.
#[tokio::test]
async fn c06_a_failed_debate_can_be_resumed_when_the_model_is_back() {
    let dead = Scripted::new(|_: &Request, _| {
        Err(ModelError::Unreachable {
            detail: "no network".into(),
        })
    });
    let journal = Arc::default();
    assert_eq!(played(&dead, &journal).await.state, State::Failed);
    let alive = Scripted::new(good_script);
    let trace = played(&alive, &journal).await;
    assert_eq!((trace.state, trace.total_rounds), (State::Complete, 3));
}

/// C-07: at the token limit the debate stops with the best result so far; with a larger limit it continues.
#[tokio::test]
async fn c07_a_budget_stops_the_debate_with_the_best_result_so_far() {
    let (model, journal) = (Scripted::new(good_script), Arc::default());
    let budget = Budget {
        max_tokens: Some(300),
        ..Budget::default()
    };
    let trace = played_with(&model, &journal, setup(QUESTION), budget).await;
    assert_eq!(trace.state, State::Partial);
    assert_eq!(
        trace.reason.as_deref(),
        Some("the limit of 300 tokens has no room for the next call (120 used)")
    );
    assert_eq!(
        trace.final_answer.as_deref(),
        Some(
            "**Partial:** the limit of 300 tokens has no room for the next call (120 used).\n\nUse a **queue**."
        )
    );
    assert_eq!((trace.total_rounds, trace.rounds.len()), (1, 1));

    let trace = played(&model, &journal).await;
    assert_eq!(trace.state, State::Complete);
    assert_eq!(model.asked().len(), 8, "no call was made twice");
}

/// P-07: a round that the budget did not allow is not counted, wherever the limit is.
#[tokio::test]
async fn p07_a_round_that_the_budget_did_not_allow_is_not_counted() {
    let mut played_rounds = std::collections::BTreeSet::new();
    for limit in (200..4000).step_by(200) {
        let model = Scripted::new(good_script);
        let budget = Budget {
            max_tokens: Some(limit),
            ..Budget::default()
        };
        let trace = played_with(&model, &Arc::default(), setup(QUESTION), budget).await;
        let calls = model.asked().len().min(6);
        let rounds = calls.div_ceil(2);
        assert_eq!(trace.rounds.len(), rounds, "{limit}");
        assert_eq!(trace.total_rounds as usize, rounds, "{limit}");
        played_rounds.insert(rounds);
    }
    assert!(played_rounds.contains(&2), "{played_rounds:?}");
}

/// C-07: the same for the cost limit.
#[tokio::test]
async fn c07_a_cost_limit_stops_the_debate_too() {
    let (model, journal) = (Scripted::new(good_script), Arc::default());
    let budget = Budget {
        max_cost: Money::from_dollars(0.000_3),
        ..Budget::default()
    };
    let trace = played_with(&model, &journal, setup(QUESTION), budget).await;
    assert_eq!(trace.state, State::Partial);
    assert_eq!(model.asked(), ["opening"]);
}

/// C-21: a partial answer says in itself that it is partial, what is missing, and carries the lowered confidence.
#[tokio::test]
async fn c21_a_partial_answer_says_so_in_the_answer() {
    let model = Scripted::new(|request: &Request, before| match name(request).as_str() {
        "critique" => Ok("I would rather not use JSON.".into()),
        _ => good_script(request, before),
    });
    let journal = Arc::default();
    let trace = played(&model, &journal).await;
    let answer = trace.final_answer.unwrap();
    let confidence = trace.result.unwrap().confidence.unwrap();
    assert!(
        answer.starts_with("**Partial:** the skeptic was absent in rounds 1 and 2.\n\nPut a queue"),
        "{answer}"
    );
    let lowered = format!(
        "## Confidence: {confidence}/10\n\nLowered from 8: the skeptic was absent in rounds 1 and 2. Measured on one month only."
    );
    assert!(answer.contains(&lowered), "{answer}");
    let report = crate::protocols::report(&entries(&journal));
    assert_eq!(report.answer.as_deref(), Some(answer.as_str()));
    // A complete answer says nothing of the kind.
    let whole = played(&Scripted::new(good_script), &Arc::default()).await;
    let answer = whole.final_answer.unwrap();
    assert!(!answer.contains("Partial") && answer.contains("## Confidence: 8/10"));
}

/// P-07: only rounds in which a seat spoke count.
#[tokio::test]
async fn p07_a_round_in_which_nobody_spoke_does_not_count() {
    let dead = Scripted::new(|_: &Request, _| {
        Err(ModelError::Unreachable {
            detail: "gone".into(),
        })
    });
    let journal = Arc::default();
    let trace = played(&dead, &journal).await;
    assert_eq!((trace.total_rounds, trace.rounds.len()), (0, 0));
    assert_eq!(trace.timing.rounds_ms.len(), 0);
    let result = trace.result.unwrap();
    assert_eq!(
        result.stop_explanation,
        "the proposer did not answer in two rounds in a row"
    );
    let report = format!("{:?}", crate::protocols::report(&entries(&journal)));
    assert!(report.contains("Stopped without an answer"));
}
