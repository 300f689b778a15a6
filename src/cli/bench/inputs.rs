//! The questions of a bench: read, checked, and the part that is asked for.

use std::path::Path;

use roundtable_core::bench::Key;
use roundtable_core::hex;
use sha2::{Digest, Sha256};

use super::Args;
use crate::bench::forecast_bench;
use crate::bench::judge::{self, HandGraded};
use crate::bench::plan::Wanted;
use crate::bench::questions::{self, BenchQuestion};
use crate::failure::Failure;

/// The questions of the file, with the hash of everything that was read.
pub(super) fn load(args: &Args, file: &Path) -> Result<(Vec<BenchQuestion>, String), Failure> {
    let name = file.display().to_string();
    let (text, hash) = super::read(file)?;
    let (found, hash) = match (&args.resolutions, forecast_bench::is_set(&text)) {
        (Some(path), true) => {
            let (resolutions, own) = super::read(path)?;
            let both = hex::encode(Sha256::digest(format!("{hash}{own}")));
            (forecast_bench::parse(&text, &resolutions), both)
        }
        (None, true) => {
            return Err(Failure::usage(format!(
                "{name} is a question set of ForecastBench: name the file of its outcomes with --resolutions"
            )));
        }
        (Some(_), false) => {
            return Err(Failure::usage(format!(
                "invalid --resolutions: {name} is not a question set of ForecastBench"
            )));
        }
        (None, false) => (questions::parse(&text), hash),
    };
    let found =
        found.map_err(|failure| Failure::usage(format!("{name}: {}", failure.message())))?;
    Ok((found, hash))
}

/// Open questions need a judge and cannot be voted on. Returns the answers that a person has graded.
pub(super) fn check_judge(
    args: &Args,
    questions: &[BenchQuestion],
    wanted: &[Wanted],
) -> Result<Vec<HandGraded>, Failure> {
    let is_open = questions
        .iter()
        .any(|one| matches!(one.key, Key::Rubric { .. }));
    let votes = |arm: &Wanted| matches!(arm, Wanted::Consistency | Wanted::Models);
    match &args.judge {
        None if is_open => Err(Failure::usage(
            "the questions have rubrics: name the model that grades the answers with --judge",
        )),
        Some(_) if !is_open => Err(Failure::usage(
            "invalid --judge: the questions have answers, so nothing needs a judge",
        )),
        Some(_) if wanted.iter().any(votes) => Err(Failure::usage(
            "the arms 'consistency' and 'models' count votes, which open answers do not have; name others with --arms, such as one,long,panel",
        )),
        Some(_) | None => match &args.graded {
            None => Ok(Vec::new()),
            Some(path) => {
                let (text, _) = super::read(path)?;
                judge::parse(&text, questions).map_err(|failure| {
                    let name = path.display();
                    Failure::usage(format!("{name}: {}", failure.message()))
                })
            }
        },
    }
}

/// The questions of `--shard` and `--limit`, in this order.
pub(super) fn part(all: Vec<BenchQuestion>, args: &Args) -> Result<Vec<BenchQuestion>, Failure> {
    let mut chosen = match &args.shard {
        None => all,
        Some(text) => {
            let invalid = || {
                Failure::usage(format!(
                    "invalid --shard '{text}': expected PART/PARTS, such as 2/8"
                ))
            };
            let (part, parts) = text.split_once('/').ok_or_else(invalid)?;
            let part: usize = part.parse().map_err(|_| invalid())?;
            let parts: usize = parts.parse().map_err(|_| invalid())?;
            if part == 0 || part > parts {
                return Err(invalid());
            }
            let questions = all.into_iter().enumerate();
            questions
                .filter(|(place, _)| place % parts == part - 1)
                .map(|(_, question)| question)
                .collect()
        }
    };
    if let Some(limit) = args.limit {
        chosen.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    if chosen.is_empty() {
        return Err(Failure::usage("no question is left by --shard"));
    }
    Ok(chosen)
}
