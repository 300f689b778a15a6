//! What was learned of a domain as a report: where it stands, with intervals, and how it got there.

use roundtable_core::learning::{
    Audit, Change, Domain, Estimate, HalfLife, Knowledge, Millis, Move, Topic, in_force,
};

use super::journaled::day_of;
use super::report::projects;
use crate::assessment::tracking::short;
use crate::report::{
    Block, Cell, Chart, Dot, DotRow, Fact, Line, Report, Scale, Section, Table, Tone, Unit,
};

/// All that is known of a domain at a moment.
pub fn knowledge_report(
    audit: &[Audit],
    domain: &Domain,
    half_life: HalfLife,
    now: Millis,
) -> Report {
    let known = Knowledge::from_audit(audit, domain, half_life, now);
    let own: Vec<Audit> = audit
        .iter()
        .filter(|it| it.domain == *domain)
        .cloned()
        .collect();
    let course: Vec<(Millis, Knowledge)> = (0..own.len())
        .map(|place| {
            let at = own[place].at;
            let then = Knowledge::from_audit(&own[..=place], domain, half_life, at);
            (at, then)
        })
        .collect();
    let mut sections = vec![Section::main("Weights of evidence", weights(&known))];
    sections.extend(over_time(&course));
    sections.extend(agents(&known));
    sections.extend(questions(&known));
    sections.extend(skills(&known));
    sections.extend(rounds(&known));
    if !own.is_empty() {
        let table = Block::Table(history_table(&own));
        sections.push(Section::side("Every change", vec![table]));
    }
    Report {
        answer: None,
        facts: facts(&known, half_life),
        sections,
    }
}

fn facts(known: &Knowledge, half_life: HalfLife) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new("Domain", known.domain.name()),
        Fact::new(
            "Post-mortems",
            format!(
                "{} (worth {} by their age)",
                known.projects,
                short(known.effective_projects)
            ),
        ),
        Fact::new("Half-life", format!("{} days", short(half_life.in_days()))),
    ];
    if let Some(accuracy) = known.decision_accuracy {
        facts.push(Fact::new("Decisions came out", told(accuracy)));
    }
    facts
}

/// `0.75 (0.53 to 0.91)`
fn told(estimate: Estimate) -> String {
    format!("{:.2} ({})", estimate.mean, between(estimate))
}

fn between(estimate: Estimate) -> String {
    format!("{:.2} to {:.2}", estimate.low, estimate.high)
}

const SHARE: Scale = Scale {
    from: 0.0,
    to: 1.0,
    unit: Unit::Decimals(2),
};

fn weights(known: &Knowledge) -> Vec<Block> {
    let columns = ["Type", "#At first", "#Now", "95%", "#Projects", "#They say"];
    let mut table = Table::new("Weights of evidence", &columns);
    let mut rows = Vec::new();
    for it in &known.weights {
        let has_moved = (it.weight.mean - it.prior).abs() >= 0.005;
        let tone = match has_moved {
            true if it.weight.mean > it.prior => Tone::Good,
            true => Tone::Caution,
            false => Tone::Plain,
        };
        let observed = it
            .observed
            .map_or_else(|| "–".into(), |it| format!("{it:.2}"));
        table = table.row(vec![
            Cell::new(it.kind.name()),
            Cell::new(format!("{:.2}", it.prior)),
            Cell::new(format!("{:.2}", it.weight.mean)).toned(tone),
            Cell::new(between(it.weight)),
            Cell::new(it.weight.cases.to_string()),
            Cell::new(observed),
        ]);
        let dot = |role: &str, value: f64| Dot {
            role: role.to_owned(),
            value,
        };
        rows.push(DotRow {
            label: it.kind.name().to_owned(),
            line: Some(it.weight.mean),
            dots: vec![
                dot("low", it.weight.low),
                dot("at first", it.prior),
                dot("high", it.weight.high),
            ],
            remark: Some(Cell::new(format!("from {}", projects(it.weight.cases)))),
        });
    }
    let chart = Chart::Dots {
        title: "Where each weight lies with 95% probability".to_owned(),
        scale: SHARE,
        rows,
    };
    vec![Block::Table(table), Block::Chart(chart)]
}

/// The weights that ever moved, and how right decisions were, entry by entry.
fn over_time(course: &[(Millis, Knowledge)]) -> Option<Section> {
    if course.len() < 2 {
        return None;
    }
    let labels: Vec<String> = course
        .iter()
        .map(|(at, _)| day_of(*at).to_string())
        .collect();
    let mut lines: Vec<Line> = Vec::new();
    for place in 0..course[0].1.weights.len() {
        let values = course
            .iter()
            .map(|(_, known)| known.weights[place].weight.mean);
        let values: Vec<f64> = values.collect();
        let prior = course[0].1.weights[place].prior;
        if values.iter().any(|it| (it - prior).abs() > 1e-9) {
            lines.push(Line {
                label: course[0].1.weights[place].kind.name().to_owned(),
                role: None,
                values: values.into_iter().map(Some).collect(),
            });
        }
    }
    let mut blocks = Vec::new();
    if !lines.is_empty() {
        blocks.push(Block::Chart(Chart::Lines {
            title: "Weights after each change".to_owned(),
            scale: SHARE,
            rounds: labels.clone(),
            lines,
            thresholds: Vec::new(),
        }));
    }
    let accuracy = |pick: &dyn Fn(Estimate) -> f64| -> Vec<Option<f64>> {
        let values = course
            .iter()
            .map(|(_, known)| known.decision_accuracy.map(pick));
        values.collect()
    };
    let line = |label: &str, values: Vec<Option<f64>>| Line {
        label: label.to_owned(),
        role: None,
        values,
    };
    blocks.push(Block::Chart(Chart::Lines {
        title: "How right decisions were, with 95%".to_owned(),
        scale: SHARE,
        rounds: labels,
        lines: vec![
            line("low", accuracy(&|it| it.low)),
            line("accuracy", accuracy(&|it| it.mean)),
            line("high", accuracy(&|it| it.high)),
        ],
        thresholds: Vec::new(),
    }));
    Some(Section::main("Over time", blocks))
}

fn agents(known: &Knowledge) -> Option<Section> {
    let columns = [
        "Agent",
        "#Debates",
        "#Accuracy",
        "95%",
        "#Quadratic score",
        "#Too sure by",
        "Judged by evidence alone",
    ];
    let number = |value: Option<f64>, places: usize| {
        value.map_or_else(|| "–".to_owned(), |it| format!("{it:.places$}"))
    };
    let table = known
        .agents
        .iter()
        .fold(Table::new("Agents", &columns), |table, it| {
            table.row(vec![
                Cell::new(it.agent.clone()),
                Cell::new(it.debates.to_string()),
                Cell::new(format!("{:.2}", it.accuracy.mean)),
                Cell::new(between(it.accuracy)),
                Cell::new(number(it.brier, 3)),
                Cell::new(number(it.overconfidence, 2)),
                Cell::new(match it.by_evidence {
                    0 => String::new(),
                    count => format!("in {count}"),
                }),
            ])
        });
    section("Agents", table)
}

fn questions(known: &Knowledge) -> Option<Section> {
    let columns = [
        "Question",
        "Priority",
        "#Missed by",
        "#Asked",
        "#Helped",
        "#Effectiveness",
        "95%",
    ];
    let table =
        known
            .questions
            .iter()
            .fold(Table::new("Required questions", &columns), |table, it| {
                table.row(vec![
                    Cell::new(it.question.clone()),
                    Cell::new(if it.is_asked {
                        it.priority.name()
                    } else {
                        "no longer asked"
                    })
                    .toned(if it.is_asked {
                        Tone::Plain
                    } else {
                        Tone::Quiet
                    }),
                    Cell::new(format!("{} of {}", it.missed, it.of)),
                    Cell::new(it.asked.to_string()),
                    Cell::new(it.helped.to_string()),
                    Cell::new(format!("{:.2}", it.effectiveness.mean)),
                    Cell::new(between(it.effectiveness)),
                ])
            });
    section("Required questions", table)
}

fn skills(known: &Knowledge) -> Option<Section> {
    let columns = ["Skill", "Priority", "#Lacking", "Why", "Evidence"];
    let table = known.skills.iter().fold(
        Table::new("Skills that were lacking", &columns),
        |table, it| {
            table.row(vec![
                Cell::new(it.skill.clone()),
                Cell::new(it.priority.name()),
                Cell::new(format!("{} of {}", it.lacking, it.of)),
                Cell::new(it.reasons.join("; ")),
                Cell::new(it.evidence.join("; ")),
            ])
        },
    );
    section("Skills that were lacking", table)
}

fn rounds(known: &Knowledge) -> Option<Section> {
    let columns = [
        "Round", "#Played", "#Paid", "#Share", "95%", "#Right", "#Wrong",
    ];
    let table = known
        .rounds
        .iter()
        .fold(Table::new("Rounds that paid", &columns), |table, it| {
            table.row(vec![
                Cell::new(it.round.to_string()),
                Cell::new(it.played.to_string()),
                Cell::new(it.paid.to_string()),
                Cell::new(format!("{:.2}", it.share.mean)),
                Cell::new(between(it.share)),
                Cell::new(it.right.to_string()),
                Cell::new(it.wrong.to_string()),
            ])
        });
    let mut section = section("Rounds that paid", table)?;
    section.blocks.push(Block::Note {
        text: match &known.advice {
            None => "Too few projects to say how many rounds are enough.".to_owned(),
            Some(advice) => {
                let instead = advice.instead.as_ref().map(|skill| {
                    format!(" Panels agreed and were still wrong in part: add {skill} rather than rounds.")
                });
                format!(
                    "Of {}, round {} is the last that brings up something right in at least every other one.{}",
                    projects(advice.projects),
                    advice.enough,
                    instead.unwrap_or_default()
                )
            }
        },
        tone: Tone::Plain,
    });
    Some(section)
}

fn section(title: &str, table: Table) -> Option<Section> {
    (!table.rows.is_empty()).then(|| Section::main(title, vec![Block::Table(table)]))
}

/// Every entry: when, what, why, what it moved, and whether it still holds. The newest first.
pub fn history_table(audit: &[Audit]) -> Table {
    let columns = ["#Entry", "Date", "Domain", "What", "Why", "Moved"];
    let force = in_force(audit);
    let entries = audit.iter().zip(force).rev();
    entries.fold(
        Table::new("Every change", &columns),
        |table, (entry, holds)| {
            let what = match &entry.change {
                Change::Learned { .. } | Change::Reset => entry.change.name().to_owned(),
                Change::Imported { lessons } => format!("imported {}", projects(lessons.len())),
                Change::Undone { entry } => format!("took back {entry}"),
            };
            let (what, tone) = if holds {
                (what, Tone::Plain)
            } else {
                (format!("{what} (taken back)"), Tone::Quiet)
            };
            let moved: Vec<String> = entry.moves.iter().map(moved).collect();
            table.row(vec![
                Cell::new(entry.number.to_string()),
                Cell::new(day_of(entry.at).to_string()),
                Cell::new(entry.domain.name()),
                Cell::new(what).toned(tone),
                Cell::new(entry.why.clone()),
                Cell::new(moved.join("; ")),
            ])
        },
    )
}

/// `PRECEDENT 0.70 → 0.72 (from 1)`
fn moved(it: &Move) -> String {
    let write = |value: Option<f64>| {
        value.map_or_else(
            || "–".to_owned(),
            |value| match it.topic {
                Topic::Skill => short(value),
                Topic::Weight | Topic::Agent | Topic::Question | Topic::Round => {
                    format!("{value:.2}")
                }
            },
        )
    };
    format!(
        "{} {} → {} (from {})",
        it.name,
        write(it.old),
        write(it.new),
        it.from
    )
}
