//! Authorization: whose debates a token sees, what it may spend, and the audit log.

#![cfg(unix)]

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Gate, Home, QUESTION, Reply, Server, Serving, good, schema_name};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn token(home: &Home, name: &str, more: &[&str]) -> String {
    let run = home.run(&[&["token", "add", name], more].concat());
    run.expect(0, &["not shown again"]);
    run.out.trim().to_owned()
}

/// The server, as the holder of this token uses it.
struct Client<'s> {
    serving: &'s Serving,
    authorization: String,
}

impl<'s> Client<'s> {
    fn new(serving: &'s Serving, token: &str) -> Self {
        Self {
            serving,
            authorization: format!("Bearer {token}"),
        }
    }

    fn send(&self, method: &str, path: &str, more: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut headers = vec![("authorization", self.authorization.as_str())];
        headers.extend(more);
        self.serving.send(method, path, &headers, body)
    }

    fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        let json = [("content-type", "application/json")];
        self.send("POST", path, &json, body.to_string().as_bytes())
    }

    fn ask(&self, question: &str, model: &str) -> Reply {
        let body = json!({ "question": question, "model": model });
        self.post("/api/v1/debates", &body)
    }

    /// Runs a debate to its end.
    fn debate(&self, question: &str) -> String {
        let body = json!({ "question": question, "model": "lab:x" });
        let headers = [("content-type", "application/json"), ("prefer", "wait=60")];
        let body = body.to_string();
        let reply = self.send("POST", "/api/v1/debates", &headers, body.as_bytes());
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["id"].as_str().unwrap().to_owned()
    }

    fn questions(&self, query: &str) -> (Vec<String>, u64) {
        let listed = self.get(&format!("/api/v1/debates{query}")).json();
        let debates = listed["debates"].as_array().unwrap().iter();
        let questions = debates.map(|debate| debate["question"].as_str().unwrap().to_owned());
        let mut questions: Vec<String> = questions.collect();
        questions.sort();
        (questions, listed["total"].as_u64().unwrap())
    }
}

/// A server that stops in the middle of its first reply until the gate is opened.
fn gated() -> (Server, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let reply = good(request, before);
        if schema_name(request) == "opening" && before == 0 {
            Answer::Gated(held.clone(), reply)
        } else {
            Answer::Reply(reply)
        }
    });
    (server, gate)
}

/// Per million tokens of output; a prompt always fits.
fn price(home: &Home, dollars: f64) {
    let text = format!("[prices.lab]\nx = {{ input = 0.0, output = {dollars} }}\n");
    home.write(".config/roundtable/prices.toml", &text);
}

/// A token with reach `own` sees its own debates on every surface, and no others exist for it.
#[test]
fn a_token_of_reach_own_sees_its_own_debates_only() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let (ada, bob) = (
        token(&home, "ada", &["--own"]),
        token(&home, "bob", &["--scope", "run"]),
    );
    let serving = Serving::start(&home, &[]);
    let (ada, bob) = (Client::new(&serving, &ada), Client::new(&serving, &bob));
    let own = ada.debate("Is ada's question visible?");
    let foreign = bob.debate("Is bob's secret question visible?");

    let all = [
        "Is ada's question visible?".to_owned(),
        "Is bob's secret question visible?".to_owned(),
        QUESTION.to_owned(),
    ];
    assert_eq!(bob.questions(""), (all.to_vec(), 3));
    assert_eq!(ada.questions(""), (all[..1].to_vec(), 1));
    assert_eq!(ada.questions("?search=secret"), (Vec::new(), 0));
    for page in ["/", "/debates", "/debates?q=secret", "/calibration"] {
        let page = ada.get(page);
        assert_eq!(page.status, 200);
        let text = page.text();
        assert!(
            !text.contains("secret question") && !text.contains(QUESTION),
            "{text}"
        );
    }
    for path in ["", "/events", "/export"] {
        let path = format!("/api/v1/debates/{foreign}{path}");
        let missing = ada.get(&path).problem(404, "not-found");
        let detail = missing["detail"].as_str().unwrap();
        assert_eq!(detail, format!("there is no debate '{foreign}'"));
    }
    assert_eq!(ada.get(&format!("/debates/{foreign}")).status, 404);
    assert_eq!(ada.get(&format!("/debates/{own}")).status, 200);
    assert_eq!(bob.get(&format!("/api/v1/debates/{own}")).status, 200);
    // Lessons are about everybody's debates.
    ada.get("/api/v1/learning").problem(403, "reach");
    assert_eq!(bob.get("/api/v1/learning").status, 200);
    assert!(!ada.get("/").text().contains("href=\"/learning\""));

    // The same key of two tokens creates two debates.
    let key = [
        ("content-type", "application/json"),
        ("idempotency-key", "k1"),
    ];
    let body = json!({ "question": QUESTION, "model": "lab:x" }).to_string();
    let send = |client: &Client| {
        let reply = client.send("POST", "/api/v1/debates", &key, body.as_bytes());
        assert_eq!(reply.status, 202, "{}", reply.text());
        reply.json()["id"].clone()
    };
    assert_ne!(send(&ada), send(&bob));
    assert_eq!(send(&ada), send(&ada));
}

/// The field `by` of a request never replaces the name of its token.
#[test]
fn the_journal_names_the_token_and_not_what_the_request_says() {
    let (server, gate) = gated();
    let home = Home::with_model(&server);
    let ada = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &[]);
    let ada = Client::new(&serving, &ada);
    let created = ada.ask(QUESTION, "lab:x").json();
    let path = format!("/api/v1/debates/{}", created["id"].as_str().unwrap());
    Serving::until_asked(&server, "opening");
    let said = ada.post(
        &format!("{path}/input"),
        &json!({ "text": "Mind the costs.", "by": "bob" }),
    );
    assert_eq!(said.status, 202, "{}", said.text());
    gate.open();
    let started = std::time::Instant::now();
    while ada.get(&path).json()["state"] != "complete" {
        assert!(started.elapsed() < Duration::from_mins(1));
        std::thread::sleep(Duration::from_millis(20));
    }
    let exported = ada.get(&format!("{path}/export?format=md")).text();
    assert!(exported.contains("ada (as: bob)"), "{exported}");
}

/// A token cannot exceed its running and queued debates, not even with simultaneous requests.
#[test]
fn a_token_has_a_limit_of_running_debates() {
    let (server, gate) = gated();
    let home = Home::with_model(&server);
    let (ada, bob) = (
        token(&home, "ada", &["--max-running", "1"]),
        token(&home, "bob", &[]),
    );
    let serving = Serving::start(&home, &["--max-running", "10"]);
    let (ada, bob) = (Client::new(&serving, &ada), Client::new(&serving, &bob));
    let replies: Vec<Reply> = std::thread::scope(|scope| {
        let requests: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| ada.ask(QUESTION, "lab:x")))
            .collect();
        requests
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect()
    });
    let (taken, refused): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|reply| reply.status == 202);
    assert_eq!((taken.len(), refused.len()), (1, 5));
    for reply in refused {
        let problem = reply.problem(429, "quota");
        assert_eq!(problem["quota"]["running"], 1, "{problem}");
        assert_eq!(problem["quota"]["max_running"], 1);
        assert!(reply.header("retry-after").is_some());
    }
    assert_eq!(bob.ask(QUESTION, "lab:x").status, 202);
    gate.open();
    let id = taken[0].json()["id"].as_str().unwrap().to_owned();
    let started = std::time::Instant::now();
    while ada.get(&format!("/api/v1/debates/{id}")).json()["state"] != "complete" {
        assert!(started.elapsed() < Duration::from_mins(1));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(ada.ask(QUESTION, "lab:x").status, 202);
}

/// The money of a day is spent once: debates end at it, further ones are refused, and neither deleting nor resuming helps.
#[test]
fn a_token_has_a_limit_of_money_per_day() {
    let home = Home::with_model(&Server::good());
    price(&home, 100_000.0);
    let ada = token(&home, "ada", &["--max-cost-per-day", "0.01"]);
    let boss = token(&home, "boss", &["--scope", "admin"]);
    let serving = Serving::start(&home, &[]);
    let (ada, boss) = (Client::new(&serving, &ada), Client::new(&serving, &boss));

    ada.ask(QUESTION, "lab:unpriced")
        .problem(403, "model-not-allowed");
    let id = ada.debate(QUESTION);
    let shown = ada.get(&format!("/api/v1/debates/{id}")).json();
    assert_eq!(shown["state"], "partial", "{shown}");
    let refused = ada.ask(QUESTION, "lab:x");
    let problem = refused.problem(429, "quota");
    assert_eq!(problem["quota"]["max_cost_per_day"], 0.01, "{problem}");
    assert_eq!(problem["quota"]["left"], 0.0);
    assert!(problem["quota"]["spent"].as_f64().unwrap() > 0.01);
    let day_end = problem["quota"]["resets_at"].as_str().unwrap();
    assert!(day_end.ends_with("T00:00:00Z"), "{day_end}");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=86_401).contains(&wait));

    let more = json!({ "budget": { "max_cost": 100 } });
    let path = format!("/api/v1/debates/{id}");
    ada.post(&format!("{path}/resume"), &more)
        .problem(429, "quota");
    let tested = ada.send("POST", "/models/test", &[FORM], b"model=lab:x");
    assert_eq!(tested.status, 429);
    assert_eq!(boss.send("DELETE", &path, &[], b"").status, 204);
    ada.ask(QUESTION, "lab:x").problem(429, "quota");
    // A token without limits continues.
    boss.debate(QUESTION);
}

/// Without a limit of its own, a debate reserves all that is left of the day, and no other can start.
#[test]
fn running_debates_reserve_the_money_of_the_day() {
    let (server, gate) = gated();
    let home = Home::with_model(&server);
    price(&home, 0.001);
    let ada = token(&home, "ada", &["--max-cost-per-day", "5"]);
    let serving = Serving::start(&home, &[]);
    let ada = Client::new(&serving, &ada);
    let ask = |max_cost: Option<f64>| {
        let budget = json!({ "max_cost": max_cost });
        let body = json!({ "question": QUESTION, "model": "lab:x", "budget": budget });
        ada.post("/api/v1/debates", &body)
    };
    assert_eq!(ask(Some(2.0)).status, 202);
    assert_eq!(ask(None).status, 202);
    let problem = ask(Some(1.0)).problem(429, "quota");
    assert_eq!(problem["quota"]["left"], 0.0, "{problem}");
    let reserved = problem["quota"]["reserved"].as_f64().unwrap();
    assert!(reserved > 4.9 && reserved <= 5.0, "{problem}");
    gate.open();
}

/// Models outside the list are refused for every seat and protocol, for test calls, and as fallbacks.
#[test]
fn a_token_has_a_list_of_models() {
    let down = Server::start(|_, _| Answer::Status(500, "", "{}".into()));
    let other = Server::good();
    let home = Home::empty();
    let provider = |name: &str, url: &str, more: &str| {
        format!("[providers.{name}]\nkind = \"openai\"\nbase_url = \"{url}\"\n{more}\n")
    };
    let text = provider("lab", &down.url(), "fallback = [\"other:y\"]")
        + &provider("other", &other.url(), "")
        + "[retry]\nattempts = 1\n[tiers]\ndeliberate = \"other:y\"\nfast = \"other:y\"\n";
    home.write("roundtable.toml", &text);
    let (ada, bob) = (
        token(&home, "ada", &["--models", "lab:*,none:z"]),
        token(&home, "bob", &[]),
    );
    let serving = Serving::start(&home, &[]);
    let (ada, bob) = (Client::new(&serving, &ada), Client::new(&serving, &bob));

    let problem = ada
        .ask(QUESTION, "other:y")
        .problem(403, "model-not-allowed");
    let detail = problem["detail"].as_str().unwrap();
    assert!(
        detail.contains("other:y") && detail.contains("lab:*, none:z"),
        "{detail}"
    );
    // The default model, one seat, and another protocol.
    for body in [
        json!({ "question": QUESTION }),
        json!({ "question": QUESTION, "model": "lab:x", "seats": { "skeptic": "other:y" } }),
        json!({ "question": QUESTION, "protocol": "panel", "model": "other:y" }),
        json!({ "question": QUESTION, "protocol": "modes", "model": "other:y" }),
    ] {
        let reply = ada.post("/api/v1/debates", &body);
        reply.problem(403, "model-not-allowed");
    }
    let tested = ada.send("POST", "/models/test", &[FORM], b"model=other:y");
    assert_eq!(tested.status, 403);
    assert!(other.asked().is_empty());
    assert!(!ada.get("/").text().contains("value=\"other:"));

    let wait = [("content-type", "application/json"), ("prefer", "wait=60")];
    let body = json!({ "question": QUESTION, "model": "lab:x" }).to_string();
    let state = |client: &Client| {
        let reply = client.send("POST", "/api/v1/debates", &wait, body.as_bytes());
        reply.json()["state"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(state(&ada), "failed");
    assert!(other.asked().is_empty(), "the fallback was used");
    assert_eq!(state(&bob), "complete");
}

/// Limits cannot be avoided by continuing the debate of another token.
#[test]
fn a_token_with_limits_continues_only_its_own_debates() {
    let server = Server::start(|request, before| {
        if schema_name(request) == "opening" {
            Answer::Reply(good(request, before))
        } else {
            Answer::Status(500, "", "{}".into())
        }
    });
    let home = Home::with_model(&server);
    price(&home, 0.001);
    let (ada, bob) = (
        token(&home, "ada", &["--max-running", "5"]),
        token(&home, "bob", &[]),
    );
    let serving = Serving::start(&home, &[]);
    let (ada, bob) = (Client::new(&serving, &ada), Client::new(&serving, &bob));
    let resume = |client: &Client, id: &str| {
        client.post(&format!("/api/v1/debates/{id}/resume"), &json!({}))
    };
    let foreign = bob.debate(QUESTION);
    resume(&ada, &foreign).problem(403, "quota");
    let own = ada.debate(QUESTION);
    assert_eq!(resume(&ada, &own).status, 202);
}

fn audit(home: &Home) -> Vec<Value> {
    let run = home.run(&["audit", "--json"]);
    run.expect(0, &[]);
    let lines = run.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Sign-ins, tokens and deletions are recorded with who, from where, request and outcome, from the command line too.
#[test]
fn the_audit_log_says_who_did_what() {
    let home = Home::with_model(&Server::good());
    let boss = token(&home, "boss", &["--scope", "admin"]);
    let serving = Serving::start(&home, &[]);
    let boss_client = Client::new(&serving, &boss);
    let sign_in = |token: &str| {
        let form = format!("token={token}");
        let page = [FORM, ("accept", "text/html")];
        serving.send("POST", "/sign-in", &page, form.as_bytes())
    };
    assert_eq!(sign_in("rt_wrong").status, 303);
    let signed_in = sign_in(&boss);
    let cookie = signed_in.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    serving.send("POST", "/sign-out", &[("cookie", cookie)], b"");
    Client::new(&serving, "rt_guess")
        .get("/api/v1/debates")
        .problem(401, "no-token");
    let id = boss_client.debate(QUESTION);
    let path = format!("/api/v1/debates/{id}");
    let more = [("x-request-id", "mine-1")];
    assert_eq!(boss_client.send("DELETE", &path, &more, b"").status, 204);
    boss_client.send("DELETE", &path, &[], b"");
    let reader = boss_client.post(
        "/api/v1/tokens",
        &json!({ "name": "reader", "scope": "read" }),
    );
    assert_eq!(reader.status, 201, "{}", reader.text());
    let reader = reader.json()["token"].as_str().unwrap().to_owned();
    Client::new(&serving, &reader)
        .get("/api/v1/audit")
        .problem(403, "scope");
    home.run(&["token", "revoke", "reader"]).expect(0, &[]);

    let log = audit(&home);
    let short: Vec<[&str; 5]> = log
        .iter()
        .map(|entry| {
            ["action", "outcome", "via", "who", "subject"]
                .map(|key| entry[key].as_str().unwrap_or("-"))
        })
        .collect();
    let user = log[0]["who"].as_str().unwrap();
    assert!(user.starts_with("uid "), "{user}");
    assert_eq!(
        short,
        [
            ["token-added", "done", "command-line", user, "boss"],
            ["sign-in", "refused", "nobody", "-", "-"],
            ["sign-in", "done", "token", "boss", "-"],
            ["sign-out", "done", "token", "boss", "-"],
            ["token-refused", "refused", "nobody", "-", "-"],
            ["debate-deleted", "done", "token", "boss", id.as_str()],
            ["debate-deleted", "refused", "token", "boss", id.as_str()],
            ["token-added", "done", "token", "boss", "reader"],
            ["token-revoked", "done", "command-line", user, "reader"],
        ]
    );
    let numbers: Vec<u64> = log.iter().map(|e| e["number"].as_u64().unwrap()).collect();
    // An action takes a second number, for its start.
    assert!(numbers.is_sorted() && numbers.len() == 9, "{numbers:?}");
    assert_eq!(log[5]["request_id"], "mine-1");
    assert_eq!(log[5]["address"], "127.0.0.1");
    assert_eq!(log[7]["detail"], "scope read, reach all");
    let text = log.iter().map(Value::to_string).collect::<String>();
    for secret in ["rt_", QUESTION] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }

    // Over the API by page, and as a page for admins.
    let page = boss_client.get("/api/v1/audit?limit=4").json();
    assert_eq!(page["entries"][0], log[8]);
    assert_eq!(page["next"], numbers[5]);
    let rest = format!("/api/v1/audit?limit=500&before={}", numbers[5]);
    let rest = boss_client.get(&rest).json();
    assert_eq!(rest["entries"][0], log[4]);
    assert_eq!(rest["next"], Value::Null);
    boss_client
        .get("/api/v1/audit?limit=0&before=x&since=soon")
        .problem(422, "invalid-request");
    let shown = boss_client.get("/audit").text();
    assert!(shown.contains("token-revoked") && shown.contains("mine-1"));
    home.run(&["audit", "--since", "2100-01-01"])
        .expect(0, &["no entries"]);
    home.run(&["audit", "--since", "soon"]).expect(2, &[]);
}

/// Decisions, outcomes and raised budgets of debates are recorded, with what was decided.
#[test]
fn decisions_and_raised_budgets_are_recorded() {
    let home = Home::with_model(&Server::good());
    let ada = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &[]);
    let ada = Client::new(&serving, &ada);
    let body = json!({ "question": QUESTION, "model": "lab:x", "budget": { "max_tokens": 1500 } });
    let headers = [("content-type", "application/json"), ("prefer", "wait=60")];
    let reply = ada.send(
        "POST",
        "/api/v1/debates",
        &headers,
        body.to_string().as_bytes(),
    );
    let shown = reply.json();
    assert_eq!(shown["state"], "partial", "{shown}");
    let path = format!("/api/v1/debates/{}", shown["id"].as_str().unwrap());
    let decided = ada.post(&format!("{path}/decision"), &json!({ "choice": "stop" }));
    decided.problem(409, "wrong-state");
    let raised = ada.post(
        &format!("{path}/resume"),
        &json!({ "budget": { "max_tokens": 1_000_000 } }),
    );
    assert_eq!(raised.status, 202, "{}", raised.text());
    let log = audit(&home);
    let last: Vec<_> = log.iter().skip(1).collect();
    assert_eq!(last[0]["action"], "decision");
    assert_eq!(last[0]["outcome"], "refused");
    assert_eq!(last[1]["action"], "budget-raised");
    let detail = last[1]["detail"].as_str().unwrap();
    assert!(detail.contains("\"max_tokens\":1000000"), "{detail}");
}

/// Tokens are listed, added and revoked over the API, and take effect at once.
#[test]
fn tokens_are_managed_over_the_api() {
    let home = Home::with_model(&Server::good());
    let boss = token(&home, "boss", &["--scope", "admin"]);
    let serving = Serving::start(&home, &[]);
    let boss = Client::new(&serving, &boss);
    let new = json!({
        "name": "a/b c", "reach": "own", "max_cost_per_day": 2.5, "max_running": 2, "models": ["lab:*"],
    });
    let added = boss.post("/api/v1/tokens", &new);
    assert_eq!(added.status, 201, "{}", added.text());
    assert_eq!(added.header("cache-control"), Some("no-store"));
    let secret = added.json()["token"].as_str().unwrap().to_owned();
    boss.post("/api/v1/tokens", &new)
        .problem(422, "invalid-request");
    let listed = boss.get("/api/v1/tokens").json();
    let tokens = listed["tokens"].as_array().unwrap();
    assert_eq!(tokens.len(), 2);
    let mut expected = new.clone();
    expected["scope"] = json!("run");
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(tokens[1][key], *value, "{key}");
    }
    assert!(!listed.to_string().contains("rt_"));
    let other = Client::new(&serving, &secret);
    assert_eq!(other.get("/api/v1/debates").status, 200);
    other.get("/api/v1/tokens").problem(403, "scope");
    let path = "/api/v1/tokens/a%2Fb%20c";
    assert_eq!(boss.send("DELETE", path, &[], b"").status, 204);
    boss.send("DELETE", path, &[], b"")
        .problem(404, "not-found");
    other.get("/api/v1/debates").problem(401, "no-token");
    let wrong = json!({ "name": "", "max_running": 0, "models": ["gpt"], "extra": 1 });
    boss.post("/api/v1/tokens", &wrong)
        .problem(422, "invalid-request");
    // Another site cannot use the browser of an admin.
    let foreign = [FORM, ("origin", "https://evil.example")];
    boss.send("POST", "/tokens", &foreign, b"name=x")
        .problem(403, "cross-site");
}
