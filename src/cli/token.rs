//! `roundtable token`: service tokens of the server.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::json;

use crate::clock;
use crate::server::new_token::{self, NewToken};
use crate::server::tokens;
use crate::store::{Reach, Scope, TokenError};

use super::{audit, output, token_change, token_life};
use crate::app_context::AppContext;
use crate::failure::Failure;

/// Manage service tokens for the server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  roundtable token add ada --scope run --expires 90d\n  roundtable token add bot --own --max-cost-per-day 5 --models 'ollama:*'\n  roundtable token list\n  roundtable token rotate ada --grace 1h\n  roundtable token revoke ada\n\nA token is shown once, when it is created; only its hash is stored."
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
        after_help = "Examples:\n  roundtable token add ada --scope run --expires 90d\n  roundtable token add bot --own --max-cost-per-day 5 --models 'ollama:*'"
    )]
    Add {
        /// Name of the token, such as its owner
        name: String,
        /// Operations the token allows: read shows debates; run also starts them and takes part; admin also deletes them and
        /// manages tokens
        #[arg(long, value_enum, default_value_t = ScopeArg::Run)]
        scope: ScopeArg,
        #[command(flatten)]
        limits: LimitArgs,
        #[command(flatten)]
        given: Given,
        /// How long the token is valid, such as 90d or 12h; without it, until it is revoked
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
    },
    /// List all tokens, without the secrets
    #[command(after_help = "Example:\n  roundtable token list")]
    List,
    /// Replace the secret of a token and print the new one
    #[command(
        after_help = "Example:\n  roundtable token rotate ada --grace 1h\n\nThe token keeps its name, scope and expiry. Browsers that signed in with the old secret are signed out with it."
    )]
    Rotate {
        /// Name of the token
        name: String,
        /// How long the old secret remains valid, such as 1h; without it, it ends at once
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        grace: Option<Duration>,
        /// New validity from now on, such as 90d
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires: Option<Duration>,
    },
    /// Change the reach and the limits of a token; what is not given stays
    #[command(
        override_usage = "roundtable token change [OPTIONS] <NAME>",
        after_help = "Examples:\n  roundtable token change ada --max-cost-per-day 5 --models 'openai:*'\n  roundtable token change ada --reach own --max-running none\n\nIt holds for the next request. Debates that run keep their own limits."
    )]
    Change {
        /// Name of the token
        name: String,
        #[command(flatten)]
        changes: token_change::Changes,
    },
    /// List the browsers that are signed in
    #[command(after_help = "Example:\n  roundtable token sessions")]
    Sessions,
    /// Sign a browser out
    #[command(after_help = "Example:\n  roundtable token end-session 5f2c81a09be4")]
    EndSession {
        /// Id of the session, as `token sessions` shows it
        id: String,
    },
    /// Revoke a token, effective immediately
    #[command(
        after_help = "Example:\n  roundtable token revoke ada\n\nThe browsers that signed in with it are signed out. After the last token is revoked, the server refuses every request."
    )]
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
    /// Maximum cost of its debates in a UTC day, in US dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    max_cost_per_day: Option<f64>,
    /// How many of its debates may run or be queued at the same time
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    max_running: Option<u32>,
    /// Models that it may use, as provider:model with * for any text, separated by commas
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    models: Vec<String>,
}

/// For unattended installations, which create the secret themselves.
#[derive(Debug, clap::Args)]
struct Given {
    /// Read the token from a file instead of creating one: rt_ and 64 hexadecimal digits. It is not printed
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// Do nothing if there is or was a token already, of any name
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

/// Also true after the last one was revoked: it may be the one in the file, and must not come back.
async fn had_tokens(app: &AppContext) -> Result<bool, Failure> {
    let store = app.store().await?;
    let had_tokens = store.had_tokens().await?;
    store.close().await;
    Ok(had_tokens)
}

fn lifetime(text: &str) -> Result<Duration, &'static str> {
    let time = humantime::parse_duration(text).ok();
    time.filter(|time| !time.is_zero())
        .ok_or("expected a duration such as 90d, 12h or 1y")
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
            TokenError::Exists { .. }
            | TokenError::NotFound { .. }
            | TokenError::NoSession { .. } => Self::usage(error.to_string()),
            TokenError::Store(error) => error.into(),
        }
    }
}

pub(crate) async fn run(app: &AppContext, args: Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Add { given, .. } if given.if_none && had_tokens(app).await? => {
            output::note("There is or was a token already; nothing was added.");
        }
        Command::Add {
            name,
            scope,
            limits,
            given,
            expires,
        } => {
            let secret = given.secret()?;
            let new = NewToken {
                name,
                scope: scope.into(),
                reach: if limits.own { Reach::Own } else { Reach::All },
                max_cost_per_day: limits.max_cost_per_day,
                max_running: limits.max_running,
                models: limits.models,
                expires_in_days: None,
            };
            add(app, new, secret, expires, args.json).await?;
        }
        Command::List => list(app, args.json).await?,
        Command::Rotate {
            name,
            grace,
            expires,
        } => {
            let grace = grace.unwrap_or_default();
            token_life::rotate(app, &name, grace, expires, args.json).await?;
        }
        Command::Change { name, changes } => token_change::change(app, &name, changes).await?,
        Command::Sessions => token_life::sessions(app, args.json).await?,
        Command::EndSession { id } => token_life::end_session(app, &id).await?,
        Command::Revoke { name } => {
            let store = app.store().await?;
            let action = audit::Action {
                name: "token-revoked",
                subject: &name,
                detail: None,
            };
            audit::recorded(app, &store, action, store.revoke_token(&name)).await?;
            let is_last = store.tokens().await?.is_empty();
            store.close().await;
            output::note(&format!("Revoked token '{name}'."));
            if is_last {
                output::note(
                    "It was the last one: the server refuses every request until you add another.",
                );
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Creates a secret if none is given. A given one is known already and not printed.
async fn add(
    app: &AppContext,
    new: NewToken,
    given: Option<String>,
    expires: Option<Duration>,
    as_json: bool,
) -> Result<(), Failure> {
    let is_given = given.is_some();
    let secret = given.map_or_else(tokens::make, Ok);
    let secret = secret.map_err(|error| Failure::other(error.to_string()))?;
    let mut token = new.row(&secret).map_err(Failure::refused)?;
    token.expires_at = expires.map(|time| token_life::after(token.created_at, time));
    let store = app.store().await?;
    let action = audit::Action {
        name: "token-added",
        subject: &token.name,
        detail: Some(new_token::summary(&token)),
    };
    audit::recorded(app, &store, action, store.add_token(&token)).await?;
    store.close().await;
    if is_given {
        output::note(&format!("Added token '{}'.", token.name));
        return Ok(());
    }
    if as_json {
        let shown = json!({
            "name": token.name,
            "scope": token.scope,
            "reach": token.reach,
            "limits": token.limits,
            "token": secret,
            "expires_at": token.expires_at.map(clock::stamp),
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
    let had_tokens = store.had_tokens().await?;
    store.close().await;
    if as_json {
        let rows: Vec<_> = all.iter().map(token_life::as_json).collect();
        return output::json(&rows);
    }
    if all.is_empty() {
        output::note(if had_tokens {
            "No tokens: all have been revoked, and the server refuses every request."
        } else {
            "No tokens: the server accepts local connections only, without authentication."
        });
    }
    for token in all {
        output::line(&token_life::as_line(&token, clock::now()));
    }
    Ok(())
}
