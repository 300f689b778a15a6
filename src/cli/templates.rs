//! `roundtable templates`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roundtable_engine::data::{DataKind, MAX_FILE_BYTES, Origin, Text, read_regular_text};
use roundtable_engine::reasoning::{self, Library, Template, scale_of};
use serde_json::json;

use super::{output, own_files, pull};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// List, search and add reasoning templates
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable templates search \"Should we rewrite it in Rust?\"\n  roundtable templates add my-template.toml"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List all templates, built in and your own
    #[command(after_help = "Example:\n  roundtable templates list --json")]
    List,
    /// Show a template with its steps
    #[command(after_help = "Example:\n  roundtable templates show trade-off-analysis")]
    Show {
        /// Id of a template
        id: String,
    },
    /// Find the templates that match a question, by meaning
    #[command(
        after_help = "Example:\n  roundtable templates search \"Should we rewrite it in Rust?\""
    )]
    Search {
        /// The question
        question: String,
        /// Maximum number of results
        #[arg(long, default_value_t = 3, value_name = "NUMBER")]
        count: usize,
    },
    /// Check a template file and add it to your library
    #[command(after_help = "Example:\n  roundtable templates add my-template.toml")]
    Add {
        /// The file
        file: PathBuf,
        /// Replace an existing file of the same name
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
        let is_built_in = entry.origin == Origin::BuiltIn;
        let own = if is_built_in { "" } else { " (yours)" };
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
    output::note("A debate uses up to three templates with a score of at least 0.65.");
    Ok(())
}

fn add(app: &AppContext, file: &Path, force: bool) -> Result<(), Failure> {
    let content = read_regular_text(file, MAX_FILE_BYTES)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let name = file
        .file_stem()
        .map_or_else(|| "own".into(), |stem| stem.to_string_lossy().into_owned());
    let text = Text {
        name: format!("{name}.toml"),
        origin: Origin::File(file.to_owned()),
        content,
    };
    let templates = reasoning::parse(&text)?;
    let target = own_files::path(app, DataKind::Templates, &text.name, "Set HOME")?;
    if !force {
        own_files::check_is_new(&target, "replace it with --force")?;
    }
    own_files::write(&target, &text.content)?;
    let ids: Vec<_> = templates.iter().map(|template| &*template.id).collect();
    output::note(&format!("Added {} to {}", ids.join(", "), target.display()));
    Ok(())
}
