//! End-to-end tests of the pages in a real browser, against the real binary and a scripted model server. Journeys that write to the
//! store run on SQLite and on `PostgreSQL`.

mod chromium;
mod enhanced;
mod forecasts;
mod library;
mod live;
mod prompts;
mod shots;
mod start;
mod tokens;
mod verdict;

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, good, schema_name};
use chromium::{Browser, DESKTOP, PHONE, Scripts};

/// A debate that stops in the middle of the first reply with this schema until the gate is opened, so that a test can
/// observe the intermediate state however slow the machine is.
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

fn url(served: &Serving, path: &str) -> String {
    format!("http://{}{path}", served.address)
}

/// A home whose model is on the server, served, and a browser.
async fn opened(server: &Server, size: (u32, u32)) -> (Home, Serving, Browser) {
    let home = Home::with_model(server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(size).await;
    (home, served, browser)
}

/// Like [`opened`], with a debate that has just been started.
async fn asked(server: &Server, size: (u32, u32)) -> (Home, Serving, Browser) {
    let (home, served, browser) = opened(server, size).await;
    ask(&browser, &served).await;
    (home, served, browser)
}

async fn ask(browser: &Browser, served: &Serving) {
    browser.visit(&url(served, "/")).await;
    browser.write("#question", QUESTION).await;
    browser.click(".ask button").await;
    browser.find("main.debate").await;
}

async fn wait_for_answer(browser: &Browser) {
    browser
        .until("an answer", "return document.getElementById('answer') && !document.querySelector('.speaking') && document.getElementById('status').innerText === 'Complete'")
        .await;
}

/// P-10, C-09: a debate is started, watched while it streams, left and reopened; a reload shows the same page.
#[tokio::test]
async fn p10_a_debate_is_started_watched_left_and_reopened() {
    start_watch_leave_and_reopen(Home::with_model).await;
}

#[tokio::test]
async fn p10_a_debate_is_started_watched_left_and_reopened_on_postgres() {
    start_watch_leave_and_reopen(Home::on_postgres).await;
}

async fn start_watch_leave_and_reopen(home: fn(&Server) -> Home) {
    let (server, gate) = gated("opening");
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    assert_eq!(browser.text("h1").await, QUESTION);

    // The first half of the first turn is shown as text, and the status names the speaker.
    let half = "const prose = document.querySelector('#r1 .speaking .streaming'); \
                return prose && prose.textContent.length > 3 ? prose.textContent : null";
    let seen = browser.until("text streams in", half).await;
    let seen = seen.as_str().unwrap().to_owned();
    assert!(
        "Use a queue. 😀".starts_with(&seen.replace('*', "")),
        "{seen}"
    );
    let writing = "return document.getElementById('status').innerText === 'Proposer is writing'";
    browser.until("who is writing", writing).await;

    // Leave and return: the debate continues and the text so far is shown.
    let address = browser.address().await;
    browser.visit(&url(&served, "/debates")).await;
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
    let seen = visible_text(&browser).await;
    browser.client.refresh().await.unwrap();
    wait_for_answer(&browser).await;
    assert_eq!(
        visible_text(&browser).await,
        seen,
        "a reload shows the same page"
    );
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// The visible text, part by part.
async fn visible_text(browser: &Browser) -> Vec<String> {
    let mut parts = Vec::new();
    for part in [
        "h1",
        "#status",
        "#key-figures",
        "#timeline",
        "#outcome",
        "#sidebar",
    ] {
        parts.push(browser.text(part).await);
    }
    // Turns that streamed in stay open; after a reload they are folded.
    let transcript =
        "return document.getElementById('transcript').textContent.replace(/\\s+/g, ' ')";
    let transcript = browser.run(transcript, Vec::new()).await;
    parts.push(transcript.as_str().unwrap().to_owned());
    parts
}

/// No layout shift while text streams in.
#[tokio::test]
async fn p10_streaming_text_causes_no_layout_shift() {
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
    let (_home, _served, browser) = asked(&server, DESKTOP).await;
    browser
        .run(
            "window.layoutShift = 0; new PerformanceObserver((list) => { \
             for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.layoutShift += entry.value; \
             }).observe({ type: 'layout-shift', buffered: true });",
            Vec::new(),
        )
        .await;
    browser
        .until(
            "the second round",
            "return document.querySelector('#r2 .speaking')",
        )
        .await;
    let shift = browser
        .run("return window.layoutShift", Vec::new())
        .await
        .as_f64()
        .unwrap();
    assert!(shift < 0.1, "layout shift of {shift}");
    gate.open();
    browser.close().await;
}

/// C-14: the exported file is self-contained: no scripts, no requests.
#[tokio::test]
async fn c14_a_finished_debate_is_exported_as_one_file() {
    let server = Server::good();
    let (home, _served, browser) = asked(&server, DESKTOP).await;
    wait_for_answer(&browser).await;
    let file = browser
        .client
        .execute_async(
            "const done = arguments[0]; \
             fetch(document.querySelector('a[href*=\"format=html\"]').href).then((response) => response.text()).then(done)",
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
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// Sending a message, pausing, deciding, rating and deleting work with plain forms.
#[tokio::test]
async fn e10_a_user_sends_a_message_pauses_decides_rates_and_deletes() {
    send_pause_decide_rate_and_delete(Home::with_model).await;
}

#[tokio::test]
async fn e10_a_user_sends_a_message_pauses_decides_rates_and_deletes_on_postgres() {
    send_pause_decide_rate_and_delete(Home::on_postgres).await;
}

async fn send_pause_decide_rate_and_delete(home: fn(&Server) -> Home) {
    let (server, gate) = gated("opening");
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ask(&browser, &served).await;
    browser.write("#text", "Mind <b>the costs</b>.").await;
    browser.click(".message-form button").await;
    browser
        .until(
            "the message",
            "return document.querySelector('.user-turn .prose')?.innerText.includes('Mind <b>the costs</b>.')",
        )
        .await;
    browser.click("form[action$='/pause'] button").await;
    browser
        .until(
            "a pending pause",
            "return document.getElementById('status').innerText === 'Pausing after this round'",
        )
        .await;
    gate.open();
    browser.find(".decision").await;
    assert_eq!(browser.text("#status").await, "Decision needed");
    browser.write("#note", "enough coffee").await;
    browser.click(".decision button[value=continue]").await;
    wait_for_answer(&browser).await;
    let transcript = browser.text("#transcript").await;
    assert!(transcript.contains("enough coffee"), "{transcript}");

    browser
        .run(
            "document.querySelector('.ratings input[value=\"9\"]').click()",
            Vec::new(),
        )
        .await;
    browser.click(".rating-form button").await;
    browser
        .until(
            "it is rated",
            "return document.querySelector('.meta')?.innerText.includes('rated 9 of 10')",
        )
        .await;

    browser
        .visit(&url(&served, "/debates?q=queue&state=complete"))
        .await;
    assert_eq!(browser.count(".list > li").await, 1);
    browser.click(".confirm summary").await;
    browser.click(".confirm button").await;
    browser.find(".empty").await;
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

#[tokio::test]
async fn c08_a_cancelled_debate_is_resumed() {
    cancel_and_resume(Home::with_model).await;
}

#[tokio::test]
async fn c08_a_cancelled_debate_is_resumed_on_postgres() {
    cancel_and_resume(Home::on_postgres).await;
}

async fn cancel_and_resume(home: fn(&Server) -> Home) {
    let (server, gate) = gated("critique");
    let home = home(&server);
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

#[tokio::test]
async fn a_visitor_signs_in_with_a_token_and_out_again() {
    sign_in_and_out(Home::with_model).await;
}

#[tokio::test]
async fn a_visitor_signs_in_with_a_token_and_out_again_on_postgres() {
    sign_in_and_out(Home::on_postgres).await;
}

async fn sign_in_and_out(home: fn(&Server) -> Home) {
    let server = Server::good();
    let home = home(&server);
    let token = home.token("admin");
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    browser
        .visit(&url(&served, "/debates?state=complete"))
        .await;
    browser.write("#token", "wrong").await;
    browser.click(".sign-in button").await;
    browser.find(".problem").await;
    browser.write("#token", &token).await;
    browser.click(".sign-in button").await;
    browser.find("main .empty").await;
    assert!(browser.address().await.ends_with("/debates?state=complete"));
    let cookies = browser.run("return document.cookie", Vec::new()).await;
    assert_eq!(cookies, json!(""), "scripts cannot read the session cookie");
    browser.click(".site-header form button").await;
    browser.find("#token").await;
    browser.visit(&url(&served, "/")).await;
    browser.find("#token").await;
    browser.close().await;
}

/// No page is wider than the screen of a phone.
#[tokio::test]
async fn pages_fit_a_phone() {
    let (server, gate) = gated("opening");
    let (_home, served, browser) = asked(&server, PHONE).await;
    browser.find(".speaking").await;
    fits(&browser, "a running debate").await;
    gate.open();
    wait_for_answer(&browser).await;
    fits(&browser, "a finished debate").await;
    for page in ["/", "/debates", "/models", "/tokens", "/audit", "/nowhere"] {
        browser.visit(&url(&served, page)).await;
        fits(&browser, page).await;
    }
    browser.close().await;
}

/// P-11, C-22: the first viewport of a debate of every protocol has the verdict: what happened to the answer, and the answer.
#[tokio::test]
async fn p11_the_first_viewport_holds_the_verdict() {
    let server = Server::start(crate::all_protocols::any_reply);
    let home = Home::with_model(&server);
    crate::all_protocols::play_all(&home);
    let served = Serving::start(&home, &[]);
    for size in [PHONE, (1440, 900)] {
        let browser = Browser::open(size).await;
        for debate in home.list() {
            let id = debate["id"].as_str().unwrap();
            browser
                .visit(&url(&served, &format!("/debates/{id}")))
                .await;
            browser.find("#answer").await;
            let script = "const inside = (part) => { const box = document.querySelector(part).getBoundingClientRect(); \
                          return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight; }; \
                          return [scrollY, inside('#answer .badge'), inside('#answer .short')]";
            let seen = browser.run(script, Vec::new()).await;
            assert_eq!(seen, json!([0, true, true]), "{size:?}: {debate}");
            let folded = "return document.documentElement.scrollHeight";
            let height = browser.run(folded, Vec::new()).await.as_u64().unwrap();
            assert!(height < 8_000, "{height} px: {debate}");
        }
        browser.close().await;
    }
}

/// C-22: an unchallenged answer looks and reads different from one that survived.
#[tokio::test]
async fn c22_an_unchallenged_answer_cannot_be_mistaken() {
    let server = Server::start(|request, before| match schema_name(request).as_str() {
        "critique" => Answer::Reply("I like it.".into()),
        _ => Answer::Reply(good(request, before)),
    });
    let home = Home::with_model(&server);
    home.ask(&["--quiet"]).expect(3, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    browser.visit(&url(&served, "/debates")).await;
    browser.click(".list .title").await;
    let card = browser.text("#answer.unchallenged.bad").await;
    for words in [
        "Unchallenged answer",
        "Not challenged: the skeptic did not answer",
        "Skeptic gave no answer in rounds 1 and 2",
    ] {
        assert!(card.contains(words), "'{words}' is not in {card}");
    }
    assert!(
        browser
            .text("#key-figures")
            .await
            .contains("Not challenged")
    );
    assert!(!card.contains("r1/skeptic"), "{card}");
    browser.close().await;
}

/// Every turn and every part of the record has an address, which opens what it is folded in.
#[tokio::test]
async fn every_piece_of_the_record_has_an_address() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    browser
        .visit(&url(&served, &format!("/debates/{id}")))
        .await;
    let is_open = "return document.getElementById('record').open";
    assert_eq!(browser.run(is_open, Vec::new()).await, json!(false));
    browser
        .visit(&url(&served, &format!("/debates/{id}#ending")))
        .await;
    browser.until("the record is open", is_open).await;
    browser.close().await;
}

async fn fits(browser: &Browser, page: &str) {
    let script = "return [document.documentElement.scrollWidth, innerWidth]";
    let widths = browser.run(script, Vec::new()).await;
    assert_eq!(widths, json!([PHONE.0, PHONE.0]), "{page}");
}

/// C-12: scripts, script links and remote images in replies have no effect, neither while they stream nor afterwards.
#[tokio::test]
async fn c12_hostile_replies_have_no_effect() {
    const HOSTILE: &str = "Sure. <script>window.owned = 1</script><img src=x onerror=window.owned=1> <svg/onload=window.owned=1> \
        [click](javascript:window.owned=1) ![pixel](http://evil.invalid/pixel.gif) </div></main><h1>Owned</h1> <style>*{display:none}</style>";
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let reply: Value = serde_json::from_str(&good(request, before)).unwrap();
        let reply = with_prefix(reply, HOSTILE).to_string();
        if schema_name(request) == "opening" {
            Answer::Gated(held.clone(), reply)
        } else {
            Answer::Reply(reply)
        }
    });
    let (_home, _served, browser) = asked(&server, DESKTOP).await;
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
        let remote = browser
            .run(
                "return performance.getEntriesByType('resource').map((entry) => entry.name) \
                 .filter((name) => !name.startsWith(location.origin))",
                Vec::new(),
            )
            .await;
        assert_eq!(remote, json!([]));
        browser.client.refresh().await.unwrap();
        browser.find("#answer").await;
    }
    browser.close().await;
}

/// Puts `prefix` before every text of a reply that a page shows.
fn with_prefix(value: Value, prefix: &str) -> Value {
    const SHOWN: [&str; 4] = ["answer", "assessment", "justification", "problem"];
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| {
                let value = match value.as_str().filter(|_| SHOWN.contains(&key.as_str())) {
                    Some(text) => json!(format!("{prefix} {text}")),
                    None => with_prefix(value, prefix),
                };
                (key, value)
            });
            fields.collect()
        }
        Value::Array(items) => items
            .into_iter()
            .map(|item| with_prefix(item, prefix))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Reading and rating a finished debate works without JavaScript.
#[tokio::test]
async fn a_finished_debate_works_without_scripts() {
    let server = Server::good();
    let home = Home::with_model(&server);
    home.ask(&["--quiet"]).expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&url(&served, "/debates")).await;
    browser.click(".list .title").await;
    let answer = browser.find("#answer").await.text().await.unwrap();
    assert!(answer.contains("Put a queue"));
    browser.find(".ratings input[value='7']").await;
    browser.click(".ratings label:nth-child(7)").await;
    browser.click(".rating-form button").await;
    browser.find(".ratings input[value='7'][checked]").await;
    browser.close().await;
}

/// The home page transfers under 100 KB, loads nothing remote and can be used by keyboard.
#[tokio::test]
async fn the_home_page_is_small_and_usable_by_keyboard() {
    let server = Server::good();
    let (_home, served, browser) = opened(&server, DESKTOP).await;
    browser.visit(&url(&served, "/")).await;
    let sizes = browser
        .run("return ['navigation', 'resource'].flatMap((type) => performance.getEntriesByType(type)) \
             .map((entry) => [entry.name, entry.transferSize])", Vec::new())
        .await;
    let sizes: Vec<(String, u64)> = serde_json::from_value(sizes).unwrap();
    assert!(
        sizes
            .iter()
            .all(|(name, _)| name.starts_with(&url(&served, "/"))),
        "{sizes:?}"
    );
    let total: u64 = sizes.iter().map(|(_, size)| size).sum();
    assert!((1..100_000).contains(&total), "{total}: {sizes:?}");

    // The question has the focus; Tab moves to the button, Enter submits.
    let typed = format!("{QUESTION}\u{e004}\u{e007}");
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

/// The fields of the chosen protocol are shown and read without scripts, and an error keeps everything that was typed.
#[tokio::test]
async fn the_form_shows_the_fields_of_a_protocol_and_keeps_them_after_an_error() {
    const OUTCOMES: &str = "#forecast-outcomes";
    let server = Server::good();
    let home = Home::with_model(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&url(&served, "/?question=Who+wins%3F")).await;
    let is_shown = async |selector| {
        let element = browser.find(selector).await;
        element.is_displayed().await.unwrap()
    };
    assert!(!is_shown(OUTCOMES).await && !is_shown("#modes-mode").await);
    browser.click(".tabs label:has([value=forecast])").await;
    assert!(is_shown(OUTCOMES).await && !is_shown("#modes-mode").await);

    browser.find(OUTCOMES).await.clear().await.unwrap();
    browser.write(OUTCOMES, "Only this one").await;
    browser.click(".ask button").await;
    browser.find(".problem").await;
    let value = async |selector| {
        let element = browser.find(selector).await;
        element.prop("value").await.unwrap().unwrap_or_default()
    };
    assert_eq!(value("#question").await, "Who wins?");
    assert_eq!(value(OUTCOMES).await, "Only this one");
    assert!(is_shown(OUTCOMES).await, "the task is still chosen");

    browser.write(OUTCOMES, "\nAnother one").await;
    browser.click(".ask button").await;
    browser.find("main.debate").await;
    assert_eq!(browser.text("h1").await, "Who wins?");
    browser.close().await;
}

/// The models page shows the default models and tests one with a real call.
#[tokio::test]
async fn c04_a_model_is_tested_from_its_page() {
    let server = Server::good();
    let (_home, served, browser) = opened(&server, DESKTOP).await;
    browser.visit(&url(&served, "/models")).await;
    assert!(browser.text(".tiers").await.contains("lab:x"));
    browser.click(".tier button").await;
    browser.find(".success").await;
    assert!(browser.text(".success").await.contains("lab:x answered"));
    assert_eq!(server.asked(), ["check"]);
    browser.close().await;
}
