//! Calibration of all resolved forecasts: scores, baselines and the reliability diagram.

use std::collections::BTreeMap;

use roundtable_core::bounded::Probability;
use roundtable_core::distinct::distinct;
use roundtable_core::forecast::{Bin, Question, Seat, learned, reliability};
use roundtable_core::format::percent;
use roundtable_core::spread::mean;
use roundtable_core::statistics::{Interval, bootstrap};
use roundtable_core::value::{self, Movement};
use schemars::JsonSchema;
use serde::Serialize;

use super::extras::RoleWeight;
use super::resolution::{Score, Scored};
use crate::event::Millis;
use crate::report::{Block, Cell, Chart, Dot, DotRow, Fact, Report, Scale, Section, Table, Tone};

const BINS: usize = 10;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Calibration {
    pub questions: usize,
    /// The debate first, then the blind first round, the pool, the baselines and the roles.
    pub records: Vec<Record>,
    /// `None` without resolved debates of more than a blind round.
    pub deliberation: Option<Deliberation>,
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
}

/// The gain of the debates over their blind first rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Deliberation {
    pub questions: usize,
    /// The mean improvement of the Brier score; negative if the debates made it worse.
    pub gain: f64,
    /// The gain per squared movement, shrunk towards 0 while little has resolved: 1 if all movement was information, 0 if it was
    /// worth nothing, −1 if it was noise.
    pub efficiency: f64,
}

impl Deliberation {
    fn of(debates: &[Scored]) -> Option<Self> {
        let movements = debates.iter().filter_map(|debate| debate.movement);
        let movements: Vec<Movement> = movements.collect();
        let gains: Vec<f64> = movements.iter().map(|movement| movement.gain).collect();
        Some(Self {
            questions: movements.len(),
            gain: mean(&gains)?,
            efficiency: value::efficiency(&movements),
        })
    }
}

/// The debates against another source, on the questions that both have forecast.
fn compared(
    debates: &[Scored],
    score: &dyn Fn(&Scored) -> Option<Score>,
) -> (Option<f64>, Option<Interval>) {
    let mut clusters: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for debate in debates {
        if let Some(other) = score(debate) {
            let cluster = clusters.entry(&debate.question).or_default();
            cluster.push(debate.debate.brier - other.brier);
        }
    }
    let clusters: Vec<Vec<f64>> = clusters.into_values().collect();
    let all: Vec<f64> = clusters.iter().flatten().copied().collect();
    (mean(&all), bootstrap(&clusters))
}

const ALL_DOMAINS: &str = "all domains";

impl Calibration {
    pub fn of(debates: Vec<Scored>, now: Millis) -> Self {
        let record = |source: &str, score: &dyn Fn(&Scored) -> Option<Score>| {
            let scores = debates.iter().filter_map(score);
            let (brier, log): (Vec<f64>, Vec<f64>) = scores.map(|s| (s.brier, s.log)).unzip();
            let (difference, interval) = compared(&debates, score);
            Some(Record {
                source: source.to_owned(),
                questions: brier.len(),
                brier: mean(&brier)?,
                log: mean(&log)?,
                difference,
                interval,
            })
        };
        let debate = record("debate", &|scored| Some(scored.debate)).map(|debate| Record {
            difference: None,
            interval: None,
            ..debate
        });
        let fixed = [
            debate,
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
            deliberation: Deliberation::of(&debates),
            reliability: reliability(&forecasts, BINS),
            standings: earned(&debates, now),
            debates,
        }
    }
}

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

const SCORES: &str = "Lower is better. Brier is half the sum of the squared errors over all outcomes; negative differences favour the debate";
const SCORE_COLUMNS: [&str; 6] = ["", "#questions", "#Brier", "#log", "#debate − this", "95%"];

fn cells(record: &Record) -> Vec<Cell> {
    let interval = record.interval.map_or_else(
        || "–".to_owned(),
        |interval| format!("{:+.3} … {:+.3}", interval.low, interval.high),
    );
    let tone = match record.interval {
        Some(interval) if interval.high < 0.0 => Tone::Good,
        Some(interval) if interval.low > 0.0 => Tone::Caution,
        _ => Tone::Plain,
    };
    let difference = record.difference;
    let difference = difference.map_or_else(|| "–".to_owned(), |own| format!("{own:+.3}"));
    vec![
        Cell::new(record.source.clone()),
        Cell::new(record.questions.to_string()),
        Cell::new(format!("{:.3}", record.brier)),
        Cell::new(format!("{:.3}", record.log)),
        Cell::new(difference).toned(tone),
        Cell::new(interval),
    ]
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
    if let Some(own) = calibration.deliberation {
        let text = format!(
            "{:+.3} Brier against the blind first round; each unit of movement was worth {:+.2} (1: all information, 0: nothing, −1: noise)",
            own.gain, own.efficiency
        );
        facts.push(Fact::new("Gain of deliberation", text));
    }
    let scores = Table::of(
        SCORES,
        &SCORE_COLUMNS,
        calibration.records.iter().map(cells),
    );
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
        ..Report::default()
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
    let columns = ["domain", "role", "model", "#skill", "#weight", "#questions"];
    let rows = calibration.standings.iter().flat_map(|(domain, seats)| {
        seats.iter().map(move |seat| {
            vec![
                Cell::new(domain.clone()),
                Cell::new(seat.role.clone()),
                Cell::new(seat.model.clone().unwrap_or_default()),
                Cell::new(format!("{:+.4}", seat.skill.unwrap_or_default())),
                Cell::new(percent(seat.weight)),
                Cell::new(seat.questions.to_string()),
            ]
        })
    });
    let caption = "Weight in the pool that learns. Skill is the Brier score relative to the panel; negative is better";
    Table::of(caption, &columns, rows)
}
