//! `roundtable token change`: new reach and limits for a token.

use std::str::FromStr;

use clap::ValueEnum;

use super::{audit, output};
use crate::app_context::AppContext;
use crate::failure::Failure;
use crate::server::new_token::{TokenChange, change_summary};
use crate::store::{Reach, TokenError};

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub(super) struct Changes {
    /// Debates that it shows and changes: those it starts itself, or all
    #[arg(long)]
    reach: Option<ReachArg>,
    /// Maximum cost of its debates in a UTC day, in US dollars; `none` for no limit
    #[arg(long, value_name = "USD", value_parser = limit::<f64>, allow_negative_numbers = true)]
    max_cost_per_day: Option<Limit<f64>>,
    /// How many of its debates may run or be queued at the same time; `none` for no limit
    #[arg(long, value_name = "NUMBER", value_parser = limit::<u32>)]
    max_running: Option<Limit<u32>>,
    /// Models that it may use, as provider:model with * for any text, separated by commas; `none` for no limit
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',')]
    models: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReachArg {
    Own,
    All,
}

/// A new limit, or none.
#[derive(Debug, Clone, Copy)]
struct Limit<T>(Option<T>);

fn limit<T: FromStr>(text: &str) -> Result<Limit<T>, &'static str> {
    if text == "none" {
        return Ok(Limit(None));
    }
    let number = text.parse().map_err(|_| "expected a number, or none")?;
    Ok(Limit(Some(number)))
}

pub(super) async fn change(app: &AppContext, name: &str, changes: Changes) -> Result<(), Failure> {
    let store = app.store().await?;
    let tokens = store.tokens().await?;
    let Some(token) = tokens.into_iter().find(|token| token.name == name) else {
        return Err(TokenError::NotFound { name: name.into() }.into());
    };
    let (cost, running) = (token.limits.max_cost_per_day, token.limits.max_running);
    let Limit(max_cost_per_day) = changes
        .max_cost_per_day
        .unwrap_or(Limit(cost.map(roundtable_core::usage::Money::dollars)));
    let Limit(max_running) = changes.max_running.unwrap_or(Limit(running));
    let wanted = TokenChange {
        reach: match changes.reach {
            Some(ReachArg::Own) => Reach::Own,
            Some(ReachArg::All) => Reach::All,
            None => token.reach,
        },
        max_cost_per_day,
        max_running,
        models: match changes.models.as_slice() {
            [] => token.limits.models,
            [none] if none == "none" => Vec::new(),
            models => models.to_vec(),
        },
    };
    let limits = wanted.limits().map_err(Failure::refused)?;
    let summary = change_summary(wanted.reach, &limits);
    let action = audit::Action {
        name: "token-changed",
        subject: name,
        detail: Some(summary.clone()),
    };
    let changing = store.change_token(name, wanted.reach, &limits);
    audit::recorded(app, &store, action, changing).await?;
    store.close().await;
    output::note(&format!(
        "Token '{}' now has {summary}.",
        output::harmless(name)
    ));
    Ok(())
}
