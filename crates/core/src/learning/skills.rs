//! Skills that panels of a domain lacked, with the evidence for it.

use schemars::JsonSchema;
use serde::Serialize;

use super::Weighed;
use super::priority::Priority;
use crate::wording;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SkillRecord {
    pub skill: String,
    /// The newest first.
    pub reasons: Vec<String>,
    /// Events that show it, each with its project.
    pub evidence: Vec<String>,
    /// Projects whose panel lacked it.
    pub lacking: usize,
    /// All projects of the domain.
    pub of: usize,
    /// Expected effects in the assessors' words.
    pub expected: Vec<String>,
    pub priority: Priority,
}

pub(super) fn records(weighed: &[Weighed<'_>]) -> Vec<SkillRecord> {
    let mut records: Vec<(String, SkillRecord)> = Vec::new();
    for Weighed { lesson, .. } in weighed {
        let mut counted: Vec<String> = Vec::new();
        for need in &lesson.skills {
            let normal = wording::normal(&need.skill);
            let index = records.iter().position(|(known, _)| *known == normal);
            let index = index.unwrap_or_else(|| {
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
            let record = &mut records[index].1;
            // Several events of one project count once.
            if !counted.contains(&normal) {
                counted.push(normal);
                record.lacking += 1;
            }
            if !record.reasons.contains(&need.reason) {
                record.reasons.insert(0, need.reason.clone());
            }
            let title = &lesson.title;
            let shown = need
                .evidence
                .iter()
                .map(|event| format!("{title}: {event}"));
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
