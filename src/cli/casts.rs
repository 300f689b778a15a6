//! `roundtable casts`

use std::path::Path;
use std::process::ExitCode;

use roundtable_engine::cast::councils::CouncilsSpec;
use roundtable_engine::cast::{Cast, CastChoice, Tier};
use roundtable_engine::data::{DataError, DataKind, Text, closest, is_name};
use roundtable_engine::protocol::Request;
use roundtable_engine::protocols;
use serde_json::json;

use super::output;
use super::own_files::{self, Listed};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// List, show and create casts: who takes part
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable casts list\n  roundtable casts show themis\n  roundtable casts new grant --from rfc\n  roundtable casts check grant\n\nYour own casts are in the folder `casts` of your configuration folder, or next to the configuration file in use; one with the name of a built-in cast replaces it."
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
        None | Some(Command::List) => return list(app, args.json),
        Some(Command::Show { name }) => show(app, name, args.json)?,
        Some(Command::New { name, from }) => new(app, name, from)?,
        Some(Command::Check { name }) => check(app, name, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The cast that an argument names. A path ends in `.toml` or contains a folder.
pub(super) fn choice(argument: &str) -> Result<CastChoice, DataError> {
    let path = Path::new(argument);
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    if is_toml || path.components().count() > 1 {
        Text::read(path).map(CastChoice::File)
    } else {
        Ok(CastChoice::Named(argument.to_owned()))
    }
}

fn found(app: &AppContext, argument: &str) -> Result<Text, DataError> {
    Cast::find(&app.data, Some(&choice(argument)?), "")
}

/// The errors of a cast that its protocol would report when a debate starts.
fn checked(app: &AppContext, text: &Text) -> Result<Cast, DataError> {
    let cast = Cast::of(text)?;
    cast.check_name(text)?;
    let Some(protocol) = protocols::named(&cast.protocol) else {
        let names: Vec<&str> = protocols::ALL
            .iter()
            .map(|protocol| protocol.name())
            .collect();
        let hint = closest(&cast.protocol, names.iter().copied()).map_or_else(
            || format!("known: {}", names.join(", ")),
            |close| format!("did you mean '{close}'?"),
        );
        let message = format!("unknown protocol '{}'; {hint}", cast.protocol);
        return Err(text.broken(text.line_of_key("protocol"), message));
    };
    let request = Request {
        question: "Is this cast valid?".into(),
        cast: Some(CastChoice::File(text.clone())),
        ..Request::default()
    };
    let faults = protocol
        .validate(json!({}), request, own_files::context(app, protocol))
        .err()
        .unwrap_or_default();
    // The other faults are about the question, which is not the user's.
    match faults
        .into_iter()
        .find(|fault| fault.at.starts_with("/cast"))
    {
        Some(fault) => {
            let file = format!("{}:", text.file());
            let message = fault.message.strip_prefix(&file).unwrap_or(&fault.message);
            let (line, message) = message.split_once(": ").unwrap_or(("1", message));
            Err(text.broken(line.parse().unwrap_or(1), message.to_owned()))
        }
        None => Ok(cast),
    }
}

/// The errors of all casts.
pub(super) fn problems(app: &AppContext) -> Result<Vec<DataError>, DataError> {
    own_files::problems(app, DataKind::Casts, |text| checked(app, text))
}

fn list(app: &AppContext, as_json: bool) -> Result<ExitCode, Failure> {
    own_files::list(app, DataKind::Casts, as_json, |text| {
        let cast = Cast::of(text)?;
        let seats: Vec<&String> = cast.seats.iter().map(|seat| &seat.name).collect();
        Ok(Listed {
            json: json!({ "name": cast.name, "protocol": cast.protocol, "summary": cast.summary, "seats": seats }),
            name: cast.name,
            summary: cast.summary,
        })
    })
}

fn show(app: &AppContext, name: &str, as_json: bool) -> Result<(), Failure> {
    let cast = Cast::of(&found(app, name)?)?;
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
    let cast = checked(app, &found(app, name)?)?;
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
    own_files::check_is_not_built_in(DataKind::Casts, "cast", name)?;
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
