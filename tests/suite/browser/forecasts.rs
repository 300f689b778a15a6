//! Forecasts: the history of a question.

use serde_json::json;

use super::chromium::{Browser, PHONE, Scripts};
use super::{fits, url};
use crate::harness::forecast::replies;
use crate::harness::{Answer, Home, Server, Serving, schema_name};

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

/// B-09: the number itself is recorded in the browser, without scripts, and decides the outcome; nonsense is refused on the page.
#[tokio::test]
async fn b09_a_number_is_recorded_in_the_browser() {
    let server = Server::start(|request, before| {
        if schema_name(request) != "argument" {
            return crate::all_protocols::any_reply(request, before);
        }
        let mut reply = replies(request);
        let schema = &request["response_format"]["json_schema"]["schema"]["properties"];
        let bins = schema["probabilities"]["properties"].as_object().unwrap();
        reply["probabilities"] = bins.keys().map(|id| (id.clone(), json!(0.25))).collect();
        reply["supports"] = json!(bins.keys().next().unwrap());
        Answer::Reply(reply.to_string())
    });
    let home = Home::with_model(&server);
    let forecast = "forecast Rate? --bins 0,10,20 --unit % --depth quick --quiet".split(' ');
    home.run(&forecast.collect::<Vec<_>>()).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(PHONE, Scripts::Off).await;
    browser
        .visit(&url(&served, &format!("/debates/{id}/outcome")))
        .await;
    browser.write("#outcome-value", "much").await;
    browser.click("#resolve button").await;
    let problems = browser.find("main").await.text().await.unwrap();
    assert!(problems.contains("unknown outcome 'much'"), "{problems}");
    browser.write("#outcome-value", "12.5%").await;
    browser.click("#resolve button").await;
    browser.find("main .facts").await;
    assert!(browser.address().await.ends_with("/calibration"));
    let page = browser.find("main").await.text().await.unwrap();
    assert!(page.contains("CRPS of numbers and dates"), "{page}");
    browser.close().await;
    let history = home.run(&["questions", "history", &id, "--json"]).json();
    let resolution = &history["forecasts"][0]["forecast"]["resolution"];
    assert_eq!(resolution["value"], "12.5");
    assert_eq!(resolution["outcome"], "10-to-below-20");
}
