//! Failing seats and budget limits.

#![expect(clippy::float_cmp, reason = "the figures are exact, or rounded before")]

use super::*;
use crate::event::{Entry, Event, Query};
use crate::protocols::councils::judge_results::Attendance;
use crate::scripted::entries;

/// C-06: if a judge fails in round 2 only, its round 1 counts and the result is partial.
#[tokio::test]
async fn c06_a_judge_that_fails_in_round_2_keeps_its_round_1() {
    let models = except("hook", "judge_revision", |_, _| Err(gone()));
    let record = run(&models, &cast("themis"), Mode::Full).await;
    assert_eq!(record.state, State::Partial);
    let whole = dimension(&record, "content_assessment");
    let hook = whole
        .judges
        .iter()
        .find(|judge| judge.judge == "hook")
        .unwrap();
    assert_eq!(
        (hook.round_1.unwrap().value(), hook.round_2, hook.basis),
        (40.0, None, ScoreBasis::RoundOneStands)
    );
    // (40·0.85 + 75·0.7 + 62·0.8) / 2.35
    assert_eq!(
        format!("{:.2}", whole.consensus.as_ref().unwrap().score.value()),
        "57.91"
    );
    let verdict = result_of(&record);
    assert_eq!(
        verdict.councils[0].judges[0].attendance,
        Attendance::RoundOneStands
    );
    assert_eq!(verdict.missing[0].step, "r2/hook/revise");
    // 0.6 of 20 steps, one missing.
    assert_eq!(verdict.confidence.as_ref().unwrap().value.value(), 0.57);
    // C-21: the answer itself says so.
    let answer = verdict.final_answer.as_ref().unwrap();
    assert!(
        answer.starts_with("**Partial:** the hook was absent in round 2."),
        "{answer}"
    );
    assert!(
        answer.contains("The confidence is lowered from 0.60 to 0.57."),
        "{answer}"
    );
}

/// C-06, T-01: the components of an absent council are left out and the rest reweighted; the other council continues.
#[tokio::test]
async fn c06_a_council_that_is_absent_is_left_out_and_marked() {
    let models = ScriptedModels::new(|seat, request, _| match seat {
        "trend" | "subject" | "audience" => Err(gone()),
        _ => Ok(good(seat, request).to_string()),
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    let verdict = result_of(&record);
    assert_eq!(record.state, State::Partial);
    let overall = &verdict.overall.as_ref().unwrap().overall;
    assert_eq!(overall.left_out, ["trend_alignment", "shareability"]);
    assert_eq!(verdict.missing.len(), 3);
    assert!(
        models.asked_of("market-lead", "narrative").is_empty(),
        "no judge to lead"
    );
    assert!(
        models.asked_of("content-lead", "response").is_empty(),
        "no council to respond to"
    );
    assert!(verdict.executive_summary.is_some());
}

/// C-06: if no model answers, the debate fails; resumed when the models are back, it completes.
#[tokio::test]
async fn c06_a_debate_without_any_answer_fails_and_can_be_resumed() {
    let journal = Arc::default();
    let setup = setup(&cast("themis"), Mode::Full, Ability::Full);
    let dead = ScriptedModels::new(|_, _, _| Err(gone()));
    let record = run_with(&dead, setup.clone(), Budget::default(), &journal).await;
    assert_eq!(
        (record.state, dead.asked().len()),
        (State::Failed, 7),
        "the critic is not asked"
    );
    let record = run_with(&ScriptedModels::good(), setup, Budget::default(), &journal).await;
    assert_eq!(record.state, State::Complete);
}

/// C-06: without critic and orchestrator the result has the scores and the councils' narratives.
#[tokio::test]
async fn c06_without_critic_and_orchestrator_the_scores_remain() {
    let models = ScriptedModels::new(|seat, request, _| match seat {
        "critic" | "orchestrator" => Err(gone()),
        _ => Ok(good(seat, request).to_string()),
    });
    let record = run(&models, &cast("themis"), Mode::Full).await;
    let verdict = result_of(&record);
    assert_eq!(record.state, State::Partial);
    assert!(verdict.executive_summary.is_none() && verdict.critic.is_none());
    assert!(
        verdict
            .final_answer
            .as_ref()
            .unwrap()
            .contains("content-lead tells what all saw.")
    );
    assert_eq!(dimension(&record, "hook_effectiveness").shown, Some(75));
}

/// C-07: a budget limit ends the debate with the best result so far; a larger one continues it without repeating a call.
#[tokio::test]
async fn c07_a_budget_stops_the_debate_with_the_best_result_so_far() {
    let (models, journal) = (ScriptedModels::good(), Arc::default());
    let setup = || setup(&cast("themis"), Mode::Full, Ability::Full);
    let budget = Budget {
        max_tokens: Some(1300),
        ..Budget::default()
    };
    let record = run_with(&models, setup(), budget, &journal).await;
    assert_eq!(record.state, State::Partial, "{:?}", models.asked());
    assert_eq!(result_of(&record).stop_reason, "budget");
    let before = models.asked().len();
    assert!((1..20).contains(&before), "{before}");
    assert!(!result_of(&record).dimensions.is_empty());
    let record = run_with(&models, setup(), Budget::default(), &journal).await;
    assert_eq!((record.state, models.asked().len()), (State::Complete, 20));
}

/// E-09: while the debate waits for a person, its record says so.
#[tokio::test]
async fn e09_the_record_of_a_waiting_debate_says_so() {
    let journal = Arc::default();
    let setup = setup(&cast("themis"), Mode::Fast, Ability::Full);
    let models = ScriptedModels::good();
    run_with(&models, setup, Budget::default(), &journal).await;
    let mut entries = entries(&journal);
    entries.truncate(3);
    let state = |entries: &[Entry]| Record::of("id", "then".into(), entries).unwrap().state;
    assert_eq!(state(&entries), State::Running);
    entries.push(Entry {
        event: Event::Asked(Query {
            key: "pause".into(),
            question: "Continue?".into(),
            options: vec!["continue".into()],
        }),
        ..entries[2].clone()
    });
    assert_eq!(state(&entries), State::Waiting);
}

fn gone() -> ModelError {
    ModelError::Unreachable {
        detail: "gone".into(),
    }
}
