//! The administration of tokens in a browser.

use super::chromium::{Browser, DESKTOP, Scripts};
use super::url;
use crate::harness::{Home, Server, Serving};

/// An admin adds and revokes tokens without scripts. The secret is shown once, and the audit log has both.
#[tokio::test]
async fn an_admin_manages_tokens_without_scripts() {
    manage_tokens(Home::with_model).await;
}

#[tokio::test]
async fn an_admin_manages_tokens_without_scripts_on_postgres() {
    manage_tokens(Home::on_postgres).await;
}

async fn manage_tokens(home: fn(&Server) -> Home) {
    let server = Server::good();
    let home = home(&server);
    let secret = home.token("admin");
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser
        .visit(&url(&served, "/sign-in?next=%2Ftokens"))
        .await;
    browser.write("#token", &secret).await;
    browser.click(".sign-in button").await;
    browser.find(".token-form").await;
    browser.write("#name", "ada & bob/1").await;
    browser.click(".limits > summary").await;
    browser.write("#max_cost_per_day", "5").await;
    browser.write("#models", "openai:*, ollama:*").await;
    browser.click(".token-form > button").await;
    let shown = browser.find(".secret").await.text().await.unwrap();
    assert!(shown.starts_with("rt_"), "{shown}");
    let list = browser.find(".list").await.text().await.unwrap();
    assert!(list.contains("ada & bob/1"), "{list}");
    assert!(
        list.contains("$5.00 per day, models openai:*, ollama:*"),
        "{list}"
    );
    browser.visit(&url(&served, "/tokens")).await;
    let page = browser.find("main").await.text().await.unwrap();
    assert!(!page.contains("rt_"), "{page}");
    browser
        .click(".list li:nth-child(2) details:last-of-type > summary")
        .await;
    browser.click(".list li:nth-child(2) .danger").await;
    browser.find(".list li:only-child").await;
    browser.visit(&url(&served, "/audit")).await;
    let log = browser.find(".audit").await.text().await.unwrap();
    for part in ["token-added", "token-revoked", "ada & bob/1", "sign-in"] {
        assert!(log.contains(part), "{part} in {log}");
    }
    browser.close().await;
}
