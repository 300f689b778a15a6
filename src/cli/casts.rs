//! `roundtable casts`

use std::process::ExitCode;

use roundtable_engine::cast::Cast;
use roundtable_engine::data::{Origin, Shelf};
use serde_json::json;

use super::failure::Failure;
use super::output;
use super::workshop::Workshop;

/// The casts: who sits at the table.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable casts list\n  roundtable casts show dialectic\n\nYour own go into the folder `casts` beside your configuration file; one of the same name replaces the built-in one."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// All casts.
    List,
    /// One cast with its seats and personas.
    Show { name: String },
}

pub(crate) fn run(workshop: &Workshop, args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Command::List) => list(workshop, args.json)?,
        Some(Command::Show { name }) => show(workshop, name, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(workshop: &Workshop, as_json: bool) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (file, text) in workshop.data.all(Shelf::Casts)? {
        let cast = Cast::load(&workshop.data, file.trim_end_matches(".toml"))?;
        let origin = match &text.origin {
            Origin::BuiltIn => "built in".to_owned(),
            Origin::File(path) => path.display().to_string(),
        };
        rows.push((cast, origin));
    }
    if as_json {
        let all: Vec<_> = rows
            .iter()
            .map(|(cast, origin)| {
                json!({ "name": cast.name, "protocol": cast.protocol, "summary": cast.summary, "origin": origin,
                        "seats": cast.seats.iter().map(|seat| &seat.name).collect::<Vec<_>>() })
            })
            .collect();
        return output::json(&all);
    }
    for (cast, origin) in rows {
        output::line(&format!(
            "{}  {} ({origin})",
            output::painted(output::BOLD, &cast.name),
            cast.summary
        ));
    }
    Ok(())
}

fn show(workshop: &Workshop, name: &str, as_json: bool) -> Result<(), Failure> {
    let cast = Cast::load(&workshop.data, name)?;
    if as_json {
        return output::json(&cast);
    }
    output::line(&format!(
        "{}: {}\nProtocol: {}",
        output::painted(output::BOLD, &cast.name),
        cast.summary,
        cast.protocol
    ));
    for seat in &cast.seats {
        output::line(&format!(
            "\n{} ({:?} tier, temperature {}, at most {} tokens{})\n{}",
            output::painted(output::role(&seat.name), &seat.name),
            seat.tier,
            seat.temperature,
            seat.max_output_tokens,
            seat.prefers
                .as_ref()
                .map_or_else(String::new, |model| format!(", prefers {model}")),
            seat.persona.trim()
        ));
    }
    Ok(())
}
