//! Reads files of questions with answers: our own CSV or JSON lines, MMLU-Pro, GSM8K, MMLU and `TruthfulQA`.
//!
//! Everything that is wrong with a file is reported at once.

use std::collections::HashMap;
use std::fmt::Write;

use roundtable_core::bench::{Key, Question, TOLERANCE, letter, number};

use super::recorded_answers::Sheet;
use crate::failure::Failure;

/// The faults of a file that are listed.
const MAX_FAULTS: usize = 20;

/// A question as it is asked, and how its answers are graded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BenchQuestion {
    pub question: Question,
    /// With options and the form of the answer.
    pub text: String,
    pub key: Key,
    /// The probability that a market had, of a question of ForecastBench.
    pub price: Option<f64>,
}

/// The columns or fields of a question.
struct Layout {
    id: Option<usize>,
    question: usize,
    /// Open questions may have a rubric instead.
    answer: Option<usize>,
    options: Options,
    domain: Option<usize>,
    cluster: Option<usize>,
    tolerance: Option<usize>,
    rubric: Option<usize>,
}

enum Options {
    None,
    /// `["…", "…"]`, or `…|…`.
    Cell(usize),
    /// MMLU: the four cells after the question.
    Columns([usize; 4]),
    /// `TruthfulQA`: the right one is the answer.
    Pair(usize),
}

/// Parses a file of questions; its format is known from its columns.
pub(crate) fn parse(text: &str) -> Result<Vec<BenchQuestion>, Failure> {
    let mut sheet = Sheet::parse(text)?;
    let layout = layout_of(&mut sheet)?;
    let mut faults = Vec::new();
    let mut questions: Vec<BenchQuestion> = Vec::new();
    let mut rows: HashMap<String, usize> = HashMap::new();
    // The first row of each kind: without options, with options, with a rubric.
    let mut kinds: [Option<usize>; 3] = [None; 3];
    for (number, row) in (1..).zip(&sheet.rows) {
        match read(&layout, number, row) {
            Ok(question) => {
                let place = match question.key {
                    Key::Choice { .. } => 1,
                    Key::Rubric { .. } => 2,
                    Key::Number { .. } | Key::Text(_) | Key::Probability { .. } => 0,
                };
                kinds[place].get_or_insert(number);
                if let Some(first) = rows.insert(question.question.id.clone(), number) {
                    let id = &question.question.id;
                    faults.push(format!(
                        "question {number}: the id '{id}' is that of question {first}"
                    ));
                }
                questions.push(question);
            }
            Err(fault) => faults.push(format!("question {number}: {fault}")),
        }
    }
    faults.extend(mixed(kinds));
    if faults.is_empty() && questions.is_empty() {
        faults.push("the file has no questions".to_owned());
    }
    if faults.is_empty() {
        return Ok(questions);
    }
    let left = faults.len().saturating_sub(MAX_FAULTS);
    faults.truncate(MAX_FAULTS);
    if left > 0 {
        faults.push(format!("and {left} more"));
    }
    Err(Failure::usage(faults.join("\n")))
}

/// Arms answer one kind of question in one form.
fn mixed(kinds: [Option<usize>; 3]) -> Option<String> {
    let names = ["neither options nor a rubric", "options", "a rubric"];
    let found = kinds.iter().zip(names);
    let found: Vec<String> = found
        .filter_map(|(row, name)| Some(format!("question {} has {name}", (*row)?)))
        .collect();
    (found.len() > 1).then(|| {
        let found = found.join(", ");
        format!("mixed types: {found}; bench them in separate files")
    })
}

fn layout_of(sheet: &mut Sheet) -> Result<Layout, Failure> {
    let is_mmlu = sheet.header.len() == 6
        && sheet.column("question").is_none()
        && matches!(sheet.header[5].as_str(), "A" | "B" | "C" | "D");
    if is_mmlu {
        // There is no header: the first question was taken for it.
        let first = std::mem::take(&mut sheet.header);
        sheet.rows.insert(0, first.into_iter().collect());
        return Ok(Layout {
            id: None,
            question: 0,
            answer: Some(5),
            options: Options::Columns([1, 2, 3, 4]),
            domain: None,
            cluster: None,
            tolerance: None,
            rubric: None,
        });
    }
    let column = |names: &[&str]| names.iter().find_map(|name| sheet.column(name));
    let truthful = column(&["Best Answer"]).zip(column(&["Best Incorrect Answer"]));
    let (answer, options) = match truthful {
        Some((right, wrong)) => (Some(right), Options::Pair(wrong)),
        None => (
            column(&["answer"]),
            column(&["options"]).map_or(Options::None, Options::Cell),
        ),
    };
    let rubric = column(&["rubric"]);
    let Some(question) = column(&["question"]).filter(|_| answer.or(rubric).is_some()) else {
        return Err(Failure::usage(format!(
            "the file needs the columns question and answer; it has: {}. Optional: options, id, domain, cluster, tolerance, rubric",
            sheet.header.join(", ")
        )));
    };
    Ok(Layout {
        id: column(&["id", "question_id"]),
        question,
        answer,
        options,
        domain: column(&["domain", "category"]),
        cluster: column(&["cluster"]),
        tolerance: column(&["tolerance"]),
        rubric,
    })
}

fn read(layout: &Layout, number: usize, row: &csv::StringRecord) -> Result<BenchQuestion, String> {
    let cell = |column: usize| {
        let text = row.get(column).unwrap_or_default().trim();
        (!text.is_empty()).then_some(text)
    };
    let optional = |column: Option<usize>| column.and_then(cell).map(str::to_owned);
    let question = cell(layout.question).ok_or("it has no text")?;
    let id = optional(layout.id).unwrap_or_else(|| format!("q{number}"));
    let answer = layout.answer.and_then(cell);
    let key = match (optional(layout.rubric), answer) {
        (Some(rubric), reference) => Key::Rubric {
            rubric,
            reference: reference.map(str::to_owned),
        },
        (None, Some(answer)) => key_of(layout, &id, answer, &cell)?,
        (None, None) => return Err("it has no answer".into()),
    };
    Ok(BenchQuestion {
        text: asked(question, &key),
        question: Question {
            cluster: optional(layout.cluster).unwrap_or_else(|| id.clone()),
            domain: optional(layout.domain),
            id,
        },
        key,
        price: None,
    })
}

fn key_of<'a>(
    layout: &Layout,
    id: &str,
    answer: &str,
    cell: &impl Fn(usize) -> Option<&'a str>,
) -> Result<Key, String> {
    let options = match &layout.options {
        Options::None => Vec::new(),
        Options::Cell(column) => cell(*column).map_or_else(|| Ok(Vec::new()), listed)?,
        Options::Columns(columns) => columns
            .iter()
            .filter_map(|column| cell(*column))
            .map(str::to_owned)
            .collect(),
        Options::Pair(wrong) => {
            let wrong = cell(*wrong).ok_or("it has no incorrect answer")?;
            let mut pair = vec![answer.to_owned(), wrong.to_owned()];
            // Which comes first must not give the right one away, and is the same in every run.
            if id.bytes().map(u32::from).sum::<u32>() % 2 == 1 {
                pair.reverse();
            }
            pair
        }
    };
    if !options.is_empty() {
        return choice(answer, options);
    }
    let tolerance = match layout.tolerance.and_then(cell) {
        None => TOLERANCE,
        Some(text) => {
            let value = text.parse::<f64>().ok();
            value
                .filter(|value| value.is_finite() && *value >= 0.0)
                .ok_or_else(|| {
                    format!("the tolerance '{text}' is not a share of at least 0, such as 0.01")
                })?
        }
    };
    // GSM8K: the solution, then the answer.
    let answer = answer
        .rsplit_once("####")
        .map_or(answer, |(_, last)| last.trim());
    if let Some(right) = number(answer) {
        return Ok(Key::Number { right, tolerance });
    }
    if answer.starts_with('[') {
        let all = listed(answer)?;
        return Ok(Key::Text(all));
    }
    Ok(Key::Text(vec![answer.to_owned()]))
}

/// A JSON list, or texts separated by `|`.
fn listed(text: &str) -> Result<Vec<String>, String> {
    if text.starts_with('[') {
        let items: Vec<serde_json::Value> = serde_json::from_str(text)
            .map_err(|error| format!("the list '{text}' is not valid JSON: {error}"))?;
        return Ok(items
            .into_iter()
            .map(|item| match item {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            })
            .collect());
    }
    Ok(text.split('|').map(|part| part.trim().to_owned()).collect())
}

/// The answer is an option's words or its letter.
fn choice(answer: &str, options: Vec<String>) -> Result<Key, String> {
    if !(2..=26).contains(&options.len()) {
        return Err(format!(
            "it has {} options; 2 to 26 are possible",
            options.len()
        ));
    }
    let by_words = options.iter().position(|option| option == answer);
    let by_letter = || (0..options.len()).find(|place| letter(*place).eq_ignore_ascii_case(answer));
    match by_words.or_else(by_letter) {
        Some(right) => Ok(Key::Choice { right, options }),
        None => Err(format!("the answer '{answer}' is not among the options")),
    }
}

/// The question as all arms get it.
pub(super) fn asked(question: &str, key: &Key) -> String {
    let mut text = question.trim().to_owned();
    let form = match key {
        Key::Choice { options, .. } => {
            text.push('\n');
            for (place, option) in options.iter().enumerate() {
                // Writing to a String cannot fail.
                let _ = write!(text, "\n{}) {option}", letter(place));
            }
            "Choose one option. Your position is its letter alone. End the answer with a line such as \"Answer: A\"."
        }
        Key::Number { .. } => {
            "The answer is a number. Your position is the number alone. End the answer with a line such as \"Answer: 42\"."
        }
        Key::Rubric { .. } => {
            "Answer in full, in Markdown: the answer alone is graded. Your position is its core in at most six words."
        }
        Key::Probability { .. } => {
            "The answer is the probability of yes. Your position is this probability alone, from 0 to 1. End the answer with a line such as \"Answer: 0.62\"."
        }
        Key::Text(_) => {
            "The answer is a few words. Your position is these words alone. End the answer with a line that begins with \"Answer:\"."
        }
    };
    format!("{text}\n\n{form}")
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
