use roundtable_core::bounded::Probability;
use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::{
    Change, Domain, HalfLife, Knowledge, LearnError, Lesson, TypeObservation, learn, record, undo,
};
use roundtable_engine::retrospective::{assessment_of, timeline_of};

use super::*;
use crate::store::test_stores::{TestStore, on_both};
use crate::store::test_support::setup;

const ID: &str = "aaaa0000-0000-4000-8000-000000000001";

fn lesson(project: &str) -> Lesson {
    Lesson {
        project: project.into(),
        title: project.into(),
        domain: Domain::general(),
        at: 1_000,
        decision_accuracy: None,
        with_learning: false,
        evidence: vec![TypeObservation {
            kind: EvidenceType::Precedent,
            held: Probability::new(1.0 / 3.0).unwrap(),
            pieces: 3,
            why: "one of three".into(),
        }],
        agents: Vec::new(),
        questions: Vec::new(),
        asked: Vec::new(),
        skills: Vec::new(),
        rounds: Vec::new(),
        consensus_reached: false,
    }
}

fn learning(project: &'static str) -> impl Fn(&[Audit]) -> Result<Vec<Audit>, LearnError> {
    move |audit| {
        let change = learn(audit, lesson(project))?;
        Ok(vec![entry(audit, change)])
    }
}

fn entry(audit: &[Audit], change: Change) -> Audit {
    let half_life = HalfLife::default();
    record(
        audit,
        Domain::general(),
        change,
        "why".into(),
        half_life,
        1_000,
    )
}

fn known(audit: &[Audit]) -> Knowledge {
    Knowledge::from_audit(audit, &Domain::general(), HalfLife::default(), 2_000)
}

fn follow_up() -> FollowUp {
    let text =
        r#"{"week": 3, "event": "A wish", "status": "new_requirement", "time_cost": "2 days"}"#;
    FollowUp {
        tracked: vec![serde_json::from_str(text).unwrap()],
        assessment: Some(serde_json::from_str(r#"{"decision_accuracy": 0.75}"#).unwrap()),
    }
}

/// E-16: the audit survives reopening unchanged, and a lesson can be undone.
async fn e16_the_audit_is_kept_and_undo_restores_what_was_there(test_store: TestStore) {
    let store = test_store.open().await;
    assert_eq!(store.audit().await.unwrap(), []);
    store.learn(learning("a")).await.unwrap();
    let before = known(&store.audit().await.unwrap());
    store.learn(learning("b")).await.unwrap();
    store.close().await;
    let store = test_store.open().await;
    let two = store.audit().await.unwrap();
    assert_eq!(
        two.iter().map(|entry| entry.number).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_ne!(known(&two), before);
    let plan =
        |audit: &[Audit]| undo(audit, None, None).map(|(_, change)| vec![entry(audit, change)]);
    store.learn(plan).await.unwrap();
    let three = store.audit().await.unwrap();
    assert_eq!((three.len(), known(&three)), (3, before));
}

/// E-14: a project is learned from once, even by two processes at the same time.
async fn e14_nothing_is_learned_twice(test_store: TestStore) {
    let store = test_store.open().await;
    // A second process.
    let other = test_store.open().await;
    let (a, b) = tokio::join!(store.learn(learning("a")), other.learn(learning("a")));
    assert_eq!([a.is_ok(), b.is_ok()].iter().filter(|ok| **ok).count(), 1);
    let refused = store.learn(learning("a")).await.unwrap_err();
    assert!(
        matches!(
            refused,
            LearningError::Refused(LearnError::Twice { entry: 1, .. })
        ),
        "{refused:?}"
    );
    assert_eq!(store.audit().await.unwrap().len(), 1);
}

/// E-13, E-14: events, assessment and lesson are written together or not at all.
async fn e14_an_assessment_and_its_lesson_are_written_together(test_store: TestStore) {
    let store = test_store.open().await;
    let id: Uuid = ID.parse().unwrap();
    drop(store.create(id, &setup("REST?"), 1_000).await.unwrap());
    store
        .assess(id, follow_up(), learning(ID), 2_000)
        .await
        .unwrap();
    let entries = store.entries(id).await.unwrap();
    assert_eq!(timeline_of(&entries).events().len(), 1);
    assert_eq!(assessment_of(&entries), follow_up().assessment.as_ref());
    assert_eq!(store.audit().await.unwrap().len(), 1);
    let again = store.assess(id, follow_up(), learning(ID), 3_000).await;
    assert!(matches!(again, Err(LearningError::Refused(_))));
    assert_eq!(store.entries(id).await.unwrap(), entries);
    // Events alone can be added at any time.
    store
        .follow_up(
            id,
            FollowUp {
                assessment: None,
                ..follow_up()
            },
            4_000,
        )
        .await
        .unwrap();
    let entries = store.entries(id).await.unwrap();
    assert_eq!(timeline_of(&entries).events().len(), 2);
}

async fn e14_a_deleted_debate_cannot_be_assessed(test_store: TestStore) {
    let store = test_store.open().await;
    let id: Uuid = ID.parse().unwrap();
    let refused = store
        .assess(id, follow_up(), learning(ID), 1)
        .await
        .unwrap_err();
    assert!(
        matches!(refused, LearningError::Lease(LeaseError::NotFound { .. })),
        "{refused:?}"
    );
    assert_eq!(store.audit().await.unwrap(), []);
}

/// E-16: deleting a debate keeps what was learned from it.
async fn e16_a_lesson_outlives_its_debate(test_store: TestStore) {
    let store = test_store.open().await;
    let id: Uuid = ID.parse().unwrap();
    drop(store.create(id, &setup("REST?"), 1_000).await.unwrap());
    store
        .assess(id, follow_up(), learning(ID), 2_000)
        .await
        .unwrap();
    store.delete(id).await.unwrap();
    assert_eq!(store.audit().await.unwrap().len(), 1);
}

on_both!(
    e16_the_audit_is_kept_and_undo_restores_what_was_there,
    e14_nothing_is_learned_twice,
    e14_an_assessment_and_its_lesson_are_written_together,
    e14_a_deleted_debate_cannot_be_assessed,
    e16_a_lesson_outlives_its_debate,
);
