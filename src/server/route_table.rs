//! Declares every route with the access it needs. A route cannot be added without: the router is built from these declarations,
//! and the middleware looks them up by the path that the router matched.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{self, MethodRouter};

use super::App;
use crate::store::Scope;

/// The access rights that a route requires, and whether its requests are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// `None` if no token is needed.
    pub scope: Option<Scope>,
    pub reach: ReachRule,
    /// The name of the action in the audit log.
    pub action: Option<&'static str>,
}

/// How the reach of a token applies to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReachRule {
    /// It shows nothing of any debate.
    Nothing,
    /// It is about one debate: any other than the token's own is not found.
    Debate,
    /// It shows or creates debates of the token only.
    Visible,
    /// It needs reach `all`.
    All,
}

impl ReachRule {
    #[cfg(test)]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Debate => "debate",
            Self::Visible => "visible",
            Self::All => "all",
        }
    }
}

/// No token needed: health checks, sign-in, and the assets of the sign-in page.
pub(crate) const PUBLIC: Access = Access {
    scope: None,
    reach: ReachRule::Nothing,
    action: None,
};

pub(crate) const fn read(reach: ReachRule) -> Access {
    needs(Scope::Read, reach)
}

pub(crate) const fn run(reach: ReachRule) -> Access {
    needs(Scope::Run, reach)
}

pub(crate) const fn admin(reach: ReachRule) -> Access {
    needs(Scope::Admin, reach)
}

const fn needs(scope: Scope, reach: ReachRule) -> Access {
    Access {
        scope: Some(scope),
        reach,
        action: None,
    }
}

impl Access {
    pub(crate) const fn audited(self, action: &'static str) -> Self {
        Self {
            action: Some(action),
            ..self
        }
    }
}

/// A router together with the access rules of its routes.
#[derive(Default)]
pub(crate) struct Routes {
    pub router: Router<Arc<App>>,
    pub rules: Rules,
}

impl Routes {
    pub(crate) fn get<H, T>(self, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        self.add(Method::GET, path, access, routing::get(handler))
    }

    pub(crate) fn post<H, T>(self, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        self.add(Method::POST, path, access, routing::post(handler))
    }

    pub(crate) fn put<H, T>(self, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        self.add(Method::PUT, path, access, routing::put(handler))
    }

    pub(crate) fn delete<H, T>(self, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, Arc<App>>,
        T: 'static,
    {
        self.add(Method::DELETE, path, access, routing::delete(handler))
    }

    fn add(
        mut self,
        method: Method,
        path: &'static str,
        access: Access,
        handler: MethodRouter<Arc<App>>,
    ) -> Self {
        self.rules.0.insert((method, path.to_owned()), access);
        Self {
            router: self.router.route(path, handler),
            rules: self.rules,
        }
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.rules.0.extend(other.rules.0);
        Self {
            router: self.router.merge(other.router),
            rules: self.rules,
        }
    }
}

/// The access of every route, by method and path.
#[derive(Debug, Default)]
pub(crate) struct Rules(HashMap<(Method, String), Access>);

impl Rules {
    /// The access that a request needs. A path or method without a route needs `read`: a stranger must not learn which exist.
    pub(crate) fn of(&self, request: &Request) -> Access {
        let method = match *request.method() {
            Method::HEAD => Method::GET,
            ref method => method.clone(),
        };
        let path = request.extensions().get::<MatchedPath>();
        let rule = path.and_then(|path| self.0.get(&(method, path.as_str().to_owned())));
        rule.copied().unwrap_or(read(ReachRule::Nothing))
    }

    #[cfg(test)]
    pub(crate) fn all(&self) -> Vec<(&Method, &str, Access)> {
        let rules = self.0.iter();
        let mut all: Vec<_> = rules
            .map(|((method, path), access)| (method, path.as_str(), *access))
            .collect();
        all.sort_by_key(|(method, path, _)| (path.to_string(), method.to_string()));
        all
    }
}

#[cfg(test)]
#[path = "route_table_tests.rs"]
mod tests;
