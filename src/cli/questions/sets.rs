//! Sets of questions: import, list, remove, export.

use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;

use futures::TryStreamExt;
use roundtable_engine::report::{Block, Cell, Report, Section, Table};
use serde_json::json;

use super::super::display::summary;
use super::super::{input, output};
use crate::clock;
use crate::failure::{Code, Failure};
use crate::format::counted;
use crate::questions::import::{self, Parsed};
use crate::questions::results::{self, unknown_set};
use crate::questions::submission::{Format, Source, Submission};
use crate::store::Store;

/// The options of an import.
pub(super) struct Wanted {
    pub(super) set: Option<String>,
    pub(super) format: Option<import::Format>,
    pub(super) skip_invalid: bool,
    pub(super) json: bool,
}

/// The longest name of a set.
const MAX_NAME: usize = 100;

pub(super) async fn import(
    store: &Store,
    file: &Path,
    wanted: Wanted,
) -> Result<ExitCode, Failure> {
    let name = file.display().to_string();
    let is_stdin = file == Path::new("-");
    let text = if is_stdin {
        input::read_stdin()?
    } else {
        input::read_file(file)?
    };
    let of_file = || {
        file.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    };
    let set = wanted.set.or_else(|| of_file().filter(|_| !is_stdin));
    let set = set.ok_or_else(|| Failure::usage("name the set with --set NAME"))?;
    check_name(&set)?;
    let named = |failure: Failure| Failure::usage(format!("{name}:\n{}", failure.message()));
    let parsed = import::parse(&text, wanted.format).map_err(named)?;
    let parsed = if wanted.skip_invalid {
        parsed.without_faults()
    } else {
        parsed
    };
    let parsed = parsed.finish().map_err(named)?;
    let bodies = parsed.questions.iter().map(|question| {
        let body = serde_json::to_string(question);
        let body =
            body.map_err(|error| Failure::other(format!("cannot store a question: {error}")));
        Ok((question.id.clone(), body?))
    });
    let bodies: Vec<(String, String)> = bodies.collect::<Result<_, Failure>>()?;
    let counts = store.import_questions(&set, &bodies).await?;
    let notes = notes(&parsed);
    if wanted.json {
        output::json(&json!({
            "set": set,
            "added": counts.added,
            "changed": counts.changed,
            "unchanged": counts.unchanged,
            "notes": notes,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&format!(
        "Set '{set}': {} added, {} changed, {} unchanged.",
        counted(counts.added, "question"),
        counts.changed,
        counts.unchanged
    ));
    for note in notes {
        output::note(&note);
    }
    output::note(&format!(
        "Forecast them with: roundtable forecast --set {set}"
    ));
    Ok(ExitCode::SUCCESS)
}

fn check_name(set: &str) -> Result<(), Failure> {
    let length = set.chars().count();
    if length == 0 || length > MAX_NAME || set.chars().any(char::is_control) {
        return Err(Failure::usage(format!(
            "invalid name of a set '{}': expected 1 to {MAX_NAME} characters",
            output::short(set, 40)
        )));
    }
    Ok(())
}

fn notes(parsed: &Parsed) -> Vec<String> {
    let mut notes = parsed.notes();
    let without = parsed
        .questions
        .iter()
        .filter(|own| own.resolves_on.is_none())
        .count();
    if without > 0 {
        notes.push(format!(
            "{} without a deadline: never due, and the roles are told none",
            counted(without, "question")
        ));
    }
    notes
}

pub(super) async fn list(store: &Store, json: bool) -> Result<ExitCode, Failure> {
    let sets = store.question_sets().await?;
    if json {
        let sets = sets.iter().map(
            |set| json!({ "set": set.name, "questions": set.questions, "forecast": set.forecast }),
        );
        output::json(&sets.collect::<Vec<_>>())?;
    } else if sets.is_empty() {
        output::note(
            "There are no sets of questions. Import one: roundtable questions import FILE",
        );
    } else {
        let rows = sets.iter().map(|set| {
            let (questions, forecast) = (set.questions.to_string(), set.forecast.to_string());
            vec![
                Cell::new(set.name.clone()),
                Cell::new(questions),
                Cell::new(forecast),
            ]
        });
        let table = Table::of("Sets", &["set", "#questions", "#forecast"], rows);
        summary::print_report(&Report {
            sections: vec![Section::main(
                "Sets of questions",
                vec![Block::Table(table)],
            )],
            ..Report::default()
        });
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn remove(store: &Store, set: &str) -> Result<ExitCode, Failure> {
    match store.remove_questions(set).await? {
        0 => Err(unknown_set(store, set).await?),
        count => {
            output::line(&format!(
                "Removed '{set}' with {}. Its forecasts stay.",
                counted(count, "question")
            ));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A file without all forecasts is written, and the exit code says that some are missing.
pub(super) async fn export(
    store: &Store,
    set: &str,
    (format, source): (Format, Source),
    names: (&str, &str),
    file: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let mut found = pin!(results::results(store, set, clock::now()));
    let mut submission = Submission::new(format, source, names);
    let mut count = 0;
    while let Some(result) = found.try_next().await? {
        submission.add(&result)?;
        count += 1;
    }
    if count == 0 {
        return Err(unknown_set(store, set).await?);
    }
    let missing = submission.missing();
    let text = submission.finish()?;
    output::write_to(file, &text)?;
    if missing == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    output::note(&format!(
        "{} without a forecast left out. Make them with: roundtable forecast --set {set}",
        counted(missing, "question")
    ));
    Ok(Code::Partial.into())
}
