use super::*;

fn release(version: &str, page: Option<&str>) -> Release {
    Release {
        version: Version::parse(version).unwrap(),
        page: page.map(str::to_owned),
    }
}

#[test]
fn a_release_is_read_from_its_tag_and_page() {
    let read = |json: &str| parse(json.as_bytes()).unwrap();
    let page = "https://example.org/releases/v1.2.3";
    assert_eq!(
        read(&format!(
            r#"{{"tag_name": "v1.2.3", "html_url": "{page}", "draft": false}}"#
        )),
        release("1.2.3", Some(page))
    );
    for (tag, version) in [
        ("1.2.3", "1.2.3"),
        ("roundtable-v1.2.3", "1.2.3"),
        (" v2.0.0-rc.1 ", "2.0.0-rc.1"),
        ("v1.2.3+build.5", "1.2.3+build.5"),
    ] {
        let json = serde_json::json!({ "tag_name": tag, "html_url": null });
        assert_eq!(read(&json.to_string()), release(version, None));
    }
    // A page that is no link is left out.
    let json = r#"{"tag_name": "v1.0.0", "html_url": "javascript:alert(1)"}"#;
    assert_eq!(read(json), release("1.0.0", None));
}

#[test]
fn anything_else_is_not_a_release() {
    for (body, words) in [
        ("<html>Not found</html>", "its answer is not a release"),
        ("[]", "its answer is not a release"),
        ("", "its answer is not a release"),
        ("{\"name\": \"v1\"}", "missing field `tag_name`"),
        ("{\"tag_name\": 1}", "its answer is not a release"),
        ("{\"tag_name\": \"nightly\"}", "'nightly' is not a version"),
        ("{\"tag_name\": \"v1.2\"}", "'v1.2' is not a version"),
        (
            "{\"tag_name\": \"\\u001b[31m1\"}",
            "'[31m1' is not a version",
        ),
    ] {
        let message = parse(body.as_bytes()).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
        assert!(message.contains("Expected a release as JSON"), "{message}");
    }
}

/// Time is simulated: the server never answers.
#[tokio::test(start_paused = true)]
async fn a_feed_that_never_answers_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/latest", listener.local_addr().unwrap());
    let error = newest(&url).await.unwrap_err();
    assert!(matches!(error, FeedError::Timeout), "{error}");
}
