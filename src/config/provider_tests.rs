use super::*;

#[test]
fn ollama_host_is_parsed_as_ollama_does() {
    for (host, expected) in [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("box", "http://box:11434"),
        ("http://box:1234/", "http://box:1234"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("[::1]:5000", "http://[::1]:5000"),
    ] {
        assert_eq!(expected, ollama_url(host), "{host}");
    }
}

/// A vendor's key is sent to that vendor, or to a server for which the file names it.
#[test]
fn c03_a_vendors_key_goes_to_no_other_host() {
    let environment = Environment::default().with("OPENAI_API_KEY", "sk-own");
    let key = |section: &str| {
        let text = format!("[providers.openai]\n{section}\n");
        let config = super::super::Config::parse(&text, None, &environment).unwrap();
        let key = config.providers["openai"].key.clone();
        key.map(|key| key.variable)
    };
    let sent = Some("OPENAI_API_KEY".to_owned());
    assert_eq!(key(""), sent);
    for vendors in ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"] {
        assert_eq!(key(&format!("base_url = \"{vendors}\"")), sent, "{vendors}");
    }
    for other in [
        "https://evil.example/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com.evil.example/v1",
        "https://notapi.openai.com.example/v1",
        "https://xapi.openai.com/v1",
    ] {
        assert_eq!(key(&format!("base_url = \"{other}\"")), None, "{other}");
        let named = format!("base_url = \"{other}\"\napi_key_env = \"OPENAI_API_KEY\"");
        assert_eq!(key(&named), sent, "{other}");
    }
}

/// B-17: settings of simulated seats are checked like all others, and simulated models never stand in for real ones.
#[test]
fn b17_settings_of_simulated_providers_are_checked() {
    let environment = Environment::default();
    let parse = |text: &str| super::super::Config::parse(text, None, &environment);
    let config =
        parse("[providers.weak]\nkind = \"simulated\"\naccuracy = 0.3\nlatency_ms = 0\n").unwrap();
    let provider = &config.providers["weak"];
    assert_eq!(provider.kind, Kind::Simulated);
    assert!((provider.simulation.unwrap().accuracy - 0.3).abs() < 1e-12);
    assert!(config.providers["simulated"].simulation.is_some());
    assert!(
        parse("[providers.simulated]\nseed = 4\n")
            .unwrap()
            .providers["simulated"]
            .configured
    );
    for (text, message) in [
        (
            "[providers.weak]\nkind = \"simulated\"\naccuracy = 1.5\n",
            "expected a number from 0.02 to 0.98",
        ),
        (
            "[providers.weak]\nkind = \"simulated\"\nlatency_ms = -1\n",
            "expected a whole number from 0 to 600000",
        ),
        (
            "[providers.weak]\nkind = \"simulated\"\nbase_url = \"http://127.0.0.1:9\"\n",
            "base_url",
        ),
        (
            "[providers.openai]\nkind = \"simulated\"\n",
            "it is the name of a real provider",
        ),
        (
            "[providers.lab]\nkind = \"openai\"\nfallback = [\"simulated:x\"]\n",
            "simulated:x is simulated and cannot replace a real model",
        ),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}
