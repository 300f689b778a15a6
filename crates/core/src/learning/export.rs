//! Export and import of lessons as a JSON document. The figures in it are for people; an import recomputes them from the
//! lessons.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::audit::{Audit, Change, domains, entry_of, lessons};
use super::lesson::Lesson;
use super::{Domain, HalfLife, Knowledge, Millis};
use crate::bounded::Probability;
use crate::evidence::EvidenceType;

/// The version of the document format. A newer version is rejected before the rest is read.
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Export {
    pub roundtable_learning: u32,
    pub exported_at: Millis,
    pub domains: Vec<DomainExport>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainExport {
    pub domain: Domain,
    pub weights: BTreeMap<EvidenceType, ExportedWeight>,
    pub lessons: Vec<Lesson>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedWeight {
    pub weight: Probability,
    pub low: Probability,
    pub high: Probability,
    pub projects: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error(
        "written by a newer version of the program (format {found}; this one reads up to {FORMAT}): update this program"
    )]
    Newer { found: u32 },
    #[error("the lesson '{project}' is listed under the domain '{under}' but belongs to '{of}'")]
    OtherDomain {
        project: String,
        under: Domain,
        of: Domain,
    },
    #[error("the lesson '{project}' is listed twice")]
    Twice { project: String },
    #[error("the lesson '{project}' lists {kind} twice")]
    TypeTwice { project: String, kind: EvidenceType },
    #[error("nothing to import: every lesson is already known")]
    Nothing,
}

impl Export {
    /// The lessons of one domain, or of all domains that have any.
    pub fn of(audit: &[Audit], domain: Option<&Domain>, half_life: HalfLife, now: Millis) -> Self {
        let wanted = match domain {
            Some(domain) => vec![domain.clone()],
            None => domains(audit),
        };
        let exports = wanted.into_iter().filter_map(|domain| {
            let lessons = lessons(audit, &domain);
            if lessons.is_empty() {
                return None;
            }
            let knowledge = Knowledge::of(&domain, &lessons, half_life, now);
            let weights = knowledge.weights.iter().filter_map(|learned| {
                let weight = ExportedWeight {
                    weight: Probability::new(learned.weight.mean).ok()?,
                    low: Probability::new(learned.weight.low).ok()?,
                    high: Probability::new(learned.weight.high).ok()?,
                    projects: learned.weight.cases,
                };
                Some((learned.kind, weight))
            });
            Some(DomainExport {
                weights: weights.collect(),
                domain,
                lessons,
            })
        });
        Self {
            roundtable_learning: FORMAT,
            exported_at: now,
            domains: exports.collect(),
        }
    }
}

/// The new lessons of an export, by domain. Projects already learned are skipped, so nothing counts twice.
pub fn import(audit: &[Audit], export: &Export) -> Result<Vec<(Domain, Change)>, ImportError> {
    if export.roundtable_learning > FORMAT {
        let found = export.roundtable_learning;
        return Err(ImportError::Newer { found });
    }
    let mut seen: Vec<&str> = Vec::new();
    for domain in &export.domains {
        for lesson in &domain.lessons {
            check(lesson, &domain.domain)?;
            if seen.contains(&lesson.project.as_str()) {
                let project = lesson.project.clone();
                return Err(ImportError::Twice { project });
            }
            seen.push(&lesson.project);
        }
    }
    let changes: Vec<(Domain, Change)> = export
        .domains
        .iter()
        .filter_map(|export| {
            let is_new = |lesson: &&Lesson| entry_of(audit, &lesson.project).is_none();
            let lessons: Vec<Lesson> = export.lessons.iter().filter(is_new).cloned().collect();
            (!lessons.is_empty()).then(|| (export.domain.clone(), Change::Imported { lessons }))
        })
        .collect();
    if changes.is_empty() {
        return Err(ImportError::Nothing);
    }
    Ok(changes)
}

fn check(lesson: &Lesson, domain: &Domain) -> Result<(), ImportError> {
    let project = || lesson.project.clone();
    if lesson.domain != *domain {
        return Err(ImportError::OtherDomain {
            project: project(),
            under: domain.clone(),
            of: lesson.domain.clone(),
        });
    }
    for (index, seen) in lesson.evidence.iter().enumerate() {
        let mut earlier = lesson.evidence[..index].iter();
        if earlier.any(|other| other.kind == seen.kind) {
            return Err(ImportError::TypeTwice {
                project: project(),
                kind: seen.kind,
            });
        }
    }
    Ok(())
}
