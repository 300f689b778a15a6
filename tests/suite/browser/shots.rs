//! Screenshots of every page in four variants, and axe-core on each: `cargo xtask shots` runs this and installs axe-core.
//! `SUITE_SHOTS` is the folder for the pictures, `SUITE_AXE` the script, `SUITE_SHOTS_ONLY` parts of the names of some pages.

use std::path::PathBuf;

use super::chromium::{Browser, PHONE};
use super::url;
use crate::all_protocols::{Play, any_reply};
use crate::harness::{Answer, Gate, Home, Server, Serving, good, schema_name};

const SIZES: [(&str, (u32, u32)); 2] = [("desktop", (1440, 900)), ("phone", PHONE)];
const SCHEMES: [&str; 2] = ["light", "dark"];

#[expect(clippy::disallowed_methods, reason = "settings of the test run")]
fn path(name: &str) -> PathBuf {
    let path = std::env::var_os(name);
    path.map_or_else(
        || panic!("{name} is not set: run `cargo xtask shots`"),
        PathBuf::from,
    )
}

/// A debate of every protocol, one that follows up, a resolved forecast, an assessed decision, a link, tags and a token.
fn filled(server: &Server) -> Home {
    let home = Home::with_model(server);
    crate::all_protocols::play_all(&home);
    let debates = home.list();
    let newest = |protocol: &str| {
        let mut of = debates.iter().filter(|row| row["protocol"] == protocol);
        of.next().unwrap()["id"].as_str().unwrap().to_owned()
    };
    let follow_up = ["ask", "And with two teams?", "--continue"];
    home.run(&[&follow_up[..], &[&newest("dialectic"), "--quiet"]].concat())
        .expect(0, &[]);
    home.run(&["resolve", &newest("forecast"), "Yes"])
        .expect(0, &[]);
    home.run(&["rate", &newest("modes"), "8"]).expect(0, &[]);
    home
}

/// A finished bench, an arena with votes to give and one whose votes are all given.
fn measured(server: &Server) -> Home {
    let home = Home::with_model(server);
    home.write("items.csv", &crate::bench_runs::questions(12));
    let bench = crate::bench_runs::command("one,consistency,panel", &["--json"]);
    home.run(&bench).expect(0, &[]);
    for (arena, count) in [("open", 3), ("done", 2)] {
        let lines = (0..count).map(|item| format!("Which one fits item {item}?\n"));
        home.write("questions.txt", &lines.collect::<String>());
        let new = ["arena", "new", "questions.txt", "--between", "lab:a,lab:b"];
        home.run(&[&new[..], &["--id", arena]].concat())
            .expect(0, &[]);
    }
    home
}

/// Serious and critical findings of axe-core, each with the elements that it is about.
async fn findings(browser: &Browser, axe: &str) -> Vec<String> {
    browser.run(axe, Vec::new()).await;
    let script = "const done = arguments[arguments.length - 1]; \
        axe.run({ resultTypes: ['violations'] }).then((result) => done(result.violations.map((found) => \
        [found.impact, found.id, found.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')])), (error) => done([['critical', String(error), '']]))";
    let found = browser
        .client
        .execute_async(script, Vec::new())
        .await
        .unwrap();
    let found: Vec<(String, String, String)> = serde_json::from_value(found).unwrap();
    let found = found.into_iter();
    found
        .filter(|(impact, _, _)| ["serious", "critical"].contains(&impact.as_str()))
        .map(|(impact, rule, where_)| format!("{rule} ({impact}): {where_}"))
        .collect()
}

struct Shots {
    folder: PathBuf,
    axe: String,
    problems: Vec<String>,
}

impl Shots {
    /// The page in its current state: its first screen, the whole page, and what axe-core finds.
    async fn take(&mut self, browser: &Browser, name: &str, size: (u32, u32)) {
        let png = browser.client.screenshot().await.unwrap();
        std::fs::write(self.folder.join(format!("{name}.png")), png).unwrap();
        let height = browser
            .run("return document.documentElement.scrollHeight", Vec::new())
            .await;
        let height = height.as_u64().unwrap().clamp(u64::from(size.1), 8000);
        browser.resize(size.0, height);
        let png = browser.client.screenshot().await.unwrap();
        std::fs::write(self.folder.join(format!("{name}-full.png")), png).unwrap();
        browser.resize(size.0, u64::from(size.1));
        for found in findings(browser, &self.axe).await {
            self.problems.push(format!("{name}: {found}"));
        }
    }
}

#[tokio::test]
#[ignore = "writes pictures and needs axe-core; `cargo xtask shots` runs it"]
async fn shots_of_every_page() {
    let folder = path("SUITE_SHOTS");
    std::fs::create_dir_all(&folder).unwrap();
    let axe = std::fs::read_to_string(path("SUITE_AXE")).unwrap();
    let mut shots = Shots {
        folder,
        axe,
        problems: Vec::new(),
    };
    let server = Server::start(any_reply);
    let home = filled(&server);
    let served = Serving::start(&home, &[]);
    let unchallenged = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => Answer::Reply("I like it.".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let poor = Home::with_model(&unchallenged);
    poor.ask(&["--quiet"]).expect(3, &[]);
    let poor_served = Serving::start(&poor, &[]);
    let measuring = Server::start(|request, _| crate::bench_runs::reply(request, 4));
    let measured = measured(&measuring);
    let measured_served = Serving::start(&measured, &[]);
    crate::arena::vote_for(&measured_served, "done", "Answer");
    let bench = measured.run(&["bench", "list", "--json"]).json();
    let bench = bench[0]["id"].as_str().unwrap().to_owned();
    let closed = Home::with_model(&server);
    closed.token("admin");
    let closed_served = Serving::start(&closed, &[]);
    let pages = pages(&home, &served);
    let poor_id = poor.list()[0]["id"].as_str().unwrap().to_owned();
    let others = [
        (
            "debate-unchallenged",
            url(&poor_served, &format!("/debates/{poor_id}")),
        ),
        ("sign-in", url(&closed_served, "/")),
        ("benches", url(&measured_served, "/benches")),
        ("bench", url(&measured_served, &format!("/benches/{bench}"))),
        ("arenas", url(&measured_served, "/arenas")),
        ("arena-vote", url(&measured_served, "/arenas/open")),
        ("arena-standing", url(&measured_served, "/arenas/done")),
    ];
    let pages: Vec<(String, String)> = pages
        .into_iter()
        .chain(others.map(|(name, address)| (name.to_owned(), address)))
        .filter(|(name, _)| is_wanted(name))
        .collect();
    for (size_name, size) in SIZES {
        let browser = Browser::open(size).await;
        for scheme in SCHEMES {
            browser.color_scheme(scheme);
            for (name, address) in &pages {
                browser.visit(address).await;
                let name = format!("{name}-{size_name}-{scheme}");
                shots.take(&browser, &name, size).await;
            }
            running(&browser, &mut shots, (size_name, scheme), size).await;
        }
        browser.close().await;
    }
    assert!(shots.problems.is_empty(), "{}", shots.problems.join("\n"));
}

/// The pages of a server with debates, by name.
fn pages(home: &Home, served: &Serving) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    for task in ["answer", "debate", "forecast", "judge"] {
        pages.push((format!("start-{task}"), format!("/?task={task}")));
        pages.push((
            format!("start-{task}-options"),
            format!("/?task={task}&depth=quick"),
        ));
    }
    let mut forecast = None;
    for debate in home.list() {
        let id = debate["id"].as_str().unwrap();
        let kind = debate["protocol"].as_str().unwrap();
        let name = format!("debate-{kind}");
        let known = pages.iter().filter(|(known, _)| known.starts_with(&name));
        let number = known.count() + 1;
        pages.push((format!("{name}-{number}"), format!("/debates/{id}")));
        if kind == "dialectic" {
            let prompt = format!("/debates/{id}/prompts/r1/skeptic/criticise");
            pages.push((format!("prompt-{number}"), prompt));
        }
        if kind == "forecast" {
            forecast = Some(id.to_owned());
        }
        if kind == "modes" {
            pages.push(("outcome-decision".into(), format!("/debates/{id}/outcome")));
        }
    }
    let forecast = forecast.unwrap();
    pages.push(("history".into(), format!("/debates/{forecast}/history")));
    pages.push((
        "outcome-forecast".into(),
        format!("/debates/{forecast}/outcome"),
    ));
    let link = served.post(
        &format!("/api/v1/debates/{forecast}/shares"),
        &serde_json::json!({}),
    );
    let link = link.json()["link"].as_str().unwrap().to_owned();
    for page in [
        "debates",
        "debates?q=nothing+like+it",
        "models",
        "calibration",
        "learning",
        "tokens",
        "audit",
        "nowhere",
        "api/docs",
    ] {
        let name = page.replace(['?', '=', '+', '/'], "-");
        pages.push((name, format!("/{page}")));
    }
    let served = pages
        .into_iter()
        .map(|(name, path)| (name, url(served, &path)));
    served.chain([("shared".to_owned(), link)]).collect()
}

/// Whether a page is among those that `SUITE_SHOTS_ONLY` names, by a part of its name.
#[expect(clippy::disallowed_methods, reason = "settings of the test run")]
fn is_wanted(name: &str) -> bool {
    let only = std::env::var("SUITE_SHOTS_ONLY").unwrap_or_default();
    only.is_empty() || only.split(',').any(|part| name.contains(part))
}

/// A debate of every protocol while it runs, each held in the middle of one reply.
async fn running(
    browser: &Browser,
    shots: &mut Shots,
    (size_name, scheme): (&str, &str),
    size: (u32, u32),
) {
    for (kind, schema) in [
        ("ask", "revision"),
        ("debate", "contribution"),
        ("forecast", "argument"),
        ("judge", "evaluation"),
    ] {
        let name = format!("running-{kind}");
        if !is_wanted(&name) {
            continue;
        }
        let gate = Gate::default();
        let held = gate.clone();
        let server = Server::start(move |request, before| {
            let Answer::Reply(reply) = any_reply(request, before) else {
                unreachable!("all replies are whole")
            };
            if schema_name(request) == schema {
                Answer::Gated(held.clone(), reply)
            } else {
                Answer::Reply(reply)
            }
        });
        let home = Home::with_model(&server);
        let served = Serving::start(&home, &[]);
        let play = Play::ALL.into_iter().find(|play| play.name() == kind);
        let started = served.post("/api/v1/debates", &play.unwrap().request());
        let id = started.json()["id"].as_str().unwrap().to_owned();
        browser
            .visit(&url(&served, &format!("/debates/{id}")))
            .await;
        let is_held =
            "return (document.querySelector('.speaking .streaming')?.textContent ?? '').length > 3";
        browser.until("a reply in progress", is_held).await;
        let name = format!("{name}-{size_name}-{scheme}");
        shots.take(browser, &name, size).await;
        gate.open();
        served.until(&id, "complete");
    }
}
