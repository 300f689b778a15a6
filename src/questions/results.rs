//! What is known of each question of a set: its newest forecast next to the crowd, and the outcome.

use futures::{Stream, TryStreamExt};
use roundtable_core::format::percent;
use roundtable_core::spread::real;
use roundtable_engine::event::Millis;
use roundtable_engine::protocols::forecast::Overview;
use roundtable_engine::report::{Block, Cell, Fact, Section, Table, Unit};
use serde::Serialize;

use super::Question;
use super::run::questions;
use crate::failure::Failure;
use crate::format::counted;
use crate::store::Store;

/// A question with its newest forecast.
#[derive(Debug, Serialize)]
pub(crate) struct QuestionResult {
    #[serde(flatten)]
    pub question: Question,
    /// The number of its forecasts.
    pub forecasts: usize,
    pub debate_id: Option<String>,
    pub cost_usd: Option<f64>,
    /// The newest forecast.
    pub forecast: Option<Overview>,
}

/// The questions of a set in order, one page at a time: memory does not grow with the set.
pub(crate) fn results<'a>(
    store: &'a Store,
    set: &'a str,
    now: Millis,
) -> impl Stream<Item = Result<QuestionResult, Failure>> + 'a {
    questions(store, set).and_then(move |question| result(store, set, question, now))
}

pub(crate) async fn unknown_set(store: &Store, set: &str) -> Result<Failure, Failure> {
    let sets = store.question_sets().await?;
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let known = if names.is_empty() {
        "there are none yet: roundtable questions import FILE".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    Ok(Failure::usage(format!(
        "no set of questions is called '{set}'; {known}"
    )))
}

async fn result(
    store: &Store,
    set: &str,
    question: Question,
    now: Millis,
) -> Result<QuestionResult, Failure> {
    let mut forecasts = store.forecasts_of(set, &question.id).await?;
    forecasts.retain(|forecast| forecast.state.is_some());
    let newest = forecasts.last();
    let overview = match newest {
        Some(newest) => {
            let entries = store.entries(newest.debate).await?;
            Overview::of(&newest.debate.to_string(), &entries, now)
        }
        None => None,
    };
    let costs: Option<Vec<f64>> = forecasts
        .iter()
        .map(|forecast| forecast.cost.map(roundtable_core::usage::Money::dollars))
        .collect();
    Ok(QuestionResult {
        question,
        forecasts: forecasts.len(),
        debate_id: newest.map(|newest| newest.debate.to_string()),
        cost_usd: costs
            .filter(|costs| !costs.is_empty())
            .map(|costs| costs.iter().sum()),
        forecast: overview.filter(|own| !own.debate.is_empty()),
    })
}

const SCORES: &str = "Probability of the first of two outcomes, otherwise of the likeliest. Brier is half the sum of the squared errors over \
                      all outcomes; lower is better";

/// Rows of questions: our number next to the crowd's.
pub(crate) fn table(title: &str, rows: Vec<Vec<Cell>>) -> Section {
    let columns = [
        "question",
        "",
        "#debate",
        "#pool",
        "#crowd",
        "#difference",
        "outcome",
        "#Brier",
        "id",
    ];
    let table = Table::of(SCORES, &columns, rows);
    Section::main(title, vec![Block::Table(table)])
}

/// What is known of a whole set.
#[derive(Debug, Default)]
pub(crate) struct SetTotals {
    pub questions: usize,
    forecast: usize,
    cost: f64,
    brier: Sum,
    /// As shares of the ranges.
    crps: Sum,
}

#[derive(Debug, Default)]
struct Sum {
    count: usize,
    sum: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / real(self.count))
    }
}

impl SetTotals {
    pub(crate) fn add(&mut self, result: &QuestionResult) {
        self.questions += 1;
        self.cost += result.cost_usd.unwrap_or_default();
        let Some(forecast) = &result.forecast else {
            return;
        };
        self.forecast += 1;
        if let Some(scores) = &forecast.scores {
            self.brier.add(scores.debate.brier);
            let actual = scores.actual.as_ref().zip(scores.debate.crps);
            if let Some((actual, crps)) = actual {
                self.crps.add(crps / actual.bins.width());
            }
        }
    }

    pub(crate) fn facts(&self, set: &str) -> Vec<Fact> {
        let all = counted(self.questions, "question");
        let mut facts = vec![
            Fact::new("Set", set),
            Fact::new("Forecast", format!("{} of {all}", self.forecast)),
            Fact::new("Cost", format!("${:.4}", self.cost)),
        ];
        let over = |sum: &Sum| counted(sum.count, "question");
        facts.extend(self.brier.mean().map(|mean| {
            Fact::new(
                "Brier score",
                format!("{mean:.3} over {}", over(&self.brier)),
            )
        }));
        facts.extend(self.crps.mean().map(|mean| {
            let text = format!(
                "{:.1}% of the range over {}",
                mean * 100.0,
                over(&self.crps)
            );
            Fact::new("CRPS", text)
        }));
        facts
    }
}

pub(crate) fn row(result: &QuestionResult) -> Vec<Cell> {
    let text = crate::format::short(&result.question.text(), 60);
    let forecast = result.forecast.as_ref();
    let shown = forecast.map_or(0, Overview::shown);
    let labels = result.question.labels();
    let of = |values: Option<&Vec<f64>>| values.and_then(|values| values.get(shown).copied());
    let debate = of(forecast.map(|own| &own.debate));
    let crowd = match forecast {
        Some(own) => of(own.crowd.as_ref()),
        None => of(result.question.crowd.as_ref()),
    };
    let difference = debate.zip(crowd).map(|(debate, crowd)| debate - crowd);
    let outcome = forecast.and_then(|own| own.resolution.as_ref());
    let outcome = outcome.map(|own| own.outcome.clone()).unwrap_or_default();
    let brier = forecast.and_then(|own| own.scores.as_ref());
    let id = result.debate_id.as_deref().and_then(|id| id.get(..8));
    vec![
        Cell::new(text),
        Cell::new(labels.get(shown).cloned().unwrap_or_default()),
        Unit::Percent.cell(debate),
        Unit::Percent.cell(of(forecast.and_then(|own| own.accuracy_pool.as_ref()))),
        Unit::Percent.cell(crowd),
        Cell::new(difference.map_or_else(|| "–".to_owned(), signed_percent)),
        Cell::new(outcome),
        Cell::new(brier.map_or_else(|| "–".to_owned(), |own| format!("{:.3}", own.debate.brier))),
        Cell::new(id.unwrap_or_default().to_owned()),
    ]
}

/// In percentage points.
fn signed_percent(difference: f64) -> String {
    let sign = if difference < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(difference.abs()))
}
