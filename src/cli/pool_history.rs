//! `roundtable pool --history`: what each outcome changed (B-09, E-16).

use roundtable_core::forecast::{Change, LearningStep, Question, Seat, brier, history};
use roundtable_engine::report::{Block, Cell, Report, Section, Table};
use serde::Serialize;

use crate::clock;
use crate::failure::Failure;

/// One outcome, for programs.
#[derive(Debug, Serialize)]
pub(super) struct Learned {
    question_id: String,
    question: String,
    domain: Option<String>,
    resolved_at: String,
    /// The Brier score of what the pool said before.
    brier: Option<f64>,
    factor: Change,
    skills: Vec<Skill>,
}

#[derive(Debug, Serialize)]
struct Skill {
    #[serde(flatten)]
    seat: Seat,
    #[serde(flatten)]
    skill: Change,
}

pub(super) fn learned(questions: &[Question]) -> Result<Vec<Learned>, Failure> {
    let steps = history(questions)
        .map_err(|error| Failure::usage(format!("cannot pool the forecasts: {error}")))?;
    Ok(steps
        .into_iter()
        .map(|step| line(questions, step))
        .collect())
}

fn line(questions: &[Question], step: LearningStep) -> Learned {
    let question = &questions[step.question];
    let skills = step.skills.into_iter();
    Learned {
        question_id: question.id.clone(),
        question: question.cluster.clone(),
        domain: question.domain.clone(),
        resolved_at: clock::stamp(u64::try_from(question.resolved_at).unwrap_or(0)),
        brier: brier(&step.said, question.outcome),
        factor: step.factor,
        skills: skills.map(|(seat, skill)| Skill { seat, skill }).collect(),
    }
}

pub(super) fn report(learned: &[Learned]) -> Report {
    let columns = [
        "resolved",
        "question",
        "#Brier",
        "#factor",
        "most changed skill",
    ];
    let rows = learned.iter().map(|line| {
        let size = |skill: &&Skill| (skill.skill.after - skill.skill.before).abs();
        let most = line
            .skills
            .iter()
            .max_by(|a, b| size(a).total_cmp(&size(b)));
        let most = most.map(|skill| {
            let name = skill.seat.group.as_ref().unwrap_or(&skill.seat.agent);
            format!(
                "{name} {:+.4} → {:+.4}",
                skill.skill.before, skill.skill.after
            )
        });
        vec![
            Cell::new(line.resolved_at.get(..10).unwrap_or_default()),
            Cell::new(line.question.clone()),
            Cell::new(
                line.brier
                    .map_or_else(|| "–".into(), |brier| format!("{brier:.3}")),
            ),
            Cell::new(format!(
                "{:.3} → {:.3}",
                line.factor.before, line.factor.after
            )),
            Cell::new(most.unwrap_or_default()),
        ]
    });
    let caption = "What each outcome changed. `roundtable resolve ID --withdraw` takes one back: the weights are then as if it \
                   had never been recorded";
    Report {
        sections: vec![Section::main(
            "Learned",
            vec![Block::Table(Table::of(caption, &columns, rows))],
        )],
        ..Report::default()
    }
}
