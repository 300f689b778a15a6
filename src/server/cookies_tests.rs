use std::net::IpAddr;

use axum::http::HeaderValue;

use super::*;

fn client(is_https: bool) -> Client {
    Client {
        address: IpAddr::from([127, 0, 0, 1]),
        is_https,
    }
}

fn read(lines: &[&'static str], is_https: bool) -> Option<String> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(header::COOKIE, HeaderValue::from_static(line));
    }
    session(&headers, client(is_https)).map(str::to_owned)
}

#[test]
fn behind_tls_only_the_host_cookie_counts() {
    let secure = "__Host-roundtable_session=a";
    let plain = "roundtable_session=b";
    let a = Some("a".to_owned());
    assert_eq!(read(&[secure], true), a);
    assert_eq!(read(&["x=1; __Host-roundtable_session=a", plain], true), a);
    assert_eq!(read(&[plain], true), None);
    assert_eq!(read(&[plain], false), Some("b".to_owned()));
    assert_eq!(read(&[plain, secure], false), a);
}

#[test]
fn several_cookies_of_one_name_are_not_accepted() {
    for line in [
        "roundtable_session=a; roundtable_session=b",
        "roundtable_session=a; roundtable_session=a",
        "__Host-roundtable_session=a; __Host-roundtable_session=b; roundtable_session=c",
    ] {
        assert_eq!(read(&[line], false), None, "{line}");
        assert_eq!(read(&[line], true), None, "{line}");
    }
    let two_headers = ["roundtable_session=a", "roundtable_session=b"];
    assert_eq!(read(&two_headers, false), None);
}

#[test]
fn the_cookie_is_secure_behind_tls() {
    assert_eq!(
        set("s", 60_000, client(true)),
        "__Host-roundtable_session=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure"
    );
    assert_eq!(
        set("s", 60_000, client(false)),
        "roundtable_session=s; Path=/; HttpOnly; SameSite=Strict; Max-Age=60"
    );
    assert_eq!(
        clear(client(true)),
        "__Host-roundtable_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0; Secure"
    );
}
