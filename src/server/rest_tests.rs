use super::*;

fn wait(text: &'static str) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert("prefer", HeaderValue::from_static(text));
    preferred_wait(&headers).map(|wait| wait.as_secs())
}

#[test]
fn how_long_to_wait_is_read_as_programs_write_it() {
    assert_eq!(wait("wait=30"), Some(30));
    assert_eq!(wait("respond-async, wait=5"), Some(5));
    assert_eq!(wait("Wait=\"7\"; foo=bar"), Some(7));
    assert_eq!(wait("wait=99999"), Some(600));
    for other in ["wait", "wait=soon", "wait=-1", "respond-async", ""] {
        assert_eq!(wait(other), None, "{other}");
    }
}

#[test]
fn the_layout_of_a_request_is_not_its_content() {
    let same = fingerprint(br#"{"a": 1, "b": [{"d": 2, "c": 3}]}"#);
    assert_eq!(same, fingerprint(br#"{ "b":[{"c":3,"d":2}],"a":1 }"#));
    assert_ne!(same, fingerprint(br#"{"a": 1, "b": [{"d": 2, "c": 4}]}"#));
}

#[test]
fn times_and_cursors_of_listings() {
    assert_eq!(parse_time("1970-01-02"), Some(86_400_000));
    assert_eq!(parse_time("1970-01-01T00:00:01Z"), Some(1000));
    for wrong in ["", "yesterday", "1969-01-01", "2026-13-01"] {
        assert_eq!(parse_time(wrong), None, "{wrong}");
    }
    assert_eq!(parse_cursor("12.x"), None);
    let id = Uuid::new_v4();
    let place = ListPosition { created_at: 12, id };
    assert_eq!(parse_cursor(&format!("12.{id}")), Some(place));
}
