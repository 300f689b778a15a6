//! `roundtable arena new`: every contestant answers every question; then the pairs are drawn.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_core::bench::{Key, Question};
use roundtable_core::hex;
use roundtable_engine::data::read_regular_text;
use roundtable_engine::protocols;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::data;
use crate::app_context::AppContext;
use crate::arena::{self, Arena};
use crate::bench::plan::{Contestant, Unit};
use crate::bench::questions::BenchQuestion;
use crate::bench::recorded_answers::Sheet;
use crate::bench::run::{Journals, Run, RunOptions, Runner};
use crate::cli::args::{ModelArgs, OutputMode, parse_dollars};
use crate::cli::output;
use crate::cli::run::interruption;
use crate::clock;
use crate::failure::{Code, Failure};
use crate::format::counted;

const MAX_BYTES: u64 = 10_000_000;

/// Let two or more contestants answer a file of questions
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable arena new questions.txt --between panel,anthropic:claude-opus-4-5\n  roundtable arena new q.csv --between panel,panel+mine@quick --max-cost 3\n\nContestants are models as provider:model, which answer in one call, and debates or presets as NAME, NAME+CAST or NAME@DEPTH. The file has one question per line, or a column question. The same command continues an arena that was interrupted."
)]
pub(super) struct Args {
    /// Questions: one per line, or CSV or JSON lines with a column question
    file: PathBuf,
    /// The contestants, separated by commas: models as provider:model, debates or presets as NAME, NAME+CAST or NAME@DEPTH
    #[arg(
        long,
        value_name = "CONTESTANTS",
        value_delimiter = ',',
        required = true
    )]
    between: Vec<String>,
    #[command(flatten)]
    models: ModelArgs,
    /// The name of the arena; by default from the file and the contestants
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Only the first questions
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Stop when all answers have cost this many US dollars
    #[arg(long, value_name = "DOLLARS", allow_negative_numbers = true)]
    max_cost: Option<String>,
    /// Debates and calls that run at the same time
    #[arg(long, value_name = "NUMBER", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Seed of the random numbers: the order of the two answers follows from it
    #[arg(long, value_name = "NUMBER", default_value = "1", value_parser = clap::value_parser!(u64).range(..=0xffff_ffff))]
    seed: u64,
    /// Send text to providers even if it contains likely secrets, such as keys and tokens
    #[arg(long)]
    allow_secrets: bool,
    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
}

pub(super) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    let name = args.file.display().to_string();
    let text = read_regular_text(&args.file, MAX_BYTES)
        .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let mut questions = questions(&text, &name)?;
    if let Some(limit) = args.limit {
        questions.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let contestants = Contestant::all(&app.data, &args.between)?;
    let sha256 = hex::encode(Sha256::digest(text.as_bytes()));
    let id = id(&args, &sha256)?;
    let folder = arena::folder(data(app)?, &id);
    std::fs::create_dir_all(&folder)
        .map_err(|error| Failure::other(format!("cannot create {}: {error}", folder.display())))?;
    let Answered {
        journals,
        is_out_of_budget,
        is_interrupted,
    } = answer(app, &args, &folder, (&questions, &contestants)).await?;
    if is_interrupted {
        output::note("Saved. Run the same command again to continue.");
        return Ok(Code::Interrupted.into());
    }
    let units: Vec<Unit<'_>> = contestants.iter().map(Contestant::unit).collect();
    let answered: Vec<(String, Vec<Option<String>>)> = questions
        .iter()
        .enumerate()
        .map(|(place, question)| {
            let answer = |unit: &Unit<'_>| {
                let entries = journals.get(&(place, unit.key()))?;
                protocols::report(entries).answer
            };
            (question.text.clone(), units.iter().map(answer).collect())
        })
        .collect();
    let arena = Arena {
        version: 1,
        id,
        created_at: clock::now(),
        program: env!("CARGO_PKG_VERSION").into(),
        file: name,
        sha256,
        seed: args.seed,
        contestants: args.between.clone(),
        pairs: Arena::draw(args.seed, &answered),
    };
    if arena.pairs.is_empty() {
        return Err(Failure::other("no question has two answers yet"));
    }
    arena::save(&folder, &arena)?;
    output::line(&format!(
        "{}: {} of answers. Vote with roundtable serve, at /arenas/{}",
        arena.id,
        counted(arena.pairs.len(), "pair"),
        arena.id
    ));
    let missing = answered.iter().flat_map(|(_, answers)| answers);
    let missing = missing.filter(|answer| answer.is_none()).count();
    if missing == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    output::note(&format!(
        "{} missing. Run the same command again{} before you vote.",
        counted(missing, "answer"),
        if is_out_of_budget {
            " with a higher --max-cost"
        } else {
            ""
        }
    ));
    Ok(if is_out_of_budget {
        Code::Budget
    } else {
        Code::Partial
    }
    .into())
}

/// The answers of all contestants.
struct Answered {
    journals: Journals,
    is_out_of_budget: bool,
    is_interrupted: bool,
}

async fn answer(
    app: &AppContext,
    args: &Args,
    folder: &Path,
    (questions, contestants): (&[BenchQuestion], &[Contestant]),
) -> Result<Answered, Failure> {
    let options = RunOptions {
        models: args.models.models()?,
        seed: args.seed,
        max_cost: args.max_cost.as_deref().map(parse_dollars).transpose()?,
        budget: app.config.limits.budget(),
        jobs: usize::from(args.jobs),
        fallback_local: args.models.fallback_local,
        allow_secrets: args.allow_secrets,
        on_workers: None,
        also: Vec::new(),
    };
    let mode = OutputMode {
        quiet: args.quiet,
        ..OutputMode::default()
    };
    let cancel = CancellationToken::new();
    let runner = Runner::open(app, folder, options, mode.progress_sink(), cancel.clone()).await?;
    let runs: Vec<Run<'_>> = (0..questions.len())
        .flat_map(|place| {
            contestants
                .iter()
                .map(move |one| Run::new(place, one.unit()))
        })
        .collect();
    let mut journals = Journals::new();
    let done = {
        let all = runner.run_all(questions, &runs, &mut journals);
        tokio::pin!(all);
        tokio::select! {
            biased;
            done = &mut all => done,
            () = interruption() => {
                cancel.cancel();
                all.await
            }
        }
    };
    let is_out_of_budget = runner.is_out_of_budget();
    runner.close().await;
    done?;
    Ok(Answered {
        journals,
        is_out_of_budget,
        is_interrupted: cancel.is_cancelled(),
    })
}

/// The questions of a table with a column `question`, otherwise one per line.
fn questions(text: &str, name: &str) -> Result<Vec<BenchQuestion>, Failure> {
    let table = Sheet::parse(text).ok();
    let column = table.as_ref().and_then(|sheet| sheet.column("question"));
    let texts: Vec<String> = match table.zip(column) {
        Some((sheet, column)) => {
            let cells = sheet.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.trim().to_owned()).collect()
        }
        None => text.lines().map(|line| line.trim().to_owned()).collect(),
    };
    let found: Vec<BenchQuestion> = texts
        .into_iter()
        .filter(|text| !text.is_empty())
        .map(|text| {
            // An arena of the same name with another file must not find the answers to other questions.
            let id = hex::encode(Sha256::digest(text.as_bytes()));
            BenchQuestion {
                question: Question {
                    cluster: id.clone(),
                    id,
                    domain: None,
                },
                key: Key::Rubric {
                    rubric: String::new(),
                    reference: None,
                },
                price: None,
                text,
            }
        })
        .collect();
    if found.is_empty() {
        return Err(Failure::usage(format!("{name} has no questions")));
    }
    let mut ids: Vec<&str> = found.iter().map(|one| one.question.id.as_str()).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Failure::usage(format!("{name} has a question twice")));
    }
    Ok(found)
}

/// The name of the folder.
fn id(args: &Args, sha256: &str) -> Result<String, Failure> {
    if let Some(id) = &args.id {
        let is_name = id.len() <= 80
            && !id.starts_with('.')
            && id
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        return if is_name && !id.is_empty() {
            Ok(id.clone())
        } else {
            Err(Failure::usage(format!(
                "invalid --id '{id}': expected letters, digits, - and _"
            )))
        };
    }
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .take(40)
        .collect();
    let all = format!("{sha256}\n{}\n{}", args.between.join(","), args.seed);
    let hash = hex::encode(Sha256::digest(all));
    Ok(format!("{stem}-{}", hash.get(..8).unwrap_or(&hash)))
}
