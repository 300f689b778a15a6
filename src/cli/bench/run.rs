//! A bench on a file of questions: runs what is missing, shows progress, and reports.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use roundtable_core::bench::Weights;
use roundtable_engine::event::Seated;
use tokio_util::sync::CancellationToken;

use super::Args;
use super::inputs::{check_judge, load, part};
use super::manifest::{Manifest, check_other, claim, folder};
use crate::app_context::AppContext;
use crate::bench::blind;
use crate::bench::judge::{self, Answers, HandGraded, JudgeInfo};
use crate::bench::plan::{self, DebateArm, Unit, Wanted};
use crate::bench::questions::BenchQuestion;
use crate::bench::results::{MEASURED_QUESTIONS, Results, RunInfo};
use crate::bench::run::{Journals, Run, RunOptions, Runner};
use crate::bench::stored;
use crate::cli::args::{OutputMode, parse_dollars};
use crate::cli::output;
use crate::cli::run::interruption;
use crate::failure::{Code, Failure};
use crate::models;

pub(super) async fn questions(
    app: &AppContext,
    args: &Args,
    file: &Path,
) -> Result<ExitCode, Failure> {
    let name = file.display().to_string();
    let (all, sha256) = load(args, file)?;
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
    let graded = check_judge(args, &chosen, &wanted)?;
    let folder = folder(app, args, file, &sha256)?;
    claim(&folder, &manifest)?;
    for other in &args.also {
        check_other(other, &manifest)?;
    }
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
        also: args.also.clone(),
        on_workers: on_workers(app, args, &manifest).await?,
    };
    let progress = mode.progress_sink();
    let runner = Runner::open(app, &folder, options, progress, cancel.clone()).await?;
    let bench = Bench {
        args,
        questions: &chosen,
        wanted: &wanted,
        runner: &runner,
        graded: &graded,
    };
    if args.estimate {
        let estimated = bench.estimate().await;
        runner.close().await;
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
    runner.close().await;
    let journals = journals?;
    if cancel.is_cancelled() {
        output::note("Saved. Run the same command again to continue.");
        return Ok(Code::Interrupted.into());
    }
    let report = bench.report(&journals, &folder, (&name, sha256))?;
    let unfinished = report.run.as_ref().map_or(0, |run| run.unfinished);
    stored::save(&folder, &output::json_text(&report)?)?;
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

/// The name by which workers' databases tell benches apart, if they run this one.
async fn on_workers(
    app: &AppContext,
    args: &Args,
    manifest: &Manifest,
) -> Result<Option<String>, Failure> {
    if !args.on_workers {
        return Ok(None);
    }
    let store = app.store().await?;
    let is_shared = store.is_shared();
    let ready = if is_shared && !args.estimate {
        store.set_up_queue().await
    } else {
        Ok(())
    };
    store.close().await;
    ready?;
    if !is_shared {
        return Err(Failure::usage(
            "--on-workers needs a PostgreSQL database with workers: set --database, or leave the option out",
        ));
    }
    output::note("Waiting for workers. If none runs, start one with: roundtable worker");
    Ok(Some(format!(
        "{} {:?} {:?}",
        manifest.sha256, manifest.model, manifest.seats
    )))
}

struct Bench<'a> {
    args: &'a Args,
    questions: &'a [BenchQuestion],
    wanted: &'a [Wanted],
    runner: &'a Runner<'a>,
    graded: &'a [HandGraded],
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

    fn with_noise(&self) -> bool {
        self.wants(|arm| matches!(arm, Wanted::Noise))
    }

    /// Refuses noise controls of debates whose seats read no blind answers, before anything is asked.
    async fn check_noise(&self) -> Result<(), Failure> {
        let Some(question) = self.questions.first().filter(|_| self.with_noise()) else {
            return Ok(());
        };
        for debate in self.debates() {
            let prepared = self.runner.prepare(question, &Unit::Debate(debate)).await?;
            if !blind::form(&prepared.setup).is_some_and(|form| form.are_read) {
                return Err(Failure::usage(format!(
                    "the arm 'noise' needs debates whose seats first answer blind and then read each other, such as panel or debate-delphi; '{}' does not",
                    debate.name
                )));
            }
        }
        Ok(())
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
                Wanted::Consistency | Wanted::Noise => {}
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
            with_noise: self.with_noise(),
            seed: self.args.seed,
            judge: self.args.judge.as_deref(),
        }
    }

    /// The first questions, then, when it is known how many calls a debate costs, everything else.
    async fn run(&self) -> Result<Journals, Failure> {
        self.check_noise().await?;
        self.check_family().await?;
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
        let of = |from: usize, to: usize| -> Vec<Run<'_>> {
            let places = from..to;
            places
                .flat_map(|place| units.iter().map(move |unit| Run::new(place, *unit)))
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
        let noise = self.noise_runs(&debates, &journals);
        self.runner
            .run_all(self.questions, &noise, &mut journals)
            .await?;
        if let Some(judge) = &self.args.judge {
            let answers = self.open_answers(&journals);
            let gradings = judge::runs(&answers, judge);
            self.say(&format!("{} gradings", gradings.len()));
            self.runner
                .run_all(self.questions, &gradings, &mut journals)
                .await?;
        }
        Ok(journals)
    }

    /// Further samples: as many for every question as the most expensive debate costs.
    fn samples(&self, debates: &[&DebateArm], journals: &Journals) -> Vec<Run<'static>> {
        let results = self.results(debates, journals);
        let plans = debates.iter().filter_map(|debate| results.plan(debate));
        let most = plans.map(|plan| plan.most()).max().unwrap_or(1);
        self.say(&format!(
            "Self-consistency: up to {most} samples per question"
        ));
        let places = 0..self.questions.len();
        places
            .flat_map(|place| (2..=most).map(move |number| Run::new(place, Unit::Sample(number))))
            .collect()
    }

    /// The answers of all arms and of the part that a person has graded.
    fn open_answers(&self, journals: &Journals) -> Answers {
        let debates = self.debates();
        let mut answers = self.results(&debates, journals).open_answers(&self.units());
        let graded = self.graded.iter();
        answers.extend(graded.map(|one| (one.place, one.answer.clone())));
        answers
    }

    /// Refuses a judge that is one of the arms, or of a family that answers: it would grade its own kind.
    async fn check_family(&self) -> Result<(), Failure> {
        let Some((judge, question)) = self.args.judge.as_deref().zip(self.questions.first()) else {
            return Ok(());
        };
        let own = self.judge_seat(judge, question).await?;
        for unit in self.units() {
            let prepared = self.runner.prepare(question, &unit).await?;
            for seated in &prepared.setup.seats {
                if seated.model == own.model {
                    return Err(Failure::usage(format!(
                        "the judge {} is one of the arms: it answers in {}. Name a model of another family with --judge",
                        own.model,
                        unit.key()
                    )));
                }
                if seated.family.is_some() && seated.family == own.family {
                    return Err(Failure::usage(format!(
                        "the judge {} is of the same family as {}, which answers in {}. Name a model of another family with --judge",
                        own.model,
                        seated.model,
                        unit.key()
                    )));
                }
            }
        }
        Ok(())
    }

    async fn judge_seat(&self, judge: &str, question: &BenchQuestion) -> Result<Seated, Failure> {
        let unit = Unit::Grade {
            answer: "",
            judge,
            answer_first: false,
        };
        let prepared = self.runner.prepare(question, &unit).await?;
        let mut seats = prepared.setup.seats.into_iter();
        seats
            .next()
            .ok_or_else(|| Failure::other("the judge has no seat"))
    }

    /// The noise controls of all debates that have ended.
    fn noise_runs<'d>(&self, debates: &[&'d DebateArm], journals: &Journals) -> Vec<Run<'d>> {
        if !self.with_noise() {
            return Vec::new();
        }
        let results = self.results(debates, journals);
        let runs = debates.iter().flat_map(|debate| results.noise_runs(debate));
        runs.collect()
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

    /// The debates, calls and gradings that have not ended.
    fn unfinished(&self, journals: &Journals, answers: &Answers) -> usize {
        let units = self.units();
        let places = 0..self.questions.len();
        let noise = self.noise_runs(&self.debates(), journals);
        let judge = self.args.judge.as_deref().unwrap_or_default();
        let gradings = judge::runs(answers, judge);
        places
            .flat_map(|place| units.iter().map(move |unit| (place, unit.key())))
            .chain(
                noise
                    .iter()
                    .chain(&gradings)
                    .map(|run| (run.place, run.unit.key())),
            )
            .filter(|key| !journals.contains_key(key))
            .count()
    }

    fn report(
        &self,
        journals: &Journals,
        folder: &Path,
        source: (&str, String),
    ) -> Result<crate::bench::BenchReport, Failure> {
        let debates = self.debates();
        let results = self.results(&debates, journals);
        let judge = self.args.judge.as_deref();
        let answers = match judge {
            Some(_) => self.open_answers(journals),
            None => Answers::new(),
        };
        let judge = judge.map(|judge| {
            let name = self.runner.app.config.model_name(judge);
            let family = name.map_or_else(|_| judge.to_owned(), |name| models::family(&name));
            JudgeInfo::new((judge, &family), &answers, self.graded, journals)
        });
        let run = RunInfo {
            folder: folder.display().to_string(),
            seed: self.args.seed,
            models: results.served(),
            unfinished: self.unfinished(journals, &answers),
            prices_as_of: self.runner.app.models.prices_as_of().map(str::to_owned),
            budgets: Vec::new(),
            weights: Weights::default(),
            vote_of_k: Vec::new(),
            judge,
        };
        let baseline = self.args.baseline.as_deref();
        results.report(source, run, baseline, self.with_long())
    }
}
