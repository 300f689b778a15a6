//! `roundtable init`: shows what was found, tests a model, and writes it into the configuration. Nothing is changed before the
//! last question about a change is answered.

mod agent_offer;
mod choice;
mod completion_offer;
mod found;
mod prompt;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::cast::Cast;
use roundtable_engine::protocol::Protocol;
use roundtable_engine::protocols::Dialectic;
use roundtable_engine::protocols::dialectic::Input;
use serde_json::json;

use super::args::DebateArgs;
use super::output::{self, BAD, BOLD, GOOD, painted};
use super::run::{interruption, start};
use super::stdin_lines::is_interactive;
use crate::app_context::AppContext;
use crate::config::{self, Edit, trust};
use crate::estimate::UsageEstimate;
use crate::failure::{Code, Failure};
use crate::models::TierModels;
use crate::setup::DebateSpec;
use agent_offer::AgentOffer;
use choice::{Test, choose, same_for_both};
use completion_offer::CompletionOffer;
use found::Found;
use prompt::{Prompt, Stop};

/// A question that every model can argue about.
const FIRST_QUESTION: &str = "Is a four-day week good for a support team?";

/// Set up Roundtable: find models, choose one, test it and write the configuration
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable init\n  roundtable init --model ollama:qwen3:32b --yes\n  roundtable init --json\n\nThis is never needed: without a configuration, Roundtable uses the first model it finds. Keys are not written to the file; they stay in your environment."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Args {
    /// Use this model instead of looking for models
    #[arg(long, value_name = "PROVIDER:MODEL")]
    model: Option<String>,
    /// Take the default answer to every question, without a terminal too
    #[arg(long, short)]
    yes: bool,
    /// Do not test the model with a small call
    #[arg(long)]
    no_test: bool,
    /// Write roundtable.toml in the working folder instead of your own configuration
    #[arg(long)]
    here: bool,
    /// With --yes, replace models that the file already names
    #[arg(long, requires = "yes")]
    force: bool,
    /// Print what was found and done as JSON; without --yes nothing is tested or changed
    #[arg(long)]
    json: bool,
}

/// Everything that is decided before anything is changed.
struct Decisions {
    found: Option<Found>,
    models: TierModels,
    test: Option<Test>,
    edit: Edit,
    writes_file: bool,
    /// To be installed.
    completions: Option<CompletionOffer>,
    /// To be changed.
    agents: Vec<AgentOffer>,
}

/// `given` is the file of `--config`.
pub(crate) async fn run(
    app: &AppContext,
    args: Args,
    given: Option<&Path>,
) -> Result<ExitCode, Failure> {
    if args.json && !args.yes {
        return report(app, &args, given).await;
    }
    let mut prompt = match (args.yes, is_interactive()) {
        (true, _) => None,
        (false, true) => Some(Prompt::start()),
        (false, false) => {
            return Err(Failure::usage(
                "cannot ask: this is not a terminal. Pass --yes to take the model that is found first, with --model \
                 PROVIDER:MODEL to choose one, or --json to see what is found",
            ));
        }
    };
    let decided = tokio::select! {
        decided = decide(app, &args, given, prompt.as_mut()) => decided,
        () = interruption() => Err(Stop::Left),
    };
    let decisions = match decided {
        Ok(decisions) => decisions,
        Err(Stop::Failed(failure)) => return Err(failure),
        Err(Stop::Left) => {
            output::note("\nStopped. Nothing was changed.");
            return Ok(Code::Interrupted.into());
        }
    };
    carry_out(app, &args, given, &decisions)?;
    if args.json {
        let found = decisions.found.as_ref();
        output::json(&json!({
            "found": found.map(|found| found.to_json(app)).transpose()?,
            "model": decisions.models.deliberate,
            "fast_model": decisions.models.fast,
            "test": decisions.test.as_ref().map(Test::to_json),
            "file": decisions.edit.path(),
            "written": decisions.writes_file,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    Box::pin(first_question(app, given, &decisions, prompt)).await
}

/// The models that were found, and the default choice.
async fn report(app: &AppContext, args: &Args, given: Option<&Path>) -> Result<ExitCode, Failure> {
    let found = Found::look(app).await?;
    let chosen = match &args.model {
        Some(name) => Ok(same_for_both(app.config.model_name(name)?)),
        None => found.default().cloned(),
    };
    output::json(&json!({
        "found": found.to_json(app)?,
        "model": chosen.as_ref().ok().map(|models| &models.deliberate),
        "fast_model": chosen.as_ref().ok().map(|models| &models.fast),
        "test": null,
        "file": target(app, args, given)?,
        "written": false,
    }))?;
    chosen.map(|_| ExitCode::SUCCESS)
}

async fn decide(
    app: &AppContext,
    args: &Args,
    given: Option<&Path>,
    mut prompt: Option<&mut Prompt>,
) -> Result<Decisions, Stop> {
    if prompt.is_some() {
        output::note("Enter takes the default, Ctrl-C leaves everything as it is.");
    }
    let found = match args.model {
        Some(_) => None,
        None => Some(Found::look(app).await?),
    };
    if let Some(found) = found.as_ref().filter(|_| !args.json) {
        found.print(app)?;
    }
    let (models, test) = choose(app, args, found.as_ref(), prompt.as_deref_mut()).await?;
    let edit = edit(app, args, given, &models)?;
    let families = found
        .as_ref()
        .map(|found| found.families_of_default(&models));
    let writes_file = if let Some(families) = families.filter(|families| families.len() > 1) {
        let families = families.join(", ");
        note(
            args,
            &format!(
                "Nothing to write: seats get models of different families ({families}). A model in the file would take every seat."
            ),
        );
        false
    } else if edit.is_empty() {
        let path = app.environment.shown(edit.path());
        note(args, &format!("{path} names this model already."));
        false
    } else {
        confirm_edit(app, args, &edit, prompt.as_deref_mut()).await?
    };
    let mut completions = CompletionOffer::for_shell_of(&app.environment)?;
    if let Some(offer) = &completions {
        let is_accepted = match prompt.as_deref_mut() {
            Some(prompt) if offer.can_be_installed() => offer.ask(prompt).await?,
            Some(_) | None => {
                note(args, &offer.instruction());
                false
            }
        };
        completions = completions.filter(|_| is_accepted);
    }
    let agents = agents(app, args, prompt).await?;
    Ok(Decisions {
        found,
        models,
        test,
        edit,
        writes_file,
        completions,
        agents,
    })
}

/// The agents that the user wants to use Roundtable from.
async fn agents(
    app: &AppContext,
    args: &Args,
    mut prompt: Option<&mut Prompt>,
) -> Result<Vec<AgentOffer>, Stop> {
    let mut accepted = Vec::new();
    // Without the path of this program there is nothing to enter.
    let Ok(program) = std::env::current_exe() else {
        return Ok(accepted);
    };
    for offer in AgentOffer::all(&app.environment, &program) {
        let Some(prompt) = prompt.as_deref_mut() else {
            note(args, &offer.instruction());
            continue;
        };
        if offer.ask(prompt).await? {
            accepted.push(offer);
        }
    }
    Ok(accepted)
}

/// To standard error, unless the output is for a program.
fn note(args: &Args, text: &str) {
    if !args.json {
        output::note(text);
    }
}

/// The file to write.
fn target(app: &AppContext, args: &Args, given: Option<&Path>) -> Result<PathBuf, Failure> {
    let environment = &app.environment;
    if args.here {
        return Ok(environment.working_dir.join(config::FILE_NAME));
    }
    if given.is_some() || environment.path("ROUNDTABLE_CONFIG").is_some() {
        return Ok(config::path_in_use(given, environment)?);
    }
    Ok(config::default_path(environment))
}

fn edit(
    app: &AppContext,
    args: &Args,
    given: Option<&Path>,
    models: &TierModels,
) -> Result<Edit, Failure> {
    let [deliberate, fast] = [&models.deliberate, &models.fast].map(ToString::to_string);
    let settings = [("tiers.deliberate", &*deliberate), ("tiers.fast", &*fast)];
    let path = target(app, args, given)?;
    let provider = models.deliberate.provider();
    let key = app.config.providers.get(provider);
    let key = key.and_then(|provider| provider.key.as_ref());
    let key = key.map_or_else(String::new, |key| {
        let variable = &key.variable;
        format!("# The key of {provider} is in the environment variable {variable}.\n")
    });
    let heading = format!(
        "# Written by `roundtable init`; `roundtable config show` lists all settings.\n{key}"
    );
    let edit = Edit::prepare(&path, &settings, &app.environment)?;
    Ok(edit.with_heading(&heading))
}

/// Shows the difference, and whether to write it.
async fn confirm_edit(
    app: &AppContext,
    args: &Args,
    edit: &Edit,
    prompt: Option<&mut Prompt>,
) -> Result<bool, Stop> {
    let (removed, added) = edit.difference();
    let path = app.environment.shown(edit.path());
    let kind = if edit.is_new() { "new file" } else { "changes" };
    note(args, &painted(BOLD, &format!("\n{path} ({kind})")));
    for line in removed.iter().filter(|line| !line.is_empty()) {
        note(args, &painted(BAD, &format!("  - {line}")));
    }
    for line in added.iter().filter(|line| !line.is_empty()) {
        note(args, &painted(GOOD, &format!("  + {line}")));
    }
    match prompt {
        Some(prompt) => prompt.confirm("Write it? [Y/n]", true).await,
        None if removed.is_empty() || args.force => Ok(true),
        None => Err(Stop::Failed(Failure::usage(format!(
            "{path} names other models. Add --force to replace them. Nothing was changed"
        )))),
    }
}

fn carry_out(
    app: &AppContext,
    args: &Args,
    given: Option<&Path>,
    decisions: &Decisions,
) -> Result<(), Failure> {
    if decisions.writes_file {
        let path = decisions.edit.path();
        decisions.edit.write()?;
        let is_source = app.config.source.as_deref() == Some(path);
        if is_source && app.config.is_from_working_dir && app.config.is_trusted {
            trust::trust(path, &app.environment)?;
        }
        note(args, &format!("Wrote {}", app.environment.shown(path)));
        let in_use = config::path_in_use(given, &app.environment)?;
        if in_use != path {
            let in_use = app.environment.shown(&in_use);
            note(args, &format!("warning: {in_use} is used here instead"));
        }
    }
    if let Some(offer) = &decisions.completions {
        offer.install()?;
    }
    decisions.agents.iter().try_for_each(AgentOffer::install)
}

/// Suggests a question and runs it if the user wants.
async fn first_question(
    app: &AppContext,
    given: Option<&Path>,
    decisions: &Decisions,
    prompt: Option<Prompt>,
) -> Result<ExitCode, Failure> {
    output::note(&format!(
        "\nA first question: roundtable ask \"{FIRST_QUESTION}\""
    ));
    let Some(mut prompt) = prompt else {
        return Ok(ExitCode::SUCCESS);
    };
    let estimate = typical_debate(app)?;
    let price = app.models.price(&decisions.models.deliberate);
    let cost = estimate.cost_text(price.as_ref());
    let question = format!("Run it now ({}, {cost})? [y/N]", estimate.size_text());
    let answer = tokio::select! {
        answer = prompt.confirm(&question, false) => answer,
        () = interruption() => Err(Stop::Left),
    };
    match answer {
        Ok(true) => {}
        Ok(false) => return Ok(ExitCode::SUCCESS),
        Err(Stop::Failed(failure)) => return Err(failure),
        Err(Stop::Left) => {
            output::note("\nThe setup is complete; no debate was started.");
            return Ok(Code::Interrupted.into());
        }
    }
    // With the configuration as it is now.
    let address = app.address().ok().cloned();
    let app = AppContext::with(app.environment.clone(), given, address)?;
    let spec = DebateSpec::new(&Dialectic, FIRST_QUESTION.to_owned(), &Input::default());
    start(&app, spec, &DebateArgs::default()).await
}

/// The usage of a debate of `ask`.
fn typical_debate(app: &AppContext) -> Result<UsageEstimate, Failure> {
    let cast = Cast::load(&app.data, Dialectic::CAST)?;
    Ok(UsageEstimate::of_calls(cast.seats.len() as u64 * 3))
}
