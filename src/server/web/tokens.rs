//! The tokens page, for admins: all tokens, and a form that adds one.

use askama::Template;

use super::{Choice, Frame};
use crate::clock;
use crate::store::TokenRow;

/// A token as a row of the list.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub name: String,
    pub scope: &'static str,
    pub reach: &'static str,
    pub limits: String,
    pub stamp: String,
    pub when: String,
    /// `expires 2026-11-16 14:02 UTC`, or that it does not.
    pub expiry: String,
    pub last_use: String,
    /// The settings that can be changed, filled in.
    pub form: TokenForm,
}

impl Row {
    pub(crate) fn new(token: &TokenRow) -> Self {
        Self {
            name: token.name.clone(),
            scope: token.scope.name(),
            reach: match token.reach {
                crate::store::Reach::Own => "own debates",
                crate::store::Reach::All => "all debates",
            },
            limits: token.limits.summary(),
            stamp: clock::stamp(token.created_at),
            when: clock::day_and_time(token.created_at),
            expiry: match token.expires_at {
                Some(at) if token.is_expired(clock::now()) => {
                    format!("expired {}", clock::day_and_time(at))
                }
                Some(at) => format!("expires {}", clock::day_and_time(at)),
                None => "no expiry".to_owned(),
            },
            form: TokenForm::of(token),
            last_use: token.last_used_at.map_or_else(
                || "never used".to_owned(),
                |at| format!("used {}", clock::day_and_time(at)),
            ),
        }
    }
}

/// The submitted form; missing fields are empty.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct TokenForm {
    pub name: String,
    pub scope: String,
    pub reach: String,
    pub max_cost_per_day: String,
    pub max_running: String,
    pub models: String,
    pub expires_in_days: String,
}

impl TokenForm {
    fn of(token: &TokenRow) -> Self {
        let limits = &token.limits;
        let cost = limits
            .max_cost_per_day
            .map(|cost| cost.dollars().to_string());
        let running = limits.max_running.map(|number| number.to_string());
        Self {
            reach: token.reach.name().to_owned(),
            max_cost_per_day: cost.unwrap_or_default(),
            max_running: running.unwrap_or_default(),
            models: limits.models.join(", "),
            ..Self::default()
        }
    }

    fn scopes(&self) -> Vec<Choice> {
        let options = [
            ("read", "read: show debates"),
            ("run", "run: also start debates and take part"),
            ("admin", "admin: also delete debates and manage tokens"),
        ];
        choices(&options, &self.scope, "run")
    }

    fn reaches(&self) -> Vec<Choice> {
        let options = [("all", "all debates"), ("own", "its own debates only")];
        choices(&options, &self.reach, "all")
    }

    fn has_limits(&self) -> bool {
        let limits = [&self.max_cost_per_day, &self.max_running, &self.models];
        limits.iter().any(|limit| !limit.is_empty())
    }
}

fn choices(options: &[(&str, &str)], chosen: &str, default: &str) -> Vec<Choice> {
    let chosen = if chosen.is_empty() { default } else { chosen };
    let options = options.iter().map(|(value, label)| Choice {
        value: (*value).to_owned(),
        label: (*label).to_owned(),
        is_chosen: *value == chosen,
    });
    options.collect()
}

/// A token that was just added.
#[derive(Debug, Clone)]
pub(crate) struct Added {
    pub name: String,
    pub secret: String,
}

#[derive(Debug, Default)]
pub(crate) struct TokensView {
    pub problems: Vec<String>,
    pub added: Option<Added>,
    pub rows: Vec<Row>,
    pub form: TokenForm,
}

#[derive(Template)]
#[template(path = "tokens.html")]
struct Page {
    frame: Frame,
    view: TokensView,
}

impl TokensView {
    pub(crate) fn page(self, frame: Frame) -> String {
        let page = Page { frame, view: self };
        page.render().unwrap_or_default()
    }
}
