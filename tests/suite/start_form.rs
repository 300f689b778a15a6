//! The form that starts a debate: sent twice it starts one. And words of a server say nothing about its network.

#![cfg(unix)]

use std::io::Write;
use std::process::Stdio;
use std::thread;

use serde_json::json;

use crate::debate::reply;
use crate::harness::{Answer, Home, QUESTION, Server, Serving, finished};

const FORM: [(&str, &str); 1] = [("content-type", "application/x-www-form-urlencoded")];

/// The hidden key of a form that is shown now.
fn key(serving: &Serving) -> String {
    key_of(&serving.get("/").text())
}

fn key_of(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"form_key\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

fn start(serving: &Serving, question: &str, key: &str) -> String {
    let body = format!("question={question}&model=lab%3Ax&form_key={key}");
    let sent = serving.send("POST", "/debates", &FORM, body.as_bytes());
    assert_eq!(sent.status, 303, "{}", sent.text());
    sent.header("location").unwrap().to_owned()
}

/// A double click or a reload starts no second debate. A changed form and a form that is shown again do.
#[test]
fn p09_a_form_that_is_sent_twice_starts_one_debate() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let shown = key(&serving);
    let mut started: Vec<String> = thread::scope(|scope| {
        let clicks: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| start(&serving, "Why%3F", &shown)))
            .collect();
        clicks
            .into_iter()
            .map(|click| click.join().unwrap())
            .collect()
    });
    started.dedup();
    assert_eq!(started.len(), 1, "{started:?}");
    assert_eq!(start(&serving, "Why%3F", &shown), started[0]);
    let changed = start(&serving, "Why+not%3F", &shown);
    let again = start(&serving, "Why%3F", &key(&serving));
    let without = start(&serving, "Why%3F", "");
    let nonsense = start(&serving, "Why%3F", "x%27+OR+1");
    let mut all = [started[0].clone(), changed, again, without, nonsense].to_vec();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 5);
    assert_eq!(home.list().len(), 5);
}

/// The same for a follow-up question: a double click asks and pays for one.
#[test]
fn b14_a_follow_up_that_is_sent_twice_starts_one_debate() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    serving.until(&id, "complete");
    let path = format!("/debates/{id}");
    let ask = |question: &str, key: &str| {
        let body = format!("question={question}&protocol=dialectic&form_key={key}");
        let path = format!("{path}/follow-up");
        let sent = serving.send("POST", &path, &FORM, body.as_bytes());
        assert_eq!(sent.status, 303, "{}", sent.text());
        sent.header("location").unwrap().to_owned()
    };
    let shown = key_of(&serving.get(&path).text());
    let mut asked: Vec<String> = thread::scope(|scope| {
        let clicks: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| ask("And+then%3F", &shown)))
            .collect();
        clicks
            .into_iter()
            .map(|click| click.join().unwrap())
            .collect()
    });
    asked.dedup();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_ne!(ask("And+if+not%3F", &shown), asked[0]);
    let again = key_of(&serving.get(&path).text());
    assert_ne!(ask("And+then%3F", &again), asked[0]);
    assert_eq!(home.list().len(), 4);
}

/// Messages of a server name the provider and not its address, in every form that a reader gets. The command line names it.
#[test]
fn c20_messages_of_a_server_have_no_addresses() {
    let broken = Server::start(|_, _| Answer::Status(404, "", "{}".into()));
    let home = Home::with(&broken);
    let address = broken.url();
    let address = address
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let serving = Serving::start(&home, &[]);
    let id = serving.debate();
    serving.until(&id, "failed");
    let path = format!("/api/v1/debates/{id}");
    let events: String = serving
        .events(&id, &[])
        .all()
        .into_iter()
        .map(|event| event.data.to_string())
        .collect();
    let mut texts = vec![events];
    for path in [
        path.clone(),
        format!("{path}/export?format=json"),
        format!("{path}/export?format=md"),
        format!("/debates/{id}"),
    ] {
        texts.push(serving.get(&path).text());
    }
    for text in &texts {
        assert!(!text.contains(address), "{text}");
    }
    assert!(
        texts.concat().contains("the address of [providers.lab]"),
        "{}",
        texts[1]
    );
    let run = home.ask(&[]);
    assert!(
        run.err.contains(address) || run.out.contains(address),
        "{} {}",
        run.out,
        run.err
    );
}

/// C-19: a likely secret that is typed during a debate goes to no model, unless the user says so.
#[test]
fn c19_typed_secrets_are_not_sent() {
    let secret = ["ghp", "_a1B2c3D4e5F6g7H8", "i9J0k1L2m3N4o5P6q7R8"].concat();
    for (more, is_sent) in [(&[][..], false), (&["--allow-secrets"][..], true)] {
        let server = Server::start(|request, _| {
            let delay = std::time::Duration::from_millis(300);
            Answer::Late(delay, reply(request).to_string())
        });
        let home = Home::with(&server);
        let args = [
            "debate",
            QUESTION,
            "--model",
            "lab:x",
            "--interactive",
            "--seats",
            "3",
        ];
        let mut child = home
            .command(&[&args[..], more].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut typed = child.stdin.take().unwrap();
        typed
            .write_all(format!("Use {secret} please.\nCosts matter most.\n").as_bytes())
            .unwrap();
        typed.flush().unwrap();
        let run = finished(child.wait_with_output().unwrap());
        let heard = json!(server.heard()).to_string();
        assert!(heard.contains("Costs matter most."), "{}", run.err);
        assert_eq!(heard.contains(&secret), is_sent);
        assert_eq!(
            run.err
                .contains("Not sent: likely secret in the text, line 1: GitHub token"),
            !is_sent,
            "{}",
            run.err
        );
    }
}

/// C-03: `doctor` does not call a configuration good whose sections are ignored.
#[test]
fn c03_doctor_names_the_sections_that_are_ignored() {
    let home = Home::with(&Server::good());
    let doctor = |trusted: bool| {
        let mut command = home.command(&["doctor", "--json"]);
        if !trusted {
            command.env_remove("ROUNDTABLE_CONFIG");
        }
        let checks = finished(command.output().unwrap()).json();
        let all = checks.as_array().unwrap().clone();
        all.into_iter()
            .find(|check| check["part"] == "configuration")
            .unwrap()
    };
    let untrusted = doctor(false);
    assert_eq!(untrusted["ok"], false);
    let found = untrusted["found"].as_str().unwrap();
    assert!(
        found.contains("is not trusted: ignored are [providers], [retry]"),
        "{found}"
    );
    assert!(
        untrusted["advice"]
            .as_str()
            .unwrap()
            .contains("roundtable config trust")
    );
    assert_eq!(doctor(true)["ok"], true);
}
