//! `roundtable token`: service tokens of the server.

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;

use crate::clock;
use crate::server::new_token::{self, NewToken};
use crate::store::{Reach, Scope, TokenError};

use super::{audit, output};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Manage service tokens for the server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable token add ada --scope run\n  roundtable token add bot --own --max-cost-per-day 5 --max-running 3 --models 'openai:*,ollama:*'\n  roundtable token list\n  roundtable token revoke ada\n\nA token is shown once, when it is created; only its hash is stored."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create a token and print it
    #[command(
        after_help = "Examples:\n  roundtable token add ada --scope run\n  roundtable token add bot --own --max-cost-per-day 5 --max-running 3 --models 'openai:*,ollama:*'"
    )]
    Add {
        /// Name of the token, such as its owner
        name: String,
        /// What the token allows: read shows debates; run also starts them and takes part; admin also deletes them and
        /// manages tokens
        #[arg(long, value_enum, default_value_t = ScopeArg::Run)]
        scope: ScopeArg,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// List all tokens, without the secrets
    #[command(after_help = "Example:\n  roundtable token list")]
    List,
    /// Revoke a token, effective immediately
    #[command(after_help = "Example:\n  roundtable token revoke ada")]
    Revoke {
        /// Name of the token
        name: String,
    },
}

#[derive(Debug, clap::Args)]
struct LimitArgs {
    /// Show and change only debates that the token itself starts; otherwise all debates
    #[arg(long)]
    own: bool,
    /// What its debates may cost in a UTC day, in US dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    max_cost_per_day: Option<f64>,
    /// How many of its debates may run or be queued at the same time
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    max_running: Option<u32>,
    /// Models that it may use, as provider:model with * for any text, separated by commas
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    models: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeArg {
    Read,
    Run,
    Admin,
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Read => Self::Read,
            ScopeArg::Run => Self::Run,
            ScopeArg::Admin => Self::Admin,
        }
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Exists { .. } | TokenError::NotFound { .. } => {
                Self::usage(error.to_string())
            }
            TokenError::Store(error) => error.into(),
        }
    }
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Add {
            name,
            scope,
            limits,
        } => {
            let new = NewToken {
                name,
                scope: scope.into(),
                reach: if limits.own { Reach::Own } else { Reach::All },
                max_cost_per_day: limits.max_cost_per_day,
                max_running: limits.max_running,
                models: limits.models,
            };
            add(app, new, args.json).await?;
        }
        Command::List => list(app, args.json).await?,
        Command::Revoke { name } => {
            let store = app.store().await?;
            store.revoke_token(&name).await?;
            audit::record(app, &store, "token-revoked", &name, None).await;
            store.close().await;
            output::note(&format!("Revoked token '{name}'."));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(app: &AppContext, new: NewToken, as_json: bool) -> Result<(), Failure> {
    let made = new.row().map_err(Failure::refused)?;
    let (token, secret) = made.map_err(|error| Failure::other(error.to_string()))?;
    let store = app.store().await?;
    store.add_token(&token).await?;
    let detail = Some(new_token::summary(&token));
    audit::record(app, &store, "token-added", &token.name, detail).await;
    store.close().await;
    if as_json {
        let shown = json!({
            "name": token.name,
            "scope": token.scope,
            "reach": token.reach,
            "limits": token.limits,
            "token": secret,
        });
        return output::json(&shown);
    }
    output::line(&secret);
    output::note("Store it now; it is not shown again.");
    Ok(())
}

async fn list(app: &AppContext, as_json: bool) -> Result<(), Failure> {
    let store = app.store().await?;
    let all = store.tokens().await?;
    store.close().await;
    if as_json {
        let rows: Vec<_> = all
            .iter()
            .map(|token| {
                json!({
                    "name": token.name,
                    "scope": token.scope,
                    "reach": token.reach,
                    "limits": token.limits,
                    "created_at": clock::stamp(token.created_at),
                })
            })
            .collect();
        return output::json(&rows);
    }
    if all.is_empty() {
        output::note(
            "No tokens: the server accepts local connections only, without authentication.",
        );
    }
    for token in all {
        let limits = token.limits.summary();
        let name = output::harmless(&token.name);
        let separator = if limits.is_empty() { "" } else { "  " };
        output::line(&format!(
            "{:<6} {:<4} {}  {name}{separator}{}",
            token.scope.name(),
            token.reach.name(),
            clock::stamp(token.created_at),
            output::harmless(&limits)
        ));
    }
    Ok(())
}
