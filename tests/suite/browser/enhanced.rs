//! An enhanced debate on the page: ordered, watched round by round, spoken to, decided by a person, ended.

use serde_json::{Value, json};

use super::chromium::{Browser, DESKTOP, PHONE};
use super::{at, everything, fits, wait_for_answer};
use crate::enhanced::{answer, converging, measured, speaker, stuck};
use crate::harness::{Answer, Gate, Home, QUESTION, Server, Serving, schema_name};

/// The panel is of three minds for three rounds and of one from the fourth on.
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

/// The second round stands still until the gate is opened.
fn panel() -> (Server, Gate) {
    let gate = Gate::default();
    let held = gate.clone();
    (held_by(move |_| held.clone()), gate)
}

/// In the second round every seat stands still until its gate is opened.
fn held_by(gate_of: impl Fn(&str) -> Gate + Send + Sync + 'static) -> Server {
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

/// Chooses the panel, ticks what makes the debate an enhanced one, and starts it.
async fn ordered(browser: &Browser, served: &Serving) {
    browser.visit(&at(served, "/")).await;
    browser.write("#question", QUESTION).await;
    let is_shown = "return document.getElementById('enhanced').offsetParent !== null";
    assert_eq!(
        browser.run(is_shown, Vec::new()).await,
        json!(false),
        "only a panel has such rules"
    );
    browser.click(".choice:has([value=panel])").await;
    browser.until("the rules of a panel", is_shown).await;
    browser.click(".tick").await;
    browser.write("#domain", "queues").await;
    browser.click(".ask button").await;
    browser.find("main.debate").await;
}

/// All words of the chart over rounds.
const COURSE: &str = "const it = [...document.querySelectorAll('figure.chart')].find((it) => \
    it.querySelector('figcaption').textContent === 'Convergence by round'); return it ? it.textContent : null";

/// E-08 … E-11: an enhanced debate is ordered on the page; its rounds, measures and thresholds come in as it goes; a person
/// speaks and is heard, is asked and decides; and it ends as it does when it is loaded anew.
#[tokio::test]
async fn e11_an_enhanced_debate_is_ordered_watched_decided_and_ends() {
    let (server, gate) = panel();
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ordered(&browser, &served).await;

    // Round 1 is over and measured while the seats of round 2 speak.
    browser.find("#r2 .speaking").await;
    browser
        .until(
            "what was measured",
            "return document.getElementById('outcome').innerText.includes('Semantic similarity') \
             || document.getElementById('beside').innerText.includes('Semantic similarity')",
        )
        .await;
    let outcome = browser.text("main").await;
    for words in ["EMPIRICAL", "DOCUMENTED", "consensus at 0.80", "CONTINUE"] {
        assert!(outcome.contains(words), "'{words}' is not in:\n{outcome}");
    }
    browser.write("#text", "Mind the team of five.").await;
    browser.click(".say button").await;
    browser
        .until(
            "the words",
            "return document.querySelector('.voice .prose')?.innerText.includes('Mind the team of five.')",
        )
        .await;
    gate.open();

    // Nobody moves any more: a person is asked, with the answers there are to choose from.
    browser.find(".decide").await;
    let waits = "return document.getElementById('status')?.innerText === 'Waiting for you'";
    browser.until("it says so", waits).await;
    let asked = browser.text(".decide").await;
    for words in [
        "makes no progress",
        "Monolith",
        "Microservices",
        "Serverless",
    ] {
        assert!(asked.contains(words), "'{words}' is not in:\n{asked}");
    }
    let course = browser.until("the course", COURSE).await;
    let course = course.as_str().unwrap().to_owned();
    for words in [
        "consensus at 0.80",
        "strong evidence at 0.60",
        "no progress below 0.05",
        "similarity",
        "shift",
        "evidence",
        "R3",
    ] {
        assert!(course.contains(words), "'{words}' is not in:\n{course}");
    }
    browser.write("#note", "once more").await;
    browser.click(".decide button[value=another-round]").await;

    wait_for_answer(&browser).await;
    assert_eq!(
        browser.count("#r4 .turn").await,
        4,
        "the four seats of a panel"
    );
    let all = browser.text("main").await;
    for words in [
        "CONSENSUS REACHED",
        "once more",
        "Tokens over a plain debate",
    ] {
        assert!(all.contains(words), "'{words}' is not in:\n{all}");
    }
    let heard = server.heard();
    let told = heard
        .iter()
        .filter(|it| it.to_string().contains("Mind the team of five."));
    assert!(told.count() >= 3, "every seat heard it");
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

/// A page that comes late hears of turns only when they end. It shows them in the order in which they began all the same.
#[tokio::test]
async fn e11_turns_stand_in_the_order_in_which_they_began() {
    let (last, others) = (Gate::default(), Gate::default());
    let gates = (last.clone(), others.clone());
    let server = held_by(move |seat| {
        if seat == "ecologist" {
            gates.0.clone()
        } else {
            gates.1.clone()
        }
    });
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(DESKTOP).await;
    ordered(&browser, &served).await;
    let all_speak = "return document.querySelectorAll('#r2 .speaking').length === 4";
    browser.until("all speak", all_speak).await;
    let forget = "for (const it of document.querySelectorAll('#r2 .turn')) it.remove()";
    browser.run(forget, Vec::new()).await;

    last.open();
    browser.find("#r2 [data-began]").await;
    others.open();
    browser.find(".decide").await;
    let steps = "const all = [...document.querySelectorAll('#r2 [data-began]')].map((it) => it.id); \
        return all.length === 4 ? all : null";
    assert_eq!(
        browser.until("all turns", steps).await,
        json!(
            ["sentinel", "builder", "analyst", "ecologist"].map(|seat| format!("r2/{seat}/speak"))
        )
    );
    browser.close().await;
}

/// On a phone too, while it runs, while it waits and when it is over, nothing is wider than the screen.
#[tokio::test]
async fn e11_an_enhanced_debate_fits_a_phone() {
    let (server, gate) = panel();
    let home = home(&server);
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    ordered(&browser, &served).await;
    browser.find("#r2 .speaking").await;
    fits(&browser, "a round that runs").await;
    gate.open();
    browser.find(".decide").await;
    fits(&browser, "a debate that waits").await;
    browser.click(".decide button[value=another-round]").await;
    wait_for_answer(&browser).await;
    fits(&browser, "a debate that is over").await;
    browser.close().await;
}
