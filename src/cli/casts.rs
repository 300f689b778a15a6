//! `roundtable casts`

use std::process::ExitCode;

use roundtable_engine::cast::Cast;
use roundtable_engine::cast::councils::CouncilsSpec;
use roundtable_engine::data::{DataKind, Origin};
use serde_json::json;

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// The casts: who sits at the table.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable casts list\n  roundtable casts show themis\n  roundtable casts new grant --from rfc\n  roundtable casts check grant\n\nYour own go into the folder `casts` beside your configuration file; one of the same name replaces the built-in one."
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
    /// One cast with its seats and personas, its councils and what they judge.
    Show {
        /// A name, or a file.
        name: String,
    },
    /// Start a cast of your own from another one.
    New {
        name: String,
        /// The cast to start from.
        #[arg(long, default_value = "themis", value_name = "NAME")]
        from: String,
    },
    /// Say whether a cast is in order, and what is wrong with it where.
    Check {
        /// A name, or a file.
        name: String,
    },
}

pub(crate) fn run(app: &AppContext, args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        None | Some(Command::List) => list(app, args.json)?,
        Some(Command::Show { name }) => show(app, name, args.json)?,
        Some(Command::New { name, from }) => new(app, name, from)?,
        Some(Command::Check { name }) => check(app, name, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (file, text) in app.data.all(DataKind::Casts)? {
        let cast = Cast::load(&app.data, file.trim_end_matches(".toml"))?;
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

fn show(app: &AppContext, name: &str, as_json: bool) -> Result<(), Failure> {
    let cast = Cast::named_or_file(&app.data, name)?;
    if as_json {
        return output::json(&cast);
    }
    output::line(&format!(
        "{}: {}\nProtocol: {}",
        output::painted(output::BOLD, &cast.name),
        cast.summary,
        cast.protocol
    ));
    if let Some(panel) = &cast.panel {
        show_panel(panel);
    }
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

fn show_panel(panel: &CouncilsSpec) {
    output::line(&format!("Judges {}", panel.subject));
    let tiers: Vec<String> = panel
        .tiers
        .all()
        .iter()
        .map(|tier| format!("{} {}", tier.from, tier.name))
        .collect();
    output::line(&format!("{}: {}", panel.overall, tiers.join(" · ")));
    for council in &panel.councils {
        output::line(&format!(
            "\n{} (lead {}): {}",
            output::painted(output::BOLD, &council.title),
            council.lead,
            council.concern
        ));
        for judge in &council.judges {
            let unscored = if judge.is_scored() { "" } else { " (unscored)" };
            let dimensions = judge.dimensions.join(", ");
            output::line(&format!("  {}{unscored}: {dimensions}", judge.seat));
        }
    }
    for dimension in &panel.dimensions {
        let weight = dimension
            .weight
            .map_or_else(String::new, |weight| format!(", weight {weight}"));
        let anchors = &dimension.anchors;
        output::line(&format!(
            "\n{} ({}{weight})\n  {}\n    0  {}\n   25  {}\n   50  {}\n   75  {}\n  100  {}",
            output::painted(output::BOLD, &dimension.title),
            dimension.name,
            dimension.question,
            anchors.at_0,
            anchors.at_25,
            anchors.at_50,
            anchors.at_75,
            anchors.at_100
        ));
    }
}

fn check(app: &AppContext, name: &str, as_json: bool) -> Result<(), Failure> {
    let cast = Cast::named_or_file(&app.data, name)?;
    let councils = cast.panel.as_ref().map_or(0, |panel| panel.councils.len());
    let judges = cast
        .panel
        .as_ref()
        .map_or(0, |panel| panel.judges().count());
    if as_json {
        return output::json(&json!({
            "name": cast.name, "protocol": cast.protocol, "ok": true, "seats": cast.seats.len(), "councils": councils, "judges": judges,
        }));
    }
    let panel = if councils == 0 {
        String::new()
    } else {
        format!(", {councils} councils, {judges} judges")
    };
    output::line(&format!(
        "{} is in order: {}, {} seats{panel}",
        cast.name,
        cast.protocol,
        cast.seats.len()
    ));
    Ok(())
}

/// Writes a copy under another name, to be changed.
fn new(app: &AppContext, name: &str, from: &str) -> Result<(), Failure> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Failure::usage(format!(
            "'{name}' is no name for a cast: use small letters, digits and dashes"
        )));
    }
    // Names the nearest where there is none of this name.
    Cast::load(&app.data, from)?;
    let Some(text) = app.data.one(DataKind::Casts, &format!("{from}.toml"))? else {
        return Err(Failure::usage(format!("there is no cast named '{from}'")));
    };
    let folders = app.environment.folders.as_ref().ok_or_else(|| {
        Failure::usage(
            "there is no home folder to keep casts in; write the file yourself and give its path",
        )
    })?;
    let folder = folders.config.join("casts");
    let path = folder.join(format!("{name}.toml"));
    if path.exists() {
        return Err(Failure::usage(format!(
            "{} is there already; change it, or choose another name",
            path.display()
        )));
    }
    let mut document: toml_edit::DocumentMut = text
        .content
        .parse()
        .map_err(|error| Failure::other(format!("{}: {error}", text.file())))?;
    document["name"] = toml_edit::value(name);
    let write = || {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(&path, document.to_string())
    };
    write().map_err(|error| Failure::other(format!("cannot write {}: {error}", path.display())))?;
    output::line(&path.display().to_string());
    output::note(&format!(
        "A copy of '{from}' to change. `roundtable casts check {name}` says whether it is in order."
    ));
    Ok(())
}
