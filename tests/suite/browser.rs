//! Journeys through the pages in a real browser, against the real binary and a model server that does as it is told.

mod chromium;
mod enhanced;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, good, schema_name};
use chromium::{Browser, DESKTOP, PHONE, Scripts};

/// A good debate that stands still in the middle of the first reply of this sort until the gate is opened: what a journey
/// has to see stays until it has seen it, however slow the machine is.
fn gated(schema: &'static str) -> (Server, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let reply = good(request, before);
        if schema_name(request) == schema && before == 0 {
            Answer::Gated(held.clone(), reply)
        } else {
            Answer::Reply(reply)
        }
    });
    (server, gate)
}

fn at(served: &Serving, path: &str) -> String {
    format!("http://{}{path}", served.address)
}

async fn ask(browser: &Browser, served: &Serving) {
    browser.visit(&at(served, "/")).await;
    browser.write("#question", QUESTION).await;
    browser.click(".ask button").await;
    browser.find("main.debate").await;
}

async fn wait_for_answer(browser: &Browser) {
    browser
        .until("an answer", "return document.getElementById('answer') && !document.querySelector('.speaking') && document.getElementById('status').innerText === 'Complete'")
        .await;
}

/// P-10, C-09: asked, watched while it streams, left, found again, finished; and the page is the same when it is loaded
/// anew.
#[tokio::test]
async fn p10_a_debate_is_started_watched_left_and_found_again() {
    let (server, gate) = gated("opening");
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    assert_eq!(browser.text("h1").await, QUESTION);

    // The first half of the first turn is there, as text where it will stay, and somebody is said to be thinking.
    let half = "const it = document.querySelector('#r1 .speaking .streaming'); \
                return it && it.textContent.length > 3 ? it.textContent : null";
    let seen = browser.until("text streams in", half).await;
    let seen = seen.as_str().unwrap().to_owned();
    assert!("Use a **queue**. 😀".starts_with(&seen), "{seen}");
    let thinking = "return document.getElementById('status').innerText === 'Proposer is thinking'";
    browser.until("who is thinking", thinking).await;

    // Away and back: it goes on where it is, with what was said so far.
    let address = browser.address().await;
    browser.visit(&at(&served, "/debates")).await;
    assert!(browser.text(".list").await.contains(QUESTION));
    browser.click(".list .title").await;
    let again = browser.until("the same text again", half).await;
    assert_eq!(again.as_str(), Some(seen.as_str()));
    assert_eq!(browser.address().await, address);

    gate.open();
    wait_for_answer(&browser).await;
    assert!(
        browser
            .text("#answer")
            .await
            .contains("Put a queue in front of the writes")
    );
    for seat in ["Proposer", "Skeptic", "Synthesizer", "Judge"] {
        assert!(browser.text("#transcript").await.contains(seat), "{seat}");
    }
    let seen = everything(&browser).await;
    browser.client.refresh().await.unwrap();
    wait_for_answer(&browser).await;
    assert_eq!(
        everything(&browser).await,
        seen,
        "a reload shows the same page"
    );
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.close().await;
}

/// All that can be read, part by part.
async fn everything(browser: &Browser) -> Vec<String> {
    let mut parts = Vec::new();
    for part in [
        "h1",
        "#status",
        "#glance",
        "#timeline",
        "#outcome",
        "#transcript",
        "#beside",
    ] {
        parts.push(browser.text(part).await);
    }
    parts
}

/// No layout jumps: nothing that is being read moves while text streams in below it.
#[tokio::test]
async fn p10_nothing_moves_while_text_streams() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let reply = good(request, before);
        if schema_name(request) == "revision" {
            Answer::Gated(held.clone(), reply)
        } else {
            Answer::Slow(Duration::from_millis(15), reply)
        }
    });
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    browser
        .run(
            "window.moved = 0; new PerformanceObserver((list) => { for (const it of list.getEntries()) if (!it.hadRecentInput) window.moved += it.value; }).observe({ type: 'layout-shift', buffered: true });",
            Vec::new(),
        )
        .await;
    browser
        .until(
            "the second round",
            "return document.querySelector('#r2 .speaking')",
        )
        .await;
    let moved = browser
        .run("return window.moved", Vec::new())
        .await
        .as_f64()
        .unwrap();
    assert!(moved < 0.1, "things moved by {moved}");
    gate.open();
    browser.close().await;
}

/// C-14: shared as one file that opens anywhere, runs nothing and loads nothing.
#[tokio::test]
async fn c14_a_finished_debate_is_exported_as_one_file() {
    let server = Server::good();
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    wait_for_answer(&browser).await;
    let file = browser
        .client
        .execute_async(
            "const done = arguments[0]; fetch(document.querySelector('a[href*=\"format=html\"]').href).then((it) => it.text()).then(done)",
            Vec::new(),
        )
        .await
        .unwrap();
    let path = home.write("shared.html", file.as_str().unwrap());
    browser.visit(&format!("file://{}", path.display())).await;
    assert_eq!(browser.text("h1").await, QUESTION);
    assert!(browser.text("#answer").await.contains("Put a queue"));
    assert!(browser.count("svg").await >= 2);
    assert_eq!(browser.count("script, link, img, iframe, form").await, 0);
    let loaded = browser
        .run(
            "return performance.getEntriesByType('resource').length",
            Vec::new(),
        )
        .await;
    assert_eq!(loaded, json!(0));
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.close().await;
}

/// Speaking, pausing, going on, rating, deleting: all with plain forms.
#[tokio::test]
async fn e10_a_person_speaks_pauses_decides_rates_and_deletes() {
    let (server, gate) = gated("opening");
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    browser.write("#text", "Mind <b>the costs</b>.").await;
    browser.click(".say button").await;
    browser.until("the words", "return document.querySelector('.voice .prose')?.innerText.includes('Mind <b>the costs</b>.')").await;
    browser.click("form[action$='/pause'] button").await;
    browser
        .until(
            "a pause is to come",
            "return document.getElementById('status').innerText === 'Pausing after this round'",
        )
        .await;
    gate.open();
    browser.find(".decide").await;
    assert_eq!(browser.text("#status").await, "Waiting for you");
    browser.write("#note", "enough coffee").await;
    browser.click(".decide button[value=continue]").await;
    wait_for_answer(&browser).await;
    let transcript = browser.text("#transcript").await;
    assert!(transcript.contains("enough coffee"), "{transcript}");

    browser
        .run(
            "document.querySelector('.marks input[value=\"9\"]').click()",
            Vec::new(),
        )
        .await;
    browser.click(".rate button").await;
    browser
        .until(
            "it is rated",
            "return document.querySelector('.meta')?.innerText.includes('rated 9 of 10')",
        )
        .await;

    browser
        .visit(&at(&served, "/debates?q=queue&state=complete"))
        .await;
    assert_eq!(browser.count(".list > li").await, 1);
    browser.click(".confirm summary").await;
    browser.click(".confirm button").await;
    browser.find(".empty").await;
    assert_eq!(browser.complaints().await, Vec::<String>::new());
    browser.close().await;
}

/// Cancelled, and gone on with.
#[tokio::test]
async fn c08_a_debate_is_cancelled_and_gone_on_with() {
    let (server, gate) = gated("critique");
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    browser.find("#r1 .turn:not(.speaking)").await;
    browser.click("form[action$='/cancel'] button").await;
    browser
        .until(
            "it is cancelled",
            "return document.getElementById('status')?.innerText === 'Cancelled'",
        )
        .await;
    gate.open();
    browser.click("form[action$='/resume'] button").await;
    wait_for_answer(&browser).await;
    browser.close().await;
}

/// A stranger signs in with a token, and out again.
#[tokio::test]
async fn a_stranger_signs_in_with_a_token() {
    let server = Server::good();
    let home = Home::with_model(&server);
    let token = home.token("admin");
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    browser.visit(&at(&served, "/debates?state=complete")).await;
    browser.write("#token", "wrong").await;
    browser.click(".sign-in button").await;
    browser.find(".problem").await;
    browser.write("#token", &token).await;
    browser.click(".sign-in button").await;
    browser.find("main .empty").await;
    assert!(browser.address().await.ends_with("/debates?state=complete"));
    let cookies = browser.run("return document.cookie", Vec::new()).await;
    assert_eq!(cookies, json!(""), "no script can read the session");
    browser.click(".top form button").await;
    browser.find("#token").await;
    browser.visit(&at(&served, "/")).await;
    browser.find("#token").await;
    browser.close().await;
}

/// On a phone nothing is wider than the screen, while it runs and when it is over.
#[tokio::test]
async fn pages_fit_a_phone() {
    let (server, gate) = gated("opening");
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    ask(&browser, &served).await;
    browser.find(".speaking").await;
    fits(&browser, "a running debate").await;
    gate.open();
    wait_for_answer(&browser).await;
    fits(&browser, "a finished debate").await;
    for page in ["/", "/debates", "/models", "/nowhere"] {
        browser.visit(&at(&served, page)).await;
        fits(&browser, page).await;
    }
    browser.close().await;
}

async fn fits(browser: &Browser, page: &str) {
    let script = "return [document.documentElement.scrollWidth, innerWidth]";
    let widths = browser.run(script, Vec::new()).await;
    assert_eq!(widths, json!([PHONE.0, PHONE.0]), "{page}");
}

/// C-12: replies full of scripts, links that run and images from elsewhere do nothing, neither while they stream nor after.
#[tokio::test]
async fn c12_hostile_replies_do_nothing() {
    const HOSTILE: &str = "Sure. <script>window.owned = 1</script><img src=x onerror=window.owned=1> <svg/onload=window.owned=1> \
        [click](javascript:window.owned=1) ![pixel](http://evil.invalid/pixel.gif) </div></main><h1>Owned</h1> <style>*{display:none}</style>";
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let reply: Value = serde_json::from_str(&good(request, before)).unwrap();
        let reply = poisoned(reply, HOSTILE).to_string();
        if schema_name(request) == "opening" {
            Answer::Gated(held.clone(), reply)
        } else {
            Answer::Reply(reply)
        }
    });
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    browser
        .until(
            "hostile text streams",
            "return document.querySelector('.streaming')?.textContent.includes('<script>')",
        )
        .await;
    gate.open();
    wait_for_answer(&browser).await;
    for _ in 0..2 {
        assert_eq!(
            browser.run("return window.owned ?? null", Vec::new()).await,
            Value::Null
        );
        assert_eq!(
            browser
                .count("main img, main script, main style, main iframe, a[href^='javascript']")
                .await,
            0
        );
        assert_eq!(
            (browser.count("h1").await, browser.text("h1").await.as_str()),
            (1, QUESTION)
        );
        assert!(
            browser
                .text("#answer")
                .await
                .contains("<script>window.owned = 1</script>")
        );
        let elsewhere = browser
            .run("return performance.getEntriesByType('resource').map((it) => it.name).filter((it) => !it.startsWith(location.origin))", Vec::new())
            .await;
        assert_eq!(elsewhere, json!([]));
        browser.client.refresh().await.unwrap();
        browser.find("#answer").await;
    }
    browser.close().await;
}

/// Every text of a reply that is shown as such begins with `words`.
fn poisoned(value: Value, words: &str) -> Value {
    const SHOWN: [&str; 4] = ["answer", "assessment", "justification", "problem"];
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let value = match value.as_str().filter(|_| SHOWN.contains(&key.as_str())) {
                    Some(text) => json!(format!("{words} {text}")),
                    None => poisoned(value, words),
                };
                (key, value)
            });
            fields.collect()
        }
        Value::Array(items) => items.into_iter().map(|it| poisoned(it, words)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Once it is over, a debate needs no script to be read and rated.
#[tokio::test]
async fn a_finished_debate_works_without_scripts() {
    let server = Server::good();
    let home = Home::with_model(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&at(&served, "/debates")).await;
    browser.click(".list .title").await;
    let answer = browser.find("#answer").await.text().await.unwrap();
    assert!(answer.contains("Put a queue"));
    browser.find(".marks input[value='7']").await;
    browser.click(".marks label:nth-child(7)").await;
    browser.click(".rate button").await;
    browser.find(".marks input[value='7'][checked]").await;
    browser.close().await;
}

/// The first page: under 100 KB in all, nothing from elsewhere, and everything of it by keyboard.
#[tokio::test]
async fn the_first_page_is_small_and_needs_no_mouse() {
    let server = Server::good();
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    browser.visit(&at(&served, "/")).await;
    let sizes = browser
        .run("return [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((it) => [it.name, it.transferSize])", Vec::new())
        .await;
    let sizes: Vec<(String, u64)> = serde_json::from_value(sizes).unwrap();
    assert!(
        sizes
            .iter()
            .all(|(name, _)| name.starts_with(&at(&served, "/"))),
        "{sizes:?}"
    );
    let total: u64 = sizes.iter().map(|(_, size)| size).sum();
    assert!((1..100_000).contains(&total), "{total}: {sizes:?}");

    // The cursor is in the question already; Tab leads on to the button, Enter sends.
    let typed = format!("{QUESTION}\u{e004}\u{e004}\u{e004}\u{e007}");
    browser
        .client
        .active_element()
        .await
        .unwrap()
        .send_keys(&typed)
        .await
        .unwrap();
    browser.find("main.debate").await;
    assert_eq!(browser.text("h1").await, QUESTION);
    browser.close().await;
}

/// Models and settings: what is used is shown, and can be tried with a real small call.
#[tokio::test]
async fn c04_a_model_is_tested_from_its_page() {
    let server = Server::good();
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    browser.visit(&at(&served, "/models")).await;
    assert!(browser.text(".tiers").await.contains("lab:x"));
    browser.click(".tier button").await;
    browser.find(".said").await;
    assert!(browser.text(".said").await.contains("lab:x answered"));
    assert_eq!(server.asked(), ["check"]);
    browser.close().await;
}
