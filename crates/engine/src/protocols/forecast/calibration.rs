//! Calibration of all resolved forecasts: scores against baselines, what the scores are made of, groups of questions, and what
//! deliberation was worth.

mod base_rate;
mod groups;
mod report;

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::distinct::distinct;
use roundtable_core::forecast::{
    Bin, Decomposition, Distribution, Question, Seat, decompose, learned, reliability,
};
use roundtable_core::spread::mean;
use roundtable_core::statistics::{Interval, bootstrap, bootstrap_ratio};
use roundtable_core::value::{self, Movement};
use schemars::JsonSchema;
use serde::Serialize;

use super::extras::RoleWeight;
use super::resolution::{Score, Scored};
use crate::event::Millis;
use base_rate::base_rates;
use groups::groups;
pub use groups::{GroupRecord, Grouping};
pub use report::calibration_report;

const BINS: usize = 10;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calibration {
    pub questions: usize,
    /// The debate first, then the blind first round, the pool, the baselines and the roles.
    pub records: Vec<Record>,
    /// Reliability, resolution and uncertainty of the debates' Brier score. `None` without forecasts.
    pub decomposition: Option<Decomposition>,
    /// `None` without resolved debates of more than a blind round.
    pub deliberation: Option<Deliberation>,
    /// By domain, horizon, role and model family.
    pub groups: Vec<GroupRecord>,
    pub reliability: Vec<Bin>,
    /// Each seat's weight in the pool that learns, over all domains and by domain.
    pub standings: BTreeMap<String, Vec<RoleWeight>>,
    pub debates: Vec<Scored>,
}

/// The mean scores of one source of forecasts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Record {
    pub source: String,
    pub questions: usize,
    /// Half the sum of the squared errors over all outcomes.
    pub brier: f64,
    pub log: f64,
    /// The debate's Brier score minus this one's, on the same questions; negative if the debate is better. `None` for the debate.
    pub difference: Option<f64>,
    /// Of the difference, by bootstrap over questions; 95%.
    pub interval: Option<Interval>,
    /// 1 − the debate's Brier score divided by this one's, on the same questions; 0 is no better, 1 is perfect. `None` for the debate.
    pub skill: Option<f64>,
    /// Of the questions about a number or date whose value was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crps: Option<MeanCrps>,
}

/// The mean continuous ranked probability score as a share of the range of each question, so that units do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MeanCrps {
    pub questions: usize,
    /// From 0, certain of the value, to 1, certain of the other end of the range.
    pub mean: f64,
    /// 1 − the debate's mean divided by this one, on the same questions. `None` for the debate.
    pub skill: Option<f64>,
}

impl MeanCrps {
    fn of(debates: &[Scored], scores: &[Option<Score>], is_debate: bool) -> Option<Self> {
        let pairs = debates.iter().zip(scores).filter_map(|(debate, score)| {
            let width = debate.actual.as_ref()?.bins.width();
            Some(((*score)?.crps? / width, debate.debate.crps? / width))
        });
        let (these, own): (Vec<f64>, Vec<f64>) = pairs.unzip();
        let mean_of_these = mean(&these)?;
        let skill = mean(&own).filter(|_| !is_debate && mean_of_these > 0.0);
        Some(Self {
            questions: these.len(),
            mean: mean_of_these,
            skill: skill.map(|own| 1.0 - own / mean_of_these),
        })
    }
}

/// The gain of the debates over their blind first rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Deliberation {
    pub questions: usize,
    /// The root mean square of the movement of a probability.
    pub moved: f64,
    /// The mean improvement of the Brier score; negative if the debates made it worse.
    pub gain: f64,
    /// Of the gain, by bootstrap over questions; 95%.
    pub gain_interval: Option<Interval>,
    /// The gain per squared movement, shrunk towards 0 while little has resolved: 1 if all movement was information, 0 if it was
    /// worth nothing, −1 if it was noise.
    pub efficiency: f64,
    /// Of the efficiency without shrinking, by bootstrap over questions; 95%.
    pub efficiency_interval: Option<Interval>,
    /// The mean cost of everything after the blind first round, in US dollars, over the questions where it is known.
    pub cost: Option<f64>,
    pub was_worth_it: WasWorthIt,
}

/// Whether the interval of the gain excludes 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WasWorthIt {
    Better,
    Worse,
    Undecided,
}

impl Deliberation {
    fn of(debates: &[Scored]) -> Option<Self> {
        let movements = debates.iter().filter_map(|debate| debate.movement);
        let movements: Vec<Movement> = movements.collect();
        let gains: Vec<f64> = movements.iter().map(|movement| movement.gain).collect();
        let mut clusters: BTreeMap<&str, (Vec<f64>, (f64, f64))> = BTreeMap::new();
        for debate in debates {
            if let Some(movement) = debate.movement {
                let (gains, sums) = clusters.entry(&debate.question).or_default();
                gains.push(movement.gain);
                *sums = (sums.0 + movement.gain, sums.1 + movement.squared);
            }
        }
        let (gains_by_question, sums): (Vec<_>, Vec<_>) = clusters.into_values().unzip();
        let gain_interval = bootstrap(&gains_by_question).filter(|_| sums.len() > 1);
        let squares = movements.iter().map(|movement| movement.squared);
        let costs = debates.iter().filter(|debate| debate.movement.is_some());
        let costs: Vec<f64> = costs.filter_map(|debate| debate.extra_cost).collect();
        Some(Self {
            questions: movements.len(),
            moved: mean(&squares.collect::<Vec<_>>())?.sqrt(),
            gain: mean(&gains)?,
            gain_interval,
            efficiency: value::efficiency(&movements),
            efficiency_interval: bootstrap_ratio(&sums).filter(|_| sums.len() > 1),
            cost: mean(&costs),
            was_worth_it: match gain_interval {
                Some(interval) if interval.low > 0.0 => WasWorthIt::Better,
                Some(interval) if interval.high < 0.0 => WasWorthIt::Worse,
                _ => WasWorthIt::Undecided,
            },
        })
    }
}

/// The debates against another source, on the questions that both have forecast.
#[derive(Default)]
struct Compared {
    difference: Option<f64>,
    interval: Option<Interval>,
    skill: Option<f64>,
}

fn compared(debates: &[Scored], scores: &[Option<Score>]) -> Compared {
    let mut clusters: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let (mut own, mut others) = (0.0, 0.0);
    for (debate, other) in debates.iter().zip(scores) {
        if let Some(other) = other {
            let cluster = clusters.entry(&debate.question).or_default();
            cluster.push(debate.debate.brier - other.brier);
            own += debate.debate.brier;
            others += other.brier;
        }
    }
    let clusters: Vec<Vec<f64>> = clusters.into_values().collect();
    let all: Vec<f64> = clusters.iter().flatten().copied().collect();
    Compared {
        difference: mean(&all),
        interval: bootstrap(&clusters),
        skill: (others > 0.0).then(|| 1.0 - own / others),
    }
}

const ALL_DOMAINS: &str = "all domains";

impl Calibration {
    pub fn of(debates: Vec<Scored>, now: Millis) -> Self {
        let questions: Vec<(Distribution, usize)> = debates
            .iter()
            .map(|debate| (debate.forecast.clone(), debate.happened))
            .collect();
        let forecasts: Vec<_> = debates
            .iter()
            .flat_map(|debate| &debate.forecasts)
            .filter_map(|(value, happened)| {
                Some((Probability::new(value.min(1.0)).ok()?, *happened))
            })
            .collect();
        Self {
            questions: debates.len(),
            records: records(&debates),
            decomposition: decompose(&questions, BINS),
            deliberation: Deliberation::of(&debates),
            groups: groups(&debates),
            reliability: reliability(&forecasts, BINS),
            standings: earned(&debates, now),
            debates,
        }
    }
}

fn records(debates: &[Scored]) -> Vec<Record> {
    let record = |source: &str, scores: &[Option<Score>]| {
        let known = scores.iter().flatten();
        let (brier, log): (Vec<f64>, Vec<f64>) = known.map(|own| (own.brier, own.log)).unzip();
        let is_debate = source == DEBATE;
        let compared = if is_debate {
            Compared::default()
        } else {
            compared(debates, scores)
        };
        Some(Record {
            source: source.to_owned(),
            questions: brier.len(),
            brier: mean(&brier)?,
            log: mean(&log)?,
            difference: compared.difference,
            interval: compared.interval,
            skill: compared.skill,
            crps: MeanCrps::of(debates, scores, is_debate),
        })
    };
    let of = |source: &str, score: &dyn Fn(&Scored) -> Option<Score>| {
        record(source, &debates.iter().map(score).collect::<Vec<_>>())
    };
    let fixed = [
        of(DEBATE, &|scored| Some(scored.debate)),
        of("blind first round", &|scored| scored.blind_first_round),
        of("accuracy pool", &|scored| scored.accuracy_pool),
        of("crowd", &|scored| scored.crowd),
        record("base rate", &base_rates(debates)),
        of("uniform", &|scored| Some(scored.uniform)),
        of("simulation", &|scored| scored.simulation),
    ];
    let roles = debates
        .iter()
        .flat_map(|debate| debate.roles.keys().cloned());
    let roles = distinct(roles);
    let by_role = roles
        .iter()
        .map(|role| of(role, &|scored| scored.roles.get(role).copied()));
    fixed.into_iter().chain(by_role).flatten().collect()
}

const DEBATE: &str = "debate";

fn earned(debates: &[Scored], now: Millis) -> BTreeMap<String, Vec<RoleWeight>> {
    let questions: Vec<Question> = debates.iter().filter_map(Scored::question).collect();
    // A resolution recorded now counts for the next debate.
    let after = i64::try_from(now).unwrap_or(i64::MAX).saturating_add(1);
    let pool = learned(&questions, after).unwrap_or_default();
    let weights = |domain: Option<&str>| -> Vec<RoleWeight> {
        let here = questions
            .iter()
            .filter(|question| domain.is_none() || question.domain.as_deref() == domain);
        let seats = here.flat_map(|question| question.forecasts.iter().map(|(seat, _)| seat));
        let mut seats: Vec<&Seat> = seats.collect();
        seats.sort_by_key(|seat| (&seat.agent, &seat.group));
        seats.dedup();
        let weights = pool.in_domain(domain).weights(seats.iter().copied());
        let roles = seats.into_iter().zip(weights);
        roles
            .map(|(seat, weight)| {
                let role = seat.group.as_deref().unwrap_or_default();
                RoleWeight::new(role, &seat.agent, weight)
            })
            .collect()
    };
    let mut earned = BTreeMap::new();
    if questions.is_empty() {
        return earned;
    }
    earned.insert(ALL_DOMAINS.to_owned(), weights(None));
    for domain in debates.iter().filter_map(|debate| debate.domain.as_deref()) {
        let here = || weights(Some(domain));
        earned.entry(domain.to_owned()).or_insert_with(here);
    }
    earned
}

#[cfg(test)]
#[path = "calibration/calibration_tests.rs"]
mod tests;
