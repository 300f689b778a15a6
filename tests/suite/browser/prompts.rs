//! The prompt of a turn, in the record of a debate.

use serde_json::json;

use super::chromium::{Browser, DESKTOP, PHONE, Scripts};
use super::{fits, url};
use crate::harness::{Home, Server, Serving};

const SKEPTIC: &str = "[id='r1/skeptic/criticise']";

/// A finished debate, and the address of its page.
fn debate() -> (Home, Serving, String) {
    let home = Home::with_model(&Server::good());
    home.ask(&["--quiet"]).expect(0, &[]);
    let served = Serving::start(&home, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let page = url(&served, &format!("/debates/{id}"));
    (home, served, page)
}

/// P-11: a prompt is in its turn, and costs nothing before it is opened.
#[tokio::test]
async fn p11_a_prompt_is_fetched_when_it_is_opened() {
    let (home, _served, page) = debate();
    let browser = Browser::open(PHONE).await;
    browser.visit(&page).await;
    let fetched = "return performance.getEntriesByType('resource').filter((one) => one.name.includes('/prompts/')).length";
    assert_eq!(browser.run(fetched, Vec::new()).await, json!(0));
    browser.click(&format!("{SKEPTIC} summary")).await;
    browser.click(&format!("{SKEPTIC} .prompt > summary")).await;
    let shown =
        format!("return document.querySelector(\"{SKEPTIC} .prompt-text\")?.innerText ?? null");
    let shown = browser.until("the prompt", &shown).await;
    let shown = shown.as_str().unwrap();
    for part in ["System", "For this seat", "word by word"] {
        assert!(shown.contains(part), "'{part}' is not in {shown}");
    }
    let prompt = home.run(&["show", "--prompt", "r1/skeptic/criticise", "--json"]);
    let system = prompt.json()["system"].as_str().unwrap().to_owned();
    let line = system.lines().next().unwrap();
    assert!(shown.contains(line), "{line}: {shown}");
    fits(&browser, "an open prompt").await;
    assert_eq!(browser.run(fetched, Vec::new()).await, json!(1));
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.close().await;
}

/// P-11: without scripts the prompt is a page.
#[tokio::test]
async fn p11_a_prompt_is_a_page_without_scripts() {
    let (_home, _served, page) = debate();
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser.visit(&page).await;
    browser.click(&format!("{SKEPTIC} summary")).await;
    browser.click(&format!("{SKEPTIC} .prompt > summary")).await;
    browser.click(&format!("{SKEPTIC} .prompt a")).await;
    browser.find("#prompt").await;
    assert_eq!(browser.text("h1").await, "Prompt");
    browser.close().await;
}
