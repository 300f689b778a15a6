//! The verdict on one screen.

use super::*;
use crate::report::BadgeKind;
use crate::scripted::assert_verdicts;

/// C-22: in every mode the verdict has an answer, a confidence with its reason, the blind votes, and a badge.
#[tokio::test]
async fn c22_every_mode_has_a_verdict() {
    let mut badges = BTreeMap::new();
    for mode in MODES {
        let (model, journal) = (Scripted::new(story), Arc::default());
        play_to_end(setup(mode, 3, 3), &model, &journal).await;
        let verdict = assert_verdicts(&entries(&journal));
        assert!(verdict.answer.is_some(), "{mode}");
        assert!(verdict.confidence.unwrap().reason.is_some(), "{mode}");
        badges.insert(mode, (verdict.badge, verdict.ending));
    }
    insta::assert_json_snapshot!("badges", badges);
}

/// C-22: a seat that blocks to the end dissents, with its reason; blind agreement is not presented as a challenged answer.
#[tokio::test]
async fn c22_dissent_and_unchallenged_agreement_are_told() {
    let (model, journal) = (Scripted::new(stubborn), Arc::default());
    play_to_end(setup("collaborative", 3, 3), &model, &journal).await;
    let verdict = assert_verdicts(&entries(&journal));
    assert_eq!(verdict.badge.kind, BadgeKind::Contested);
    assert_eq!(verdict.dissent[0].title, "Sentinel");
    assert!(verdict.dissent[0].reason.is_some());
    let agreed = changed(story, |_, _, reply| {
        reply["vote"] = json!("ACCEPT");
        reply["confidence"] = json!(0.8);
        reply["debate_alignment"] = json!("Use a queue");
        reply["blocker"] = Value::Null;
    });
    let journal = Arc::default();
    play_to_end(setup("collaborative", 3, 5), &agreed, &journal).await;
    let verdict = assert_verdicts(&entries(&journal));
    assert_eq!(verdict.badge.kind, BadgeKind::Unanimous);
    assert_eq!(verdict.badge.text, "Unanimous, blind: nobody objected");
}
