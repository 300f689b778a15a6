use super::*;

fn wait(text: &'static str) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert("prefer", HeaderValue::from_static(text));
    preferred_wait(&headers).map(|wait| wait.as_secs())
}

#[test]
fn the_prefer_header_is_parsed() {
    assert_eq!(wait("wait=30"), Some(30));
    assert_eq!(wait("respond-async, wait=5"), Some(5));
    assert_eq!(wait("Wait=\"7\"; foo=bar"), Some(7));
    assert_eq!(wait("wait=99999"), Some(600));
    for other in ["wait", "wait=soon", "wait=-1", "respond-async", ""] {
        assert_eq!(wait(other), None, "{other}");
    }
}

#[test]
fn the_fingerprint_ignores_whitespace_and_key_order() {
    let same = fingerprint(br#"{"a": 1, "b": [{"d": 2, "c": 3}]}"#);
    assert_eq!(same, fingerprint(br#"{ "b":[{"c":3,"d":2}],"a":1 }"#));
    assert_ne!(same, fingerprint(br#"{"a": 1, "b": [{"d": 2, "c": 4}]}"#));
}
