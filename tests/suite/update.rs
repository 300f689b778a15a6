//! `roundtable update` with a real HTTP server as release feed.

use serde_json::json;

use crate::harness::{Answer, Home, QUESTION, Run, Server, finished};

const VARIABLE: &str = "ROUNDTABLE_UPDATE_URL";

/// A feed that answers every request like this.
fn feed(status: u16, headers: &'static str, body: &str) -> Server {
    let body = body.to_owned();
    Server::start(move |_, _| Answer::Status(status, headers, body.clone()))
}

fn release(tag: &str) -> Server {
    let page = "https://example.org/releases/newest";
    feed(
        200,
        "content-type: application/json\r\n",
        &json!({ "tag_name": tag, "html_url": page, "body": "Notes" }).to_string(),
    )
}

fn update(server: &Server, args: &[&str]) -> Run {
    update_at(&format!("{}/latest", server.url()), args)
}

fn update_at(url: &str, args: &[&str]) -> Run {
    let home = Home::empty();
    let mut command = home.command(&[&["update"], args].concat());
    finished(command.env(VARIABLE, url).output().unwrap())
}

#[test]
fn a_newer_release_is_named_with_the_way_to_get_it() {
    let server = release("v99.1.0");
    let run = update(&server, &[]);
    run.expect(0, &[]);
    let current = env!("CARGO_PKG_VERSION");
    let expected = format!("A newer release is available: 99.1.0. This is {current}.\nTo update: ");
    assert!(run.out.starts_with(&expected), "{}", run.out);
    let page = "Release: https://example.org/releases/newest\n";
    assert!(run.out.ends_with(page), "{}", run.out);
    assert_eq!(server.count(), 1);
    let news = update(&server, &["--json"]).json();
    assert_eq!(news["status"], "newer_available");
    assert_eq!(news["current"], current);
    assert_eq!(news["newest"], "99.1.0");
    assert_eq!(news["page"], "https://example.org/releases/newest");
}

#[test]
fn the_same_and_older_releases_are_no_news() {
    let current = env!("CARGO_PKG_VERSION");
    let run = update(&release(&format!("v{current}")), &[]);
    run.expect(0, &[]);
    let expected = format!("roundtable {current} is the newest release.\n");
    assert_eq!(run.out, expected);
    let json = update(&release(&format!("{current}-rc.1")), &["--json"]).json();
    assert_eq!(json["status"], "ahead");
    assert_eq!(json["is_prerelease"], true);
}

#[test]
fn a_feed_that_cannot_be_read_is_an_error_with_its_reason() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    update_at(&closed, &[]).expect(1, &["cannot read the release feed", "refused"]);
    let long = format!("{{\"tag_name\": \"{}\"}}", "1".repeat(2 << 20));
    let again = "location: /again\r\n";
    let away = "location: http://example.org/latest\r\n";
    for (server, reason) in [
        (feed(404, "", "{}"), "it answered with status 404"),
        (feed(500, "", "oops"), "it answered with status 500"),
        (feed(200, "", "<html>"), "its answer is not a release"),
        (
            feed(200, "", "{\"tag_name\": \"big\"}"),
            "'big' is not a version",
        ),
        (feed(200, "", &long), "its answer is longer than 1024 KB"),
        (feed(302, again, ""), "it redirects more than 3 times"),
        (
            feed(302, away, ""),
            "it redirects to an address without https",
        ),
        (
            Server::start(|_, _| Answer::Nothing),
            "cannot read the release feed",
        ),
    ] {
        let run = update(&server, &[]);
        run.expect(
            1,
            &["cannot read the release feed http://127.0.0.1:", reason],
        );
        assert_eq!(run.out, "");
    }
    let server = feed(302, again, "");
    update(&server, &["--json"]).expect(1, &[]);
    assert_eq!(server.count(), 4, "the first request and three redirects");
}

#[test]
fn an_address_without_encryption_is_refused() {
    for url in ["http://example.org/latest", "ftp://example.org", "latest"] {
        update_at(url, &[]).expect(2, &["invalid release feed", "expected an https:// URL"]);
    }
    let home = Home::empty();
    home.write(
        "roundtable.toml",
        "[update]\nurl = \"http://example.org\"\n",
    );
    let run = home.run(&["update"]);
    run.expect(
        2,
        &["roundtable.toml:2: invalid update.url", "https:// URL"],
    );
}

#[test]
fn without_a_feed_the_message_says_how_to_set_one() {
    let home = Home::empty();
    let run = home.run(&["update"]);
    run.expect(
        1,
        &[
            "no release feed is configured",
            "roundtable config set update.url URL",
        ],
    );
    let server = release("v99.0.0");
    let url = format!("{}/latest", server.url());
    home.run(&["config", "set", "update.url", &url])
        .expect(0, &[]);
    assert_eq!(home.run(&["update", "--json"]).json()["newest"], "99.0.0");
}

/// A file that came with a repository cannot send the program anywhere.
#[test]
fn the_feed_of_an_untrusted_file_is_not_asked() {
    let server = release("v99.0.0");
    let home = Home::empty();
    home.write(
        "roundtable.toml",
        &format!("[update]\nurl = \"{}\"\n", server.url()),
    );
    let mut command = home.command(&["update"]);
    let run = finished(command.env_remove("ROUNDTABLE_CONFIG").output().unwrap());
    run.expect(1, &["[update] is ignored", "no release feed is configured"]);
    assert_eq!(server.count(), 0);
}

/// There is no telemetry: only `update` asks the feed.
#[test]
fn no_other_command_asks_the_feed() {
    let feed = release("v99.0.0");
    let home = Home::with_model(&Server::good());
    let url = format!("{}/latest", feed.url());
    for args in [
        &["ask", QUESTION, "--quiet"][..],
        &["models"],
        &["doctor"],
        &["init", "--yes"],
        &["list"],
        &["config", "show"],
    ] {
        let mut command = home.command(args);
        let run = finished(command.env(VARIABLE, &url).output().unwrap());
        assert!(!run.err.contains("99.0.0"), "{}", run.err);
    }
    assert_eq!(feed.count(), 0);
}
