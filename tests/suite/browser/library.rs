//! The list of debates in a browser: search in answers, tags, pins, several debates at once, and costs.

use super::chromium::{Browser, DESKTOP, PHONE, Scripts};
use super::{fits, url};
use crate::harness::{Home, Server, Serving};

fn with_three_debates(home: &Home) {
    for question in ["Queue or cache?", "Rent or buy?", "Now or later?"] {
        home.run(&["ask", question, "--quiet", "--model", "lab:x"])
            .expect(0, &[]);
    }
}

/// C-14: debates are found by words of their answers, by tag and by pin, without scripts.
#[tokio::test]
async fn c14_debates_are_found_by_answer_tag_and_pin() {
    search_tag_and_pin(Home::with_model).await;
}

#[tokio::test]
async fn c14_debates_are_found_by_answer_tag_and_pin_on_postgres() {
    search_tag_and_pin(Home::on_postgres).await;
}

async fn search_tag_and_pin(home: fn(&Server) -> Home) {
    let home = home(&Server::good());
    with_three_debates(&home);
    let served = Serving::start(&home, &[]);
    let browser = Browser::with(DESKTOP, Scripts::Off).await;
    browser
        .visit(&url(&served, "/debates?q=in+front+of+the+writes"))
        .await;
    let count = async |browser: &Browser| {
        browser
            .client
            .find_all(fantoccini::Locator::Css(".list > li"))
            .await
            .unwrap()
            .len()
    };
    assert_eq!(count(&browser).await, 3, "words of the answer");
    let row = browser.find(".list > li .result").await;
    let result = row.text().await.unwrap();
    assert!(result.starts_with("Put a queue in front"), "{result}");
    browser.visit(&url(&served, "/debates?q=rent")).await;
    assert_eq!(count(&browser).await, 1);
    browser.click(".list .title").await;
    browser.click("#filing > summary").await;
    browser.click("label[for=pinned]").await;
    browser.write("#tags", "Home, money ,, <b>x</b>").await;
    browser.click("#filing button").await;
    // The form loads the page again.
    let mut filed = String::new();
    for _ in 0..50 {
        let summary = browser.find("#filing summary").await;
        filed = summary.text().await.unwrap_or_default();
        if filed.starts_with("Pinned") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(filed, "Pinned: <b>x</b>, home, money");
    browser.visit(&url(&served, "/debates?pinned=on")).await;
    assert_eq!(count(&browser).await, 1);
    browser.click(".tag-link").await;
    assert_eq!(count(&browser).await, 1);
    assert!(browser.address().await.contains("tag="));
    browser.visit(&url(&served, "/debates?tag=nothing")).await;
    browser.find(".empty").await;
    browser.close().await;
}

/// Several debates are exported as one file, and deleted together. The list shows what the month has cost.
#[tokio::test]
async fn c14_several_debates_are_exported_and_deleted_at_once() {
    export_and_delete_several(Home::with_model).await;
}

#[tokio::test]
async fn c14_several_debates_are_exported_and_deleted_at_once_on_postgres() {
    export_and_delete_several(Home::on_postgres).await;
}

async fn export_and_delete_several(home: fn(&Server) -> Home) {
    let home = home(&Server::good());
    with_three_debates(&home);
    let served = Serving::start(&home, &[]);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let ids: Vec<String> = home
        .list()
        .iter()
        .map(|debate| debate["id"].as_str().unwrap().to_owned())
        .collect();
    let body = format!("id.{}=on&id.{}=on", ids[0], ids[1]);
    let file = served.send("POST", "/debates/export", &form, body.as_bytes());
    assert_eq!(
        (file.status, file.header("content-disposition")),
        (200, Some("attachment; filename=\"debates.md\""))
    );
    let text = file.text();
    assert_eq!(
        (
            text.matches("# Now or later?").count(),
            text.matches("# Rent or buy?").count(),
            text.matches("# Queue").count()
        ),
        (1, 1, 0)
    );
    assert_eq!(
        served.send("POST", "/debates/export", &form, b"").status,
        422
    );
    assert_eq!(
        served
            .send("POST", "/debates/delete", &form, b"id.x=on")
            .status,
        404
    );

    let browser = Browser::open(PHONE).await;
    browser.visit(&url(&served, "/debates")).await;
    fits(&browser, "the list").await;
    browser.click("#months > summary").await;
    assert!(browser.text("#months").await.contains("Known cost"));
    for number in [1, 3] {
        browser
            .click(&format!(".list > li:nth-child({number}) > input"))
            .await;
    }
    browser.click(".bulk summary").await;
    browser.click(".bulk .danger").await;
    browser
        .until(
            "one debate is left",
            "return document.querySelectorAll('.list > li').length === 1",
        )
        .await;
    assert!(browser.text(".list").await.contains("Rent or buy?"));
    browser.visit(&url(&served, "/audit")).await;
    assert!(browser.text(".audit").await.contains("debates-deleted"));
    browser.close().await;
}
