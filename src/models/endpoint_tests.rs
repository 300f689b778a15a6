use super::*;
use crate::config::{Config, Environment};

fn root_of(kind: &str, base_url: &str) -> String {
    let text = format!("[providers.lab]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"");
    let config = Config::parse(&text, None, &Environment::default()).unwrap();
    root(&config.providers["lab"])
}

#[test]
fn base_addresses_may_have_the_version_or_not() {
    assert_eq!("http://a/v1", root_of("anthropic", "http://a"));
    assert_eq!("http://a/v1", root_of("anthropic", "http://a/v1/"));
    assert_eq!("http://a/v1beta", root_of("gemini", "http://a"));
    assert_eq!("http://a/v1alpha", root_of("gemini", "http://a/v1alpha"));
    assert_eq!("http://a", root_of("ollama", "http://a/api"));
    assert_eq!("http://a", root_of("ollama", "http://a/v1"));
    // Here the path belongs to the server: many do without a version.
    assert_eq!(
        "http://a/deep/path",
        root_of("openai", "http://a/deep/path/")
    );
}

#[test]
fn each_path_has_its_own_address_whichever_was_called_before() {
    let text = "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://a/v1\"";
    let config = Config::parse(text, None, &Environment::default()).unwrap();
    let times = Times {
        call: Duration::from_secs(1),
        idle: Duration::from_secs(1),
    };
    let endpoint = Endpoint::new(&config.providers["lab"], times);
    for path in ["/chat", "/chat", "/models", "/chat"] {
        let address = endpoint.address(path).map(String::from);
        assert_eq!(address, Ok(format!("http://a/v1{path}")));
    }
}

#[test]
fn no_proxy_stands_before_this_machine() {
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

/// C-07: the alarm goes by the last piece, wherever it was set before.
#[tokio::test(start_paused = true)]
async fn c07_an_alarm_rings_after_silence_and_not_before() {
    let ms = Duration::from_millis;
    let (clock, mut alarm) = (
        Clock::start(Times {
            call: ms(10_000),
            idle: ms(100),
        }),
        Alarm::default(),
    );
    let begun = tokio::time::Instant::now();
    for _ in 0..5 {
        let piece = clock
            .within_by(&mut alarm, tokio::time::sleep(ms(99)))
            .await;
        assert_eq!(piece, Ok(()));
    }
    assert_eq!(begun.elapsed(), ms(495));
    let silence = std::future::pending::<()>();
    let late = clock.within_by(&mut alarm, silence).await;
    assert_eq!(late, Err(ModelError::Timeout { after: ms(100) }));
    assert_eq!(begun.elapsed(), ms(595));
    // An alarm that has rung can be set again, and to an earlier time than before.
    alarm.ring(ms(50)).await;
    assert_eq!(begun.elapsed(), ms(645));
    let cut_short = tokio::time::timeout(ms(10), alarm.ring(ms(500))).await;
    assert!(cut_short.is_err());
    alarm.ring(ms(20)).await;
    assert_eq!(begun.elapsed(), ms(675));
}
