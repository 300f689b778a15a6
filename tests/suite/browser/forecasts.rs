//! Forecasts: the history of a question.

use serde_json::json;

use super::chromium::{Browser, PHONE};
use super::{fits, url};
use crate::harness::{Home, Server, Serving};

/// B-09: the page of a question's history has a chart and a row of every forecast, and leads back to them.
#[tokio::test]
async fn b09_the_history_of_a_question_is_a_page() {
    history(Home::with_model).await;
}

#[tokio::test]
async fn b09_the_history_of_a_question_is_a_page_on_postgres() {
    history(Home::on_postgres).await;
}

async fn history(home: fn(&Server) -> Home) {
    let server = Server::start(crate::all_protocols::any_reply);
    let home = home(&server);
    let first =
        "forecast Open? --outcome Yes --outcome No --crowd 40% --depth quick --quiet".split(' ');
    home.run(&first.collect::<Vec<_>>()).expect(0, &[]);
    home.write("news.md", "The steel has arrived.");
    let again = "forecast --update last --context news.md --depth quick --quiet".split(' ');
    home.run(&again.collect::<Vec<_>>()).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let served = Serving::start(&home, &[]);
    let browser = Browser::open(PHONE).await;
    browser
        .visit(&url(&served, &format!("/debates/{id}/outcome")))
        .await;
    browser.click("a[href$='/history']").await;
    assert_eq!(browser.text("main h1").await, "History");
    assert_eq!(browser.text("main .lead").await, "Open?");
    // Two forecasts on the lines of yes and of the crowd.
    assert_eq!(browser.count("main svg circle.point").await, 4);
    // The chart has a table of its own, for readers who do not see it.
    let rows = "const rows = [...document.querySelectorAll('main table tbody tr')].filter((row) => row.cells.length === 6); \
                return rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))";
    let rows = browser.run(rows, Vec::new()).await;
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in rows {
        assert_eq!(row[3], json!("40%"), "the crowd in {row}");
    }
    assert_eq!(rows[1][5], json!(id));
    fits(&browser, "the history").await;
    assert_eq!(browser.console_errors(), Vec::<String>::new());
    browser.click("main .lead a").await;
    assert!(browser.address().await.ends_with(&format!("/debates/{id}")));
    browser.close().await;
}
