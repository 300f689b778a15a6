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

/// A key is one header of 1 to 255 printable ASCII characters.
#[test]
fn malformed_idempotency_keys_are_refused() {
    let key = |values: &[&[u8]]| {
        let mut headers = HeaderMap::new();
        for value in values {
            let value = HeaderValue::from_bytes(value).unwrap();
            headers.append("idempotency-key", value);
        }
        idempotency_key(&headers, &Caller::open())
    };
    assert_eq!(key(&[]).unwrap(), None);
    assert_eq!(key(&[b"a-1"]).unwrap().as_deref(), Some("-/a-1"));
    assert!(key(&[&[b'k'; 255]]).is_ok());
    let wrong: [&[&[u8]]; 6] = [
        &[b""],
        &[&[b'k'; 256]],
        &[b"a\tb"],
        &[b"a b"],
        &["é".as_bytes()],
        &[b"a", b"b"],
    ];
    for values in wrong {
        let problem = key(values).unwrap_err();
        assert_eq!(problem.faults()[0].at, "Idempotency-Key", "{values:?}");
    }
}
