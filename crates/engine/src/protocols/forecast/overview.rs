//! A forecast in a few numbers, for tables of many forecasts and for the history of a question.

use schemars::JsonSchema;
use serde::Serialize;

use super::contract::{Outcome, OutcomeProbability};
use super::resolution::{Resolution, Scored, resolution_of, scored};
use super::result::{ForecastSnapshot, stamp};
use super::scale::QuantileValue;
use crate::event::{Entry, Millis, State};
use crate::journal::current;
use crate::report::{Block, Cell, Chart, Line, Report, Scale, Section, Table, Unit};

/// The probabilities are in the order of the outcomes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Overview {
    pub outcomes: Vec<Outcome>,
    pub state: State,
    /// When the first step finished.
    pub made_at: Option<String>,
    /// Empty before the first argument.
    pub debate: Vec<f64>,
    pub accuracy_pool: Option<Vec<f64>>,
    pub blind_first_round: Option<Vec<f64>>,
    pub crowd: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantiles: Vec<QuantileValue>,
    pub resolution: Option<Resolution>,
    pub scores: Option<Scored>,
}

impl Overview {
    /// `None` for debates of other protocols.
    pub fn of(id: &str, entries: &[Entry], now: Millis) -> Option<Self> {
        let scores = scored(id, entries, now);
        let resolution = resolution_of(entries);
        let entries = &*current(entries);
        let snapshot = ForecastSnapshot::of(entries)?;
        let ForecastSnapshot {
            rules,
            verdict,
            state,
            ..
        } = snapshot;
        let values = |given: &Vec<OutcomeProbability>| {
            let shares = given.iter().map(|outcome| outcome.probability.value());
            shares.collect::<Vec<_>>()
        };
        let extras = &verdict.roundtable;
        let made_at = entries
            .iter()
            .find(|entry| entry.event.finished().is_some());
        let forecast = verdict.probability_distribution.iter();
        Some(Self {
            outcomes: rules.request.prediction_context.outcomes.clone(),
            state,
            made_at: made_at.map(|entry| stamp(entry.at)),
            debate: forecast.map(|outcome| outcome.probability).collect(),
            accuracy_pool: extras
                .accuracy_pool
                .as_ref()
                .map(|pool| values(&pool.probabilities)),
            blind_first_round: extras
                .worth
                .as_ref()
                .map(|worth| values(&worth.blind.probabilities)),
            crowd: rules.crowd.as_ref().map(|crowd| crowd.values().to_vec()),
            quantiles: extras.quantiles.clone(),
            resolution,
            scores,
        })
    }

    /// The outcome that a table shows: the first of two, otherwise the likeliest.
    pub fn shown(&self) -> usize {
        if self.debate.len() == 2 {
            return 0;
        }
        let shares = self.debate.iter().enumerate();
        shares
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map_or(0, |(index, _)| index)
    }
}

/// Outcomes that a chart shows.
const MAX_LINES: usize = 6;

/// The forecasts of one question over time, oldest first, with their ids.
pub fn history_report(question: &str, forecasts: &[(String, Overview)]) -> Report {
    let Some((_, newest)) = forecasts.last() else {
        return Report::default();
    };
    let days = forecasts.iter().map(|(_, own)| {
        let day = own.made_at.as_deref().and_then(|stamp| stamp.get(..10));
        day.unwrap_or("–").to_owned()
    });
    let days: Vec<String> = days.collect();
    let mut order: Vec<usize> = (0..newest.outcomes.len()).collect();
    order.sort_by(|a, b| {
        newest
            .debate
            .get(*b)
            .unwrap_or(&0.0)
            .total_cmp(newest.debate.get(*a).unwrap_or(&0.0))
    });
    if newest.outcomes.len() == 2 {
        order = vec![0];
    }
    order.truncate(MAX_LINES);
    let line = |label: String, values: &dyn Fn(&Overview) -> Option<f64>| Line {
        label,
        role: None,
        values: forecasts.iter().map(|(_, own)| values(own)).collect(),
    };
    let mut lines: Vec<Line> = order
        .iter()
        .map(|&index| {
            let label = newest.outcomes[index].label.clone();
            line(label, &|own| own.debate.get(index).copied())
        })
        .collect();
    if let Some(&first) = order.first()
        && forecasts.iter().any(|(_, own)| own.crowd.is_some())
    {
        let label = format!("crowd: {}", newest.outcomes[first].label);
        lines.push(line(label, &|own| own.crowd.as_ref()?.get(first).copied()));
    }
    let shown = order.first().copied().unwrap_or(0);
    let rows = forecasts.iter().zip(&days).map(|((id, own), day)| {
        let of = |values: Option<&Vec<f64>>| {
            Unit::Percent.cell(values.and_then(|own| own.get(shown).copied()))
        };
        vec![
            Cell::new(day.clone()),
            of(Some(&own.debate)),
            of(own.accuracy_pool.as_ref()),
            of(own.crowd.as_ref()),
            Cell::new(
                own.scores
                    .as_ref()
                    .map_or_else(|| "–".to_owned(), |own| format!("{:.3}", own.debate.brier)),
            ),
            Cell::new(id.clone()),
        ]
    });
    let caption = format!(
        "Probability of '{}'. Brier is half the sum of the squared errors over all outcomes; lower is better",
        newest
            .outcomes
            .get(shown)
            .map_or("", |outcome| &outcome.label)
    );
    let columns = [
        "forecast on",
        "#debate",
        "#accuracy pool",
        "#crowd",
        "#Brier",
        "id",
    ];
    let table = Table::of(&caption, &columns, rows);
    let chart = Chart::Lines {
        title: question.to_owned(),
        scale: Scale::PERCENT,
        rounds: days.clone(),
        lines,
        thresholds: Vec::new(),
    };
    Report {
        sections: vec![Section::main(
            "Forecasts of the question",
            vec![Block::Chart(chart), Block::Table(table)],
        )],
        ..Report::default()
    }
}
