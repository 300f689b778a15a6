use std::time::UNIX_EPOCH;

use reqwest::header::HeaderValue;

use super::*;

fn context() -> ErrorContext {
    ErrorContext {
        provider: "lab".to_owned(),
        address: "http://lab/v1".to_owned(),
        key_setting: "LAB_KEY".to_owned(),
        is_ollama: false,
        secrets: vec![Secret::new("sk-very-secret")],
    }
}

fn response_error(status: u16, body: &str) -> ModelError {
    context().response_error(
        "m",
        &ErrorResponse {
            status,
            headers: &HeaderMap::new(),
            body: body.as_bytes(),
        },
    )
}

fn detail(text: &str) -> String {
    format!("lab:m: {text}")
}

/// C-07: retries depend on this mapping.
#[test]
fn c07_every_status_has_its_error() {
    let message = |text: &str| format!(r#"{{"error":{{"message":"{text}","type":"x"}}}}"#);
    let rejected = |status, text: &str| ModelError::Rejected {
        status,
        detail: detail(text),
    };
    let server = |status, text: &str| ModelError::Server {
        status,
        retry_after: None,
        detail: detail(text),
    };
    let unauthorized = |text: &str| ModelError::Unauthorized {
        detail: detail(&format!("check LAB_KEY; {text}")),
    };
    let unknown = |text: &str| ModelError::UnknownModel {
        detail: detail(text),
    };
    let too_long = |text: &str| ModelError::TooLong {
        detail: detail(text),
    };
    let cases = [
        (401, message("no"), unauthorized("no")),
        (403, message("no"), unauthorized("no")),
        (
            400,
            message("API key not valid."),
            unauthorized("API key not valid."),
        ),
        (
            404,
            message("The model `m` does not exist"),
            unknown("The model `m` does not exist"),
        ),
        (
            404,
            r#"{"error":"model 'm' not found"}"#.to_owned(),
            unknown("model 'm' not found"),
        ),
        (400, message("unknown model m"), unknown("unknown model m")),
        (
            403,
            r#"{"error":{"message":"no access","code":"model_not_found"}}"#.to_owned(),
            unknown("no access"),
        ),
        (
            404,
            message("nothing here"),
            rejected(404, "nothing here; is http://lab/v1 the right base_url?"),
        ),
        (
            400,
            message("maximum context length is 4096"),
            too_long("maximum context length is 4096"),
        ),
        (
            400,
            r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#.to_owned(),
            too_long("no"),
        ),
        (413, String::new(), too_long("status 413")),
        (400, message("no"), rejected(400, "no")),
        (402, message("pay"), rejected(402, "pay")),
        (408, String::new(), server(408, "status 408")),
        (
            429,
            message("slow"),
            ModelError::RateLimited {
                retry_after: None,
                detail: detail("slow"),
            },
        ),
        (
            429,
            r#"{"error":{"message":"pay","type":"insufficient_quota"}}"#.to_owned(),
            rejected(429, "pay"),
        ),
        (500, message("ouch"), server(500, "ouch")),
        (
            503,
            "<html>\n down</html>".to_owned(),
            server(503, "<html> down</html>"),
        ),
        (529, message("busy"), server(529, "busy")),
        (
            302,
            String::new(),
            ModelError::NotAModelServer {
                detail: detail("http://lab/v1 redirects with status 302; correct base_url"),
            },
        ),
    ];
    for (status, body, expected) in cases {
        assert_eq!(expected, response_error(status, &body), "{status} {body}");
    }
}

#[test]
fn errors_within_a_stream_are_mapped_in_the_same_way() {
    let reported = |body: &str| context().reported_error("m", body.as_bytes());
    assert_eq!(
        ModelError::Server {
            status: 529,
            retry_after: None,
            detail: detail("Overloaded")
        },
        reported(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#)
    );
    assert_eq!(
        ModelError::RateLimited {
            retry_after: Some(Duration::from_secs(34)),
            detail: detail("quota")
        },
        reported(
            r#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34s"}]}}]"#
        )
    );
    assert_eq!(
        ModelError::UnknownModel {
            detail: detail("model 'm' not found")
        },
        reported(r#"{"error":"model 'm' not found"}"#)
    );
    assert_eq!(
        ModelError::Server {
            status: 200,
            retry_after: None,
            detail: detail("out of memory")
        },
        reported(r#"{"error":{"message":"out of memory"}}"#)
    );
}

#[test]
fn details_are_truncated_and_contain_no_key() {
    let body = format!("sk-very-secret {}", "x".repeat(400));
    let expected = format!("*** {}…", "x".repeat(296));
    assert_eq!(
        ModelError::Rejected {
            status: 400,
            detail: detail(&expected)
        },
        response_error(400, &body)
    );
}

/// C-07
#[test]
fn c07_retry_after_is_parsed_in_all_formats() {
    let now = UNIX_EPOCH + Duration::from_secs(1_000_000_000); // Sun, 09 Sep 2001 01:46:40 GMT
    let read = |name: &'static str, value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        retry_after(&headers, now)
    };
    let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
    assert_eq!(seconds(7.0), read("retry-after", "7"));
    assert_eq!(seconds(0.5), read("retry-after", "0.5"));
    assert_eq!(seconds(1.25), read("retry-after-ms", "1250"));
    assert_eq!(
        seconds(20.0),
        read("retry-after", "Sun, 09 Sep 2001 01:47:00 GMT")
    );
    assert_eq!(
        seconds(0.0),
        read("retry-after", "Sun, 09 Sep 2001 01:46:00 GMT")
    );
    assert_eq!(None, read("retry-after", "soon"));
    assert_eq!(None, read("retry-after", "-3"));
}

/// Errors and model names of a server cannot write to a terminal: no escape sequence, no C1 control, no direction change.
#[test]
fn error_details_have_no_control_characters() {
    let body = "{\"error\":{\"message\":\"no\\u001b]52;c;ZXZpbA==\\u0007 \\u009b31m\\u202ered\"}}";
    let error = response_error(500, body).to_string();
    assert!(error.contains("no]52;c;ZXZpbA== 31mred"), "{error:?}");
    let plain = context().response_error(
        "m\u{1b}[2J",
        &ErrorResponse {
            status: 500,
            headers: &HeaderMap::new(),
            body: b"\x1b]0;title\x07down",
        },
    );
    let shown = format!("{error} {plain}");
    let has_control = |c: char| c.is_control() || is_deceptive(c);
    assert!(!shown.contains(has_control), "{shown:?}");
    let html = context().not_a_model_server("m", "<h1>\u{1b}[31m\u{9b}x".as_bytes());
    assert!(!html.to_string().contains(has_control), "{html:?}");
}
