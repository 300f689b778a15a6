//! `roundtable token`: service tokens of the server.

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

/// Manage service tokens for the server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable token add ada --scope run\n  roundtable token list\n  roundtable token revoke ada\n\nA token is shown once, when it is created; only its hash is stored."
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
    #[command(after_help = "Example:\n  roundtable token add ada --scope run")]
    Add {
        /// Name of the token, such as its owner
        name: String,
        /// What the token allows: read everything; run also starts debates and takes part; admin also deletes
        #[arg(long, value_enum, default_value_t = ScopeArg::Run)]
        scope: ScopeArg,
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
        Command::Add { name, scope } => add(app, name, scope.into(), args.json).await?,
        Command::List => list(app, args.json).await?,
        Command::Revoke { name } => {
            let store = app.store().await?;
            store.revoke_token(&name).await?;
            store.close().await;
            output::note(&format!("Revoked token '{name}'."));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(app: &AppContext, name: String, scope: Scope, as_json: bool) -> Result<(), Failure> {
    let name = name.trim().to_owned();
    let has_valid_length = (1..=100).contains(&name.chars().count());
    if !has_valid_length || name.chars().any(char::is_control) {
        return Err(Failure::usage(
            "invalid token name: expected 1 to 100 characters, without control characters",
        ));
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
                json!({ "name": token.name, "scope": token.scope.name(), "created_at": clock::stamp(token.created_at) })
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
        output::line(&format!(
            "{:<6} {}  {}",
            token.scope.name(),
            clock::stamp(token.created_at),
            output::harmless(&token.name)
        ));
    }
    Ok(())
}
