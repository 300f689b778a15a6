//! Reads and plans entries of the learning audit, for new debates and post-mortems.

use roundtable_core::learning::{
    Audit, Change, Domain, HalfLife, Knowledge, LearnError, Learned, Lesson, Millis, in_force,
    learn, record,
};
use roundtable_engine::retrospective::LearningUpdates;

use crate::store::{Store, StoreError};

/// The knowledge that a new debate of this domain starts with. It becomes part of the debate's rules, so that a replay does not depend on
/// later lessons. `None` if nothing was learned yet.
pub(crate) async fn load_learned(
    store: &Store,
    domain: &Domain,
    half_life: HalfLife,
    now: Millis,
) -> Result<Option<Learned>, StoreError> {
    let audit = store.audit().await?;
    Ok(Knowledge::from_audit(&audit, domain, half_life, now).learned())
}

/// Returns a function that plans the audit entries of a lesson, for [`Store::learn`].
pub(crate) fn plan_lesson(
    lesson: Lesson,
    half_life: HalfLife,
) -> impl Fn(&[Audit]) -> Result<Vec<Audit>, LearnError> {
    move |audit| {
        let why = format!("post-mortem of '{}'", lesson.title);
        let (domain, at) = (lesson.domain.clone(), lesson.at);
        let change = learn(audit, lesson.clone())?;
        Ok(vec![record(audit, domain, change, why, half_life, at)])
    }
}

/// The changes by a project's post-mortem and the knowledge right after it; `None` if there is none or it was undone.
pub(crate) fn find_lesson(
    audit: &[Audit],
    project: &str,
    half_life: HalfLife,
) -> Option<(LearningUpdates, Knowledge)> {
    let index = audit
        .iter()
        .zip(in_force(audit))
        .rposition(|(entry, is_in_force)| {
            let Change::Learned { lesson } = &entry.change else {
                return false;
            };
            is_in_force && lesson.project == project
        })?;
    let entry = &audit[index];
    let known = Knowledge::from_audit(&audit[..=index], &entry.domain, half_life, entry.at);
    LearningUpdates::of(entry, &known).map(|updates| (updates, known))
}

#[cfg(test)]
pub(crate) mod samples {
    //! An audit of three lessons, a week apart, one of them undone.

    use roundtable_core::learning::{Audit, Domain, HalfLife, Lesson, record, undo};
    use roundtable_engine::retrospective::{AssessmentFile, PostMortem, RecordFile, Timeline};

    use super::plan_lesson;

    const WEEK: u64 = 7 * 86_400_000;

    pub(crate) fn post_mortem() -> PostMortem {
        let record = include_str!("../crates/engine/fixtures/dashboard/record.yaml");
        let record: RecordFile = serde_saphyr::from_str(record).unwrap();
        let file = include_str!("../crates/engine/fixtures/dashboard/assessment.yaml");
        let file: AssessmentFile = serde_saphyr::from_str(file).unwrap();
        let timeline = Timeline::new("2024-10-21".parse().unwrap(), file.timeline().to_vec());
        let assessment = file.assessment().unwrap().clone();
        PostMortem::new(record.debate_record, timeline, assessment, false).unwrap()
    }

    pub(crate) fn audit() -> Vec<Audit> {
        let domain = Domain::new("api design").unwrap();
        let mut audit: Vec<Audit> = Vec::new();
        for number in 0..3_u64 {
            let at = 1_734_307_200_000 + number * WEEK;
            let lesson = Lesson {
                project: format!("project {number}"),
                ..post_mortem().lesson(domain.clone(), at)
            };
            let entries = plan_lesson(lesson, HalfLife::default())(&audit).unwrap();
            audit.extend(entries);
        }
        let (_, change) = undo(&audit, Some(2), None).unwrap();
        let at = audit[2].at + WEEK;
        let why = "took back entry 2".to_owned();
        let entry = record(&audit, domain, change, why, HalfLife::default(), at);
        audit.push(entry);
        audit
    }
}
