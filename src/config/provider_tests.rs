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
