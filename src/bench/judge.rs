//! The grading of open answers by a judge (B-01): blind to the arm, in both orders, and compared with grades of a person.
//!
//! The same answer to a question is graded once, whichever arms gave it.

use std::collections::BTreeSet;

use roundtable_core::bench::{Agreement, Key};
use roundtable_core::hex;
use roundtable_core::spread::{mean, real};
use roundtable_engine::protocols::grade;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan::Unit;
use super::questions::BenchQuestion;
use super::recorded_answers::Sheet;
use super::run::{Journals, Run};
use crate::failure::Failure;

/// An answer that a person has graded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HandGraded {
    /// The place of its question.
    pub place: usize,
    pub answer: String,
    /// From 0 to 1.
    pub grade: f64,
}

/// The judge of a bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct JudgeInfo {
    /// `provider:model`
    pub model: String,
    pub family: String,
    /// Answers that it has graded in both orders.
    pub answers: usize,
    /// The share of them with the same verdict in both orders.
    pub consistent: Option<f64>,
    /// Its agreement with the grades of a person.
    pub agreement: Option<Agreement>,
}

/// Answers to be graded, by the places of their questions.
pub(crate) type Answers = BTreeSet<(usize, String)>;

/// Both gradings of every answer.
pub(crate) fn runs<'a>(answers: &'a Answers, judge: &'a str) -> Vec<Run<'a>> {
    let orders = |(place, answer): &'a (usize, String)| {
        [false, true].map(|answer_first| Run::new(*place, unit(answer, judge, answer_first)))
    };
    answers.iter().flat_map(orders).collect()
}

fn unit<'a>(answer: &'a str, judge: &'a str, answer_first: bool) -> Unit<'a> {
    Unit::Grade {
        answer,
        judge,
        answer_first,
    }
}

/// Identifies a grading within its question.
pub(super) fn key(answer: &str, judge: &str, answer_first: bool) -> String {
    let order = if answer_first {
        "answer-first"
    } else {
        "rubric-first"
    };
    let hash = hex::encode(Sha256::digest(format!("{judge}\n{answer}")));
    format!("grade:{order}:{}", hash.get(..32).unwrap_or(&hash))
}

/// The input of a grading.
pub(super) fn input(question: &BenchQuestion, answer: &str, answer_first: bool) -> grade::Input {
    let (rubric, reference) = match &question.key {
        Key::Rubric { rubric, reference } => (rubric.clone(), reference.clone()),
        Key::Choice { .. } | Key::Number { .. } | Key::Text(_) | Key::Probability { .. } => {
            (String::new(), None)
        }
    };
    grade::Input {
        answer: answer.to_owned(),
        rubric,
        reference,
        answer_first,
    }
}

/// The credits in both orders; `None` until both gradings have ended.
fn credits(journals: &Journals, place: usize, answer: &str, judge: &str) -> Option<[f64; 2]> {
    let credit = |answer_first| {
        let entries = journals.get(&(place, key(answer, judge, answer_first)))?;
        grade::mark(entries).map(grade::Mark::credit)
    };
    Some([credit(false)?, credit(true)?])
}

/// The mean of both gradings.
pub(super) fn credit(journals: &Journals, place: usize, answer: &str, judge: &str) -> Option<f64> {
    mean(&credits(journals, place, answer, judge)?)
}

impl JudgeInfo {
    pub(crate) fn new(
        (model, family): (&str, &str),
        answers: &Answers,
        graded: &[HandGraded],
        journals: &Journals,
    ) -> Self {
        let both: Vec<[f64; 2]> = answers
            .iter()
            .filter_map(|(place, answer)| credits(journals, *place, answer, model))
            .collect();
        let same = both
            .iter()
            .filter(|[one, two]| (one - two).abs() < 1e-9)
            .count();
        let pairs: Vec<(f64, f64)> = graded
            .iter()
            .filter_map(|one| Some((credit(journals, one.place, &one.answer, model)?, one.grade)))
            .collect();
        Self {
            model: model.to_owned(),
            family: family.to_owned(),
            answers: both.len(),
            consistent: (!both.is_empty()).then(|| real(same) / real(both.len())),
            agreement: Agreement::of(&pairs),
        }
    }
}

/// Parses a table of graded answers: `question`, `answer` and `grade`. Answers to questions outside of this bench are left out.
pub(crate) fn parse(text: &str, questions: &[BenchQuestion]) -> Result<Vec<HandGraded>, Failure> {
    let sheet = Sheet::parse(text)?;
    let columns = ["question", "answer", "grade"].map(|name| sheet.column(name));
    let [Some(question), Some(answer), Some(grade)] = columns else {
        return Err(Failure::usage(format!(
            "graded answers need the columns question (its id), answer and grade (from 0 to 1); the file has: {}",
            sheet.header.join(", ")
        )));
    };
    let mut faults = Vec::new();
    let mut found = Vec::new();
    for (number, row) in (2..).zip(&sheet.rows) {
        let cell = |column: usize| row.get(column).unwrap_or_default().trim();
        let value = cell(grade).parse::<f64>().ok();
        let value = value.filter(|value| (0.0..=1.0).contains(value));
        match value {
            None => faults.push(format!(
                "row {number}: the grade '{}' is not a number from 0 to 1",
                cell(grade)
            )),
            Some(_) if cell(answer).is_empty() => {
                faults.push(format!("row {number}: it has no answer"));
            }
            Some(grade) => {
                let mut ids = questions.iter().map(|one| one.question.id.as_str());
                found.extend(
                    ids.position(|id| id == cell(question))
                        .map(|place| HandGraded {
                            place,
                            answer: cell(answer).to_owned(),
                            grade,
                        }),
                );
            }
        }
    }
    if faults.is_empty() && found.is_empty() {
        faults.push("no graded answer belongs to a question of this bench".to_owned());
    }
    if faults.is_empty() {
        Ok(found)
    } else {
        Err(Failure::usage(faults.join("\n")))
    }
}
