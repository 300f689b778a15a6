//! `roundtable token`: service tokens of the server.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
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
        #[command(flatten)]
        given: Given,
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

/// For unattended installations, which create the secret themselves.
#[derive(Debug, clap::Args)]
struct Given {
    /// Read the token from a file instead of creating one: rt_ and 64 hexadecimal digits. It is not printed
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Do nothing if there is a token already, of any name
    #[arg(long)]
    if_none: bool,
}

impl Given {
    fn secret(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.secret_file else {
            return Ok(None);
        };
        let text = read_short(path)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
        let secret = text.trim();
        if !tokens::is_secret(secret) {
            return Err(Failure::usage(format!(
                "invalid token in {}: expected rt_ and 64 hexadecimal digits, such as rt_$(openssl rand -hex 32)",
                path.display()
            )));
        }
        Ok(Some(secret.to_owned()))
    }
}

/// Reads at most a kilobyte, so that a wrong file costs nothing.
fn read_short(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(1024).read_to_string(&mut text)?;
    Ok(text)
}

async fn has_tokens(app: &AppContext) -> Result<bool, Failure> {
    let store = app.store().await?;
    let all = store.tokens().await?;
    store.close().await;
    Ok(!all.is_empty())
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
        Command::Add { given, .. } if given.if_none && has_tokens(app).await? => {
            output::note("There is a token already; nothing was added.");
        }
        Command::Add { name, scope, given } => {
            let secret = given.secret()?;
            add(app, name, scope.into(), secret, args.json).await?;
        }
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

/// Creates a secret if none is given. A given one is known already and not printed.
async fn add(
    app: &AppContext,
    name: String,
    scope: Scope,
    given: Option<String>,
    as_json: bool,
) -> Result<(), Failure> {
    let name = name.trim().to_owned();
    let has_valid_length = (1..=100).contains(&name.chars().count());
    if !has_valid_length || name.chars().any(char::is_control) {
        return Err(Failure::usage(
            "invalid token name: expected 1 to 100 characters, without control characters",
        ));
    }
    let is_given = given.is_some();
    let secret = given.map_or_else(tokens::make, Ok);
    let secret = secret.map_err(|error| Failure::other(error.to_string()))?;
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
    if is_given {
        output::note(&format!("Added token '{}'.", token.name));
        return Ok(());
    }
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
