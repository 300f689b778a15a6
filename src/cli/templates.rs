//! `roundtable templates`

use std::path::PathBuf;
use std::process::ExitCode;

use roundtable_engine::data::{DataKind, Origin, Text};
use roundtable_engine::reasoning::{self, Library, Template, scale_of};
use serde_json::json;

use super::{output, pull};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// The library of reasoning templates.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable templates search \"Should we rewrite it in Rust?\"\n  roundtable templates add my-template.toml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// All templates, built in and yours.
    List,
    /// One template with its steps.
    Show { id: String },
    /// Which templates fit a question, by meaning.
    Search {
        question: String,
        #[arg(long, default_value_t = 3)]
        count: usize,
    },
    /// Check a file of templates and put it into your library.
    Add {
        file: PathBuf,
        /// Replace your own file of the same name.
        #[arg(long)]
        force: bool,
    },
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        None | Some(Command::List) => list(app, args.json)?,
        Some(Command::Show { id }) => show(app, &id, args.json)?,
        Some(Command::Search { question, count }) => {
            search(app, &question, count, args.json).await?;
        }
        Some(Command::Add { file, force }) => add(app, &file, force)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let library = Library::load(&app.data)?;
    if as_json {
        let all: Vec<_> = library
            .all()
            .iter()
            .map(|entry| {
                let template = &entry.template;
                json!({ "id": template.id, "name": template.name, "when": template.when,
                        "own": entry.origin != Origin::BuiltIn })
            })
            .collect();
        return output::json(&all);
    }
    for entry in library.all() {
        let own = if entry.origin == Origin::BuiltIn {
            ""
        } else {
            " (yours)"
        };
        output::line(&format!(
            "{:<30} {}{own}",
            entry.template.id,
            output::short(&entry.template.name, 60)
        ));
    }
    Ok(())
}

fn show(app: &AppContext, id: &str, as_json: bool) -> Result<(), Failure> {
    let library = Library::load(&app.data)?;
    let template = library.get(id)?;
    if as_json {
        return output::json(template);
    }
    output::markdown(&as_markdown(template));
    Ok(())
}

fn as_markdown(template: &Template) -> String {
    let points = |items: &[String]| format!("* {}\n", items.join("\n* "));
    format!(
        "# {}\n\n{}\n\n## Steps\n\n{}\n## Pitfalls\n\n{}\n## Example\n\n{}",
        template.name,
        template.when,
        points(&template.steps),
        points(&template.pitfalls),
        template.example.trim()
    )
}

async fn search(
    app: &AppContext,
    question: &str,
    count: usize,
    as_json: bool,
) -> Result<(), Failure> {
    let library = Library::load(&app.data)?;
    let embedder = app.embedder(pull::reporter(!as_json)).await?;
    let scale = scale_of(&app.data, embedder.name())?;
    let found = library
        .search(question, count, embedder.as_ref(), &scale)
        .await
        .map_err(|error| Failure::other(format!("cannot embed the question: {error}")))?;
    if as_json {
        return output::json(&found);
    }
    for hit in found {
        let template = library.get(&hit.id)?;
        output::line(&format!(
            "{:.2} (raw {:.2})  {:<30} {}",
            hit.similarity.scaled, hit.similarity.raw, hit.id, template.name
        ));
    }
    output::note("A debate takes up to three with 0.65 or more.");
    Ok(())
}

fn add(app: &AppContext, file: &PathBuf, force: bool) -> Result<(), Failure> {
    let content = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let name = file
        .file_stem()
        .map_or_else(|| "own".into(), |stem| stem.to_string_lossy().into_owned());
    let text = Text {
        name: format!("{name}.toml"),
        origin: Origin::File(file.clone()),
        content,
    };
    let templates = reasoning::parse(&text)?;
    let folders = app.environment.folders.as_ref().ok_or_else(|| {
        Failure::usage("there is no home folder to keep your templates in; set HOME")
    })?;
    let folder = folders.config.join(DataKind::Templates.folder());
    let target = folder.join(&text.name);
    if target.exists() && !force {
        return Err(Failure::usage(format!(
            "{} is there already; --force replaces it",
            target.display()
        )));
    }
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&target, &text.content))
        .map_err(|error| Failure::other(format!("cannot write {}: {error}", target.display())))?;
    let ids: Vec<_> = templates
        .iter()
        .map(|template| template.id.as_str())
        .collect();
    output::note(&format!("Added {} to {}", ids.join(", "), target.display()));
    Ok(())
}
