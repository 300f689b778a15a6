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

/// A flood of requests with made-up cookies must not reach the database.
#[tokio::test]
async fn a_request_above_the_limit_does_not_reach_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).await.unwrap();
    let token = TokenRow::new("ada".into(), Scope::Run, tokens::hash("rt_ada"), 1);
    store.add_token(&token).await.unwrap();
    let access = AccessControl::new(
        store.clone(),
        AccessOptions {
            bound_to: SocketAddr::from(([127, 0, 0, 1], 4711)),
            hosts: Vec::new(),
            rate: Rate {
                per_second: 0.001,
                burst: 2.0,
            },
            openness: Openness::Closed,
            proxies: Proxies::default(),
            sessions: SessionTimeouts {
                idle: 1_000,
                total: 1_000,
            },
        },
    );
    let client = Client {
        address: IpAddr::from([203, 0, 113, 7]),
        is_https: false,
    };
    let with = |name: HeaderName, value: &'static str| {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    };
    let cookie = with(header::COOKIE, "roundtable_session=rt_x");
    let admitted = admit(&access, &cookie, client, false).await;
    assert!(matches!(admitted, Ok(Ok(None))), "{admitted:?}");
    store.close().await;
    // The second request reaches the database, which is gone; the third is limited before that.
    let admitted = admit(&access, &cookie, client, false).await;
    assert!(matches!(admitted, Ok(Err(_))), "{admitted:?}");
    let limited = admit(&access, &cookie, client, false).await;
    let status = limited.err().map(|response| response.status());
    assert_eq!(status, Some(StatusCode::TOO_MANY_REQUESTS));
    // A service token of the same address has its own limit, and needs no query while it is cached.
    let bearer = with(header::AUTHORIZATION, "Bearer rt_ada");
    let admitted = admit(&access, &bearer, client, false).await;
    assert!(matches!(admitted, Ok(Ok(Some(_)))), "{admitted:?}");
}

/// B-03: a provider at this server's address is recognised, and another program on the same host is not taken for it.
#[test]
fn b03_the_url_of_this_server_is_recognised() {
    let hosts = ["debates.example.org".to_owned()];
    let at = |bound: &str, url: &str| is_own_url(url, bound.parse().unwrap(), &hosts);
    for (bound, url, expected) in [
        ("127.0.0.1:4711", "http://127.0.0.1:4711/v1", true),
        ("127.0.0.1:4711", "http://localhost:4711/v1", true),
        ("127.0.0.1:4711", "http://[::1]:4711/v1", true),
        ("127.0.0.1:4711", "http://127.0.0.1:11434", false),
        ("127.0.0.1:4711", "http://10.0.0.1:4711/v1", false),
        ("0.0.0.0:4711", "http://127.0.0.1:4711/v1", true),
        ("10.0.0.1:4711", "http://10.0.0.1:4711/v1", true),
        ("10.0.0.1:4711", "http://127.0.0.1:4711/v1", false),
        ("10.0.0.1:4711", "https://Debates.example.org/v1", true),
        ("10.0.0.1:4711", "http://debates.example.org:4711/v1", true),
        ("10.0.0.1:4711", "http://debates.example.org:11434", false),
        ("10.0.0.1:4711", "https://api.openai.com/v1", false),
        ("10.0.0.1:4711", "not a url", false),
    ] {
        assert_eq!(at(bound, url), expected, "{bound} {url}");
    }
}
