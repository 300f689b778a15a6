//! The start page in a browser: one box and one button, and everything else under the options.

use serde_json::{Value, json};

use super::chromium::{Browser, DESKTOP, PHONE, Scripts};
use super::{ask, fits, opened, url, wait_for_answer};
use crate::harness::{Home, QUESTION, Server, Serving};

const TASKS: [&str; 4] = ["answer", "debate", "forecast", "judge"];

async fn choose(browser: &Browser, task: &str) {
    browser
        .click(&format!(".tabs label:has([value={task}])"))
        .await;
}

async fn value_of(browser: &Browser, selector: &str) -> String {
    let value = browser.find(selector).await.prop("value").await.unwrap();
    value.unwrap_or_default()
}

/// P-10: on a phone the box and the button are on the first screen, whatever the task, and the options are closed.
#[tokio::test]
async fn p10_box_and_button_are_above_the_fold_on_a_phone() {
    let (_home, served, browser) = opened(&Server::good(), PHONE).await;
    browser.visit(&url(&served, "/")).await;
    for task in TASKS {
        choose(&browser, task).await;
        for part in [".tabs", "#question", ".submit-row button"] {
            let (_, top, _, height) = browser.find(part).await.rectangle().await.unwrap();
            let bottom = top + height;
            assert!(
                top >= 0.0 && height > 0.0 && bottom <= 844.0,
                "{task}: {part} ends at {bottom}"
            );
        }
        let model = browser.find("#model").await;
        assert!(
            !model.is_displayed().await.unwrap(),
            "{task}: the options are closed"
        );
    }
    browser.close().await;
}

#[tokio::test]
async fn p10_every_task_fits_a_phone_with_open_options() {
    let (_home, served, browser) = opened(&Server::good(), PHONE).await;
    browser.visit(&url(&served, "/")).await;
    browser.click(".options > summary").await;
    for task in TASKS {
        choose(&browser, task).await;
        fits(&browser, task).await;
    }
    let size = browser
        .run(
            "return document.documentElement.outerHTML.length",
            Vec::new(),
        )
        .await;
    assert!(size.as_u64().unwrap() < 100_000, "{size}");
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// B-13: the estimate appears next to the button and follows the form; nothing is started.
#[tokio::test]
async fn b13_the_estimate_is_shown_in_place() {
    let server = Server::good();
    let (home, served, browser) = opened(&server, DESKTOP).await;
    browser.visit(&url(&served, "/")).await;
    // An example fills the box.
    browser.click(".examples a").await;
    assert!(value_of(&browser, "#question").await.contains("GraphQL"));
    browser.click(".submit-row .secondary").await;
    let shown = "const text = document.getElementById('estimate').textContent; return text.includes('calls') ? text : null";
    let first = browser.until("an estimate", shown).await;
    browser.click(".options > summary").await;
    let choose = "const depth = document.getElementById('depth'); depth.value = 'quick'; \
        depth.dispatchEvent(new Event('input', { bubbles: true }))";
    browser.run(choose, Vec::new()).await;
    let changed = format!(
        "const text = document.getElementById('estimate').textContent; \
        return text.includes('calls') && text !== {first} ? text : null"
    );
    browser.until("another estimate", &changed).await;
    assert_eq!(browser.address().await, url(&served, "/"));
    assert_eq!((server.count(), home.list().len()), (0, 0));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// Ctrl+Enter starts the debate, with the model that was set for one seat.
#[tokio::test]
async fn p10_ctrl_and_enter_start_a_debate_with_a_model_per_seat() {
    let server = Server::good();
    let (_home, served, browser) = opened(&server, DESKTOP).await;
    browser.visit(&url(&served, "/")).await;
    browser.click(".options > summary").await;
    let families = "return [...document.querySelectorAll('#models option')].map((model) => model.value + ' ' + model.textContent)";
    let families = browser.run(families, Vec::new()).await;
    assert!(
        families
            .as_array()
            .unwrap()
            .iter()
            .any(|model| model.as_str().unwrap().starts_with("lab:")),
        "{families}"
    );
    browser
        .click(".choice:has([value=dialectic]) .seats summary")
        .await;
    browser
        .write("[name='seat.dialectic.skeptic']", "lab:other")
        .await;
    browser.write("#dialectic-max_rounds", "1").await;
    browser
        .write("#question", &format!("{QUESTION}\u{e009}\u{e007}"))
        .await;
    browser.find("main.debate").await;
    wait_for_answer(&browser).await;
    let models: Vec<Value> = server
        .heard()
        .iter()
        .map(|call| call["model"].clone())
        .collect();
    assert!(
        models.contains(&json!("other")) && models.contains(&json!("x")),
        "{models:?}"
    );
    assert_eq!(
        (browser.count("#r1").await, browser.count("#r2").await),
        (1, 0)
    );
    browser.close().await;
}

/// M-15: files are uploaded without scripts. A debate searches them, a judgement is about them.
#[tokio::test]
async fn m15_files_are_uploaded_without_scripts() {
    let server = Server::start(crate::all_protocols::any_reply);
    let home = Home::with_model(&server);
    let notes = home.write(
        "notes.md",
        "# Queues\n\nA queue absorbs bursts of writes.\n",
    );
    let post = home.write("post.md", crate::all_protocols::POST);
    let binary = home.path().join("scan.md");
    std::fs::write(&binary, b"\xff\xfe\0").unwrap();
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&url(&served, "/")).await;
    choose(&browser, "debate").await;
    browser.write("#question", QUESTION).await;
    browser.click(".options > summary").await;
    browser.write("#files", binary.to_str().unwrap()).await;
    browser.click(".ask button").await;
    let problem = browser.find(".problem").await.text().await.unwrap();
    assert!(
        problem.contains("'scan.md' is not text") && problem.contains("Choose them again"),
        "{problem}"
    );
    assert_eq!(value_of(&browser, "#question").await, QUESTION);

    browser.write("#files", notes.to_str().unwrap()).await;
    browser.click(".ask button").await;
    browser.find("main.debate").await;
    let id = browser.address().await;
    served.until(id.rsplit('/').next().unwrap(), "complete");
    let heard = json!(server.heard()).to_string();
    assert!(
        heard.contains("A queue absorbs bursts"),
        "the seats did not get the source"
    );

    browser.visit(&url(&served, "/?task=judge")).await;
    browser.click(".options > summary").await;
    browser.write("#files", post.to_str().unwrap()).await;
    browser.click(".ask button").await;
    let heading = browser.find("main.debate h1").await.text().await.unwrap();
    assert_eq!(heading, "post.md");
    browser.close().await;
}

/// A file that is dropped on the form is among those that are sent.
#[tokio::test]
async fn m15_a_file_can_be_dropped_on_the_form() {
    let (_home, served, browser) = opened(&Server::good(), DESKTOP).await;
    browser.visit(&url(&served, "/")).await;
    let drop = "const data = new DataTransfer(); data.items.add(new File(['text'], arguments[0])); \
        document.getElementById('question').dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data })); \
        return [...document.getElementById('files').files].map((file) => file.name)";
    assert_eq!(
        browser.run(drop, vec![json!("a.md")]).await,
        json!(["a.md"])
    );
    assert_eq!(
        browser.run(drop, vec![json!("b.md")]).await,
        json!(["a.md", "b.md"])
    );
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// A judged text without a name is shown by its first heading or words, in heading, title and list.
#[tokio::test]
async fn a_judged_text_has_a_title() {
    let server = Server::start(crate::all_protocols::any_reply);
    let (_home, served, browser) = opened(&server, DESKTOP).await;
    for (text, title) in [
        (
            "# Write it *down*\n\nMeetings feel productive.",
            "Write it down",
        ),
        (
            "Meetings feel productive. A proposal lasts.",
            "Meetings feel productive. A proposal lasts.",
        ),
    ] {
        browser.visit(&url(&served, "/?task=judge")).await;
        browser.write("#question", text).await;
        browser.click(".ask button").await;
        browser.find("main.debate").await;
        assert_eq!(browser.text("h1").await, title);
        browser.visit(&url(&served, "/debates")).await;
        let list = browser.text(".list").await;
        assert!(list.contains(title) && !list.contains("the text"), "{list}");
    }
    browser.close().await;
}

#[tokio::test]
async fn a_form_without_a_question_says_what_is_missing() {
    let (_home, served, browser) = opened(&Server::good(), DESKTOP).await;
    browser.visit(&url(&served, "/")).await;
    browser.click(".ask button").await;
    let problem = browser.find(".problem").await.text().await.unwrap();
    assert!(problem.contains("empty"), "{problem}");
    ask(&browser, &served).await;
    browser.close().await;
}
