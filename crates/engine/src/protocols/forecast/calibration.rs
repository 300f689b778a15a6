//! Calibration of all resolved forecasts: scores, baselines and the reliability diagram.

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::distinct::distinct;
use roundtable_core::forecast::{Bin, Observation, Standing, reliability, standings};
use roundtable_core::format::percent;
use roundtable_core::spread::mean;
use schemars::JsonSchema;
use serde::Serialize;

use super::resolution::{Score, Scored, observations};
use crate::event::Millis;
use crate::report::{Block, Cell, Chart, Dot, DotRow, Fact, Report, Scale, Section, Table, Tone};

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
        let record = |source: &str, score: &dyn Fn(&Scored) -> Option<Score>| {
            let scores = debates.iter().filter_map(score);
            let (brier, log): (Vec<f64>, Vec<f64>) = scores.map(|s| (s.brier, s.log)).unzip();
            Some(Record {
                source: source.to_owned(),
                questions: brier.len(),
                brier: mean(&brier)?,
                log: mean(&log)?,
            })
        };
        let fixed = [
            record("debate", &|scored| Some(scored.debate)),
            record("blind first round", &|scored| scored.blind_first_round),
            record("accuracy pool", &|scored| scored.accuracy_pool),
            record("uniform", &|scored| Some(scored.uniform)),
            record("simulation", &|scored| scored.simulation),
        ];
        let roles = debates
            .iter()
            .flat_map(|debate| debate.roles.keys().cloned());
        let roles = distinct(roles);
        let by_role = roles
            .iter()
            .map(|role| record(role, &|scored| scored.roles.get(role).copied()));
        let records = fixed.into_iter().chain(by_role).flatten().collect();
        let forecasts: Vec<_> = debates
            .iter()
            .flat_map(|debate| &debate.forecasts)
            .filter_map(|(value, happened)| {
                Some((Probability::new(value.min(1.0)).ok()?, *happened))
            })
            .collect();
        Self {
            questions: debates.len(),
            records,
            reliability: reliability(&forecasts, BINS),
            standings: earned(&debates, &roles, now),
            debates,
        }
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
        let note = Block::note(
            "No forecast has been scored yet. Record an outcome with `roundtable resolve ID OUTCOME`; the forecast is \
             scored after its resolution date.",
            Tone::Quiet,
        );
        return Report {
            sections: vec![Section::main("Calibration", vec![note])],
            ..Report::default()
        };
    }
    let mut facts = vec![Fact::new("Questions", calibration.questions.to_string())];
    if let Some(debate) = calibration.records.first() {
        facts.push(Fact::new("Brier score", format!("{:.3}", debate.brier)));
        facts.push(Fact::new("Log score", format!("{:.3}", debate.log)));
    }
    let rows = calibration.records.iter().map(|record| {
        vec![
            Cell::new(record.source.clone()),
            Cell::new(record.questions.to_string()),
            Cell::new(format!("{:.3}", record.brier)),
            Cell::new(format!("{:.3}", record.log)),
        ]
    });
    let columns = ["", "#questions", "#Brier", "#log"];
    let scores = Table::of("Scores, lower is better", &columns, rows);
    let note = Block::note(
        "The mean forecast and the share of outcomes that happened, by probability. In a well calibrated \
         forecast they are equal.",
        Tone::Quiet,
    );
    let diagram = Block::Chart(diagram(&calibration.reliability));
    Report {
        verdict: None,
        answer: None,
        facts,
        sections: vec![
            Section::main("Scores", vec![Block::Table(scores)]),
            Section::main("Reliability", vec![note, diagram]),
            Section::side("Role weights", vec![Block::Table(weights(calibration))]),
        ],
    }
}

fn diagram(bins: &[Bin]) -> Chart {
    let rows = bins.iter().map(|bin| {
        let range = |from: f64, to: f64| format!("{:.0}–{:.0}%", from * 100.0, to * 100.0);
        let interval = bin.interval.map_or_else(String::new, |interval| {
            format!(", {}", range(interval.low, interval.high))
        });
        let dot = bin.mean_forecast.map(|value| Dot {
            role: "forecast".into(),
            value,
        });
        DotRow {
            label: range(bin.from, bin.to),
            line: bin.observed,
            dots: dot.into_iter().collect(),
            remark: Some(Cell::new(format!("n={}{interval}", bin.count)).toned(Tone::Quiet)),
        }
    });
    Chart::Dots {
        title: "Forecast and observed frequency".into(),
        scale: Scale::PERCENT,
        rows: rows.collect(),
    }
}

fn weights(calibration: &Calibration) -> Table {
    let columns = ["domain", "role", "#weight", "#questions"];
    let rows = calibration
        .standings
        .iter()
        .flat_map(|(domain, standings)| {
            standings.iter().map(move |standing| {
                let questions = if domain == ALL_DOMAINS {
                    standing.questions.max(standing.questions_in_domain)
                } else {
                    standing.questions_in_domain
                };
                vec![
                    Cell::new(domain.clone()),
                    Cell::new(standing.role.clone()),
                    Cell::new(percent(standing.weight)),
                    Cell::new(questions.to_string()),
                ]
            })
        });
    Table::of("Weight in the accuracy pool", &columns, rows)
}
