//! What `roundtable bench` measures (B-01), as data and for people. The statistics are in `roundtable_core::bench`.

pub(crate) mod blind;
pub(crate) mod comparison;
pub(crate) mod forecast_bench;
pub(crate) mod judge;
pub(crate) mod plan;
pub(crate) mod questions;
pub(crate) mod recorded_answers;
mod report;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod stored;
mod table;

use roundtable_core::bench::{
    AgreementRow, Arm, ArmFigures, Comparison, Decision, Independence, Measure, Movements,
    Question, Record, RoundMoves, SeatFigures, Ties, agreement, compare, conclusion, figures,
    movements, moves,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

use comparison::Outcomes;
pub(crate) use report::report;
use results::RunInfo;
pub(crate) use table::{comparison_csv, csv};

/// The version of [`BenchReport`].
const VERSION: u32 = 1;

/// Everything that a bench found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BenchReport {
    pub version: u32,
    /// The version of this program.
    pub program: String,
    pub source: Source,
    pub measure: Measure,
    pub ties: Ties,
    /// The arm that the others are compared with.
    pub baseline: String,
    /// The conclusion in one sentence.
    pub conclusion: String,
    /// Whether any comparison is decided.
    pub is_decided: bool,
    pub arms: Vec<ArmFigures>,
    pub comparisons: Vec<Comparison>,
    /// The effect of each round.
    pub rounds: Vec<RoundMoves>,
    /// The worth of movement: λ, the efficiency of movement.
    pub movements: Vec<DebateMovements>,
    /// Agreement of the first round against accuracy.
    pub agreement: Vec<AgreementRow>,
    /// The share of questions that at least one seat answered rightly.
    pub any_right: Option<f64>,
    pub independence: Option<Independence>,
    pub seats: Vec<SeatFigures>,
    /// Notes for readers of the figures.
    pub notes: Vec<String>,
    /// How the debates were run; absent for recorded answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunInfo>,
    /// By question, for `bench compare`.
    pub outcomes: Outcomes,
}

/// The worth of movement in a round, of a debate that was run or of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DebateMovements {
    /// Absent for recorded answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debate: Option<String>,
    #[serde(flatten)]
    pub movement: Movements,
}

impl DebateMovements {
    fn new(debate: Option<&str>, movement: Movements) -> Self {
        Self {
            debate: debate.map(str::to_owned),
            movement,
        }
    }
}

/// The answers that a report is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Source {
    pub file: String,
    /// Of the file's content.
    pub sha256: String,
    pub questions: usize,
    pub clusters: usize,
    pub seats: usize,
    pub rounds: usize,
}

/// The arms of a bench with everything that its comparison needs.
pub(crate) struct Evaluation<'a> {
    pub questions: &'a [Question],
    pub arms: &'a [Arm],
    pub measure: Measure,
    pub baseline: &'a str,
}

impl Evaluation<'_> {
    /// Figures, comparisons and the conclusion.
    pub(crate) fn run(&self) -> (Vec<ArmFigures>, Vec<Comparison>, String) {
        let arms = figures(self.questions, self.arms, self.measure);
        let comparisons = compare(self.questions, self.arms, self.baseline, self.measure);
        let than = format!("than {}", self.baseline);
        let text = conclusion(&comparisons, &than, self.measure);
        (arms, comparisons, text)
    }
}

/// The baseline that was asked for, or the first arm.
pub(crate) fn baseline<'a>(arms: &'a [Arm], wanted: Option<&'a str>) -> Result<&'a str, Failure> {
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let found = match wanted {
        None => names.first().copied(),
        Some(name) => names.iter().copied().find(|own| *own == name),
    };
    found.ok_or_else(|| {
        Failure::usage(format!(
            "invalid --baseline '{}': the arms are {}",
            wanted.unwrap_or_default(),
            names.join(", ")
        ))
    })
}

impl BenchReport {
    /// The tables of recorded answers.
    pub(crate) fn of_record(
        record: &Record,
        (file, sha256): (&str, String),
        ties: Ties,
        wanted: Option<&str>,
    ) -> Result<Self, Failure> {
        let measure = if record.is_forecast() {
            Measure::Brier
        } else {
            Measure::Accuracy
        };
        let arms = record.arms(ties);
        let baseline = baseline(&arms, wanted)?;
        let (rows, comparisons, conclusion) = Evaluation {
            questions: &record.questions,
            arms: &arms,
            measure,
            baseline,
        }
        .run();
        let clusters = record
            .clusters()
            .into_iter()
            .max()
            .map_or(0, |last| last + 1);
        Ok(Self {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            source: Source {
                file: file.to_owned(),
                sha256,
                questions: record.questions.len(),
                clusters,
                seats: record.seats.len(),
                rounds: record.rounds,
            },
            measure,
            ties,
            baseline: baseline.to_owned(),
            is_decided: comparisons
                .iter()
                .any(|one| one.decision != Decision::NotDecided),
            conclusion,
            arms: rows,
            comparisons,
            rounds: moves(record),
            movements: movements(record)
                .into_iter()
                .map(|own| DebateMovements::new(None, own))
                .collect(),
            agreement: agreement(record),
            any_right: (!record.is_forecast())
                .then(|| record.any_right())
                .flatten(),
            independence: record.independence(),
            seats: record.seat_figures(),
            notes: notes(record, ties),
            run: None,
            outcomes: Outcomes::new(&record.questions, &arms),
        })
    }
}

/// Limits of tables of recorded answers.
fn notes(record: &Record, ties: Ties) -> Vec<String> {
    let mut notes = Vec::new();
    if record.is_forecast() {
        notes.push("Lower Brier scores are better. The mean is the plain mean of the seats' probabilities; `roundtable pool` learns weights.".to_owned());
    } else {
        notes.push(match ties {
            Ties::Shared => "Tied answers share the credit, as if one of them were drawn.".into(),
            Ties::First => "Of tied answers that of the first seat counts.".into(),
        });
        notes.push("The weighted vote weights each seat by the log-odds of its accuracy; weights and the best seat are chosen on other questions (10 parts).".to_owned());
    }
    if record.seats.len() >= 2 {
        notes.push("Seats answered as recorded: which of them were chosen for the record, and how they were prompted, is not known here.".to_owned());
    }
    notes
}

/// The JSON schema of a report.
pub(crate) fn schema() -> Value {
    schemars::schema_for!(BenchReport).to_value()
}

/// The JSON schema of a comparison of two benches.
pub(crate) fn comparison_schema() -> Value {
    schemars::schema_for!(comparison::BenchComparison).to_value()
}
