//! Screenshots of every page in four variants, and axe-core on each: `cargo xtask shots` runs this and installs axe-core.
//! `SUITE_SHOTS` is the folder for the pictures, `SUITE_AXE` the script.

use std::path::PathBuf;

use super::chromium::{Browser, PHONE};
use super::{gated, url};
use crate::harness::{Gate, Home, QUESTION, Server, Serving, good, schema_name};

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

/// A debate of every protocol, one that nobody challenged, one with a link, and a token.
fn filled(server: &Server) -> Home {
    let home = Home::with_model(server);
    home.write("post.md", crate::all_protocols::POST);
    let kinds: [&[&str]; 6] = [
        &["ask", QUESTION],
        &["debate", QUESTION, "--seats", "3"],
        &["debate", QUESTION, "--seats", "3", "--enhanced"],
        &[
            "forecast",
            "Will it open?",
            "--outcome",
            "Yes",
            "--outcome",
            "No",
        ],
        &["judge", "post.md"],
        &["panel", QUESTION],
    ];
    for kind in kinds {
        home.run(&[kind, &["--quiet"]].concat()).expect(0, &[]);
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
    let server = Server::start(crate::all_protocols::any_reply);
    let home = filled(&server);
    let served = Serving::start(&home, &[]);
    let unchallenged = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => crate::harness::Answer::Reply("I like it.".into()),
        _ => crate::harness::Answer::Reply(good(request, before)),
    });
    let poor = Home::with_model(&unchallenged);
    poor.ask(&["--quiet"]).expect(3, &[]);
    let poor_served = Serving::start(&poor, &[]);
    let closed = Home::with_model(&server);
    closed.token("admin");
    let closed_served = Serving::start(&closed, &[]);
    let mut pages: Vec<(String, String)> = Vec::new();
    for task in ["answer", "debate", "forecast", "judge"] {
        pages.push((
            format!("start-{task}"),
            url(&served, &format!("/?task={task}")),
        ));
        pages.push((
            format!("start-{task}-options"),
            url(&served, &format!("/?task={task}&depth=quick")),
        ));
    }
    for debate in home.list() {
        let id = debate["id"].as_str().unwrap();
        let kind = debate["protocol"].as_str().unwrap();
        let name = format!("debate-{kind}");
        let number = pages
            .iter()
            .filter(|(known, _)| known.starts_with(&name))
            .count();
        pages.push((
            format!("{name}-{}", number + 1),
            url(&served, &format!("/debates/{id}")),
        ));
    }
    let poor_id = poor.list()[0]["id"].as_str().unwrap().to_owned();
    pages.push((
        "debate-unchallenged".into(),
        url(&poor_served, &format!("/debates/{poor_id}")),
    ));
    pages.push(("sign-in".into(), url(&closed_served, "/")));
    for page in [
        "debates",
        "models",
        "calibration",
        "learning",
        "tokens",
        "audit",
        "nowhere",
    ] {
        pages.push((page.into(), url(&served, &format!("/{page}"))));
    }
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

/// A debate while it runs.
async fn running(
    browser: &Browser,
    shots: &mut Shots,
    (size_name, scheme): (&str, &str),
    size: (u32, u32),
) {
    let (server, gate): (Server, Gate) = gated("revision");
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    super::ask(browser, &served).await;
    browser
        .until(
            "the second round",
            "return document.querySelector('#r2 .speaking')",
        )
        .await;
    shots
        .take(browser, &format!("running-{size_name}-{scheme}"), size)
        .await;
    gate.open();
    super::wait_for_answer(browser).await;
}
