//! The learning report of a domain: current values with intervals, and the history of changes.

use roundtable_core::format::{counted, percent};
use roundtable_core::learning::{
    Audit, Change, Domain, Estimate, HalfLife, Knowledge, LearnedWeight, Millis, Move, Topic,
    in_force,
};

use super::follow_up::date_of;
use crate::assessment::tracking::one_decimal;
use crate::report::{
    Block, Cell, Chart, Dot, DotRow, Fact, Line, Report, Scale, Section, Table, Tone, Unit,
};

/// The report on everything learned in a domain, as of `now`.
pub fn knowledge_report(
    audit: &[Audit],
    domain: &Domain,
    half_life: HalfLife,
    now: Millis,
) -> Report {
    let known = Knowledge::from_audit(audit, domain, half_life, now);
    let own = audit.iter().filter(|entry| entry.domain == *domain);
    let own: Vec<Audit> = own.cloned().collect();
    let history: Vec<Knowledge> = (0..own.len())
        .map(|last| Knowledge::from_audit(&own[..=last], domain, half_life, own[last].at))
        .collect();
    let mut sections = vec![Section::main("Evidence weights", weights(&known))];
    sections.extend(over_time(&history));
    sections.extend(agents(&known));
    sections.extend(questions(&known));
    sections.extend(skills(&known));
    sections.extend(rounds(&known));
    if !own.is_empty() {
        let table = Block::Table(history_table(&own));
        sections.push(Section::side("Change history", vec![table]));
    }
    Report {
        verdict: None,
        answer: None,
        facts: facts(&known, half_life),
        sections,
        ..Report::default()
    }
}

fn facts(known: &Knowledge, half_life: HalfLife) -> Vec<Fact> {
    let (projects, effective) = (known.projects, one_decimal(known.effective_projects));
    let days = one_decimal(half_life.in_days());
    let mut facts = vec![
        Fact::new("Domain", known.domain.name()),
        Fact::new(
            "Post-mortems",
            format!("{projects} ({effective} weighted by age)"),
        ),
        Fact::new("Half-life", format!("{days} days")),
    ];
    if let Some(accuracy) = known.decision_accuracy {
        let text = format!(
            "{} (95% interval {} to {}, from {})",
            percent(accuracy.mean),
            percent(accuracy.low),
            percent(accuracy.high),
            counted(projects, "project")
        );
        facts.push(Fact::new("Decision accuracy", text));
    }
    facts
}

fn interval(estimate: Estimate) -> String {
    format!("{:.2} to {:.2}", estimate.low, estimate.high)
}

const SHARE: Scale = Scale {
    from: 0.0,
    to: 1.0,
    unit: Unit::Decimals(2),
};

fn weights(known: &Knowledge) -> Vec<Block> {
    let columns = [
        "Type",
        "#Initial",
        "#Current",
        "95% interval",
        "#Projects",
        "#Observed",
    ];
    let mut table = Table::new("Evidence weights", &columns);
    let mut rows = Vec::new();
    for learned in &known.weights {
        let (weight, prior) = (learned.weight, learned.prior);
        let moved = weight.mean - prior;
        let tone = match moved {
            _ if moved.abs() < 0.005 => Tone::Plain,
            _ if moved > 0.0 => Tone::Good,
            _ => Tone::Caution,
        };
        table = table.row(vec![
            Cell::new(learned.kind.name()),
            Cell::new(format!("{prior:.2}")),
            Cell::new(format!("{:.2}", weight.mean)).toned(tone),
            Cell::new(interval(weight)),
            Cell::new(weight.cases.to_string()),
            Unit::Decimals(2).cell(learned.observed),
        ]);
        let projects = counted(weight.cases, "project");
        let dot = |role: &str, value: f64| Dot {
            role: role.to_owned(),
            value,
        };
        rows.push(DotRow {
            label: learned.kind.name().to_owned(),
            line: Some(weight.mean),
            dots: vec![
                dot("low", weight.low),
                dot("initial", prior),
                dot("high", weight.high),
            ],
            remark: Some(Cell::new(format!("from {projects}"))),
        });
    }
    let chart = Chart::Dots {
        title: "Evidence weights with 95% intervals".to_owned(),
        scale: SHARE,
        rows,
    };
    vec![Block::Table(table), Block::Chart(chart)]
}

/// The weights that changed, and the decision accuracy, after each entry.
fn over_time(history: &[Knowledge]) -> Option<Section> {
    let [first, _, ..] = history else {
        return None;
    };
    let line = |label: &str, value: &dyn Fn(&Knowledge) -> Option<f64>| Line {
        label: label.to_owned(),
        role: None,
        values: history.iter().map(value).collect(),
    };
    let chart = |title: &str, lines: Vec<Line>| {
        let dates = history.iter().map(|known| date_of(known.as_of).to_string());
        Block::Chart(Chart::Lines {
            title: title.to_owned(),
            scale: SHARE,
            rounds: dates.collect(),
            lines,
            thresholds: Vec::new(),
        })
    };
    let mut weights: Vec<Line> = Vec::new();
    for (index, LearnedWeight { kind, prior, .. }) in first.weights.iter().enumerate() {
        let mean = |known: &Knowledge| known.weights[index].weight.mean;
        if history
            .iter()
            .any(|known| (mean(known) - prior).abs() > 1e-9)
        {
            weights.push(line(kind.name(), &|known| Some(mean(known))));
        }
    }
    let mut blocks = Vec::new();
    if !weights.is_empty() {
        blocks.push(chart("Weights after each change", weights));
    }
    let accuracy = vec![
        line("low", &|known| Some(known.decision_accuracy?.low)),
        line("accuracy", &|known| Some(known.decision_accuracy?.mean)),
        line("high", &|known| Some(known.decision_accuracy?.high)),
    ];
    blocks.push(chart("Decision accuracy with 95% interval", accuracy));
    Some(Section::main("Over time", blocks))
}

fn agents(known: &Knowledge) -> Option<Section> {
    let columns = [
        "Agent",
        "#Debates",
        "#Accuracy",
        "95% interval",
        "#Brier score",
        "#Overconfidence",
        "Judged by evidence only",
    ];
    let rows = known.agents.iter().map(|agent| {
        vec![
            Cell::new(agent.agent.clone()),
            Cell::new(agent.debates.to_string()),
            Cell::new(format!("{:.2}", agent.accuracy.mean)),
            Cell::new(interval(agent.accuracy)),
            Unit::Decimals(3).cell(agent.brier),
            Unit::Decimals(2).cell(agent.overconfidence),
            Cell::new(match agent.by_evidence {
                0 => String::new(),
                count => format!("in {count}"),
            }),
        ]
    });
    section("Agents", &columns, rows)
}

fn questions(known: &Knowledge) -> Option<Section> {
    let columns = [
        "Question",
        "Priority",
        "#Missing in",
        "#Asked",
        "#Helped",
        "#Effectiveness",
        "95% interval",
    ];
    let rows = known.questions.iter().map(|question| {
        let (priority, tone) = if question.is_asked {
            (question.priority.name(), Tone::Plain)
        } else {
            ("no longer asked", Tone::Quiet)
        };
        vec![
            Cell::new(question.question.clone()),
            Cell::new(priority).toned(tone),
            Cell::new(format!("{} of {}", question.missed, question.of)),
            Cell::new(question.asked.to_string()),
            Cell::new(question.helped.to_string()),
            Cell::new(format!("{:.2}", question.effectiveness.mean)),
            Cell::new(interval(question.effectiveness)),
        ]
    });
    section("Required questions", &columns, rows)
}

fn skills(known: &Knowledge) -> Option<Section> {
    let columns = ["Skill", "Priority", "#Missing in", "Reason", "Evidence"];
    let rows = known.skills.iter().map(|skill| {
        vec![
            Cell::new(skill.skill.clone()),
            Cell::new(skill.priority.name()),
            Cell::new(format!("{} of {}", skill.lacking, skill.of)),
            Cell::new(skill.reasons.join("; ")),
            Cell::new(skill.evidence.join("; ")),
        ]
    });
    section("Missing skills", &columns, rows)
}

fn rounds(known: &Knowledge) -> Option<Section> {
    let columns = [
        "Round",
        "#Played",
        "#Useful",
        "#Share",
        "95% interval",
        "#Right",
        "#Wrong",
    ];
    let rows = known.rounds.iter().map(|round| {
        vec![
            Cell::new(round.round.to_string()),
            Cell::new(round.played.to_string()),
            Cell::new(round.paid.to_string()),
            Cell::new(format!("{:.2}", round.share.mean)),
            Cell::new(interval(round.share)),
            Cell::new(round.right.to_string()),
            Cell::new(round.wrong.to_string()),
        ]
    });
    let mut section = section("Usefulness of rounds", &columns, rows)?;
    let text = match &known.advice {
        None => "Too few projects to recommend a number of rounds.".to_owned(),
        Some(advice) => {
            let instead = advice.instead.as_ref().map(|skill| {
                format!(
                    " Panels agreed but were partly wrong: add {skill} rather than more rounds."
                )
            });
            format!(
                "From {}: round {} is the last that adds something right in at least half of them.{}",
                counted(advice.projects, "project"),
                advice.enough,
                instead.unwrap_or_default()
            )
        }
    };
    section.blocks.push(Block::note(text, Tone::Plain));
    Some(section)
}

fn section(
    title: &str,
    columns: &[&str],
    rows: impl Iterator<Item = Vec<Cell>>,
) -> Option<Section> {
    let table = Table::of(title, columns, rows);
    (!table.rows.is_empty()).then(|| Section::main(title, vec![Block::Table(table)]))
}

/// All audit entries, newest first, with their effect and whether they were undone.
pub fn history_table(audit: &[Audit]) -> Table {
    let columns = ["#Entry", "Date", "Domain", "Change", "Reason", "Effect"];
    let entries = audit.iter().zip(in_force(audit)).rev();
    let rows = entries.map(|(entry, is_in_force)| {
        let change = match &entry.change {
            Change::Learned { .. } | Change::Reset => entry.change.name().to_owned(),
            Change::Imported { lessons } => {
                format!("imported {}", counted(lessons.len(), "project"))
            }
            Change::Undone { entry } => format!("undid entry {entry}"),
        };
        let (change, tone) = if is_in_force {
            (change, Tone::Plain)
        } else {
            (format!("{change} (undone)"), Tone::Quiet)
        };
        let effects: Vec<String> = entry.moves.iter().map(effect).collect();
        vec![
            Cell::new(entry.number.to_string()),
            Cell::new(date_of(entry.at).to_string()),
            Cell::new(entry.domain.name()),
            Cell::new(change).toned(tone),
            Cell::new(entry.why.clone()),
            Cell::new(effects.join("; ")),
        ]
    });
    Table::of("Change history", &columns, rows)
}

/// `PRECEDENT 0.70 → 0.72 (from 1)`
fn effect(change: &Move) -> String {
    let write = |value: Option<f64>| match (value, change.topic) {
        (Some(value), Topic::Skill) => one_decimal(value),
        (value, _) => Unit::Decimals(2).cell(value).text,
    };
    let (old, new) = (write(change.old), write(change.new));
    format!("{} {old} → {new} (from {})", change.name, change.from)
}
