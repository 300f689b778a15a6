//! Skills that panels of a domain lacked, with the evidence for it.

use serde::Serialize;

use super::Weighed;
use super::priority::Priority;
use crate::wording;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkillRecord {
    pub skill: String,
    /// The newest first.
    pub reasons: Vec<String>,
    /// What happened that shows it, each with its project.
    pub evidence: Vec<String>,
    /// Projects whose panel lacked it …
    pub lacking: usize,
    /// … of these.
    pub of: usize,
    /// What people expect of it, in their words.
    pub expected: Vec<String>,
    pub priority: Priority,
}

pub(super) fn records(weighed: &[Weighed<'_>]) -> Vec<SkillRecord> {
    let mut records: Vec<(String, SkillRecord)> = Vec::new();
    for it in weighed {
        let mut counted: Vec<String> = Vec::new();
        for need in &it.lesson.skills {
            let normal = wording::normal(&need.skill);
            let place = records.iter().position(|(known, _)| *known == normal);
            let place = place.unwrap_or_else(|| {
                records.push((
                    normal.clone(),
                    SkillRecord {
                        skill: need.skill.clone(),
                        reasons: Vec::new(),
                        evidence: Vec::new(),
                        lacking: 0,
                        of: weighed.len(),
                        expected: Vec::new(),
                        priority: Priority::Low,
                    },
                ));
                records.len() - 1
            });
            let record = &mut records[place].1;
            // Two events of one project are one project that lacked it.
            if !counted.contains(&normal) {
                counted.push(normal);
                record.lacking += 1;
            }
            if !record.reasons.contains(&need.reason) {
                record.reasons.insert(0, need.reason.clone());
            }
            let title = &it.lesson.title;
            let shown = need.evidence.iter().map(|what| format!("{title}: {what}"));
            record.evidence.extend(shown);
            record.expected.extend(need.expected.clone());
        }
    }
    let mut records: Vec<SkillRecord> = records.into_iter().map(|(_, record)| record).collect();
    for record in &mut records {
        record.priority = Priority::of(record.lacking, record.of);
    }
    records.sort_by_key(|record| std::cmp::Reverse(record.lacking));
    records
}
