use axum::http::{HeaderName, HeaderValue};

use super::*;

fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
    let lines = lines.iter().map(|(name, value)| {
        let value = HeaderValue::from_static(value);
        (HeaderName::from_static(name), value)
    });
    lines.collect()
}

fn behind(trusted: &[&str]) -> Proxies {
    Proxies {
        trusted: trusted.iter().map(|text| text.parse().unwrap()).collect(),
        is_https: false,
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_client_is_the_right_most_address_that_is_not_trusted() {
    let proxies = behind(&["127.0.0.1", "10.0.0.0/8"]);
    for (forwarded, client) in [
        ("203.0.113.7", "203.0.113.7"),
        ("198.51.100.1, 203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, 10.1.2.3", "203.0.113.7"),
        ("203.0.113.7:4711,10.1.2.3:80", "203.0.113.7"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        // Only proxies: the first of them.
        ("10.9.9.9, 10.1.2.3", "10.9.9.9"),
        // Not an address: the hop that reported it.
        ("unknown, 10.1.2.3", "10.1.2.3"),
        ("unknown", "127.0.0.1"),
        ("", "127.0.0.1"),
    ] {
        let found = proxies.client(ip("127.0.0.1"), &headers(&[("x-forwarded-for", forwarded)]));
        assert_eq!(found.address, ip(client), "{forwarded}");
    }
    let lines = headers(&[
        ("x-forwarded-for", "198.51.100.1"),
        ("x-forwarded-for", "203.0.113.7"),
    ]);
    let found = proxies.client(ip("::ffff:127.0.0.1"), &lines);
    assert_eq!(found.address, ip("203.0.113.7"));
}

#[test]
fn only_a_trusted_proxy_sets_address_and_scheme() {
    let lines = headers(&[
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-proto", "https"),
    ]);
    let proxies = behind(&["10.0.0.1"]);
    let client = |peer: &str| proxies.client(ip(peer), &lines);
    let (direct, forwarded) = (client("10.0.0.2"), client("10.0.0.1"));
    assert_eq!((direct.address, direct.is_https), (ip("10.0.0.2"), false));
    let expected = (ip("203.0.113.7"), true);
    assert_eq!((forwarded.address, forwarded.is_https), expected);
    let always = Proxies {
        is_https: true,
        ..Proxies::default()
    };
    assert!(always.client(ip("10.0.0.2"), &HeaderMap::new()).is_https);
}

#[test]
fn the_nearest_proxy_decides_the_scheme() {
    let proxies = behind(&["127.0.0.1"]);
    for (proto, is_https) in [("https", true), ("http", false), ("https, http", false)] {
        let lines = headers(&[("x-forwarded-proto", proto)]);
        let client = proxies.client(ip("127.0.0.1"), &lines);
        assert_eq!(client.is_https, is_https, "{proto}");
    }
}

#[test]
fn ipv6_clients_share_a_rate_limit_with_their_network() {
    let group = |address| {
        let client = Client {
            address: ip(address),
            is_https: false,
        };
        client.rate_group()
    };
    assert_eq!(group("2001:db8::1"), group("2001:db8::ffff:ffff:ffff:ffff"));
    assert_ne!(group("2001:db8::1"), group("2001:db8:0:1::1"));
    assert_ne!(group("203.0.113.7"), group("203.0.113.8"));
}

#[test]
fn a_proxy_is_recognised_by_its_headers() {
    for name in [
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-forwarded-host",
        "forwarded",
        "via",
        "x-real-ip",
    ] {
        assert!(is_forwarded(&headers(&[(name, "x")])), "{name}");
    }
    assert!(!is_forwarded(&headers(&[("host", "localhost")])));
}
