//! `roundtable bench compare`: the arms of one bench against the same arms in another, question by question.
//!
//! Both must have answered the same data: a difference between files would look like a difference between programs or models.

use std::collections::{BTreeSet, HashMap};

use roundtable_core::bench::{
    Arm, Comparison, Decision, Measure, Outcome, Question, Spent, compare_pairs, conclusion,
};
use roundtable_engine::report::{Fact, Report, Section, Tone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::report::comparison_blocks;
use super::{BenchReport, VERSION};
use crate::failure::Failure;
use crate::format::counted;

/// Two benches on the same questions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct BenchComparison {
    pub version: u32,
    pub a: Side,
    pub b: Side,
    pub measure: Measure,
    /// The questions that both answered.
    pub questions: usize,
    /// B minus A, per arm.
    pub comparisons: Vec<Comparison>,
    /// Arms that only one of the two has.
    pub only_a: Vec<String>,
    pub only_b: Vec<String>,
    /// Settings that differ, next to what was to be compared.
    pub differences: Vec<String>,
    pub conclusion: String,
    pub is_decided: bool,
}

/// One of the benches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Side {
    /// As it was named.
    pub name: String,
    pub program: String,
    pub file: String,
    pub sha256: String,
    pub seed: Option<u64>,
    pub models: Vec<String>,
}

impl Side {
    fn of(name: &str, bench: &BenchReport) -> Self {
        let run = bench.run.as_ref();
        Self {
            name: name.to_owned(),
            program: bench.program.clone(),
            file: bench.source.file.clone(),
            sha256: bench.source.sha256.clone(),
            seed: run.map(|run| run.seed),
            models: run.map(|run| run.models.clone()).unwrap_or_default(),
        }
    }
}

/// An arm by its place in each bench.
struct Pair {
    name: String,
    places: (usize, usize),
}

/// Compares all arms that both have, and those of `pairs`: `A=B`.
pub(crate) fn compare(
    (name_a, a): (&str, &BenchReport),
    (name_b, b): (&str, &BenchReport),
    pairs: &[String],
) -> Result<BenchComparison, Failure> {
    comparable((name_a, a), (name_b, b))?;
    let paired = paired(a, b, pairs)?;
    let shared = shared(a, b);
    if shared.is_empty() {
        return Err(Failure::usage(format!(
            "{name_a} and {name_b} have no question in common: they answered different parts of the file"
        )));
    }
    let questions: Vec<Question> = shared
        .iter()
        .map(|(place, _)| {
            let id = a.outcomes.questions[*place].clone();
            Question {
                cluster: a.outcomes.clusters.get(*place).unwrap_or(&id).clone(),
                domain: None,
                id,
            }
        })
        .collect();
    let arms: Vec<(Arm, Arm)> = paired
        .iter()
        .map(|pair| {
            let of = |bench: &BenchReport, arm: usize, places: Vec<usize>| Arm {
                name: pair.name.clone(),
                outcomes: bench.outcomes.of(arm, &places),
            };
            let (one, two) = pair.places;
            (
                of(a, one, shared.iter().map(|(place, _)| *place).collect()),
                of(b, two, shared.iter().map(|(_, place)| *place).collect()),
            )
        })
        .collect();
    let comparisons = compare_pairs(&questions, &arms, a.measure);
    let left = |own: &BenchReport, used: &BTreeSet<usize>| -> Vec<String> {
        let arms = own.outcomes.arms.iter().enumerate();
        arms.filter(|(place, _)| !used.contains(place))
            .map(|(_, arm)| arm.arm.clone())
            .collect()
    };
    Ok(BenchComparison {
        version: VERSION,
        measure: a.measure,
        questions: questions.len(),
        only_a: left(a, &paired.iter().map(|pair| pair.places.0).collect()),
        only_b: left(b, &paired.iter().map(|pair| pair.places.1).collect()),
        differences: differences(a, b),
        conclusion: conclusion(&comparisons, "in B than in A", a.measure),
        is_decided: comparisons
            .iter()
            .any(|one| one.decision != Decision::NotDecided),
        a: Side::of(name_a, a),
        b: Side::of(name_b, b),
        comparisons,
    })
}

/// The same data and the same measure.
fn comparable(a: (&str, &BenchReport), b: (&str, &BenchReport)) -> Result<(), Failure> {
    let describe = |(name, bench): (&str, &BenchReport)| {
        let source = &bench.source;
        format!("  {name}: {}, sha256 {}", source.file, source.sha256)
    };
    if a.1.source.sha256 != b.1.source.sha256 {
        return Err(Failure::usage(format!(
            "the two benches answered different data, so their difference says nothing about the arms:\n{}\n{}\nRun one of them again on the other's file",
            describe(a),
            describe(b)
        )));
    }
    if a.1.measure != b.1.measure {
        return Err(Failure::usage(
            "one bench measures accuracy, the other the Brier score: they cannot be compared",
        ));
    }
    Ok(())
}

/// The questions that both have, by their places.
fn shared(a: &BenchReport, b: &BenchReport) -> Vec<(usize, usize)> {
    let places = b.outcomes.questions.iter().enumerate();
    let places: HashMap<&str, usize> = places.map(|(place, id)| (id.as_str(), place)).collect();
    let own = a.outcomes.questions.iter().enumerate();
    own.filter_map(|(place, id)| Some((place, *places.get(id.as_str())?)))
        .collect()
}

fn paired(a: &BenchReport, b: &BenchReport, wanted: &[String]) -> Result<Vec<Pair>, Failure> {
    let place = |bench: &BenchReport, name: &str| {
        let mut arms = bench.outcomes.arms.iter();
        arms.position(|arm| arm.arm == name)
    };
    let names = |bench: &BenchReport| {
        let arms: Vec<&str> = bench
            .outcomes
            .arms
            .iter()
            .map(|arm| arm.arm.as_str())
            .collect();
        arms.join(", ")
    };
    let mut found = Vec::new();
    let mut faults = Vec::new();
    for text in wanted {
        // An arm's name may contain "=" only if it is a preset's; the first one separates.
        let (one, two) = text.split_once('=').unwrap_or((text, text));
        match (place(a, one), place(b, two)) {
            (Some(first), Some(second)) => found.push(Pair {
                name: if one == two {
                    one.to_owned()
                } else {
                    format!("{one} → {two}")
                },
                places: (first, second),
            }),
            (None, _) => faults.push(format!("A has no arm '{one}'; it has {}", names(a))),
            (_, None) => faults.push(format!("B has no arm '{two}'; it has {}", names(b))),
        }
    }
    if wanted.is_empty() {
        let arms = a.outcomes.arms.iter().enumerate();
        found.extend(arms.filter_map(|(first, arm)| {
            Some(Pair {
                name: arm.arm.clone(),
                places: (first, place(b, &arm.arm)?),
            })
        }));
        if found.is_empty() {
            faults.push(format!(
                "the two benches have no arm in common. A has {}; B has {}. Name a pair with --pair \"ARM OF A=ARM OF B\"",
                names(a),
                names(b)
            ));
        }
    }
    if faults.is_empty() {
        Ok(found)
    } else {
        Err(Failure::usage(faults.join("\n")))
    }
}

/// What else was different: it could explain a difference too.
fn differences(a: &BenchReport, b: &BenchReport) -> Vec<String> {
    let (one, two) = (Side::of("", a), Side::of("", b));
    let seed = |side: &Side| {
        side.seed
            .map_or_else(|| "none".to_owned(), |seed| seed.to_string())
    };
    let rows = [
        (
            "version of the program",
            one.program.clone(),
            two.program.clone(),
        ),
        ("seed", seed(&one), seed(&two)),
        ("models", one.models.join(", "), two.models.join(", ")),
        ("ties", format!("{:?}", a.ties), format!("{:?}", b.ties)),
    ];
    let differing = rows.into_iter().filter(|(_, one, two)| one != two);
    differing
        .map(|(what, one, two)| format!("{what}: {one} in A, {two} in B"))
        .collect()
}

/// The outcomes of arms by question, so that two benches can be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Outcomes {
    /// The ids of the questions.
    pub questions: Vec<String>,
    /// Their clusters; empty if each question is its own.
    pub clusters: Vec<String>,
    pub arms: Vec<ArmOutcomes>,
}

/// In the order of the questions; `null` for questions that the arm was not asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ArmOutcomes {
    pub arm: String,
    /// 1 for a right answer, 0 for a wrong one, a share of shared ties.
    pub credit: Vec<Option<f64>>,
    /// Empty if there are no probabilities.
    pub brier: Vec<Option<f64>>,
}

impl Outcomes {
    pub(crate) fn new(questions: &[Question], arms: &[Arm]) -> Self {
        let are_single = questions.iter().all(|one| one.cluster == one.id);
        let clusters = questions.iter().map(|one| one.cluster.clone());
        Self {
            questions: questions.iter().map(|one| one.id.clone()).collect(),
            clusters: if are_single {
                Vec::new()
            } else {
                clusters.collect()
            },
            arms: arms
                .iter()
                .map(|arm| {
                    let outcomes = || arm.outcomes.iter();
                    let has_brier = outcomes().flatten().any(|one| one.brier.is_some());
                    let briers = outcomes().map(|one| one.and_then(|one| one.brier));
                    ArmOutcomes {
                        arm: arm.name.clone(),
                        credit: outcomes().map(|one| one.map(|one| one.credit)).collect(),
                        brier: if has_brier {
                            briers.collect()
                        } else {
                            Vec::new()
                        },
                    }
                })
                .collect(),
        }
    }

    /// The outcomes of an arm at these places.
    fn of(&self, arm: usize, places: &[usize]) -> Vec<Option<Outcome>> {
        let arm = &self.arms[arm];
        let at = |place: &usize| {
            let credit = arm.credit.get(*place).copied().flatten()?;
            Some(Outcome {
                credit,
                is_answered: true,
                brier: arm.brier.get(*place).copied().flatten(),
                log: None,
                spent: Spent::default(),
            })
        };
        places.iter().map(at).collect()
    }
}

/// The comparison for people.
pub(crate) fn report(found: &BenchComparison) -> Report {
    let tone = if found.is_decided {
        Tone::Good
    } else {
        Tone::Caution
    };
    let mut facts = vec![
        Fact::new("Conclusion", found.conclusion.clone()).toned(tone),
        Fact::new(
            "Questions",
            counted(found.questions, "question") + " that both answered",
        ),
        Fact::new("A", found.a.name.clone()),
        Fact::new("B", found.b.name.clone()),
        Fact::new(
            "Data",
            format!("{}, sha256 {}", found.a.file, found.a.sha256),
        ),
    ];
    if !found.differences.is_empty() {
        let text = found.differences.join("; ");
        facts.push(Fact::new("Also different", text).toned(Tone::Caution));
    }
    for (name, arms) in [("Only in A", &found.only_a), ("Only in B", &found.only_b)] {
        if !arms.is_empty() {
            facts.push(Fact::new(name, arms.join(", ")));
        }
    }
    let blocks = comparison_blocks(&found.comparisons, found.measure, "B minus A", ["B", "A"]);
    Report {
        facts,
        sections: vec![Section::main("Comparison", blocks)],
        ..Report::default()
    }
}
