use super::*;

#[test]
fn a_port_is_stripped_from_names_and_addresses() {
    for (host, name) in [
        ("localhost", "localhost"),
        ("localhost:80", "localhost"),
        ("[::1]:4711", "[::1]"),
        ("[::1]", "[::1]"),
        ("127.0.0.1:1", "127.0.0.1"),
    ] {
        assert_eq!(without_port(host), name);
    }
}

#[test]
fn a_request_id_of_the_client_is_kept_if_it_is_plain() {
    let with = |id: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_static(id));
        request_id(&headers)
    };
    assert_eq!(with("abc-1.2_3"), "abc-1.2_3");
    assert_ne!(with("a b"), "a b");
    assert_eq!(with("").len(), 36);
}
