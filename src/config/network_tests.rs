use super::*;

fn contains(network: &str, address: &str) -> bool {
    let network: Network = network.parse().unwrap();
    network.contains(address.parse().unwrap())
}

#[test]
fn a_network_contains_the_addresses_with_its_prefix() {
    for (network, inside, outside) in [
        ("127.0.0.1", "127.0.0.1", "127.0.0.2"),
        ("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
        ("10.1.2.3/31", "10.1.2.2", "10.1.2.4"),
        ("128.0.0.0/1", "255.0.0.1", "127.255.255.255"),
        ("::1", "::1", "::2"),
        ("fd00::/64", "fd00::ffff:0:0:1", "fd00:0:0:1::"),
    ] {
        assert!(contains(network, inside), "{network} {inside}");
        assert!(!contains(network, outside), "{network} {outside}");
    }
    // An IPv4 client of an IPv6 socket.
    assert!(contains("10.0.0.0/8", "::ffff:10.1.2.3"));
    assert!(!contains("::/1", "10.1.2.3"));
}

#[test]
fn anything_else_is_rejected() {
    for text in [
        "",
        "proxy",
        "10.0.0.0/33",
        "10.0.0.0/0",
        "::/0",
        "::/129",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "10.0.0.0/8/8",
        "10.0.0.1:80",
    ] {
        assert_eq!(text.parse::<Network>(), Err(InvalidNetwork), "{text}");
    }
}

#[test]
fn loopback_addresses_are_recognised() {
    for address in [
        "http://127.0.0.1:80",
        "http://localhost/v1",
        "http://[::1]:9/x",
    ] {
        assert!(is_loopback(address), "{address}");
    }
    for address in [
        "https://api.openai.com/v1",
        "http://10.0.0.1",
        "http://localhost.example",
    ] {
        assert!(!is_loopback(address), "{address}");
    }
}

#[test]
fn only_encrypted_or_local_urls_are_secure() {
    for url in ["https://example.org/latest", "http://127.0.0.1:80/x"] {
        assert!(is_secure_url(url), "{url}");
    }
    for url in [
        "http://example.org/latest",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "latest",
    ] {
        assert!(!is_secure_url(url), "{url}");
    }
}
