//! Which debates a caller sees, under which name it acts, and which models it may use.

use std::sync::Arc;

use axum::http::StatusCode;
use roundtable_engine::event::Millis;
use uuid::Uuid;

use super::access::Caller;
use super::problem::Problem;
use super::route_table::{Access, ReachRule};
use crate::models::ModelPolicy;
use crate::store::{DebateRow, Reach, Scope};

pub(crate) const DAY_MS: Millis = 86_400_000;

impl Caller {
    /// The sender of a request to a server that needs no token.
    pub(super) fn open() -> Self {
        Self {
            name: None,
            token: None,
            scope: Scope::Admin,
            reach: Reach::All,
            limits: Arc::default(),
        }
    }

    /// Whether the token has the scope and the reach of a route.
    pub(super) fn check(&self, access: Access) -> Result<(), Problem> {
        let forbidden =
            |name, detail: String| Err(Problem::new(StatusCode::FORBIDDEN, name, detail));
        if let Some(needed) = access.scope.filter(|needed| !self.may(*needed)) {
            let (needed, has) = (needed.name(), self.scope.name());
            return forbidden(
                "scope",
                format!("requires a token with scope '{needed}'; this token has '{has}'"),
            );
        }
        if access.reach == ReachRule::All && self.reach != Reach::All {
            let detail = "requires a token with reach 'all'; this token has 'own'";
            return forbidden("reach", detail.to_owned());
        }
        Ok(())
    }

    /// The token whose debates alone it sees; `None` if it sees all.
    pub(crate) fn only(&self) -> Option<Uuid> {
        match self.reach {
            Reach::All => None,
            // Without a token nothing is its own.
            Reach::Own => Some(self.token.unwrap_or_default()),
        }
    }

    pub(crate) fn sees(&self, debate: &DebateRow) -> bool {
        self.only().is_none_or(|token| debate.token == Some(token))
    }

    /// The name in the journal: that of the token. A name in the request is added to it and never replaces it.
    pub(crate) fn author(&self, by: Option<String>) -> Option<String> {
        let by = by.filter(|by| !by.trim().is_empty());
        match (&self.name, by) {
            (Some(name), Some(by)) if *name != by => Some(format!("{name} (as: {by})")),
            (Some(name), _) => Some(name.clone()),
            (None, by) => by,
        }
    }

    pub(crate) fn policy(&self) -> ModelPolicy {
        ModelPolicy {
            models: self.limits.models.clone(),
            priced_only: self.limits.max_cost_per_day.is_some(),
        }
    }
}

/// A debate that does not exist, or that the caller must not know of.
pub(super) fn missing(id: &str) -> Problem {
    let short: String = id.chars().take(80).collect();
    Problem::not_found(&format!("there is no debate '{short}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_request_never_replaces_that_of_the_token() {
        let caller = |name: Option<&str>| Caller {
            name: name.map(str::to_owned),
            ..Caller::open()
        };
        let author = |name, by: Option<&str>| caller(name).author(by.map(str::to_owned));
        for (name, by, expected) in [
            (Some("ada"), None, Some("ada")),
            (Some("ada"), Some("bob"), Some("ada (as: bob)")),
            (Some("ada"), Some("ada"), Some("ada")),
            (Some("ada"), Some(" "), Some("ada")),
            (None, Some("bob"), Some("bob")),
            (None, None, None),
        ] {
            assert_eq!(author(name, by).as_deref(), expected);
        }
    }
}
