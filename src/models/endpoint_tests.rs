use super::*;
use crate::config::{Config, Environment};

fn root_for(kind: &str, base_url: &str) -> String {
    let text = format!("[providers.lab]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"");
    let config = Config::parse(&text, None, &Environment::default()).unwrap();
    root(&config.providers["lab"])
}

#[test]
fn the_version_in_a_base_url_is_optional() {
    assert_eq!("http://a/v1", root_for("anthropic", "http://a"));
    assert_eq!("http://a/v1", root_for("anthropic", "http://a/v1/"));
    assert_eq!("http://a/v1beta", root_for("gemini", "http://a"));
    assert_eq!("http://a/v1alpha", root_for("gemini", "http://a/v1alpha"));
    assert_eq!("http://a", root_for("ollama", "http://a/api"));
    assert_eq!("http://a", root_for("ollama", "http://a/v1"));
    // Compatible servers have any path, many without a version.
    assert_eq!(
        "http://a/deep/path",
        root_for("openai", "http://a/deep/path/")
    );
}

#[test]
fn the_cached_url_is_used_only_for_its_path() {
    let text = "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://a/v1\"";
    let config = Config::parse(text, None, &Environment::default()).unwrap();
    let timeouts = Timeouts {
        call: Duration::from_secs(1),
        idle: Duration::from_secs(1),
    };
    let endpoint = Endpoint::new(&config.providers["lab"], timeouts);
    for path in ["/chat", "/chat", "/models", "/chat"] {
        let address = endpoint.url(path).map(String::from);
        assert_eq!(address, Ok(format!("http://a/v1{path}")));
    }
}

/// C-07: the idle timeout counts from the last chunk.
#[tokio::test(start_paused = true)]
async fn c07_the_idle_timer_fires_after_silence_and_not_before() {
    let ms = Duration::from_millis;
    let (timer, mut idle_timer) = (
        CallTimer::start(Timeouts {
            call: ms(10_000),
            idle: ms(100),
        }),
        IdleTimer::default(),
    );
    let started = tokio::time::Instant::now();
    for _ in 0..5 {
        let chunk = timer
            .limit_idle(&mut idle_timer, tokio::time::sleep(ms(99)))
            .await;
        assert_eq!(chunk, Ok(()));
    }
    assert_eq!(started.elapsed(), ms(495));
    let silence = std::future::pending::<()>();
    let late = timer.limit_idle(&mut idle_timer, silence).await;
    assert_eq!(late, Err(ModelError::Timeout { after: ms(100) }));
    assert_eq!(started.elapsed(), ms(595));
    // A timer that has fired can be reused, also for an earlier deadline.
    idle_timer.wait(ms(50)).await;
    assert_eq!(started.elapsed(), ms(645));
    let cut_short = tokio::time::timeout(ms(10), idle_timer.wait(ms(500))).await;
    assert!(cut_short.is_err());
    idle_timer.wait(ms(20)).await;
    assert_eq!(started.elapsed(), ms(675));
}
