//! Calibration of all resolved forecasts: scores, baselines and the reliability diagram.

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::forecast::{Bin, Observation, Standing, reliability, standings};
use schemars::JsonSchema;
use serde::Serialize;

use super::resolution::{Score, Scored, observations};
use crate::event::Millis;
use crate::report::{
    Block, Cell, Chart, Dot, DotRow, Fact, Report, Scale, Section, Table, Tone, Unit,
};

const BINS: usize = 10;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calibration {
    pub questions: usize,
    /// The debate first, then the blind first round, the pool, the baselines and the roles.
    pub records: Vec<Record>,
    pub reliability: Vec<Bin>,
    /// Each role's weight, over all domains and by domain.
    pub standings: BTreeMap<String, Vec<Standing>>,
    pub debates: Vec<Scored>,
}

/// The mean scores of one source of forecasts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Record {
    pub source: String,
    pub questions: usize,
    pub brier: f64,
    pub log: f64,
}

const ALL_DOMAINS: &str = "all domains";

impl Calibration {
    pub fn of(debates: Vec<Scored>, now: Millis) -> Self {
        let mut sources: Vec<(String, Vec<Score>)> = Vec::new();
        let mut add = |name: &str, scores: Vec<Score>| {
            if !scores.is_empty() {
                sources.push((name.to_owned(), scores));
            }
        };
        add(
            "debate",
            debates.iter().map(|debate| debate.debate).collect(),
        );
        add(
            "blind first round",
            debates
                .iter()
                .filter_map(|debate| debate.blind_first_round)
                .collect(),
        );
        add(
            "accuracy pool",
            debates
                .iter()
                .filter_map(|debate| debate.accuracy_pool)
                .collect(),
        );
        add(
            "uniform",
            debates.iter().map(|debate| debate.uniform).collect(),
        );
        add(
            "simulation",
            debates
                .iter()
                .filter_map(|debate| debate.simulation)
                .collect(),
        );
        let roles = role_names(&debates);
        for role in &roles {
            add(
                role,
                debates
                    .iter()
                    .filter_map(|debate| debate.roles.get(role).copied())
                    .collect(),
            );
        }
        let forecasts: Vec<_> = debates
            .iter()
            .flat_map(|debate| &debate.forecasts)
            .filter_map(|(value, happened)| {
                Some((Probability::new(value.min(1.0)).ok()?, *happened))
            })
            .collect();
        Self {
            questions: debates.len(),
            records: sources
                .into_iter()
                .map(|(name, all)| record(name, &all))
                .collect(),
            reliability: reliability(&forecasts, BINS),
            standings: earned(&debates, &roles, now),
            debates,
        }
    }
}

fn role_names(debates: &[Scored]) -> Vec<String> {
    let mut roles: Vec<String> = Vec::new();
    for role in debates.iter().flat_map(|debate| debate.roles.keys()) {
        if !roles.contains(role) {
            roles.push(role.clone());
        }
    }
    roles
}

#[expect(
    clippy::cast_precision_loss,
    reason = "questions are counted in thousands"
)]
fn record(source: String, scores: &[Score]) -> Record {
    let count = scores.len() as f64;
    Record {
        source,
        questions: scores.len(),
        brier: scores.iter().map(|score| score.brier).sum::<f64>() / count,
        log: scores.iter().map(|score| score.log).sum::<f64>() / count,
    }
}

fn earned(debates: &[Scored], roles: &[String], now: Millis) -> BTreeMap<String, Vec<Standing>> {
    let all: Vec<Observation> = debates.iter().flat_map(observations).collect();
    let mut earned = BTreeMap::new();
    if roles.is_empty() {
        return earned;
    }
    // A resolution recorded now counts for the next debate.
    let after = now.saturating_add(1);
    earned.insert(ALL_DOMAINS.to_owned(), standings(roles, &all, None, after));
    for domain in debates.iter().filter_map(|debate| debate.domain.as_deref()) {
        let here = || standings(roles, &all, Some(domain), after);
        earned.entry(domain.to_owned()).or_insert_with(here);
    }
    earned
}

/// The calibration as a report.
pub fn calibration_report(calibration: &Calibration) -> Report {
    if calibration.questions == 0 {
        return Report {
            sections: vec![Section::main(
                "Calibration",
                vec![Block::Note {
                    text: "No forecast has been scored yet. Record an outcome with `roundtable resolve ID OUTCOME`; the \
                           forecast is scored after its resolution date."
                        .into(),
                    tone: Tone::Quiet,
                }],
            )],
            ..Report::default()
        };
    }
    let mut facts = vec![Fact::new("Questions", calibration.questions.to_string())];
    if let Some(debate) = calibration.records.first() {
        facts.push(Fact::new("Brier score", format!("{:.3}", debate.brier)));
        facts.push(Fact::new("Log score", format!("{:.3}", debate.log)));
    }
    let scores = calibration.records.iter().fold(
        Table::new(
            "Scores, lower is better",
            &["", "#questions", "#Brier", "#log"],
        ),
        |table, record| {
            table.row(vec![
                Cell::new(record.source.clone()),
                Cell::new(record.questions.to_string()),
                Cell::new(format!("{:.3}", record.brier)),
                Cell::new(format!("{:.3}", record.log)),
            ])
        },
    );
    Report {
        answer: None,
        facts,
        sections: vec![
            Section::main("Scores", vec![Block::Table(scores)]),
            Section::main(
                "Reliability",
                vec![
                    Block::Note {
                        text: "The mean forecast and the share of outcomes that happened, by probability. In a \
                               well calibrated forecast they are equal."
                            .into(),
                        tone: Tone::Quiet,
                    },
                    Block::Chart(diagram(&calibration.reliability)),
                ],
            ),
            Section::side("Role weights", vec![Block::Table(weights(calibration))]),
        ],
    }
}

fn diagram(bins: &[Bin]) -> Chart {
    let rows = bins.iter().map(|bin| {
        let interval = bin.interval.map_or_else(String::new, |interval| {
            format!(
                ", {:.0}–{:.0}%",
                interval.low * 100.0,
                interval.high * 100.0
            )
        });
        DotRow {
            label: format!("{:.0}–{:.0}%", bin.from * 100.0, bin.to * 100.0),
            line: bin.observed,
            dots: bin
                .mean_forecast
                .map(|value| Dot {
                    role: "forecast".into(),
                    value,
                })
                .into_iter()
                .collect(),
            remark: Some(Cell::new(format!("n={}{interval}", bin.count)).toned(Tone::Quiet)),
        }
    });
    Chart::Dots {
        title: "Forecast and observed frequency".into(),
        scale: Scale {
            from: 0.0,
            to: 1.0,
            unit: Unit::Percent,
        },
        rows: rows.collect(),
    }
}

fn weights(calibration: &Calibration) -> Table {
    let table = Table::new(
        "Weight in the accuracy pool",
        &["domain", "role", "#weight", "#questions"],
    );
    calibration
        .standings
        .iter()
        .fold(table, |table, (domain, standings)| {
            standings.iter().fold(table, |table, standing| {
                let questions = if domain == ALL_DOMAINS {
                    standing.questions.max(standing.questions_in_domain)
                } else {
                    standing.questions_in_domain
                };
                table.row(vec![
                    Cell::new(domain.clone()),
                    Cell::new(standing.role.clone()),
                    Cell::new(format!("{:.0}%", standing.weight * 100.0)),
                    Cell::new(questions.to_string()),
                ])
            })
        })
}
