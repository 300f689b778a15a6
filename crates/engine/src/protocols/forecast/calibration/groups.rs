//! Accuracy and calibration of groups: domains, horizons, roles and model families.

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::forecast::{Bin, Distribution, brier, decompose, reliability};
use roundtable_core::spread::{mean, real};
use roundtable_core::statistics::{Interval, bootstrap, wilson};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::resolution::Scored;
use super::super::rules::CROWD;
use super::BINS;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// What the forecasts of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grouping {
    Domain,
    /// The days from the forecast to its deadline.
    Horizon,
    Role,
    /// The family of the role's model.
    Family,
}

impl Grouping {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Horizon => "horizon",
            Self::Role => "role",
            Self::Family => "family",
        }
    }
}

/// The forecasts of a group: of the debates by domain and horizon, of the roles by role and family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupRecord {
    pub by: Grouping,
    pub name: String,
    pub questions: usize,
    pub forecasts: usize,
    /// Half the sum of the squared errors over all outcomes.
    pub brier: f64,
    /// By bootstrap over questions; 95%. `None` with one question.
    pub interval: Option<Interval>,
    /// The part of the Brier score that probabilities cost which differ from the frequencies that followed.
    pub reliability: f64,
    /// The mean probability of the likeliest outcome.
    pub said: f64,
    /// How often the likeliest outcome happened.
    pub right: f64,
    /// Of `right`; 95%.
    pub right_interval: Interval,
    pub bins: Vec<Bin>,
}

/// A forecast with its question and what happened.
type Member<'d> = (&'d str, &'d Distribution, usize);

pub(super) fn groups(debates: &[Scored]) -> Vec<GroupRecord> {
    let mut members: BTreeMap<(Grouping, usize, &str), Vec<Member<'_>>> = BTreeMap::new();
    for debate in debates {
        let question = debate.question.as_str();
        let own: Member<'_> = (question, &debate.forecast, debate.happened);
        if let Some(domain) = &debate.domain {
            let key = (Grouping::Domain, 0, domain.as_str());
            members.entry(key).or_default().push(own);
        }
        let (rank, horizon) = horizon(debate);
        let key = (Grouping::Horizon, rank, horizon);
        members.entry(key).or_default().push(own);
        for (seat, forecast) in &debate.panel {
            let Some(role) = seat.group.as_deref().filter(|role| *role != CROWD) else {
                continue;
            };
            let member = (question, forecast, debate.happened);
            let key = (Grouping::Role, 0, role);
            members.entry(key).or_default().push(member);
            if let Some(family) = debate.families.get(role) {
                let key = (Grouping::Family, 0, family.as_str());
                members.entry(key).or_default().push(member);
            }
        }
    }
    let groups = members.into_iter();
    groups
        .filter_map(|((by, _, name), members)| GroupRecord::of(by, name, &members))
        .collect()
}

fn horizon(debate: &Scored) -> (usize, &'static str) {
    if debate.due_at == 0 {
        return (9, "no deadline");
    }
    match debate.due_at.saturating_sub(debate.forecast_at) / DAY_MS {
        0..=7 => (0, "up to 7 days"),
        8..=30 => (1, "8 to 30 days"),
        31..=90 => (2, "31 to 90 days"),
        91..=365 => (3, "91 to 365 days"),
        _ => (4, "over a year"),
    }
}

impl GroupRecord {
    fn of(by: Grouping, name: &str, members: &[Member<'_>]) -> Option<Self> {
        let mut clusters: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let mut events = Vec::new();
        let mut right = 0;
        for (question, forecast, happened) in members {
            let cluster = clusters.entry(question).or_default();
            cluster.push(brier(forecast, *happened)?);
            right += usize::from(forecast.likeliest() == *happened);
            let outcomes = forecast.values().iter().enumerate();
            events.extend(outcomes.filter_map(|(index, value)| {
                let probability = Probability::new(value.min(1.0)).ok()?;
                Some((probability, index == *happened))
            }));
        }
        let pairs = members
            .iter()
            .map(|(_, own, happened)| ((*own).clone(), *happened));
        let parts = decompose(&pairs.collect::<Vec<_>>(), BINS)?;
        let clusters: Vec<Vec<f64>> = clusters.into_values().collect();
        Some(Self {
            by,
            name: name.to_owned(),
            questions: clusters.len(),
            forecasts: members.len(),
            brier: mean(&clusters.concat())?,
            interval: bootstrap(&clusters).filter(|_| clusters.len() > 1),
            reliability: parts.reliability,
            said: parts.mean_highest,
            right: real(right) / real(members.len()),
            right_interval: wilson(right, members.len()),
            bins: reliability(&events, BINS),
        })
    }
}
