//! The verdict on one screen.

use super::*;
use crate::report::{BadgeKind, NextAction, Tone, Verdict};
use crate::scripted::assert_verdicts;

async fn verdict_by(model: &Arc<Scripted>) -> Verdict {
    let journal = Arc::default();
    played(model, &journal).await;
    assert_verdicts(&entries(&journal))
}

/// C-17, C-22: answer, confidence with its reason, change, dissent and badge of a challenged answer.
#[tokio::test]
async fn c22_the_verdict_of_a_challenged_answer() {
    let verdict = verdict_by(&Scripted::new(good_script)).await;
    insta::assert_json_snapshot!("verdict", verdict);
}

/// C-22: with all issues settled the badge is good; with a critical one open it is critical.
#[tokio::test]
async fn c22_the_badge_follows_the_open_issues() {
    let settled = with_replies("review", |mut reply, _| {
        let settled = ["S1", "S2"]
            .map(|id| serde_json::json!({ "issue": id, "status": "resolved", "reason": "Done." }));
        reply["verdicts"] = serde_json::json!(settled);
        reply["new_issues"] = serde_json::json!([]);
        reply
    });
    let verdict = verdict_by(&settled).await;
    assert_eq!(verdict.badge.kind, BadgeKind::Challenged);
    assert_eq!(verdict.badge.tone, Tone::Good);
    assert_eq!(verdict.dissent, []);
    let ready = with_replies("critique", |mut reply, _| {
        reply["ready_for_synthesis"] = serde_json::json!(true);
        reply
    });
    let verdict = verdict_by(&ready).await;
    assert_eq!(verdict.badge.kind, BadgeKind::Contested);
    assert_eq!(verdict.badge.tone, Tone::Critical);
    assert_eq!(verdict.title(), "Contested answer");
    assert_eq!(verdict.dissent[0].title, "Skeptic");
}

/// C-22: an unchallenged answer is marked as such, for every reason.
#[tokio::test]
async fn c22_an_unchallenged_answer_is_marked() {
    let absent = Scripted::new(|request: &Request, before| match name(request).as_str() {
        "critique" => Err(ModelError::Unreachable {
            detail: "gone".into(),
        }),
        _ => good_script(request, before),
    });
    let verdict = verdict_by(&absent).await;
    assert!(verdict.is_unchallenged());
    assert_eq!(verdict.title(), "Unchallenged answer");
    assert_eq!(
        verdict.badge.text,
        "Not challenged: the skeptic did not answer"
    );
    assert_eq!(verdict.badge.tone, Tone::Critical);
    assert_eq!(verdict.actions[0], NextAction::Retry);
    let failures: Vec<_> = verdict
        .failures
        .iter()
        .map(|f| (&*f.text, &*f.reason))
        .collect();
    assert_eq!(
        failures,
        [(
            "Skeptic gave no answer in rounds 1 and 2",
            "cannot reach the server (gone)"
        )]
    );
    let content = with_replies("critique", |mut reply, _| {
        reply["issues"] = serde_json::json!([]);
        reply["ready_for_synthesis"] = serde_json::json!(true);
        reply
    });
    let verdict = verdict_by(&content).await;
    assert_eq!(verdict.badge.kind, BadgeKind::NotChallenged);
    assert_eq!(
        verdict.badge.text,
        "Not challenged: the skeptic raised no issue in 1 round"
    );
}

/// C-09: while it runs, the verdict holds the draft and what is open against it.
#[tokio::test]
async fn c09_a_running_debate_has_a_draft() {
    let journal = Arc::default();
    played(&Scripted::new(good_script), &journal).await;
    let entries = entries(&journal);
    let badges = (1..entries.len()).map(|end| {
        let verdict = crate::protocols::report(&entries[..end]).verdict.unwrap();
        verdict.badge.text
    });
    let mut badges: Vec<String> = badges.collect();
    badges.dedup();
    insta::assert_json_snapshot!("drafts", badges);
}
