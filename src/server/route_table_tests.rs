use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use roundtable_engine::event::State;
use roundtable_engine::table::Budget;
use serde_json::json;
use tempfile::TempDir;
use tower::ServiceExt;
use uuid::Uuid;

use super::*;
use crate::app_context::AppContext;
use crate::config::Environment;
use crate::server::access::{AccessControl, AccessOptions};
use crate::server::audit::Auditor;
use crate::server::client::Proxies;
use crate::server::mcp_route;
use crate::server::new_token::NewToken;
use crate::server::openness::Openness;
use crate::server::operations::UnknownDebates;
use crate::server::probes::Probes;
use crate::server::quota::Quotas;
use crate::server::rate_limit::Rate;
use crate::server::scheduler::{Limits, Scheduler, Work};
use crate::server::streams::{StreamLimits, Streams};
use crate::server::test_calls::TestCalls;
use crate::server::{openapi, router, routes, tokens};
use crate::store::{Address, CreateRequest, Created, Reach, SessionTimeouts, Store};

/// A server without a socket, with a token for each scope and reach.
struct TestServer {
    router: Router,
    store: Store,
    secrets: BTreeMap<(Scope, Reach), String>,
    _folder: TempDir,
}

impl TestServer {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::at(folder.path(), None);
        let address = Address::Folder(folder.path().join("data"));
        let context = AppContext::with(environment, None, Some(address)).unwrap();
        let context = Arc::new(context);
        let store = context.store().await.unwrap();
        let mut secrets = BTreeMap::new();
        for scope in Scope::ALL {
            for reach in [Reach::Own, Reach::All] {
                let new = NewToken {
                    name: format!("{} {}", scope.name(), reach.name()),
                    scope,
                    reach,
                    max_cost_per_day: None,
                    max_running: None,
                    models: Vec::new(),
                    expires_in_days: None,
                };
                let secret = tokens::make().unwrap();
                let row = new.row(&secret).unwrap();
                store.add_token(&row).await.unwrap();
                secrets.insert((scope, reach), secret);
            }
        }
        let limits = Limits {
            running: 1,
            queued: 1,
        };
        let rate = Rate {
            per_second: 1e6,
            burst: 1e6,
        };
        let options = AccessOptions {
            bound_to: SocketAddr::from(([127, 0, 0, 1], 1)),
            hosts: Vec::new(),
            rate,
            openness: Openness::Closed,
            proxies: Proxies::default(),
            sessions: SessionTimeouts {
                idle: 1000,
                total: 1000,
            },
        };
        let app = Arc::new(App {
            scheduler: Scheduler::open(Arc::clone(&context), store.clone(), limits, Work::Here),
            access: AccessControl::new(store.clone(), options),
            streams: Streams::new(StreamLimits {
                per_token: 100,
                total: 100,
                check_interval: Duration::from_mins(1),
            }),
            probes: Probes::default(),
            test_calls: TestCalls::default(),
            rules: routes().rules,
            quotas: Quotas::default(),
            auditor: Auditor::new(store.clone()),
            body_limit: 1_000_000,
            answer_within: Duration::from_secs(1),
            unknown_debates: UnknownDebates::default(),
            mcp_calls: mcp_route::Calls::default(),
            store: store.clone(),
            context,
        });
        Self {
            router: router(app),
            store,
            secrets,
            _folder: folder,
        }
    }

    /// A debate without an owner.
    async fn foreign_debate(&self) -> Uuid {
        let id = Uuid::new_v4();
        let setup = roundtable_engine::event::Setup {
            protocol: "forecast".into(),
            question: "Secret?".into(),
            seed: 1,
            seats: Vec::new(),
            rules: json!({}),
            budget: Budget::default(),
            embedder: None,
            program: "0.1.0".into(),
            notices: Vec::new(),
            depth: roundtable_engine::depth::Depth::Normal,
            estimate: None,
            parent: None,
        };
        let request = CreateRequest::default();
        let created = self
            .store
            .create_for_server(id, &setup, 1, State::Running, &request)
            .await
            .unwrap();
        assert!(matches!(created, Created::New(_)));
        id
    }

    async fn send(
        &self,
        (method, path): (&Method, &str),
        id: Uuid,
        token: Option<(Scope, Reach)>,
    ) -> (StatusCode, String) {
        let address = path
            .replace("{id}", &id.to_string())
            .replace("{number}", "1")
            .replace("{name}", "x")
            .replace("{arena}", "x")
            .replace("{bench}", "x")
            .replace("{*step}", "r1/a")
            .replace("{*model}", "roundtable/panel")
            .replace("{share}", &id.to_string())
            .replace("{secret}", "x")
            .replace("{file}", "x.css");
        let is_api = path.starts_with("/api/");
        let mut request = Request::builder()
            .method(method)
            .uri(address)
            .header("host", "localhost");
        request = if is_api {
            request.header("content-type", "application/json")
        } else {
            request
                .header("content-type", "application/x-www-form-urlencoded")
                .header("accept", "text/html")
        };
        if let Some(token) = token {
            let secret = &self.secrets[&token];
            request = request.header("authorization", format!("Bearer {secret}"));
        }
        let body = if *method == Method::GET {
            String::new()
        } else if is_api {
            api_body(path).to_string()
        } else {
            "text=x&choice=continue&rating=5&name=x&token=x".to_owned()
        };
        let request = request.body(Body::from(body)).unwrap();
        let reply = self.router.clone().oneshot(request).await.unwrap();
        let location = reply.headers().get("location");
        let location = location.map_or("", |value| value.to_str().unwrap());
        (reply.status(), location.to_owned())
    }
}

/// A body that the path accepts and that starts no debate.
fn api_body(path: &str) -> serde_json::Value {
    match path.rsplit('/').next().unwrap_or_default() {
        "input" => json!({ "text": "x" }),
        "decision" => json!({ "choice": "continue" }),
        "rating" => json!({ "rating": 5 }),
        "resolution" => json!({ "outcome": null }),
        "tokens" => json!({ "name": "x" }),
        "debates" => json!({ "question": "x", "protocol": "none" }),
        "{name}" => json!({ "reach": "own" }),
        _ => json!({}),
    }
}

/// The table, to be read in reviews: a new route appears here with its scope.
#[test]
fn every_route_declares_its_access() {
    let rules = routes().rules;
    let mut table = String::new();
    for (method, path, access) in rules.all() {
        let scope = access.scope.map_or("public", Scope::name);
        let _ = writeln!(
            table,
            "{:<6} {path:<46} {scope:<6} {:<7} {}",
            method.as_str(),
            access.reach.name(),
            access.action.unwrap_or("-")
        );
    }
    insta::assert_snapshot!("route_table", table);
}

/// The document and the router have the same operations.
#[test]
fn the_document_describes_every_route_of_the_api() {
    let rules = routes().rules;
    let declared: BTreeSet<(String, String)> = rules
        .all()
        .into_iter()
        .map(|(method, path, _)| (path.replace("{*", "{"), method.as_str().to_lowercase()))
        .collect();
    let document = openapi::document();
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            described.insert((path.clone(), method.clone()));
        }
    }
    let missing: Vec<_> = described.difference(&declared).collect();
    assert!(missing.is_empty(), "no such routes: {missing:?}");
    let undescribed: Vec<_> = declared
        .difference(&described)
        .filter(|(path, _)| path.starts_with("/api/v1/") || path.starts_with("/v1/"))
        .collect();
    assert!(undescribed.is_empty(), "not described: {undescribed:?}");
}

/// Every route is refused without a token and below its scope, and answered at its scope.
#[tokio::test]
async fn every_route_is_refused_below_its_scope_and_answered_at_it() {
    let server = TestServer::start().await;
    let rules = routes().rules;
    for (method, path, access) in rules.all() {
        let route = (method, path);
        let id = server.foreign_debate().await;
        let (status, location) = server.send(route, id, None).await;
        let is_sign_in = location.starts_with("/sign-in?next=");
        let is_refused = status == StatusCode::UNAUTHORIZED || is_sign_in;
        assert_eq!(is_refused, access.scope.is_some(), "{route:?} {status}");
        let Some(scope) = access.scope else {
            continue;
        };
        for below in Scope::ALL.into_iter().filter(|below| *below < scope) {
            let (status, _) = server.send(route, id, Some((below, Reach::All))).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{route:?} as {below:?}");
        }
        let (status, _) = server.send(route, id, Some((scope, Reach::All))).await;
        let refused = [
            StatusCode::UNAUTHORIZED,
            StatusCode::FORBIDDEN,
            StatusCode::METHOD_NOT_ALLOWED,
        ];
        assert!(
            !refused.contains(&status) && !status.is_server_error(),
            "{route:?} as {scope:?}: {status}"
        );
    }
}

/// With reach `own`, another's debate is not found on any route, and routes about everything are refused.
#[tokio::test]
async fn every_route_keeps_to_the_reach_of_the_token() {
    let server = TestServer::start().await;
    let rules = routes().rules;
    let id = server.foreign_debate().await;
    let own = Some((Scope::Admin, Reach::Own));
    let mut debate_routes = 0;
    for (method, path, access) in rules.all() {
        let route = (method, path);
        let (status, _) = server.send(route, id, own).await;
        match access.reach {
            ReachRule::Debate => {
                assert_eq!(status, StatusCode::NOT_FOUND, "{route:?}");
                debate_routes += 1;
            }
            ReachRule::All => assert_eq!(status, StatusCode::FORBIDDEN, "{route:?}"),
            ReachRule::Visible | ReachRule::Nothing => {
                assert_ne!(status, StatusCode::FORBIDDEN, "{route:?}");
            }
        }
        assert_eq!(path.contains("{id}"), access.reach == ReachRule::Debate);
    }
    assert!(debate_routes > 20);
    assert!(server.store.get(id).await.unwrap().is_some());
}

/// The answer for a path that does not exist is the same for every caller.
#[tokio::test]
async fn an_unknown_path_or_method_needs_a_token() {
    let server = TestServer::start().await;
    let id = Uuid::new_v4();
    let reader = Some((Scope::Read, Reach::All));
    for (route, expected) in [
        ((&Method::POST, "/api/v1/nothing"), StatusCode::NOT_FOUND),
        (
            (&Method::DELETE, "/api/v1/audit"),
            StatusCode::METHOD_NOT_ALLOWED,
        ),
    ] {
        let (status, _) = server.send(route, id, None).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{route:?}");
        let (status, _) = server.send(route, id, reader).await;
        assert_eq!(status, expected, "{route:?}");
    }
    // HEAD needs what GET needs.
    let (status, _) = server.send((&Method::HEAD, "/audit"), id, reader).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}
