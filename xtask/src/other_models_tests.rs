use std::net::TcpListener;

use super::*;

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn chosen(options: &[&str], key: Option<&str>, ollama: Option<&str>) -> Option<String> {
    choose(&words(options), key, || ollama.map(str::to_owned))
}

#[test]
fn a_key_comes_first_then_an_ollama_server_then_the_embedded_model() {
    let found = |name: &str| Some(name.to_owned());
    assert_eq!(
        [
            chosen(&[], Some("OPENAI_API_KEY"), Some("Ollama")),
            chosen(&["--rounds", "1"], None, Some("Ollama")),
            chosen(&[], None, None),
        ],
        [found("OPENAI_API_KEY"), found("Ollama"), None]
    );
}

#[test]
fn options_that_name_the_embedded_model_build_it() {
    for options in [
        &["--model", "local:auto"][..],
        &["--model=local:auto"],
        &["--seat", "skeptic=local:SmolLM2-135M-Instruct"],
        &["--fallback-local"],
    ] {
        assert_eq!(
            chosen(options, Some("OPENAI_API_KEY"), None),
            None,
            "{options:?}"
        );
    }
    let other = chosen(&["--model", "ollama:local"], Some("OPENAI_API_KEY"), None);
    assert!(other.is_some());
}

#[test]
fn the_variables_are_those_of_services_with_an_address() {
    let known = key_variables(SERVICES);
    for variable in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GOOGLE_API_KEY",
        "MISTRAL_API_KEY",
    ] {
        assert!(known.contains(&variable), "{variable}: {known:?}");
    }
    let services = "\n[a]\nbase_url = \"https://a\"\napi_key_env = [\"A\", \"B\"]\n\n[b]\napi_key_env = [\"C\"]\n";
    assert_eq!(key_variables(services), ["A", "B"]);
}

#[test]
fn the_address_of_ollama_is_read_as_the_program_reads_it() {
    let address = |host| ollama_address(host).unwrap();
    assert_eq!(
        [
            "",
            "0.0.0.0",
            "box",
            "box:80",
            "http://box/",
            "http://box:1234"
        ]
        .map(address),
        [
            "127.0.0.1:11434",
            "127.0.0.1:11434",
            "box:11434",
            "box:80",
            "box:80",
            "box:1234"
        ]
    );
    assert_eq!(ollama_address("https://box"), None);
}

/// A server that answers one request.
fn server(answer: &'static str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
    });
    address
}

#[test]
fn an_ollama_server_counts_only_if_it_has_a_model() {
    let with_model = server("HTTP/1.0 200 OK\r\n\r\n{\"models\":[{\"name\":\"qwen3:8b\"}]}");
    assert_eq!(
        ollama_models(&with_model),
        Some(format!("an Ollama server at {with_model}"))
    );
    assert_eq!(
        ollama_models(&server("HTTP/1.0 200 OK\r\n\r\n{\"models\":[]}")),
        None
    );
    assert_eq!(ollama_models("127.0.0.1:1"), None);
}
