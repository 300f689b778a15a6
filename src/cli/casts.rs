//! `roundtable casts`

use std::process::ExitCode;

use roundtable_engine::cast::councils::CouncilsSpec;
use roundtable_engine::cast::{Cast, Tier};
use roundtable_engine::data::{DataKind, is_name};
use serde_json::json;

use super::{output, own_files};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// List, show and create casts: who takes part
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable casts list\n  roundtable casts show themis\n  roundtable casts new grant --from rfc\n  roundtable casts check grant\n\nYour own casts are in the folder `casts` of your configuration folder; one with the name of a built-in cast replaces it."
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
    /// List all casts
    #[command(after_help = "Example:\n  roundtable casts list --json")]
    List,
    /// Show a cast: seats, personas, councils and dimensions
    #[command(after_help = "Example:\n  roundtable casts show themis")]
    Show {
        /// Name of a cast, or a file
        name: String,
    },
    /// Create a cast as a copy of another one
    #[command(after_help = "Example:\n  roundtable casts new grant --from rfc")]
    New {
        /// Name of the new cast: lower-case letters, digits and dashes
        name: String,
        /// The cast to copy
        #[arg(long, default_value = "themis", value_name = "NAME")]
        from: String,
    },
    /// Check a cast, and report errors with their line
    #[command(after_help = "Example:\n  roundtable casts check grant")]
    Check {
        /// Name of a cast, or a file
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
        rows.push((cast, own_files::shown(&text.origin)));
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
        show_councils(panel);
    }
    for (index, seat) in cast.seats.iter().enumerate() {
        let tier = match seat.tier {
            Tier::Deliberate => "deliberate",
            Tier::Fast => "fast",
        };
        let prefers = seat
            .prefers
            .as_ref()
            .map(|model| format!(", prefers {model}"));
        output::line(&format!(
            "\n{} ({tier} tier, temperature {}, at most {} tokens{})\n{}",
            output::painted(output::seat_style(index), &seat.name),
            seat.temperature,
            seat.max_output_tokens,
            prefers.unwrap_or_default(),
            seat.persona.trim()
        ));
    }
    Ok(())
}

fn show_councils(panel: &CouncilsSpec) {
    output::line(&format!("Judges {}", panel.subject));
    let tiers = panel.tiers.all().iter();
    let tiers: Vec<String> = tiers
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
    let (councils, judges) = cast.panel.as_ref().map_or((0, 0), |panel| {
        (panel.councils.len(), panel.judges().count())
    });
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
        "{} is valid: {}, {} seats{panel}",
        cast.name,
        cast.protocol,
        cast.seats.len()
    ));
    Ok(())
}

/// Writes a copy under another name.
fn new(app: &AppContext, name: &str, from: &str) -> Result<(), Failure> {
    if !is_name(name, "-") {
        return Err(Failure::usage(format!(
            "invalid cast name '{name}': use lower-case letters, digits and dashes"
        )));
    }
    // Fails if the cast is invalid.
    Cast::load(&app.data, from)?;
    let text = app.data.named(DataKind::Casts, "cast", from)?;
    let advice = "Set HOME, or write the file yourself and pass its path";
    let path = own_files::path(app, DataKind::Casts, &format!("{name}.toml"), advice)?;
    own_files::check_is_new(&path, "edit it, or choose another name")?;
    let mut document: toml_edit::DocumentMut = text
        .content
        .parse()
        .map_err(|error| Failure::other(format!("{}: {error}", text.file())))?;
    document["name"] = toml_edit::value(name);
    own_files::write(&path, &document.to_string())?;
    output::line(&path.display().to_string());
    output::note(&format!(
        "Created as a copy of '{from}'. Edit it, then check it with `roundtable casts check {name}`."
    ));
    Ok(())
}
