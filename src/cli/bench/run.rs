//! A bench on a file of questions: runs what is missing, shows progress, and reports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_core::bench::Weights;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Args;
use crate::app_context::AppContext;
use crate::bench::plan::{self, DebateArm, Unit, Wanted};
use crate::bench::questions::{self, BenchQuestion};
use crate::bench::results::{MEASURED_QUESTIONS, Results, RunInfo};
use crate::bench::run::{Journals, RunOptions, Runner};
use crate::cli::args::{OutputMode, parse_dollars};
use crate::cli::output;
use crate::cli::run::interruption;
use crate::failure::{Code, Failure};
use crate::store::Address;

/// The file in the bench's folder that says what it belongs to.
const MANIFEST: &str = "bench.json";

/// The settings that must stay the same when a bench is continued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Manifest {
    file: String,
    sha256: String,
    program: String,
    seed: u64,
    model: Option<String>,
    seats: Vec<String>,
}

pub(super) async fn questions(
    app: &AppContext,
    args: &Args,
    file: &Path,
) -> Result<ExitCode, Failure> {
    let name = file.display().to_string();
    let (text, sha256) = super::read(file)?;
    let all = questions::parse(&text)
        .map_err(|failure| Failure::usage(format!("{name}: {}", failure.message())))?;
    let chosen = part(all, args)?;
    let models = args.seats_and_models.models()?;
    let wanted = plan::wanted(&app.data, &args.arms, &args.models)?;
    let manifest = Manifest {
        file: name.clone(),
        sha256: sha256.clone(),
        program: env!("CARGO_PKG_VERSION").into(),
        seed: args.seed,
        model: models.all.clone(),
        seats: models
            .seats
            .iter()
            .map(|(seat, model)| format!("{seat}={model}"))
            .collect(),
    };
    let folder = folder(app, args, file, &sha256)?;
    claim(&folder, &manifest)?;
    let cancel = CancellationToken::new();
    let max_cost = args.max_cost.as_deref().map(parse_dollars).transpose()?;
    let mode = OutputMode {
        quiet: args.quiet,
        ..OutputMode::default()
    };
    let options = RunOptions {
        models,
        seed: args.seed,
        max_cost,
        budget: app.config.limits.budget(),
        jobs: usize::from(args.jobs),
        fallback_local: args.seats_and_models.fallback_local,
        allow_secrets: args.allow_secrets,
    };
    let progress = mode.progress_sink();
    let runner = Runner::open(app, &folder, options, progress, cancel.clone()).await?;
    let bench = Bench {
        args,
        questions: &chosen,
        wanted: &wanted,
        runner: &runner,
    };
    if args.estimate {
        let estimated = bench.estimate().await;
        runner.store.close().await;
        return estimated.map(|()| ExitCode::SUCCESS);
    }
    let run = bench.run();
    tokio::pin!(run);
    let journals = tokio::select! {
        biased;
        done = &mut run => done,
        () = interruption() => {
            cancel.cancel();
            run.await
        }
    };
    let is_out_of_budget = runner.is_out_of_budget();
    runner.store.close().await;
    let journals = journals?;
    if cancel.is_cancelled() {
        output::note("Saved. Run the same command again to continue.");
        return Ok(Code::Interrupted.into());
    }
    let report = bench.report(&journals, &folder, (&name, sha256))?;
    let unfinished = report.run.as_ref().map_or(0, |run| run.unfinished);
    args.write(&report)?;
    if is_out_of_budget {
        output::note(
            "The budget is used up. Run the same command with a higher --max-cost to continue.",
        );
        return Ok(Code::Budget.into());
    }
    Ok(if unfinished > 0 {
        Code::Partial.into()
    } else {
        ExitCode::SUCCESS
    })
}

/// The questions of `--shard` and `--limit`, in this order.
fn part(all: Vec<BenchQuestion>, args: &Args) -> Result<Vec<BenchQuestion>, Failure> {
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

/// The folder of the bench's debates: they are kept apart from all others, so no listing shows them.
fn folder(app: &AppContext, args: &Args, file: &Path, sha256: &str) -> Result<PathBuf, Failure> {
    if let Some(folder) = &args.folder {
        return Ok(folder.clone());
    }
    match app.address()? {
        Address::Folder(folder) => {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let name = format!("{stem}-{}", sha256.get(..8).unwrap_or(sha256));
            Ok(folder.join("benches").join(name))
        }
        Address::Server(_) => Err(Failure::usage(
            "the debates of a bench are kept in a folder: name one with --folder",
        )),
    }
}

/// Writes the manifest of a new bench, or checks that the folder belongs to this one.
fn claim(folder: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let path = folder.join(MANIFEST);
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        Failure::other(format!("cannot {what} {}: {error}", path.display()))
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let known: Manifest = serde_json::from_str(&text).map_err(|error| {
                Failure::usage(format!("{} is damaged: {error}", path.display()))
            })?;
            differences(&known, manifest, folder)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder).map_err(|error| cannot("create", &error))?;
            std::fs::write(&path, output::json_text(manifest)?)
                .map_err(|error| cannot("write", &error))
        }
        Err(error) => Err(cannot("read", &error)),
    }
}

fn differences(known: &Manifest, now: &Manifest, folder: &Path) -> Result<(), Failure> {
    let models = |manifest: &Manifest| {
        let all = manifest.model.iter().chain(&manifest.seats);
        all.cloned().collect::<Vec<_>>().join(", ")
    };
    let mut faults = Vec::new();
    let mut differs = |what: &str, before: &str, after: &str| {
        if before != after {
            faults.push(format!(
                "{what}: it began with '{before}', now it is '{after}'"
            ));
        }
    };
    differs(
        "the content of the file (sha256)",
        &known.sha256,
        &now.sha256,
    );
    differs("the version of the program", &known.program, &now.program);
    differs("--seed", &known.seed.to_string(), &now.seed.to_string());
    differs("the models", &models(known), &models(now));
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} holds another bench, so it cannot be continued with these settings:\n  {}\nUse another --folder",
        folder.display(),
        faults.join("\n  ")
    )))
}

struct Bench<'a> {
    args: &'a Args,
    questions: &'a [BenchQuestion],
    wanted: &'a [Wanted],
    runner: &'a Runner<'a>,
}

impl Bench<'_> {
    fn debates(&self) -> Vec<&DebateArm> {
        let arms = self.wanted.iter().filter_map(|arm| match arm {
            Wanted::Debate(arm) => Some(&**arm),
            _ => None,
        });
        arms.collect()
    }

    fn wants(&self, is_it: impl Fn(&Wanted) -> bool) -> bool {
        self.wanted.iter().any(is_it)
    }

    fn with_samples(&self) -> bool {
        self.wants(|arm| matches!(arm, Wanted::Consistency))
    }

    fn with_long(&self) -> bool {
        self.wants(|arm| matches!(arm, Wanted::Long))
    }

    /// The units of every question, without the samples of self-consistency.
    fn units(&self) -> Vec<Unit<'_>> {
        let mut units = Vec::new();
        for arm in self.wanted {
            match arm {
                Wanted::One => units.push(Unit::Sample(1)),
                Wanted::Long => units.push(Unit::Long),
                Wanted::Models => {
                    let models: BTreeSet<&String> = self.args.models.iter().collect();
                    units.extend(models.into_iter().map(|model| Unit::Model(model)));
                }
                Wanted::Debate(arm) => units.push(Unit::Debate(arm)),
                Wanted::Consistency => {}
            }
        }
        if self.with_samples() && !self.wants(|arm| matches!(arm, Wanted::One)) {
            units.push(Unit::Sample(1));
        }
        units
    }

    fn results<'r>(&'r self, debates: &'r [&'r DebateArm], journals: &'r Journals) -> Results<'r> {
        Results {
            questions: self.questions,
            debates,
            models: &self.args.models,
            journals,
            with_samples: self.with_samples(),
        }
    }

    /// The first questions, then, when it is known how many calls a debate costs, everything else.
    async fn run(&self) -> Result<Journals, Failure> {
        let mut journals = Journals::new();
        let units = self.units();
        self.say(&format!(
            "{} questions, {} per question{}",
            self.questions.len(),
            crate::format::counted(units.len(), "run"),
            if self.with_samples() {
                ", and as many calls as each debate costs"
            } else {
                ""
            }
        ));
        let first = self.questions.len().min(MEASURED_QUESTIONS);
        let of = |from: usize, to: usize| -> Vec<(usize, Unit<'_>)> {
            let places = from..to;
            places
                .flat_map(|place| units.iter().map(move |unit| (place, *unit)))
                .collect()
        };
        self.runner
            .run_all(self.questions, &of(0, first), &mut journals)
            .await?;
        let debates = self.debates();
        let mut rest = of(first, self.questions.len());
        if self.with_samples() {
            rest.extend(self.samples(&debates, &journals));
        }
        self.runner
            .run_all(self.questions, &rest, &mut journals)
            .await?;
        Ok(journals)
    }

    /// Further samples: as many for every question as the most expensive debate costs.
    fn samples(&self, debates: &[&DebateArm], journals: &Journals) -> Vec<(usize, Unit<'static>)> {
        let results = self.results(debates, journals);
        let plans = debates.iter().filter_map(|debate| results.plan(debate));
        let most = plans.map(|plan| plan.most()).max().unwrap_or(1);
        self.say(&format!(
            "Self-consistency: up to {most} samples per question"
        ));
        let places = 0..self.questions.len();
        places
            .flat_map(|place| (2..=most).map(move |number| (place, Unit::Sample(number))))
            .collect()
    }

    fn say(&self, text: &str) {
        (self.runner.progress.say)(text);
    }

    async fn estimate(&self) -> Result<(), Failure> {
        let Some(question) = self.questions.first() else {
            return Ok(());
        };
        let lines = self.runner.estimates(question, &self.units()).await?;
        output::line(&format!(
            "One of {} questions:\n  {}",
            self.questions.len(),
            lines.join("\n  ")
        ));
        Ok(())
    }

    fn report(
        &self,
        journals: &Journals,
        folder: &Path,
        source: (&str, String),
    ) -> Result<crate::bench::BenchReport, Failure> {
        let debates = self.debates();
        let results = self.results(&debates, journals);
        let asked = self.questions.len() * self.units().len();
        let units = self.units();
        let ended = (0..self.questions.len())
            .flat_map(|place| units.iter().map(move |unit| (place, unit.key())))
            .filter(|key| journals.contains_key(key))
            .count();
        let run = RunInfo {
            folder: folder.display().to_string(),
            seed: self.args.seed,
            models: results.served(),
            unfinished: asked - ended,
            budgets: Vec::new(),
            weights: Weights::default(),
            vote_of_k: Vec::new(),
        };
        let baseline = self.args.baseline.as_deref();
        results.report(source, run, baseline, self.with_long())
    }
}
