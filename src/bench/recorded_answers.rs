//! Reads a table of recorded answers with the right ones (B-01): one row per answer, or one per question with a column for each
//! seat. CSV or JSON lines, also compressed with gzip.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use roundtable_core::bench::{Cell, Question, Record, Seat, Spent, canonical};
use roundtable_core::glob;

use crate::failure::Failure;

/// A compressed file could expand without limit.
const MAX_BYTES: u64 = 1_000_000_000;
/// The faults of a file that are listed.
const MAX_FAULTS: usize = 20;

/// The meaning of a column, with the names that are recognised.
const ROLES: [(&str, &[&str]); 12] = [
    ("question", &["question", "question_id", "qid"]),
    ("agent", &["agent", "seat"]),
    ("correct", &["correct", "correct_answer", "outcome"]),
    ("answer", &["answer"]),
    ("probability", &["probability"]),
    ("round", &["round"]),
    ("tokens", &["tokens"]),
    ("cost", &["cost"]),
    ("seconds", &["seconds"]),
    ("family", &["family"]),
    ("domain", &["domain", "category"]),
    ("cluster", &["cluster"]),
];

/// How the columns of a file are read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    /// `NAME=COLUMN`, `NAME=A+B` for columns that are joined, `NAME=A,B` for one column per round.
    pub columns: Vec<String>,
    /// `COLUMN=VALUE`: the rows that are read. The value may contain `*`.
    pub filters: Vec<String>,
    /// Every column without a meaning is a seat.
    pub is_wide: bool,
}

/// The text of a file, decompressed if it is compressed.
pub(crate) fn text_of(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut out = Vec::new();
        MultiGzDecoder::new(bytes.as_slice())
            .take(MAX_BYTES + 1)
            .read_to_end(&mut out)
            .map_err(|error| Failure::usage(format!("cannot decompress {name}: {error}")))?;
        if out.len() as u64 > MAX_BYTES {
            return Err(Failure::usage(format!(
                "cannot read {name}: decompressed it is larger than {} MB",
                MAX_BYTES / 1_000_000
            )));
        }
        out
    } else {
        bytes
    };
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{name} is not UTF-8 text")))
}

/// A table with a header, from CSV or JSON lines.
#[derive(Debug, PartialEq)]
pub(crate) struct Sheet {
    pub header: Vec<String>,
    pub rows: Vec<csv::StringRecord>,
}

impl Sheet {
    /// JSON lines if the text begins with an object.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let text = text.trim_start_matches('\u{feff}');
        if text.trim_start().starts_with('{') {
            return Self::of_json_lines(text);
        }
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(text.as_bytes());
        let unreadable = |error: csv::Error| Failure::usage(format!("not a CSV table: {error}"));
        let header = reader.headers().map_err(unreadable)?.iter();
        let header = header.map(|name| name.trim().to_owned()).collect();
        let rows: Result<Vec<_>, _> = reader.records().collect();
        Ok(Self {
            header,
            rows: rows.map_err(unreadable)?,
        })
    }

    fn of_json_lines(text: &str) -> Result<Self, Failure> {
        let mut header: Vec<String> = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line)
                .map_err(|error| {
                    Failure::usage(format!("line {number} is not a JSON object: {error}"))
                })?;
            for key in object.keys() {
                if !header.contains(key) {
                    header.push(key.clone());
                }
            }
            lines.push(object);
        }
        let rows = lines.iter().map(|object| {
            let cells = header.iter().map(|key| match object.get(key) {
                None | Some(serde_json::Value::Null) => String::new(),
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            });
            cells.collect::<csv::StringRecord>()
        });
        let rows = rows.collect();
        Ok(Self { header, rows })
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        let exact = self.header.iter().position(|own| own == name);
        exact.or_else(|| {
            let mut names = self.header.iter();
            names.position(|own| own.eq_ignore_ascii_case(name))
        })
    }

    fn required(&self, name: &str, option: &str) -> Result<usize, String> {
        self.column(name).ok_or_else(|| {
            format!(
                "invalid {option}: there is no column '{name}'; columns: {}",
                self.header.join(", ")
            )
        })
    }
}

/// The columns of one meaning: one set per round, joined if there are several.
type Rounds = Vec<Vec<usize>>;

struct Columns {
    roles: HashMap<&'static str, Rounds>,
    /// The seats of a wide table.
    seats: Vec<usize>,
    rounds: usize,
}

impl Columns {
    fn of(sheet: &Sheet, layout: &Layout) -> Result<Self, Failure> {
        let mut faults = Vec::new();
        let mut roles: HashMap<&'static str, Rounds> = HashMap::new();
        let mut ignored: Vec<usize> = Vec::new();
        for text in &layout.columns {
            match read_mapping(sheet, text) {
                Ok((Some(role), columns)) => drop(roles.insert(role, columns)),
                Ok((None, columns)) => ignored.extend(columns.into_iter().flatten()),
                Err(fault) => faults.push(fault),
            }
        }
        let taken = |roles: &HashMap<&str, Rounds>, column: usize| {
            roles.values().flatten().flatten().any(|own| *own == column)
        };
        for (role, names) in ROLES {
            let is_open = !roles.contains_key(role);
            let is_seat = layout.is_wide && matches!(role, "agent" | "answer" | "round");
            if is_open
                && !is_seat
                && let Some(column) = names.iter().find_map(|name| sheet.column(name))
                && !taken(&roles, column)
            {
                roles.insert(role, vec![vec![column]]);
            }
        }
        let columns = 0..sheet.header.len();
        let seats: Vec<usize> = columns
            .filter(|column| layout.is_wide && !taken(&roles, *column) && !ignored.contains(column))
            .collect();
        faults.extend(missing(sheet, &roles, layout));
        let rounds = roles.values().map(Vec::len).max().unwrap_or(1);
        if rounds > 1 && roles.contains_key("round") {
            faults.push("either a column 'round' or one column per round, not both".to_owned());
        }
        if faults.is_empty() {
            Ok(Self {
                roles,
                seats,
                rounds,
            })
        } else {
            Err(Failure::usage(faults.join("\n")))
        }
    }
}

/// The columns that a file needs and does not have.
fn missing(sheet: &Sheet, roles: &HashMap<&str, Rounds>, layout: &Layout) -> Option<String> {
    let has = |role: &str| roles.contains_key(role);
    let mut missing: Vec<&str> = ["question", "agent", "correct"]
        .into_iter()
        .filter(|role| !(has(role) || layout.is_wide && *role == "agent"))
        .collect();
    if !layout.is_wide && !has("answer") && !has("probability") {
        missing.push("answer or probability");
    }
    (!missing.is_empty()).then(|| {
        format!(
            "there is no column {}. The file has: {}. Name columns with --column, such as --column question=id",
            missing.join(", "),
            sheet.header.join(", ")
        )
    })
}

/// `NAME=COLUMNS`. Without a role for columns that are ignored.
fn read_mapping(sheet: &Sheet, text: &str) -> Result<(Option<&'static str>, Rounds), String> {
    let invalid = || {
        let names: Vec<&str> = ROLES.iter().map(|(name, _)| *name).collect();
        format!(
            "invalid --column '{text}': expected NAME=COLUMN, with one of the names {}, ignore",
            names.join(", ")
        )
    };
    let (name, columns) = text.split_once('=').ok_or_else(invalid)?;
    let role = ROLES
        .iter()
        .map(|(role, _)| *role)
        .find(|role| *role == name);
    if role.is_none() && name != "ignore" {
        return Err(invalid());
    }
    let option = format!("--column '{text}'");
    let rounds: Result<Rounds, String> = columns
        .split(',')
        .map(|round| {
            let parts = round.split('+');
            parts.map(|part| sheet.required(part, &option)).collect()
        })
        .collect();
    Ok((role, rounds?))
}

/// `COLUMN=VALUE`, as the column and a pattern.
fn read_filters(sheet: &Sheet, filters: &[String]) -> Result<Vec<(usize, String)>, Failure> {
    let mut faults = Vec::new();
    let mut found = Vec::new();
    for text in filters {
        let filter = text
            .split_once('=')
            .ok_or_else(|| format!("invalid --where '{text}': expected COLUMN=VALUE"))
            .and_then(|(column, value)| {
                let column = sheet.required(column, &format!("--where '{text}'"))?;
                Ok((column, value.to_owned()))
            });
        match filter {
            Ok(filter) => found.push(filter),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() {
        Ok(found)
    } else {
        Err(Failure::usage(faults.join("\n")))
    }
}

/// One answer of a file, before answers and names become numbers.
struct Given {
    question: usize,
    seat: usize,
    round: usize,
    row: usize,
    cell: Cell,
}

struct Reader<'a> {
    columns: &'a Columns,
    is_forecast: bool,
    questions: Vec<(Question, u32)>,
    question_index: HashMap<String, usize>,
    seats: Vec<Seat>,
    seat_index: HashMap<String, usize>,
    answers: HashMap<String, u32>,
    given: Vec<Given>,
    rounds: usize,
    faults: Vec<String>,
}

/// Parses recorded answers.
pub(crate) fn parse(text: &str, layout: &Layout) -> Result<Record, Failure> {
    let sheet = Sheet::parse(text)?;
    let columns = Columns::of(&sheet, layout)?;
    let filters = read_filters(&sheet, &layout.filters)?;
    let mut reader = Reader {
        is_forecast: !layout.is_wide && !columns.roles.contains_key("answer"),
        rounds: columns.rounds,
        columns: &columns,
        questions: Vec::new(),
        question_index: HashMap::new(),
        seats: Vec::new(),
        seat_index: HashMap::new(),
        answers: HashMap::new(),
        given: Vec::new(),
        faults: Vec::new(),
    };
    for (number, row) in (2..).zip(&sheet.rows) {
        let cell = |column: usize| row.get(column).unwrap_or_default();
        let is_read = filters
            .iter()
            .all(|(column, pattern)| glob::matches(pattern, cell(*column)));
        if is_read && let Err(fault) = reader.add(&sheet, number, row) {
            reader.faults.push(format!("row {number}: {fault}"));
        }
    }
    reader.finish()
}

impl Reader<'_> {
    /// The cell of a meaning in a round; of the only round if there is one.
    fn cell(&self, row: &csv::StringRecord, role: &str, round: usize) -> Option<String> {
        let rounds = self.columns.roles.get(role)?;
        let columns = rounds.get(round).or(rounds.first())?;
        let parts = columns
            .iter()
            .map(|column| row.get(*column).unwrap_or_default().trim());
        let text = parts.collect::<Vec<_>>().join("/");
        (!text.is_empty()).then_some(text)
    }

    fn number(
        &self,
        row: &csv::StringRecord,
        role: &str,
        round: usize,
    ) -> Result<Option<f64>, String> {
        let Some(text) = self.cell(row, role, round) else {
            return Ok(None);
        };
        let value = text.parse::<f64>().ok();
        value
            .filter(|value| value.is_finite() && *value >= 0.0)
            .map(Some)
            .ok_or_else(|| format!("column {role}: '{text}' is not a number of at least 0"))
    }

    fn add(&mut self, sheet: &Sheet, number: usize, row: &csv::StringRecord) -> Result<(), String> {
        let question = self.question(row)?;
        if !self.columns.seats.is_empty() {
            for column in &self.columns.seats {
                let seat = self.seat(&sheet.header[*column], None);
                let answer = row.get(*column).and_then(canonical);
                let cell = Cell {
                    answer: answer.map(|answer| self.answer(answer)),
                    ..Cell::default()
                };
                self.push(question, seat, 0, number, cell);
            }
            return Ok(());
        }
        let agent = self
            .cell(row, "agent", 0)
            .ok_or("column agent: it is empty")?;
        let seat = self.seat(&agent, self.cell(row, "family", 0));
        let recorded = match self.cell(row, "round", 0) {
            None => None,
            Some(text) => {
                let round = text.parse::<usize>().ok();
                let round = round.filter(|round| (1..=100).contains(round));
                Some(round.ok_or_else(|| {
                    format!("column round: '{text}' is not a whole number from 1 to 100")
                })?)
            }
        };
        for place in 0..self.columns.rounds {
            let round = recorded.map_or(place, |round| round - 1);
            let cell = self.read(row, place)?;
            self.push(question, seat, round, number, cell);
        }
        Ok(())
    }

    fn push(&mut self, question: usize, seat: usize, round: usize, row: usize, cell: Cell) {
        self.rounds = self.rounds.max(round + 1);
        self.given.push(Given {
            question,
            seat,
            round,
            row,
            cell,
        });
    }

    fn read(&mut self, row: &csv::StringRecord, round: usize) -> Result<Cell, String> {
        let probability = self.number(row, "probability", round)?;
        if let Some(value) = probability.filter(|value| *value > 1.0) {
            return Err(format!(
                "column probability: '{value}' is not a number from 0 to 1"
            ));
        }
        let answer = self.cell(row, "answer", round);
        let answer = answer.as_deref().and_then(canonical);
        Ok(Cell {
            answer: answer.map(|answer| self.answer(answer)),
            probability,
            spent: Spent {
                tokens: self.number(row, "tokens", round)?,
                cost: self.number(row, "cost", round)?,
                seconds: self.number(row, "seconds", round)?,
            },
        })
    }

    fn answer(&mut self, answer: String) -> u32 {
        let next = u32::try_from(self.answers.len()).unwrap_or(u32::MAX);
        *self.answers.entry(answer).or_insert(next)
    }

    fn seat(&mut self, name: &str, family: Option<String>) -> usize {
        if let Some(known) = self.seat_index.get(name) {
            return *known;
        }
        let index = self.seats.len();
        self.seat_index.insert(name.to_owned(), index);
        self.seats.push(Seat {
            name: name.to_owned(),
            family,
        });
        index
    }

    fn question(&mut self, row: &csv::StringRecord) -> Result<usize, String> {
        let id = self
            .cell(row, "question", 0)
            .ok_or("column question: it is empty")?;
        let correct = self
            .cell(row, "correct", 0)
            .ok_or("column correct: it is empty")?;
        let truth = if self.is_forecast {
            match correct.to_lowercase().as_str() {
                "0" | "0.0" | "no" | "false" => 0,
                "1" | "1.0" | "yes" | "true" => 1,
                _ => {
                    return Err(format!(
                        "column correct: '{correct}' is not 0 or 1; without a column 'answer' the probability is that of 1"
                    ));
                }
            }
        } else {
            let correct =
                canonical(&correct).ok_or("column correct: it has no letters or digits")?;
            self.answer(correct)
        };
        if let Some(known) = self.question_index.get(&id) {
            if self.questions[*known].1 != truth {
                return Err(format!(
                    "column correct: question {id} has another right answer above"
                ));
            }
            return Ok(*known);
        }
        let index = self.questions.len();
        let question = Question {
            cluster: self.cell(row, "cluster", 0).unwrap_or_else(|| id.clone()),
            domain: self.cell(row, "domain", 0),
            id: id.clone(),
        };
        self.questions.push((question, truth));
        self.question_index.insert(id, index);
        Ok(index)
    }

    fn finish(mut self) -> Result<Record, Failure> {
        let names: Vec<String> = self
            .questions
            .iter()
            .map(|(one, _)| one.id.clone())
            .collect();
        let mut record = Record::new(
            self.questions,
            self.seats.clone(),
            self.rounds,
            self.is_forecast,
        );
        for given in self.given {
            let Given {
                question,
                seat,
                round,
                row,
                cell,
            } = given;
            if record.set(question, round, seat, cell).is_some() {
                self.faults.push(format!(
                    "row {row}: {} answered question {} twice in round {}",
                    self.seats[seat].name,
                    names[question],
                    round + 1
                ));
            }
        }
        if !self.faults.is_empty() {
            let left = self.faults.len().saturating_sub(MAX_FAULTS);
            self.faults.truncate(MAX_FAULTS);
            if left > 0 {
                self.faults.push(format!("and {left} more"));
            }
            return Err(Failure::usage(self.faults.join("\n")));
        }
        if record.questions.is_empty() {
            return Err(Failure::usage("the file has no answers to read"));
        }
        Ok(record)
    }
}

#[cfg(test)]
#[path = "recorded_answers_tests.rs"]
mod tests;
