//! `roundtable mcp`: the MCP server for one agent, and its entry in the configuration of clients.

pub(super) mod install;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use install::{Change, McpClient};

use super::output;
use super::run::interruption;
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::mcp;

/// Serve agents over the Model Context Protocol, on standard input and output
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  roundtable mcp install --for claude-code\n  roundtable mcp uninstall --for cursor --dry-run\n  roundtable mcp --wait 240\n\nAgents get the tools ask, panel, debate, forecast, judge and debates. `roundtable serve` offers the same at /mcp."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Seconds that a call waits for a debate before it returns the id instead of the result; by default that of the configuration, or 45
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    wait: Option<f64>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add this server to the configuration of a client
    #[command(after_help = "Example:\n  roundtable mcp install --for codex --dry-run")]
    Install(ClientArgs),
    /// Remove this server from the configuration of a client
    #[command(after_help = "Example:\n  roundtable mcp uninstall --for codex")]
    Uninstall(ClientArgs),
}

#[derive(Debug, clap::Args)]
struct ClientArgs {
    /// The client
    #[arg(long = "for", value_enum, value_name = "CLIENT")]
    client: McpClient,
    /// Show the change without making it
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(app: AppContext, args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        None => Box::pin(serve(app, args.wait)).await,
        Some(Command::Install(args)) => change(&app, &args, Change::Install),
        Some(Command::Uninstall(args)) => change(&app, &args, Change::Uninstall),
    }
}

async fn serve(app: AppContext, wait: Option<f64>) -> Result<ExitCode, Failure> {
    let wait = match wait {
        None => app.config.mcp.wait,
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
            Failure::usage(format!(
                "invalid --wait '{seconds}': expected a number of seconds"
            ))
        })?,
    };
    Box::pin(mcp::serve_stdio(Arc::new(app), wait, interruption())).await?;
    Ok(ExitCode::SUCCESS)
}

fn change(app: &AppContext, args: &ClientArgs, change: Change) -> Result<ExitCode, Failure> {
    let client = args.client;
    let file = client.file(&app.environment).ok_or_else(|| {
        Failure::usage(
            "the home folder is unknown: set HOME, or add the server in the client itself",
        )
    })?;
    let program = std::env::current_exe()
        .map_err(|error| Failure::other(format!("cannot find this program: {error}")))?;
    let edit = client.prepare(&file, &program, change)?;
    let shown = app.environment.shown(&file);
    if edit.is_empty() {
        output::note(&format!("{shown} needs no change."));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&shown);
    let (removed, added) = edit.difference();
    for line in removed {
        output::line(&format!("- {line}"));
    }
    for line in added {
        output::line(&format!("+ {line}"));
    }
    if args.dry_run {
        output::note("Nothing was written (--dry-run).");
        return Ok(ExitCode::SUCCESS);
    }
    edit.write()?;
    let title = client.title();
    output::note(&match change {
        Change::Install => format!("Added to {title}. Restart {title} to use it."),
        Change::Uninstall => format!("Removed from {title}."),
    });
    Ok(ExitCode::SUCCESS)
}
