//! Where judges stand against each other, where they agree, and what the critic found beside what it changed.

use super::super::findings::AnsweredFinding;
use super::super::replies::{Decision, Severity};
use super::super::verdict::{Disagreement, Verdict};
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
    let consensus = one.consensus.map_or_else(String::new, |it| {
        format!("; the average of {} hides that", it.shown())
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
                .map(|it| Position {
                    role: it.judge.clone(),
                    stand: it.score.shown().to_string(),
                    markdown: it.reasoning.clone(),
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
    let table = agreed.iter().fold(table, |table, it| {
        let score = it
            .score
            .map_or_else(|| "–".into(), |it| it.shown().to_string());
        table.row(vec![
            Cell::new(it.title.clone()),
            Cell::new(score).toned(Tone::Good),
            Cell::new(it.judges.to_string()),
            Cell::new(format!("{:.0}", it.points)),
        ])
    });
    (!agreed.is_empty())
        .then(|| Section::side("Agreed with high confidence", vec![Block::Table(table)]))
}

pub(super) fn critic(verdict: &Verdict) -> Option<Section> {
    let critic = verdict.critic.as_ref()?;
    let mut blocks = vec![Block::Text {
        markdown: critic.review.clone(),
    }];
    if critic.findings.is_empty() {
        let checked = critic.checked.iter().map(|it| format!("- {it}"));
        let markdown = format!(
            "It found nothing. It checked:\n\n{}",
            checked.collect::<Vec<_>>().join("\n")
        );
        blocks.push(Block::Text { markdown });
    } else {
        let table = Table::new(
            "Findings, beside what they changed",
            &["id", "severity", "what", "answer", "moved"],
        );
        let table = critic
            .findings
            .iter()
            .fold(table, |table, it| table.row(row(it)));
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
                (Some(it), _) => Cell::new(format!(
                    "{} {:.0} → {:.0}",
                    it.dimension,
                    it.from.value(),
                    it.to.value()
                )),
                (None, Some(why)) => Cell::new(why.clone()).toned(Tone::Caution),
                (None, None) => Cell::new(""),
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
