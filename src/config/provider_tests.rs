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
