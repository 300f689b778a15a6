//! The actions of the verdict card, the draft while a debate runs, and read-only links.

use serde_json::{Value, json};

use super::chromium::{Browser, DESKTOP, PHONE, Scripts};
use super::{asked, fits, gated, url, wait_for_answer};
use crate::harness::{Home, Server, Serving};

/// The address of the newest debate.
fn debate_of(home: &Home, served: &Serving) -> String {
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    url(served, &format!("/debates/{id}"))
}

/// P-11: while a debate runs, the card holds the current draft and what is open against it.
#[tokio::test]
async fn p11_the_card_holds_the_draft_while_the_debate_runs() {
    let (server, gate) = gated("revision");
    let (_home, _served, browser) = asked(&server, DESKTOP).await;
    let draft = "const badge = document.querySelector('#answer.draft .badge')?.innerText ?? ''; \
                 return /^. Draft \\d, under attack: /.test(badge.replaceAll('\\n', ' ')) ? badge : null";
    browser.until("a draft under attack", draft).await;
    assert!(!browser.text("#answer .short").await.is_empty());
    assert_eq!(browser.count("#answer.draft ~ .card-actions").await, 0);
    gate.open();
    wait_for_answer(&browser).await;
    assert_eq!(browser.count("#answer ~ .card-actions").await, 1);
    browser.close().await;
}

/// The verdict is copied as Markdown; every format of the export is one click away; the rating is on the page.
#[tokio::test]
async fn c14_the_verdict_is_copied_and_exported_from_its_card() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    let page = debate_of(&home, &served);
    browser.visit(&page).await;
    let listen = "window.copied = []; navigator.clipboard.writeText = (text) => { copied.push(text); return Promise.resolve(); }";
    browser.run(listen, Vec::new()).await;
    browser.click("a[data-copy]").await;
    let copied = browser.until("a copy", "return copied[0] ?? null").await;
    let copied = copied.as_str().unwrap();
    for part in [
        "# ",
        "## Verdict",
        "Confidence: ",
        "Put a queue in front of the writes",
    ] {
        assert!(copied.contains(part), "'{part}' is not in {copied}");
    }
    assert_eq!(browser.text("#announce").await, "Copied");
    browser.click("#export summary").await;
    fits(&browser, "the open menu").await;
    let links = "return [...document.querySelectorAll('#export a')].map((link) => [link.textContent, link.getBoundingClientRect().height > 20])";
    let links = browser.run(links, Vec::new()).await;
    assert_eq!(links[0], json!(["HTML file", true]), "{links}");
    assert_eq!(links.as_array().unwrap().len(), 4);
    browser.click("a[href='#rating']").await;
    assert_eq!(
        browser
            .run(
                "return document.querySelectorAll('.menu[open]').length",
                Vec::new()
            )
            .await,
        json!(0)
    );
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// The Markdown of the verdict can be read without scripts.
#[tokio::test]
async fn c14_the_verdict_opens_as_text_without_scripts() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let page = debate_of(&home, &served);
    let reply = served.get(&format!(
        "{}/verdict.md",
        page.split_once(&served.address).unwrap().1
    ));
    assert_eq!(
        reply.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(reply.text().contains("## Verdict"));
}

/// C-20: a debate is shared by a link that works without a token, shows this debate alone, and stops when it is revoked.
#[tokio::test]
async fn c20_a_debate_is_shared_by_a_link_that_can_be_revoked() {
    share_and_revoke(Home::with_model).await;
}

#[tokio::test]
async fn c20_a_debate_is_shared_by_a_link_that_can_be_revoked_on_postgres() {
    share_and_revoke(Home::on_postgres).await;
}

async fn share_and_revoke(home: fn(&Server) -> Home) {
    let server = Server::good();
    let home = home(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    let secret = home.token("admin");
    let served = Serving::start(&home, &[]);
    let page = debate_of(&home, &served);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&page).await;
    browser.write("#token", &secret).await;
    browser.click(".sign-in button").await;
    browser.find("main.debate").await;
    browser.click("#share > summary").await;
    browser.click("#share button").await;
    let link = browser.find("#shared-link").await.text().await.unwrap();
    let path = link.strip_prefix(&url(&served, "")).unwrap().to_owned();
    assert!(path.starts_with("/shared/rtshare_"), "{path}");
    assert_eq!(path.len(), "/shared/rtshare_".len() + 64);

    // A visitor without a token reads it, and nothing on the page leads further.
    let visitor = Browser::with(DESKTOP, Scripts::Off).await;
    visitor.visit(&link).await;
    let card = visitor.find("#answer").await.text().await.unwrap();
    assert!(
        card.contains("Put a queue in front of the writes"),
        "{card}"
    );
    let html = visitor.client.source().await.unwrap();
    for absent in ["<form", "/api/v1/", "<script", "data-events"] {
        assert!(!html.contains(absent), "{absent}");
    }
    assert!(html.contains("no-referrer"));
    visitor.visit(&page).await;
    visitor.find("#token").await;

    // It is listed without its secret, and stops when it is revoked.
    browser.visit(&page).await;
    let html = browser.client.source().await.unwrap();
    assert!(!html.contains("rtshare_"), "the secret is shown once");
    browser.click("#share > summary").await;
    let listed = browser.find(".shares li").await.text().await.unwrap();
    assert!(listed.contains("expires"), "{listed}");
    browser.click(".shares .danger").await;
    let is_gone = "return document.querySelector('main.debate') !== null && !document.querySelector('.shares li')";
    browser.until("the revocation", is_gone).await;
    visitor.visit(&link).await;
    let refused = visitor.find("main").await.text().await.unwrap();
    assert!(
        refused.contains("does not exist, has expired, or was revoked"),
        "{refused}"
    );
    browser.visit(&url(&served, "/audit")).await;
    let log = browser.find(".audit").await.text().await.unwrap();
    for part in ["share-added", "share-revoked"] {
        assert!(log.contains(part), "{part} in {log}");
    }
    assert!(!log.contains("rtshare_"), "{log}");
    for browser in [browser, visitor] {
        browser.close().await;
    }
}

/// C-20: links that never existed, and ends of validity that no link can have.
#[tokio::test]
async fn c20_unknown_links_and_wrong_validities_are_refused() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let secret = home.token("admin");
    let mut served = Serving::start(&home, &[]);
    let page = debate_of(&home, &served);
    let path = page.split_once(&served.address).unwrap().1.to_owned();
    for link in [
        "x",
        "rtshare_",
        &format!("rtshare_{}", "0".repeat(64)),
        &secret,
        "..%2F..%2Fdebates",
    ] {
        assert_eq!(served.get(&format!("/shared/{link}")).status, 404, "{link}");
    }
    served.token = Some(secret);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let make = |days: &str| {
        let body = format!("days={days}");
        served
            .send("POST", &format!("{path}/shares"), &form, body.as_bytes())
            .status
    };
    for days in ["0", "-1", "3651", "x", "1e3"] {
        assert_eq!(make(days), 422, "{days}");
    }
    for _ in 0..20 {
        assert_eq!(make("3650"), 200);
    }
    assert_eq!(make(""), 422, "the number of links is limited");
    let other = format!(
        "{path}/shares/{}/revoke",
        "00000000-0000-4000-8000-000000000000"
    );
    assert_eq!(served.send("POST", &other, &form, b"").status, 404);
}

/// A printed page has what the screen folds, in one column.
#[tokio::test]
async fn the_page_prints_with_everything_open() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    browser.visit(&debate_of(&home, &served)).await;
    let script = "const closed = () => document.querySelectorAll('main details:not([open]):not(.menu, .prompt)').length; \
        const before = closed(); dispatchEvent(new Event('beforeprint')); const during = closed(); \
        dispatchEvent(new Event('afterprint')); return [before > 3, during, closed() === before]";
    let folded = browser.run(script, Vec::<Value>::new()).await;
    assert_eq!(folded, json!([true, 0, true]));
    // A turn may continue on the next page, and headings stay with what follows.
    browser.on_paper();
    let styles = "const style = (found) => getComputedStyle(document.querySelector(found)); \
        return [style('.turn').breakInside, style('.round > summary').breakAfter, style('.prompt').display, style('.panel').breakInside]";
    let styles = browser.run(styles, Vec::<Value>::new()).await;
    assert_eq!(styles, json!(["auto", "avoid", "none", "avoid"]));
    browser.close().await;
}

/// P-11: the argument is read by its points, and each episode leads to its turn.
#[tokio::test]
async fn p11_the_argument_is_read_by_its_points() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    browser.visit(&debate_of(&home, &served)).await;
    let points = browser.text("#argument .points").await;
    assert!(points.contains("settled in round 3"), "{points}");
    browser.click("#point-s1 > summary").await;
    let story = browser.text("#point-s1 .story").await;
    let told: Vec<&str> = story.lines().collect();
    assert_eq!(told.len(), 5, "{story}");
    assert!(
        told[0].contains("Round 1") && told[0].contains("Skeptic raised it"),
        "{story}"
    );
    assert!(told[4].contains("Skeptic called it settled"), "{story}");
    assert!(browser.text("#argument .moves").await.contains("S1, S2"));
    fits(&browser, "an open point").await;
    browser.click("#point-s1 .story a").await;
    let target = "return document.querySelector(':target')?.id ?? null";
    let target = browser.until("the turn", target).await;
    assert_eq!(target, json!("r1/skeptic/criticise"));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// P-11: seats that spoke at the same time are columns on a wide screen, open or folded, and one below the other on a phone.
#[tokio::test]
async fn p11_parallel_seats_are_columns_on_wide_screens() {
    let server = Server::start(crate::all_protocols::any_reply);
    let home = Home::with_model(&server);
    home.run(&[
        "debate",
        crate::harness::QUESTION,
        "--seats",
        "3",
        "--quiet",
    ])
    .expect(0, &[]);
    let served = Serving::start(&home, &[]);
    for (size, rows) in [((1440, 900), 2), (PHONE, 3)] {
        let browser = Browser::open(size).await;
        browser.visit(&debate_of(&home, &served)).await;
        let script = "const turns = [...document.querySelectorAll('#r1 .turn')]; \
            const tops = () => new Set(turns.map((turn) => Math.round(turn.getBoundingClientRect().top))).size; \
            const folded = tops(); for (const turn of turns) turn.querySelector('details').open = true; \
            return [turns.length, folded, tops()]";
        let seen = browser.run(script, Vec::new()).await;
        assert_eq!(seen, json!([3, rows, rows]), "{size:?}");
        browser.close().await;
    }
}

/// F-16, F-17: the outcome of a forecast is recorded in the browser, without scripts, and the calibration page follows.
#[tokio::test]
async fn f16_a_forecast_is_resolved_in_the_browser() {
    resolve_a_forecast(Home::with_model).await;
}

#[tokio::test]
async fn f16_a_forecast_is_resolved_in_the_browser_on_postgres() {
    resolve_a_forecast(Home::on_postgres).await;
}

async fn resolve_a_forecast(home: fn(&Server) -> Home) {
    let server = Server::start(crate::all_protocols::any_reply);
    let home = home(&server);
    home.run(&[
        "forecast",
        "Will it open?",
        "--outcome",
        "Yes",
        "--outcome",
        "No",
        "--quiet",
    ])
    .expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&url(&served, "/calibration")).await;
    browser.click("section .title").await;
    browser.click("#resolve button").await;
    browser.click("#resolve .line").await;
    browser.click("#resolve button").await;
    browser.find("main .facts").await;
    assert!(browser.address().await.ends_with("/calibration"));
    let page = browser.find("main").await.text().await.unwrap();
    assert!(!page.contains("Forecasts without an outcome"), "{page}");
    // Known again, and withdrawn.
    browser
        .visit(&format!("{}/outcome", debate_of(&home, &served)))
        .await;
    browser.find("#resolve input:checked").await;
    browser.click("#resolve .secondary").await;
    browser.find("section .title").await;
    browser.close().await;
}

/// E-15: how a decision turned out is recorded in the browser: an event, and the assessment with its lesson.
#[tokio::test]
async fn e15_a_decision_is_tracked_and_assessed_in_the_browser() {
    track_and_assess(Home::with_model).await;
}

#[tokio::test]
async fn e15_a_decision_is_tracked_and_assessed_in_the_browser_on_postgres() {
    track_and_assess(Home::on_postgres).await;
}

async fn track_and_assess(home: fn(&Server) -> Home) {
    let server = Server::start(crate::all_protocols::any_reply);
    let home = home(&server);
    home.run(&[
        "debate",
        crate::harness::QUESTION,
        "--seats",
        "3",
        "--quiet",
    ])
    .expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&debate_of(&home, &served)).await;
    browser.click("a[href$='/outcome']").await;
    browser.write("#event", "The <b>queue</b> went live").await;
    browser.click("#status option[value=completed]").await;
    browser.click("#track button").await;
    let page = browser.find("section ul").await.text().await.unwrap();
    assert!(
        page.contains("The <b>queue</b> went live (completed)"),
        "{page}"
    );
    browser.click("label[for='accuracy-0.75']").await;
    browser.write("#right", "It held under load").await;
    browser.write("#lessons", "Measure first").await;
    browser.write("#domain", "queues").await;
    browser.click("#post-mortem > button").await;
    browser.find("main .facts").await;
    assert!(browser.address().await.ends_with("/learning?domain=queues"));
    let learned = home.run(&["learning", "history", "--json"]);
    assert!(learned.out.contains("queues"), "{}", learned.out);
    browser
        .visit(&format!("{}/outcome", debate_of(&home, &served)))
        .await;
    let again = browser.find("#post-mortem").await.text().await.unwrap();
    assert!(again.contains("Right"), "{again}");
    let page = browser.find("main").await.text().await.unwrap();
    assert!(page.contains("It was assessed before"), "{page}");
    browser.close().await;
}
