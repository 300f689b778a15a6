//! What was learned as a document, to be taken elsewhere. It holds the lessons; the figures beside them are for reading and
//! are worked out anew where it is taken up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::audit::{Audit, Change, domains, entry_of, lessons};
use super::lesson::Lesson;
use super::{Domain, HalfLife, Knowledge, Millis};
use crate::bounded::Probability;
use crate::evidence::EvidenceType;

/// The version of the document. A newer one is refused before anything else of it is read.
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
        "it was written by a newer version of the program (format {found}; this one reads up to {FORMAT}): update, or export it there in an older format"
    )]
    Newer { found: u32 },
    #[error("the lesson '{project}' stands under the domain '{under}' but is of '{of}'")]
    OtherDomain {
        project: String,
        under: Domain,
        of: Domain,
    },
    #[error("the lesson '{project}' is in it twice")]
    Twice { project: String },
    #[error("the lesson '{project}' speaks of {kind} twice")]
    TypeTwice { project: String, kind: EvidenceType },
    #[error("there is nothing in it that is not known already")]
    Nothing,
}

impl Export {
    /// These domains, or all that hold something.
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
            let weights = knowledge.weights.iter().filter_map(|it| {
                let weight = ExportedWeight {
                    weight: Probability::new(it.weight.mean).ok()?,
                    low: Probability::new(it.weight.low).ok()?,
                    high: Probability::new(it.weight.high).ok()?,
                    projects: it.weight.cases,
                };
                Some((it.kind, weight))
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

/// What is new in it, by domain. Projects that were learned from already are left out, so nothing counts twice.
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
        .filter_map(|it| {
            let new = it.lessons.iter();
            let new = new.filter(|lesson| entry_of(audit, &lesson.project).is_none());
            let lessons: Vec<Lesson> = new.cloned().collect();
            (!lessons.is_empty()).then(|| (it.domain.clone(), Change::Imported { lessons }))
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
    for (place, seen) in lesson.evidence.iter().enumerate() {
        if lesson.evidence[..place]
            .iter()
            .any(|it| it.kind == seen.kind)
        {
            return Err(ImportError::TypeTwice {
                project: project(),
                kind: seen.kind,
            });
        }
    }
    Ok(())
}
