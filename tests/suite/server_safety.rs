//! Access control: tokens, scopes, host and CSRF checks, rate limits, and secrets.

#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Home, QUESTION, Server, Serving};

fn token(home: &Home, name: &str, scope: &str) -> String {
    let run = home.run(&["token", "add", name, "--scope", scope]);
    run.expect(0, &["not shown again"]);
    run.out.trim().to_owned()
}

/// Binding to any other address needs a token.
#[test]
fn without_tokens_only_loopback_is_served() {
    let home = Home::with(&Server::good());
    home.run(&["serve", "--bind", "0.0.0.0:0"])
        .expect(2, &["service token", "roundtable token add"]);
    home.run(&["serve", "--bind", "nonsense"]).expect(2, &[]);
    let taken = Serving::start(&home, &[]);
    home.run(&["serve", "--bind", &taken.address])
        .expect(2, &["cannot listen"]);
}

/// If there are tokens, every request needs one with the right scope.
#[test]
fn tokens_are_required_and_scopes_enforced() {
    let home = Home::with(&Server::good());
    let (reader, runner, admin) = (
        token(&home, "reader", "read"),
        token(&home, "runner", "run"),
        token(&home, "boss", "admin"),
    );
    let mut serving = Serving::start(&home, &[]);
    let without = serving.get("/api/v1/debates");
    without.problem(401, "no-token");
    assert_eq!(
        without.header("www-authenticate"),
        Some("Bearer realm=\"roundtable\"")
    );
    serving.token = Some("rt_wrong".into());
    serving.get("/api/v1/debates").problem(401, "no-token");
    assert_eq!(serving.get("/healthz").status, 200);

    let body = json!({ "question": QUESTION, "model": "lab:x" });
    serving.token = Some(reader);
    assert_eq!(serving.get("/api/v1/debates").status, 200);
    serving.post("/api/v1/debates", &body).problem(403, "scope");
    serving.token = Some(runner);
    let id = serving.debate();
    serving.until(&id, "complete");
    let path = format!("/api/v1/debates/{id}");
    serving
        .send("DELETE", &path, &[], b"")
        .problem(403, "scope");
    serving.token = Some(admin);
    assert_eq!(serving.send("DELETE", &path, &[], b"").status, 204);

    // A revoked token is rejected once the token cache has expired.
    home.run(&["token", "revoke", "boss"]).expect(0, &[]);
    std::thread::sleep(Duration::from_millis(1100));
    serving.get("/api/v1/debates").problem(401, "no-token");
}

/// Only hashes are stored, lists contain no secrets, and names are unique.
#[test]
fn tokens_are_hashed_at_rest() {
    let home = Home::with_file(&Server::good());
    let secret = token(&home, "ada", "read");
    let listed = home.run(&["token", "list"]);
    listed.expect(0, &[]);
    assert!(listed.out.contains("ada") && !listed.out.contains(&secret));
    let rows = home.run(&["token", "list", "--json"]).json();
    assert_eq!(
        (&rows[0]["name"], &rows[0]["scope"]),
        (&json!("ada"), &json!("read"))
    );
    home.run(&["token", "add", "ada"])
        .expect(2, &["a token named 'ada' already exists"]);
    home.run(&["token", "revoke", "bob"])
        .expect(2, &["no token named 'bob'"]);
    let folder = home.path().join(".local/share/roundtable");
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let is_found = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!is_found, "{:?} contains the token", file.path());
    }
}

/// Sign-in sets a cookie that scripts cannot read and other sites cannot use.
#[test]
fn a_browser_signs_in_and_out() {
    let home = Home::with(&Server::good());
    let secret = token(&home, "ada", "run");
    let serving = Serving::start(&home, &[]);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    serving
        .send("POST", "/sign-in", &form, b"token=rt_nothing")
        .problem(401, "no-token");
    serving
        .send("POST", "/sign-in", &[], b"token=rt_nothing")
        .problem(415, "malformed");
    serving
        .send("POST", "/sign-in", &form, &[b'x'; 5000])
        .problem(413, "too-large");
    let page = [form[0], ("accept", "text/html")];
    let failed = serving.send("POST", "/sign-in", &page, b"token=rt_nothing");
    assert_eq!(
        (failed.status, failed.header("location")),
        (303, Some("/sign-in?failed=1"))
    );

    let signed_in = serving.send(
        "POST",
        "/sign-in",
        &page,
        format!("token={secret}").as_bytes(),
    );
    assert_eq!(
        (signed_in.status, signed_in.header("location")),
        (303, Some("/"))
    );
    let cookie = signed_in.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains(&secret), "the cookie contains the token");
    let cookie = cookie.split(';').next().unwrap();
    let with = [("cookie", cookie)];
    assert_eq!(
        serving.send("GET", "/api/v1/debates", &with, b"").status,
        200
    );
    // Without a cookie, pages redirect to sign-in.
    let home_page = serving.send("GET", "/debates", &[], b"");
    assert_eq!(
        (home_page.status, home_page.header("location")),
        (303, Some("/sign-in?next=%2Fdebates"))
    );
    assert_eq!(serving.send("POST", "/sign-out", &with, b"").status, 303);
    serving
        .send("GET", "/api/v1/debates", &with, b"")
        .problem(401, "no-token");
}

/// Protection against DNS rebinding and CSRF.
#[test]
fn unknown_hosts_and_cross_site_requests_are_rejected() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &["--open", "--host", "debates.example"]);
    let port = serving.address.rsplit(':').next().unwrap();
    let host = |name: &str| serving.send("GET", "/api/v1/debates", &[("host", name)], b"");
    for name in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "?",
    ] {
        host(name).problem(421, "unknown-host");
    }
    for name in [
        "localhost",
        "LOCALHOST:80",
        "127.0.0.1",
        "[::1]:4711",
        "debates.example:443",
    ] {
        assert_eq!(host(name).status, 200, "{name}");
    }
    let body = json!({ "question": QUESTION, "model": "lab:x" });
    let post = |headers: &[(&str, &str)]| serving.post_with("/api/v1/debates", &body, headers);
    post(&[("origin", "https://evil.example")]).problem(403, "cross-site");
    post(&[("origin", "null")]).problem(403, "cross-site");
    post(&[("sec-fetch-site", "cross-site")]).problem(403, "cross-site");
    post(&[("sec-fetch-site", "same-site")]).problem(403, "cross-site");
    let own = format!("http://localhost:{port}");
    let same = [
        ("origin", own.as_str()),
        ("host", own.trim_start_matches("http://")),
        ("sec-fetch-site", "same-origin"),
    ];
    assert_eq!(post(&same).status, 202);
}

#[test]
fn every_response_has_security_headers_and_a_request_id() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    for path in ["/healthz", "/api/v1/debates", "/api/docs", "/nothing"] {
        let reply = serving.get(path);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("same-origin"));
        assert!(reply.header("x-request-id").is_some());
    }
    let own = serving.send("GET", "/healthz", &[("x-request-id", "mine-1")], b"");
    assert_eq!(own.header("x-request-id"), Some("mine-1"));
    let bad = serving.send("GET", "/healthz", &[("x-request-id", "a b<c>")], b"");
    assert_ne!(bad.header("x-request-id"), Some("a b<c>"));
}

#[test]
fn requests_above_the_rate_limit_get_429() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &["--rate", "1", "--burst", "5"]);
    let path = "/api/openapi.json";
    let statuses: Vec<u16> = (0..8).map(|_| serving.get(path).status).collect();
    assert_eq!(statuses[..5], [200; 5]);
    let limited = serving.get(path);
    limited.problem(429, "too-many-requests");
    let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3).contains(&wait));
}

#[test]
fn a_client_that_never_finishes_its_header_is_dropped() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let mut stream = TcpStream::connect(&serving.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: ")
        .unwrap();
    let started = Instant::now();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    let took = started.elapsed();
    assert!(
        took > Duration::from_secs(8) && took < Duration::from_secs(20),
        "{took:?}"
    );
}

#[test]
fn the_log_contains_no_secrets_and_no_questions() {
    let model = Server::start(|_, _| {
        crate::harness::Answer::Status(
            401,
            "",
            "{\"error\":{\"message\":\"bad key sk-secret-123\"}}".into(),
        )
    });
    let home = Home::empty();
    home.write(
        "roundtable.toml",
        &format!(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n[retry]\nattempts = 1\n",
            model.url()
        ),
    );
    let secret = token(&home, "ada", "admin");
    let log = home.path().join("log");
    let mut serving = Serving::start_with(
        &home,
        &[],
        Stdio::from(std::fs::File::create(&log).unwrap()),
    );
    serving.token = Some(secret.clone());
    let body = json!({ "question": "A question nobody should find in a log?", "model": "lab:x" });
    let _ = serving.post("/api/v1/debates", &body);
    serving.get("/api/v1/debates/nothing");
    serving.token = Some("rt_guess".into());
    serving.get("/api/v1/debates");
    let text = std::fs::read_to_string(log).unwrap();
    for word in [secret.as_str(), "rt_guess", "nobody should find"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}
