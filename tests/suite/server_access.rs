//! Access to the server: without tokens, through proxies, with sessions; the life of tokens, and event streams that outlive them.

#![cfg(unix)]

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::Connection;

use crate::harness::{Answer, Events, Home, QUESTION, Reply, Server, Serving};

const DEBATES: &str = "/api/v1/debates";
/// A server notices a change of its tokens within a second.
const TOKEN_CACHE: Duration = Duration::from_millis(1100);
const BIND: [&str; 3] = ["serve", "--bind", "127.0.0.1:0"];

fn token(home: &Home, name: &str, more: &[&str]) -> String {
    let run = home.run(&[&["token", "add", name], more].concat());
    run.expect(0, &["not shown again"]);
    run.out.trim().to_owned()
}

fn with(serving: &Serving, headers: &[(&str, &str)]) -> Reply {
    serving.send("GET", DEBATES, headers, b"")
}

fn with_token(serving: &Serving, secret: &str) -> u16 {
    let header = format!("Bearer {secret}");
    with(serving, &[("authorization", &header)]).status
}

/// Waits until a request with this token gets this status.
#[track_caller]
fn until_status(serving: &Serving, secret: &str, status: u16) {
    let started = Instant::now();
    while with_token(serving, secret) != status {
        assert!(started.elapsed() < Duration::from_secs(30));
        // Each request with an invalid token counts as a guess.
        thread::sleep(Duration::from_millis(250));
    }
}

/// Starts the server with its log in a file.
fn logged(home: &Home, args: &[&str]) -> (Serving, std::path::PathBuf) {
    let log = home.path().join("log");
    let file = std::fs::File::create(&log).unwrap();
    let serving = Serving::spawn(home.command(args).stderr(Stdio::from(file)));
    (serving, log)
}

#[test]
fn revoking_the_last_token_closes_the_server() {
    let home = Home::with(&Server::good());
    let secret = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &[]);
    assert_eq!(with_token(&serving, &secret), 200);
    home.run(&["token", "revoke", "ada"])
        .expect(0, &["the last one"]);
    thread::sleep(TOKEN_CACHE);
    serving.get(DEBATES).problem(401, "no-token");
    assert_eq!(with_token(&serving, &secret), 401);
    drop(serving);
    // Also after a restart.
    home.run(&BIND)
        .expect(2, &["have been revoked", "roundtable token add", "--open"]);
    home.run(&["token", "list"])
        .expect(0, &["the server refuses every request"]);
    let serving = Serving::start(&home, &["--open"]);
    assert_eq!(serving.get(DEBATES).status, 200);
}

#[test]
fn a_token_that_was_added_and_revoked_closes_a_running_server() {
    for open in [&[][..], &["--open"]] {
        let home = Home::with(&Server::good());
        let serving = Serving::start(&home, open);
        assert_eq!(serving.get(DEBATES).status, 200);
        token(&home, "ada", &[]);
        thread::sleep(TOKEN_CACHE);
        serving.get(DEBATES).problem(401, "no-token");
        home.run(&["token", "revoke", "ada"]).expect(0, &[]);
        thread::sleep(TOKEN_CACHE);
        serving.get(DEBATES).problem(401, "no-token");
    }
}

#[test]
fn a_forwarded_request_needs_a_token() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let forwarded = [
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "for=203.0.113.7"),
        ("via", "1.1 proxy"),
        ("x-real-ip", "203.0.113.7"),
    ];
    assert_eq!(serving.get(DEBATES).status, 200);
    for header in forwarded {
        with(&serving, &[header]).problem(403, "forwarded");
        let page = serving.send("GET", "/", &[header, ("accept", "text/html")], b"");
        assert_eq!(page.status, 403);
        assert_eq!(
            serving.send("GET", "/healthz", &[header], b"").status,
            200,
            "{header:?}"
        );
    }
    let secret = token(&home, "ada", &[]);
    thread::sleep(TOKEN_CACHE);
    let bearer = format!("Bearer {secret}");
    let authorized = [forwarded[0], ("authorization", bearer.as_str())];
    assert_eq!(with(&serving, &authorized).status, 200);

    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &["--open"]);
    for header in forwarded {
        assert_eq!(with(&serving, &[header]).status, 200, "{header:?}");
    }
}

#[test]
fn options_for_other_machines_need_a_token() {
    let home = Home::with(&Server::good());
    for more in [
        &["--host", "debates.example"][..],
        &["--trusted-proxy", "127.0.0.1"],
        &["--https"],
    ] {
        home.run(&[&BIND, more].concat())
            .expect(2, &["no service token", "--open"]);
    }
    drop(Serving::start(
        &home,
        &["--open", "--host", "debates.example"],
    ));
    let secret = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &["--host", "debates.example"]);
    assert_eq!(with_token(&serving, &secret), 200);
    home.run(&[&BIND, &["--open"][..]].concat())
        .expect(2, &["--open and service tokens exclude each other"]);
}

#[test]
fn an_open_server_says_so_at_every_start() {
    let home = Home::with(&Server::good());
    let all = ["serve", "--bind", "0.0.0.0:0"];
    home.run(&[&all, &["--open"][..]].concat())
        .expect(2, &["--open=network"]);
    for args in [
        [&BIND, &["--open"][..]].concat(),
        [&BIND, &["--open"][..]].concat(),
        [&all, &["--open=network"][..]].concat(),
    ] {
        let (serving, log) = logged(&home, &args);
        assert_eq!(serving.get(DEBATES).status, 200);
        let text = std::fs::read_to_string(&log).unwrap();
        assert!(text.contains("no token is required"), "{text}");
    }
    let (_serving, log) = logged(&home, &BIND);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("no token is required"), "{text}");
}

#[test]
fn a_server_does_not_begin_with_an_empty_database_by_itself() {
    let home = Home::with_file(&Server::good());
    token(&home, "ada", &[]);
    let file = home.path().join(".local/share/roundtable/roundtable.db");
    std::fs::write(&file, "x".repeat(5_000)).unwrap();
    home.run(&BIND)
        .expect(1, &["damaged", "corrupt-1", "--begin-empty"]);
    home.run(&BIND)
        .expect(2, &["damaged", "corrupt-1", "--begin-empty"]);
    // Commands work with the empty database, and do not let the server in.
    home.run(&["list"]).expect(0, &[]);
    home.run(&BIND).expect(2, &["--begin-empty"]);
    let serving = Serving::start(&home, &["--begin-empty"]);
    assert_eq!(serving.get(DEBATES).status, 200);
    drop(serving);
    drop(Serving::start(&home, &[]));
    home.run(&[&BIND, &["--begin-empty"][..]].concat())
        .expect(2, &["leave the option out"]);
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn sign_in(serving: &Serving, secret: &str, headers: &[(&str, &str)]) -> Reply {
    let body = format!("token={secret}");
    let headers = [&[FORM], headers].concat();
    serving.send("POST", "/sign-in", &headers, body.as_bytes())
}

/// The name and value of the session cookie.
fn cookie(signed_in: &Reply) -> String {
    let cookie = signed_in.header("set-cookie").unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// Bad sign-ins of one client until it is limited.
fn guess(serving: &Serving, address: &str) {
    let from = [("x-forwarded-for", address)];
    for _ in 0..40 {
        if sign_in(serving, "rt_wrong", &from).status == 429 {
            return;
        }
    }
    panic!("{address} is not limited");
}

#[test]
fn behind_a_trusted_proxy_a_guesser_locks_out_nobody_else() {
    let home = Home::with(&Server::good());
    let secret = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &["--trusted-proxy", "127.0.0.0/8"]);
    let from = |address| sign_in(&serving, &secret, &[("x-forwarded-for", address)]).status;
    guess(&serving, "203.0.113.1");
    assert_eq!(from("203.0.113.1"), 429);
    assert_eq!(from("203.0.113.2"), 303);
    // The client cannot choose the address that counts.
    assert_eq!(from("203.0.113.9, 203.0.113.1"), 429);
    // One IPv6 client has a whole /64.
    guess(&serving, "2001:db8::1");
    assert_eq!(from("2001:db8::ffff:1"), 429);
    assert_eq!(from("2001:db8:0:1::1"), 303);
}

#[test]
fn without_a_trusted_proxy_forwarding_headers_are_ignored() {
    let home = Home::with(&Server::good());
    let secret = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &["--trusted-proxy", "192.0.2.1"]);
    guess(&serving, "203.0.113.1");
    let other = [("x-forwarded-for", "203.0.113.2")];
    assert_eq!(sign_in(&serving, &secret, &other).status, 429);
}

/// Trusted proxies can also be set in the configuration.
#[test]
fn behind_tls_the_session_cookie_is_secure() {
    let home = Home::configured(
        &Server::good().url(),
        "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n",
    );
    let secret = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &[]);
    let https = ("x-forwarded-proto", "https");
    let secure = sign_in(&serving, &secret, &[https]);
    let set = secure.header("set-cookie").unwrap();
    assert!(set.starts_with("__Host-roundtable_session="), "{set}");
    assert!(
        set.contains("; Secure") && set.contains("; Path=/;"),
        "{set}"
    );
    let plain = sign_in(&serving, &secret, &[]);
    let set = plain.header("set-cookie").unwrap();
    assert!(set.starts_with("roundtable_session="), "{set}");
    assert!(!set.contains("Secure"), "{set}");

    let (secure, plain) = (cookie(&secure), cookie(&plain));
    let get = |cookies: &str, more: &[(&str, &str)]| {
        with(&serving, &[&[("cookie", cookies)], more].concat()).status
    };
    assert_eq!(get(&secure, &[https]), 200);
    assert_eq!(get(&plain, &[]), 200);
    // Another site of the domain can set the plain cookie, but not this one.
    assert_eq!(get(&plain, &[https]), 401);
    assert_eq!(get(&format!("{plain}; {secure}"), &[https]), 200);
    assert_eq!(get(&format!("{plain}; roundtable_session=rt_x"), &[]), 401);
    drop(serving);

    let serving = Serving::start(&home, &["--https"]);
    let always = sign_in(&serving, &secret, &[]);
    assert!(cookie(&always).starts_with("__Host-"), "{always:?}");
    let signed_in = [("cookie", cookie(&always))];
    let signed_in = signed_in
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let out = serving.send("POST", "/sign-out", &signed_in, b"");
    let cleared = out.header("set-cookie").unwrap();
    assert!(cleared.contains("Max-Age=0; Secure"), "{cleared}");
    assert_eq!(with(&serving, &signed_in).status, 401);
}

/// Moves the last use of every session into the past.
fn age_sessions(home: &Home, ms: i64) {
    let file = home.path().join(".local/share/roundtable/roundtable.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        sqlx::any::install_default_drivers();
        let address = format!("sqlite:{}?mode=rw", file.display());
        let mut connection = sqlx::AnyConnection::connect(&address).await.unwrap();
        sqlx::query("UPDATE sessions SET last_used_at = last_used_at - $1")
            .bind(ms)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    });
}

#[test]
fn sessions_end_when_idle_and_when_they_are_ended() {
    let home = Home::with_file(&Server::good());
    let secret = token(&home, "ada", &[]);
    let serving = Serving::start(&home, &[]);
    home.run(&["token", "sessions"])
        .expect(0, &["No browser is signed in"]);
    let cookies: Vec<String> = (0..2)
        .map(|_| cookie(&sign_in(&serving, &secret, &[])))
        .collect();
    let status = |number: usize| with(&serving, &[("cookie", &cookies[number])]).status;
    let listed = home.run(&["token", "sessions", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(listed[0]["token"], "ada");
    let id = listed[0]["id"].as_str().unwrap();
    let line = home.run(&["token", "sessions"]);
    assert!(
        line.out.contains(id) && line.out.contains("ada"),
        "{line:?}"
    );
    home.run(&["token", "end-session", id])
        .expect(0, &["Ended session"]);
    home.run(&["token", "end-session", id])
        .expect(2, &["no session"]);
    let open: Vec<usize> = (0..2).filter(|number| status(*number) == 200).collect();
    assert_eq!(open.len(), 1, "{open:?}");

    let day = 86_400_000;
    age_sessions(&home, 7 * day - 3_600_000);
    assert_eq!(status(open[0]), 200);
    age_sessions(&home, 3_600_000);
    assert_eq!(status(open[0]), 401);
    home.run(&["token", "sessions"])
        .expect(0, &["No browser is signed in"]);
}

#[test]
fn an_expired_token_is_unknown() {
    let home = Home::with(&Server::good());
    let lasting = token(&home, "boss", &[]);
    let serving = Serving::start(&home, &[]);
    let short = token(&home, "ada", &["--expires", "8s"]);
    until_status(&serving, &short, 200);
    until_status(&serving, &short, 401);
    assert_eq!(sign_in(&serving, &short, &[]).status, 401);
    assert_eq!(with_token(&serving, &lasting), 200);
    let listed = home.run(&["token", "list"]);
    assert!(listed.out.contains("no expiry"), "{}", listed.out);
    assert!(listed.out.contains("expired 20"), "{}", listed.out);
    let rows = home.run(&["token", "list", "--json"]).json();
    assert!(rows[0]["expires_at"].is_null() && rows[1]["expires_at"].is_string());
    home.run(&["token", "rotate", "ada"])
        .expect(2, &["has expired", "--expires"]);
    let renewed = home.run(&["token", "rotate", "ada", "--expires", "90d"]);
    until_status(&serving, renewed.out.trim(), 200);
    home.run(&["token", "add", "eve", "--expires", "0d"])
        .expect(2, &["expected a duration"]);
}

#[test]
fn a_token_is_rotated_with_a_grace_period() {
    let home = Home::with(&Server::good());
    let first = token(&home, "ada", &["--scope", "read"]);
    let serving = Serving::start(&home, &[]);
    let session = cookie(&sign_in(&serving, &first, &[]));
    let rotated = home.run(&["token", "rotate", "ada", "--grace", "1h"]);
    rotated.expect(0, &["not shown again", "The old secret works until"]);
    let second = rotated.out.trim();
    until_status(&serving, second, 200);
    assert_eq!(with_token(&serving, &first), 200);
    assert_eq!(with(&serving, &[("cookie", &session)]).status, 200);
    // Without a grace period the old secret ends at once, and with it what was opened with it.
    let rotated = home.run(&["token", "rotate", "ada"]);
    rotated.expect(0, &["The old secret no longer works"]);
    until_status(&serving, rotated.out.trim(), 200);
    assert_eq!(with_token(&serving, &first), 401);
    assert_eq!(with_token(&serving, second), 401);
    assert_eq!(with(&serving, &[("cookie", &session)]).status, 401);
    let rows = home.run(&["token", "list", "--json"]).json();
    assert_eq!(rows[0]["scope"], "read");
}

#[test]
fn the_last_use_of_a_token_is_recorded() {
    let home = Home::with(&Server::good());
    let secret = token(&home, "ada", &[]);
    token(&home, "bob", &[]);
    let serving = Serving::start(&home, &[]);
    assert_eq!(with_token(&serving, &secret), 200);
    let last_use = || {
        let rows = home.run(&["token", "list", "--json"]).json();
        [&rows[0], &rows[1]].map(|row| row["last_used_at"].is_string())
    };
    // A request does not wait for it.
    assert_eq!(last_use(), [false, false]);
    serving.terminate();
    assert_eq!(last_use(), [true, false]);
}

/// A server whose model never answers, with short intervals and few streams.
fn with_streams(model: &Server) -> Home {
    Home::configured(
        &model.url(),
        "[server]\nstream_check_s = 0.2\nmax_streams = 3\nmax_streams_per_token = 2\n",
    )
}

fn silent() -> Server {
    Server::start(|_, _| Answer::Silence)
}

/// An open stream.
#[track_caller]
fn stream(serving: &Serving, id: &str, header: (&str, &str)) -> Events {
    let events = serving.events(id, &[header]);
    assert_eq!(events.status, 200);
    events
}

/// Reads until the server ends the stream.
#[track_caller]
fn ends(events: Events) {
    let started = Instant::now();
    drop(events.all());
    let took = started.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_stream_ends_with_its_token_and_its_session() {
    let model = silent();
    let home = with_streams(&model);
    let (ada, bob) = (token(&home, "ada", &[]), token(&home, "bob", &[]));
    let mut serving = Serving::start(&home, &[]);
    serving.token = Some(ada.clone());
    let id = serving.debate();
    serving.token = None;
    let (ada, bob) = (format!("Bearer {ada}"), format!("Bearer {bob}"));
    let session = cookie(&sign_in(&serving, &bob["Bearer ".len()..], &[]));
    let of_token = stream(&serving, &id, ("authorization", &ada));
    let of_session = stream(&serving, &id, ("cookie", &session));
    let mut kept = stream(&serving, &id, ("authorization", &bob));
    assert_eq!(kept.next().unwrap().name, "round_start");

    let listed = home.run(&["token", "sessions", "--json"]).json();
    let ended = listed[0]["id"].as_str().unwrap();
    home.run(&["token", "end-session", ended]).expect(0, &[]);
    ends(of_session);
    home.run(&["token", "revoke", "ada"]).expect(0, &[]);
    ends(of_token);
    // The other stream continues: after several checks it gets the end of the debate.
    let header = [("authorization", bob.as_str())];
    let cancel = format!("{DEBATES}/{id}/cancel");
    assert!(serving.send("POST", &cancel, &header, b"").status < 300);
    assert_eq!(kept.last().unwrap().name, "complete");
}

#[test]
fn a_stream_of_an_open_server_ends_when_tokens_are_required() {
    let model = silent();
    let home = with_streams(&model);
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    let open = stream(&serving, &id, ("accept", "*/*"));
    token(&home, "ada", &[]);
    ends(open);
}

#[test]
fn a_stream_of_a_deleted_debate_ends() {
    let model = silent();
    let home = with_streams(&model);
    let mut ask = home
        .command(&["ask", QUESTION, "--model", "lab:x"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Serving::until_asked(&model, "opening");
    ask.kill().unwrap();
    ask.wait().unwrap();
    let serving = Serving::start(&home, &[]);
    let listed = serving.get(DEBATES).json();
    let id = listed["debates"][0]["id"].as_str().unwrap().to_owned();
    serving.until(&id, "interrupted");
    let open = stream(&serving, &id, ("accept", "*/*"));
    let deleted = serving.send("DELETE", &format!("{DEBATES}/{id}"), &[], b"");
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    ends(open);
}

#[test]
fn streams_are_limited_per_token_and_in_all() {
    let model = silent();
    let home = with_streams(&model);
    let (ada, bob) = (token(&home, "ada", &[]), token(&home, "bob", &[]));
    let mut serving = Serving::start(&home, &[]);
    serving.token = Some(ada.clone());
    let id = serving.debate();
    let path = format!("{DEBATES}/{id}/events");
    serving.token = None;
    let (ada, bob) = (format!("Bearer {ada}"), format!("Bearer {bob}"));
    let first = stream(&serving, &id, ("authorization", &ada));
    let _second = stream(&serving, &id, ("authorization", &ada));
    let refused = serving.send("GET", &path, &[("authorization", &ada)], b"");
    refused.problem(429, "too-many-streams");
    assert!(refused.header("retry-after").is_some());
    let _third = stream(&serving, &id, ("authorization", &bob));
    let refused = serving.send("GET", &path, &[("authorization", &bob)], b"");
    refused.problem(503, "too-many-streams");
    assert!(refused.header("retry-after").is_some());
    // A closed stream makes room for another, once the server notices.
    drop(first);
    let started = Instant::now();
    while serving.events_at(&path, &[("authorization", &ada)]).status != 200 {
        assert!(started.elapsed() < Duration::from_secs(40));
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn pages_are_not_cached() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    for path in ["/", "/debates", "/models", "/calibration", "/learning"] {
        let reply = serving.get(path);
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
    }
    let page = serving.get("/").text();
    let asset = page.split("\"/assets/").nth(1).unwrap();
    let asset = format!("/assets/{}", asset.split('"').next().unwrap());
    let cached = serving.get(&asset);
    let cached = cached.header("cache-control").unwrap();
    assert!(cached.contains("immutable"), "{cached}");
}

#[test]
fn settings_addresses_and_paths_are_for_administrators() {
    let model = Server::good();
    let home = Home::with(&model);
    let tokens = ["admin", "run", "read"].map(|scope| token(&home, scope, &["--scope", scope]));
    let mut serving = Serving::start(&home, &[]);
    let url = model.url();
    let folder = home.path().display().to_string();
    for (number, secret) in tokens.into_iter().enumerate() {
        let is_admin = number == 0;
        serving.token = Some(secret);
        let page = serving.get("/models");
        let text = page.text();
        assert_eq!(page.status, 200);
        assert!(text.contains("lab"), "{text}");
        for secret in [
            url.as_str(),
            folder.as_str(),
            "call_timeout_s",
            "Settings</h2>",
        ] {
            assert_eq!(text.contains(secret), is_admin, "{secret} in {text}");
        }
    }
}

/// Probes have no rate limit, and do not use up that of other requests.
#[test]
fn probes_are_not_limited() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &["--rate", "1", "--burst", "5"]);
    for _ in 0..20 {
        assert_eq!(serving.get("/healthz").status, 200);
        assert_eq!(serving.get("/readyz").status, 200);
    }
    let statuses: Vec<u16> = (0..20).map(|_| serving.get("/sign-in").status).collect();
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(serving.get("/healthz").status, 200);
    assert_eq!(serving.get("/readyz").json(), json!({ "status": "ready" }));
}
