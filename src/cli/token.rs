//! `roundtable token`: who may use a server.

use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::json;
use uuid::Uuid;

use crate::clock;
use crate::server::tokens;
use crate::store::{Scope, TokenError, TokenRow};

use super::output;
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Service tokens: who may use the server, and for what.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable token add ada --scope run\n  roundtable token list\n  roundtable token revoke ada\n\nA token is shown once, when it is made; only its hash is kept."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a token and show it, once.
    Add {
        /// Whose it is.
        name: String,
        /// read: look at everything; run: also start debates and take part; admin: also delete.
        #[arg(long, value_enum, default_value_t = Allowed::Run)]
        scope: Allowed,
    },
    /// All tokens, without the secrets.
    List,
    /// Make a token worthless, at once.
    Revoke { name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    Read,
    Run,
    Admin,
}

impl From<Allowed> for Scope {
    fn from(allowed: Allowed) -> Self {
        match allowed {
            Allowed::Read => Self::Read,
            Allowed::Run => Self::Run,
            Allowed::Admin => Self::Admin,
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
        Command::Add { name, scope } => add(app, name, scope.into(), args.json).await?,
        Command::List => list(app, args.json).await?,
        Command::Revoke { name } => {
            let store = app.store().await?;
            store.revoke_token(&name).await?;
            store.close().await;
            output::note(&format!("The token '{name}' no longer counts."));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(app: &AppContext, name: String, scope: Scope, as_json: bool) -> Result<(), Failure> {
    let name = name.trim().to_owned();
    let is_short = (1..=100).contains(&name.chars().count());
    if !is_short || name.chars().any(char::is_control) {
        return Err(Failure::usage("a token's name has 1 to 100 characters"));
    }
    let secret = tokens::make().map_err(|error| Failure::other(error.to_string()))?;
    let token = TokenRow {
        id: Uuid::new_v4(),
        name,
        scope,
        hash: tokens::hash(&secret),
        created_at: clock::now(),
    };
    let store = app.store().await?;
    store.add_token(&token).await?;
    store.close().await;
    if as_json {
        let shown = json!({ "name": token.name, "scope": scope.name(), "token": secret });
        return output::json(&shown);
    }
    output::line(&secret);
    output::note("Keep it now: it is not shown again.");
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
                json!({ "name": token.name, "scope": token.scope.name(), "created_at": clock::stamp(token.created_at) })
            })
            .collect();
        return output::json(&rows);
    }
    if all.is_empty() {
        output::note("No tokens: the server serves this machine only, and everybody on it.");
    }
    for token in all {
        output::line(&format!(
            "{:<6} {}  {}",
            token.scope.name(),
            clock::stamp(token.created_at),
            output::harmless(&token.name)
        ));
    }
    Ok(())
}
