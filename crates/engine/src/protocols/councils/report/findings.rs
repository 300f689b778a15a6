//! The report's sections on disagreements, agreements and the critic's findings.

use super::super::disagreements::Disagreement;
use super::super::findings::AnsweredFinding;
use super::super::replies::{Decision, Severity};
use super::super::verdict::Verdict;
use crate::report::{Block, Cell, Position, Section, Table, Tone};

pub(super) fn disagreements(verdict: &Verdict) -> Option<Section> {
    let blocks: Vec<Block> = verdict
        .council_disagreements
        .iter()
        .flat_map(disagreement)
        .collect();
    (!blocks.is_empty()).then(|| Section::main("Disagreements", blocks))
}

fn disagreement(one: &Disagreement) -> Vec<Block> {
    let consensus = one.consensus.map_or_else(String::new, |consensus| {
        format!("; the average is {}", consensus.shown())
    });
    let mut blocks = vec![
        Block::Note {
            text: format!(
                "{} {}: {:.0} points apart{consensus}.",
                one.id, one.title, one.points
            ),
            tone: if one.is_severe() {
                Tone::Critical
            } else {
                Tone::Caution
            },
        },
        Block::Opposed {
            positions: one
                .positions
                .iter()
                .map(|position| Position {
                    role: position.judge.clone(),
                    stand: position.score.shown().to_string(),
                    markdown: position.reasoning.clone(),
                })
                .collect(),
        },
    ];
    let critic = one.critic.clone();
    blocks.extend(critic.map(|answer| Block::Text {
        markdown: format!("**The critic:** {answer}"),
    }));
    blocks
}

pub(super) fn agreements(verdict: &Verdict) -> Option<Section> {
    let agreed = &verdict.high_confidence_agreements;
    let table = Table::new(
        "All judges within 10 points",
        &["dimension", "#score", "#judges", "#apart"],
    );
    let table = agreed.iter().fold(table, |table, agreement| {
        let score = agreement
            .score
            .map_or_else(|| "–".into(), |score| score.shown().to_string());
        table.row(vec![
            Cell::new(agreement.title.clone()),
            Cell::new(score).toned(Tone::Good),
            Cell::new(agreement.judges.to_string()),
            Cell::new(format!("{:.0}", agreement.points)),
        ])
    });
    (!agreed.is_empty())
        .then(|| Section::side("High-confidence agreements", vec![Block::Table(table)]))
}

pub(super) fn critic(verdict: &Verdict) -> Option<Section> {
    let critic = verdict.critic.as_ref()?;
    let mut blocks = vec![Block::Text {
        markdown: critic.review.clone(),
    }];
    if critic.findings.is_empty() {
        let checked = critic.checked.iter().map(|check| format!("- {check}"));
        let markdown = format!(
            "No findings. Checked:\n\n{}",
            checked.collect::<Vec<_>>().join("\n")
        );
        blocks.push(Block::Text { markdown });
    } else {
        let table = Table::new(
            "Findings and what they changed",
            &["id", "severity", "finding", "answer", "moved"],
        );
        let table = critic
            .findings
            .iter()
            .fold(table, |table, finding| table.row(row(finding)));
        blocks.push(Block::Table(table));
    }
    Some(Section::main("The critic", blocks))
}

fn row(found: &AnsweredFinding) -> Vec<Cell> {
    let finding = &found.finding;
    let tone = match finding.severity {
        Severity::High => Tone::Caution,
        Severity::Medium => Tone::Plain,
        Severity::Low => Tone::Quiet,
    };
    let (answer, moved) = match &found.answer {
        None => (Cell::new("no answer").toned(Tone::Critical), Cell::new("")),
        Some(answer) => {
            let decision = match answer.decision {
                Decision::Accepted => "accepted",
                Decision::Rejected => "rejected",
            };
            let moved = match (&answer.moved, &answer.refused) {
                (Some(moved), _) => Cell::new(format!(
                    "{} {:.0} → {:.0}",
                    moved.dimension,
                    moved.from.value(),
                    moved.to.value()
                )),
                (None, Some(why)) => Cell::new(why.clone()).toned(Tone::Caution),
                (None, None) => match &answer.no_move_because {
                    Some(why) => Cell::new(format!("none: {why}")),
                    None => Cell::new(""),
                },
            };
            (Cell::new(format!("{decision}: {}", answer.reason)), moved)
        }
    };
    vec![
        Cell::new(found.id.clone()),
        Cell::new(finding.severity.name()).toned(tone),
        Cell::new(format!(
            "{} ({}): {}",
            finding.category.title(),
            finding.about,
            finding.problem
        )),
        answer,
        moved,
    ]
}
