//! A running debate in a browser: Markdown as it streams, retries, keys and the notification.

use serde_json::{Value, json};

use super::chromium::{Browser, DESKTOP, PHONE};
use super::{ask, asked, gated, url, wait_for_answer};
use crate::harness::{Answer, Gate, Home, Server, Serving, good, schema_name};

/// A server that streams half of this opening and waits.
fn opening(answer: &'static str) -> (Server, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let mut reply: Value = serde_json::from_str(&good(request, before)).unwrap();
        if schema_name(request) == "opening" && before == 0 {
            reply["answer"] = json!(answer);
            Answer::Gated(held.clone(), reply.to_string())
        } else {
            Answer::Reply(reply.to_string())
        }
    });
    (server, gate)
}

/// P-10: Markdown is rendered while it streams, without the marks, and hostile text stays text.
#[tokio::test]
async fn p10_markdown_is_rendered_as_it_streams() {
    const TEXT: &str = "# A plan\n\nUse a **queue** and `SELECT 1`.\n\n- first *item*\n- [link](javascript:alert)\n\n1. one\n2. two\n\n\
        | a | b |\n|---|---|\n| 1 | 2 |\n\n```sql\nDROP **x**;\n\nSELECT 2;\n```\n\n> quoted\n\n<img src=x onerror=window.owned=1>\n\n\
        The rest of this reply is long enough that all of the above is in its first half. The rest of this reply is long enough that all of the \
        above is in its first half. The rest of this reply is long enough that all of the above is in its first half. The rest of this reply is \
        long enough that all of the above is in its first half. The rest of this reply is long enough that all of the above is in it.";
    let (server, gate) = opening(TEXT);
    let (_home, _served, browser) = asked(&server, DESKTOP).await;
    let is_there = "return document.querySelector('.streaming')?.textContent.includes('onerror')";
    browser.until("the first half", is_there).await;
    let script = "const at = (part) => [...document.querySelectorAll('.streaming ' + part)].map((node) => node.textContent); \
        return [at('h4'), at('strong'), at('ul > li'), at('ol > li'), at('td'), at('pre > code'), at('blockquote'), at('p > code'), \
        document.querySelectorAll('.streaming img, .streaming a, .streaming script').length, window.owned ?? null]";
    assert_eq!(
        browser.run(script, Vec::new()).await,
        json!([
            ["A plan"],
            ["queue"],
            ["first item", "link"],
            ["one", "two"],
            ["a", "b", "1", "2"],
            ["DROP **x**;\n\nSELECT 2;"],
            ["quoted"],
            ["SELECT 1"],
            0,
            null
        ])
    );
    gate.open();
    wait_for_answer(&browser).await;
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// The renderer takes linear time for text that is made to be slow, one piece at a time.
#[tokio::test]
async fn c12_streamed_markdown_takes_bounded_time() {
    let (server, gate) = gated("opening");
    let (_home, _served, browser) = asked(&server, DESKTOP).await;
    browser.find(".streaming").await;
    for seed in [
        "[", "*", "**a", "`", "|", "> ", "- ", "```\n", "1. [a](", "\n\n",
    ] {
        let script = "const box = document.createElement('div'); const renderer = streamMarkdown(box); const start = performance.now(); \
            for (let i = 0; i < 200; i++) renderer.append(arguments[0].repeat(200)); \
            return [performance.now() - start, box.textContent.length]";
        let figures = browser.run(script, vec![json!(seed)]).await;
        let time = figures[0].as_f64().unwrap();
        assert!(time < 10_000.0, "{seed:?}: {time} ms");
    }
    gate.open();
    browser.close().await;
}

/// C-07: a retry is said in the turn and in the status, in words, until text comes again.
#[tokio::test]
async fn c07_a_retry_is_said_while_it_waits() {
    let gate = Gate::default();
    let held = gate.clone();
    let server = Server::start(move |request, before| {
        let reply = good(request, before);
        match (schema_name(request).as_str(), before) {
            ("critique", 0) => Answer::Status(503, "", "busy".into()),
            ("critique", _) => Answer::Gated(held.clone(), reply),
            _ => Answer::Reply(reply),
        }
    });
    let home = Home::with_model(&server);
    let settings = "[retry]\nattempts = 3\nbase_ms = 4000\nmax_ms = 8000\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";
    let provider = format!(
        "[providers.lab]\nkind = \"openai\"\nbase_url = \"{}\"\n",
        server.url()
    );
    home.write("roundtable.toml", &format!("{provider}{settings}"));
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    ask(&browser, &served).await;
    let note = "return document.querySelector('.retry')?.textContent ?? null";
    let note = browser.until("the retry", note).await;
    let note = note.as_str().unwrap();
    assert!(
        note.starts_with("Skeptic: retrying in ") && note.contains(" s: "),
        "{note}"
    );
    browser
        .until(
            "the status",
            "return document.getElementById('status').innerText === 'Skeptic is retrying'",
        )
        .await;
    let is_gone = "return !document.querySelector('.retry') && document.getElementById('status').innerText === 'Skeptic is writing'";
    browser.until("text again", is_gone).await;
    gate.open();
    wait_for_answer(&browser).await;
    browser.close().await;
}

/// Keys go to rounds, the export, the box and their own list, but not while the user types.
#[tokio::test]
async fn p10_a_debate_is_read_by_keyboard() {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    browser
        .visit(&url(&served, &format!("/debates/{id}")))
        .await;
    let press = async |key: &str| {
        let script = "(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], bubbles: true, cancelable: true }))";
        browser.run(script, vec![json!(key)]).await;
    };
    let place = "const round = document.activeElement.closest('.round'); \
        return round && [round.id, round.querySelector('h2').getBoundingClientRect().top >= document.querySelector('.status-bar').getBoundingClientRect().bottom]";
    press("j").await;
    assert_eq!(
        browser.run(place, Vec::new()).await,
        json!(["r1", true]),
        "the heading is not under the status bar"
    );
    press("j").await;
    assert_eq!(browser.run(place, Vec::new()).await, json!(["r2", true]));
    press("k").await;
    assert_eq!(browser.run(place, Vec::new()).await, json!(["r1", true]));
    press("e").await;
    let exported =
        "return [document.getElementById('export').open, document.activeElement.textContent]";
    assert_eq!(
        browser.run(exported, Vec::new()).await,
        json!([true, "HTML file"])
    );
    press("Escape").await;
    press("?").await;
    assert!(browser.text("#keys").await.contains("next round"));
    browser.click("#keys button").await;
    browser
        .run("document.getElementById('comment').focus()", Vec::new())
        .await;
    press("?").await;
    assert_eq!(
        browser
            .run("return document.getElementById('keys').open", Vec::new())
            .await,
        json!(false)
    );
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// The permission to notify is asked for on a click, and the notification comes when the debate is over.
#[tokio::test]
async fn p10_a_notification_says_that_the_debate_is_over() {
    let (server, gate) = gated("opening");
    let (_home, _served, browser) = asked(&server, DESKTOP).await;
    browser.find("#notify").await;
    let fake = "window.asked = 0; window.shown = []; \
        window.Notification = class extends EventTarget { constructor(title, options) { super(); shown.push([title, options.body]); } \
        static permission = 'default'; static async requestPermission() { asked++; return 'granted'; } };";
    browser.run(fake, Vec::new()).await;
    assert_eq!(browser.run("return asked", Vec::new()).await, json!(0));
    browser
        .run(
            "document.getElementById('notify').hidden = false",
            Vec::new(),
        )
        .await;
    browser.click("#notify").await;
    browser
        .until(
            "the permission",
            "return asked === 1 && document.getElementById('notify').disabled",
        )
        .await;
    gate.open();
    wait_for_answer(&browser).await;
    let shown = browser
        .until("the notification", "return shown[0] ?? null")
        .await;
    assert_eq!(shown[0], json!(crate::harness::QUESTION));
    assert!(shown[1].as_str().unwrap().contains("queue"), "{shown}");
    assert!(
        browser
            .run("return document.title", Vec::new())
            .await
            .as_str()
            .unwrap()
            .starts_with('✓')
    );
    browser.close().await;
}
