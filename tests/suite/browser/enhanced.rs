//! An enhanced debate in the browser: started, watched round by round, decided by the user, finished.

use serde_json::{Value, json};

use super::chromium::{Browser, DESKTOP, PHONE};
use super::{fits, url, visible_text, wait_for_answer};
use crate::enhanced::{answer, converging, measured, speaker, stuck};
use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, schema_name};

/// The panel disagrees for three rounds and agrees from the fourth on.
fn position(seat: &str, round: u32) -> (&'static str, &'static str) {
    if round < 4 {
        stuck(seat, round)
    } else {
        converging(seat, 3)
    }
}

fn backing(seat: &str, _: u32) -> Value {
    let kind = if seat == "builder" {
        "DOCUMENTED"
    } else {
        "EMPIRICAL"
    };
    json!([{ "of": "N1", "evidence": [{ "type": kind, "source": "[1]" }], "confidence": 0.9 }])
}

/// The second round blocks until the gate is opened.
fn panel() -> (Server, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    (gated_by(move |_| held.clone()), gate)
}

/// In the second round every seat blocks until its gate is opened.
fn gated_by(gate_of: impl Fn(&str) -> Gate + Send + Sync + 'static) -> Server {
    Server::start(move |request, _| {
        let answer = answer(request, position, backing);
        if let Answer::Reply(text) = &answer
            && schema_name(request) == "contribution"
            && let (seat, 2) = speaker(request)
        {
            return Answer::Gated(gate_of(&seat), text.clone());
        }
        answer
    })
}

fn home(server: &Server) -> Home {
    let home = measured(server);
    home.run(&["config", "set", "tiers.deliberate", "lab:x"])
        .expect(0, &[]);
    home.run(&["config", "set", "tiers.fast", "lab:x"])
        .expect(0, &[]);
    home
}

/// Starts an enhanced panel debate.
async fn start_enhanced(browser: &Browser, served: &Serving) {
    browser.visit(&url(served, "/")).await;
    browser.write("#question", QUESTION).await;
    let is_shown = "return document.getElementById('modes-enhanced').offsetParent !== null";
    assert_eq!(
        browser.run(is_shown, Vec::new()).await,
        json!(false),
        "panel options are shown only for panels"
    );
    browser.click(".tabs label:has([value=debate])").await;
    browser.click(".options > summary").await;
    browser.until("the panel options", is_shown).await;
    browser.click("label[for=modes-enhanced]").await;
    browser.write("#modes-domain", "queues").await;
    browser.click(".ask button").await;
    browser.find("main.debate").await;
}

/// The text of the convergence chart.
const CONVERGENCE_TEXT: &str = "const chart = [...document.querySelectorAll('figure.chart')].find((chart) => \
    chart.querySelector('figcaption').textContent === 'Convergence by round'); return chart ? chart.textContent : null";

/// E-08 … E-11: an enhanced debate shows its rounds, measures and thresholds as they come in; the user sends a message and
/// makes a decision; a reload shows the same result.
#[tokio::test]
async fn e11_an_enhanced_debate_is_started_watched_decided_and_ends() {
    let (server, gate) = panel();
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    start_enhanced(&browser, &served).await;

    // Round 1 is over and measured while the seats of round 2 speak.
    browser.find("#r2 .speaking").await;
    browser
        .until(
            "the measures",
            "return document.getElementById('record').textContent.includes('Semantic similarity')",
        )
        .await;
    let open = "document.getElementById('record').open = true";
    browser.run(open, Vec::new()).await;
    let outcome = browser.text("main").await;
    for words in ["EMPIRICAL", "DOCUMENTED", "consensus at 0.80", "CONTINUE"] {
        assert!(outcome.contains(words), "'{words}' is not in:\n{outcome}");
    }
    browser.write("#text", "Mind the team of five.").await;
    browser.click(".message-form button").await;
    browser
        .until(
            "the message",
            "return document.querySelector('.user-turn .prose')?.innerText.includes('Mind the team of five.')",
        )
        .await;
    gate.open();

    // The debate stalls: the user is asked to choose one of the answers.
    browser.find(".decision").await;
    let waits = "return document.getElementById('status')?.innerText === 'Decision needed'";
    browser.until("the status", waits).await;
    let asked = browser.text(".decision").await;
    for words in [
        "makes no progress",
        "Monolith",
        "Microservices",
        "Serverless",
    ] {
        assert!(asked.contains(words), "'{words}' is not in:\n{asked}");
    }
    let chart = browser
        .until("the convergence chart", CONVERGENCE_TEXT)
        .await;
    let chart = chart.as_str().unwrap().to_owned();
    for words in [
        "consensus at 0.80",
        "strong evidence at 0.60",
        "no progress below 0.05",
        "similarity",
        "shift",
        "evidence",
        "R3",
    ] {
        assert!(chart.contains(words), "'{words}' is not in:\n{chart}");
    }
    browser.write("#note", "once more").await;
    browser.click(".decision button[value=another-round]").await;

    wait_for_answer(&browser).await;
    assert_eq!(
        browser.count("#r4 .turn").await,
        4,
        "a panel has four seats"
    );
    browser.run(open, Vec::new()).await;
    let all = browser.text("main").await;
    for words in ["CONSENSUS REACHED", "once more", "Token overhead"] {
        assert!(all.contains(words), "'{words}' is not in:\n{all}");
    }
    let heard = server.heard();
    let with_message = heard
        .iter()
        .filter(|request| request.to_string().contains("Mind the team of five."));
    assert!(with_message.count() >= 3, "every seat got the message");
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

/// A page that missed the start of turns still shows them in the order in which they began.
#[tokio::test]
async fn e11_turns_are_ordered_by_start() {
    let (last, others) = (Gate::default(), Gate::default());
    let gates = (last.clone(), others.clone());
    let server = gated_by(move |seat| {
        if seat == "ecologist" {
            gates.0.clone()
        } else {
            gates.1.clone()
        }
    });
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    start_enhanced(&browser, &served).await;
    let all_speak = "return document.querySelectorAll('#r2 .speaking').length === 4";
    browser.until("all speak", all_speak).await;
    let remove_turns = "for (const turn of document.querySelectorAll('#r2 .turn')) turn.remove()";
    browser.run(remove_turns, Vec::new()).await;

    last.open();
    browser.find("#r2 [data-began]").await;
    others.open();
    browser.find(".decision").await;
    let steps = "const all = [...document.querySelectorAll('#r2 [data-began]')].map((turn) => turn.id); \
        return all.length === 4 ? all : null";
    assert_eq!(
        browser.until("all turns", steps).await,
        json!(
            ["sentinel", "builder", "analyst", "ecologist"].map(|seat| format!("r2/{seat}/speak"))
        )
    );
    browser.close().await;
}

/// The page is never wider than the screen of a phone: running, waiting and finished.
#[tokio::test]
async fn e11_an_enhanced_debate_fits_a_phone() {
    let (server, gate) = panel();
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    start_enhanced(&browser, &served).await;
    browser.find("#r2 .speaking").await;
    fits(&browser, "a running round").await;
    gate.open();
    browser.find(".decision").await;
    fits(&browser, "a waiting debate").await;
    browser.click(".decision button[value=another-round]").await;
    wait_for_answer(&browser).await;
    fits(&browser, "a finished debate").await;
    browser.close().await;
}
