use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    let environment = Environment::default().with("LAB_KEY", "sk-very-secret");
    Config::parse(text, Some(Path::new("roundtable.toml")), &environment)
}

fn faults(text: &str) -> Vec<String> {
    let message = parse(text).unwrap_err().to_string();
    message.lines().map(str::to_owned).collect()
}

#[test]
fn the_defaults_are_those_of_the_design() {
    let config = parse("").unwrap();
    assert_eq!(
        (Retry::default(), Limits::default(), Dialectic::default()),
        (config.retry, config.limits, config.dialectic)
    );
    assert_eq!(
        vec![
            "anthropic",
            "azure",
            "cerebras",
            "deepseek",
            "fireworks",
            "gemini",
            "groq",
            "litellm",
            "llamacpp",
            "lmstudio",
            "local",
            "mistral",
            "ollama",
            "openai",
            "openrouter",
            "simulated",
            "together",
            "vllm",
            "xai"
        ],
        config.providers.keys().collect::<Vec<_>>()
    );
}

/// C-03, P-01: a file with every setting.
#[expect(clippy::too_many_lines, reason = "one file with every setting")]
#[test]
fn c03_a_full_file_is_read() {
    let config = parse(
        r#"
        [providers.lab]
        kind = "openai"
        base_url = "http://127.0.0.1:8000/v1/"
        api_key_env = "LAB_KEY"
        max_concurrent = 32
        timeout_s = 2.5
        tools = false
        vision = true
        headers = { "X-Team" = "blue" }
        [tiers]
        deliberate = "anthropic:claude"
        fast = "lab:qwen3:32b"
        [embedder]
        model = "ollama:nomic-embed-text"
        [retry]
        attempts = 2
        base_ms = 10
        max_ms = 1000
        [limits]
        call_timeout_s = 60
        idle_timeout_s = 0.5
        max_question_tokens = 1000
        max_tokens_total = 200000
        max_cost = 0.25
        timeout_s = 900
        [dialectic]
        min_rounds = 1
        max_rounds = 2
        early_stop_score = 9
        proposer_model = "lab:a"
        skeptic_temperature = 1
        [data]
        dir = "debates"
        [local]
        threads = 2
        context_tokens = 8192
        weights = "/models/x.gguf"
        [server]
        trusted_proxies = ["127.0.0.1", "10.0.0.0/8"]
        session_idle_days = 0.5
        session_days = 14
        max_streams = 10
        max_streams_per_token = 2
        stream_check_s = 1.5
        reasoning_key = "reasoning"
        [mcp]
        wait_s = 0.5
        [update]
        url = "https://example.org/latest"
        "#,
    )
    .unwrap();
    assert_eq!(
        Provider {
            name: "lab".to_owned(),
            kind: Kind::OpenAi,
            base_url: "http://127.0.0.1:8000/v1".to_owned(),
            command: None,
            key: Some(Credential {
                secret: Secret::new("sk-very-secret"),
                variable: "LAB_KEY".to_owned(),
            }),
            key_variables: vec!["LAB_KEY".to_owned()],
            needs_key: true,
            max_concurrent: 32,
            timeout: Some(Duration::from_millis(2500)),
            headers: vec![("X-Team".to_owned(), Secret::new("blue"))],
            tools: Some(false),
            vision: Some(true),
            fallback: Vec::new(),
            configured: true,
            ..config.providers["lab"].clone()
        },
        config.providers["lab"]
    );
    assert_eq!(
        Tiers {
            deliberate: Some(ModelName::new("anthropic", "claude")),
            fast: Some(ModelName::new("lab", "qwen3:32b")),
        },
        config.tiers
    );
    assert_eq!(
        Some(ModelName::new("ollama", "nomic-embed-text")),
        config.embedder
    );
    assert_eq!(
        Limits {
            call_timeout: Duration::from_mins(1),
            idle_timeout: Duration::from_millis(500),
            max_question_tokens: 1000,
            max_tokens_total: Some(200_000),
            max_cost: Money::from_dollars(0.25),
            timeout: Some(Duration::from_mins(15)),
            allow_secrets: false,
        },
        config.limits
    );
    assert_eq!(
        Dialectic {
            min_rounds: 1,
            max_rounds: 2,
            early_stop_score: 9,
            proposer_model: Some(ModelName::new("lab", "a")),
            skeptic_temperature: 1.0,
            ..Dialectic::default()
        },
        config.dialectic
    );
    assert_eq!(Some(PathBuf::from("debates")), config.data.dir);
    assert_eq!(
        Local {
            threads: Some(2),
            context_tokens: Some(8192),
            weights: Some(PathBuf::from("/models/x.gguf")),
            fallback: false,
        },
        config.local
    );
    assert_eq!(
        Server {
            trusted_proxies: vec!["127.0.0.1".parse().unwrap(), "10.0.0.0/8".parse().unwrap()],
            session_idle: Duration::from_hours(12),
            session_total: Duration::from_hours(14 * 24),
            max_streams: 10,
            max_streams_per_token: 2,
            stream_check: Duration::from_millis(1500),
            reasoning_key: "reasoning".into(),
        },
        config.server
    );
    assert_eq!(Duration::from_millis(500), config.mcp.wait);
    let feed = config.release_feed.as_deref();
    assert_eq!(Some("https://example.org/latest"), feed);
}

#[test]
fn the_variable_of_the_release_feed_takes_precedence() {
    let variable = "ROUNDTABLE_UPDATE_URL";
    let environment = Environment::default().with(variable, "https://example.org/b");
    let text = "[update]\nurl = \"https://example.org/a\"";
    let config = Config::parse(text, None, &environment).unwrap();
    assert_eq!(
        Some("https://example.org/b"),
        config.release_feed.as_deref()
    );
    assert_eq!(None, parse("").unwrap().release_feed);
    assert_eq!(
        faults("[update]\nurl = \"http://example.org\""),
        ["roundtable.toml:2: invalid update.url \"http://example.org\": expected an https:// URL"]
    );
}

#[test]
fn invalid_settings_of_the_server_are_reported() {
    let expected =
        "expected a list of addresses and networks, such as [\"127.0.0.1\", \"10.0.0.0/8\"]";
    for list in [
        "\"127.0.0.1\"",
        "[1]",
        "[\"proxy.example\"]",
        "[\"0.0.0.0/0\"]",
    ] {
        assert_eq!(
            faults(&format!("[server]\ntrusted_proxies = {list}\n")),
            [format!(
                "roundtable.toml:2: invalid server.trusted_proxies {list}: {expected}"
            )]
        );
    }
    // A stream is checked at least once a minute.
    assert!(parse("[server]\nstream_check_s = 60").is_ok());
    assert!(parse("[server]\nstream_check_s = 60.1").is_err());
    assert!(parse("[server]\nmax_streams = 0").is_err());
}

#[test]
fn all_faults_are_reported_at_once_with_line_and_nearest_key() {
    let text = r#"colour = true
[providers.lab]
kind = "openai"
max_concurent = 3
api_key = "sk-very-secret"
[providers.two]
base_url = "ftp://x"
[providers.local]
kind = "openai"
[tier]
fast = "lab:x"
[tiers]
deliberate = "lba:x"
fast = "qwen3"
[retry]
attempts = "four"
max_ms = 0
[dialectic]
min_rounds = 6
early_stop_score = 11
skeptic_temperature = 2.5
"#;
    assert_eq!(
        vec![
            "roundtable.toml:1: unknown key 'colour' outside any section; known: providers, tiers, embedder, retry, limits, dialectic, learning, debate, convergence, forecast, data, local, seating, server, mcp, terminal, update",
            "roundtable.toml:4: unknown key 'max_concurent' in [providers.lab]; did you mean 'max_concurrent'?",
            "roundtable.toml:5: unknown key 'api_key' in [providers.lab]; did you mean 'api_key_env'? Do not write keys into this file: set an environment variable and name it here",
            "roundtable.toml:6: [providers.two] needs kind = \"openai\", \"anthropic\", \"gemini\", \"ollama\", \"command\" or \"simulated\"",
            "roundtable.toml:7: invalid providers.two.base_url \"ftp://x\": expected a URL like \"http://127.0.0.1:8000/v1\", without user, password or query",
            "roundtable.toml:8: 'local' is the embedded model: configure it in [local]",
            "roundtable.toml:10: unknown section [tier]; did you mean 'tiers'?",
            "roundtable.toml:13: invalid tiers.deliberate \"lba:x\": unknown provider 'lba' in 'lba:x'; known providers: anthropic, azure, cerebras, deepseek, fireworks, gemini, groq, lab, litellm, llamacpp, lmstudio, local, mistral, ollama, openai, openrouter, simulated, together, vllm, xai; did you mean 'lab'?",
            "roundtable.toml:14: invalid tiers.fast \"qwen3\": invalid model 'qwen3': no provider; write provider:model, such as ollama:qwen3",
            "roundtable.toml:16: invalid retry.attempts \"four\": expected a whole number from 1 to 20",
            "roundtable.toml:17: invalid retry.max_ms 0: expected a whole number from 1 to 3600000",
            "roundtable.toml:19: dialectic.min_rounds (6) is above dialectic.max_rounds (5)",
            "roundtable.toml:20: invalid dialectic.early_stop_score 11: expected a whole number from 1 to 10",
            "roundtable.toml:21: invalid dialectic.skeptic_temperature 2.5: expected a number from 0 to 2",
        ],
        faults(text)
    );
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    let faults = faults("[tiers]\nfast = \n");
    assert_eq!(1, faults.len());
    assert!(
        faults[0].starts_with("roundtable.toml:2: invalid TOML: "),
        "{faults:?}"
    );
}

/// The key of an official service is not sent to another server.
#[test]
fn keys_go_only_where_they_belong() {
    let environment = Environment::default().with("OPENAI_API_KEY", "k");
    let key = |text: &str, provider: &str| {
        let config = Config::parse(text, None, &environment).unwrap();
        let provider = &config.providers[provider];
        (provider.key.is_some(), provider.needs_key)
    };
    assert_eq!((true, true), key("", "openai"));
    assert_eq!((false, true), key("", "anthropic"));
    let elsewhere = "kind = \"openai\"\nbase_url = \"http://lab/v1\"";
    assert_eq!(
        (false, false),
        key(&format!("[providers.lab]\n{elsewhere}"), "lab")
    );
    assert_eq!(
        (false, false),
        key(&format!("[providers.openai]\n{elsewhere}"), "openai")
    );
    let named = format!("[providers.openai]\n{elsewhere}\napi_key_env = \"OPENAI_API_KEY\"");
    assert_eq!((true, true), key(&named, "openai"));
    assert_eq!(
        (true, true),
        key("[providers.second]\nkind = \"openai\"", "second")
    );
}

#[test]
fn secrets_cannot_be_printed() {
    let config = parse("[providers.lab]\nkind = \"openai\"\napi_key_env = \"LAB_KEY\"\nheaders = { X-Token = \"sk-very-secret\" }").unwrap();
    let printed = format!("{config:?} {:?}", config.settings());
    assert!(printed.contains("***"));
    assert!(!printed.contains("sk-very-secret"), "{printed}");
}

#[test]
fn settings_report_their_origin() {
    let environment = Environment::default()
        .with("LAB_KEY", "sk-very-secret")
        .with("ROUNDTABLE_DATA", "/elsewhere");
    let text =
        "[providers.lab]\nkind = \"openai\"\napi_key_env = \"LAB_KEY\"\n[data]\ndir = \"here\"\n";
    let config = Config::parse(text, Some(Path::new("c.toml")), &environment).unwrap();
    let shown = |key: &str| {
        let setting = config
            .settings()
            .iter()
            .find(|setting| setting.key == key)
            .unwrap();
        format!(
            "{} ({})",
            setting.value.as_deref().unwrap_or("-"),
            setting.origin
        )
    };
    assert_eq!("openai (c.toml:2)", shown("providers.lab.kind"));
    assert_eq!(
        "*** (environment variable LAB_KEY)",
        shown("providers.lab.api_key")
    );
    assert_eq!("16 (default)", shown("providers.lab.max_concurrent"));
    assert_eq!(
        "/elsewhere (environment variable ROUNDTABLE_DATA)",
        shown("data.dir")
    );
    assert_eq!("- (default)", shown("providers.anthropic.api_key"));
    assert_eq!("0.8 (default)", shown("dialectic.skeptic_temperature"));
    assert_eq!(Some(PathBuf::from("/elsewhere")), config.data.dir);
}

#[test]
fn the_file_is_searched_in_order() {
    let home = tempfile::tempdir().unwrap();
    let (work, users, given) = (
        home.path().join("work"),
        home.path().join("users"),
        home.path().join("given.toml"),
    );
    let environment = |variable: Option<&Path>| {
        let folders = Folders {
            home: users.clone(),
            config: users.clone(),
            data: users.clone(),
            cache: users.clone(),
        };
        let base = Environment::at(&work, Some(folders));
        variable.map_or(base.clone(), |path| {
            base.with("ROUNDTABLE_CONFIG", path.to_str().unwrap())
        })
    };
    let source = |given: Option<&Path>, variable: Option<&Path>| {
        Config::load(given, &environment(variable)).map(|config| config.source)
    };
    for folder in [&work, &users] {
        std::fs::create_dir_all(folder).unwrap();
    }
    assert_eq!(None, source(None, None).unwrap());
    let in_users = users.join("roundtable.toml");
    std::fs::write(&in_users, "").unwrap();
    assert_eq!(Some(in_users), source(None, None).unwrap());
    let in_work = work.join("roundtable.toml");
    std::fs::write(&in_work, "").unwrap();
    assert_eq!(Some(in_work.clone()), source(None, None).unwrap());
    std::fs::write(&given, "").unwrap();
    assert_eq!(Some(given.clone()), source(None, Some(&given)).unwrap());
    assert_eq!(
        Some(in_work.clone()),
        source(Some(&in_work), Some(&given)).unwrap()
    );
    let missing = home.path().join("missing.toml");
    let message = source(Some(&missing), None).unwrap_err().to_string();
    assert_eq!(
        format!(
            "configuration file {} not found (set by --config)",
            missing.display()
        ),
        message
    );
}

#[test]
fn set_changes_one_setting_and_preserves_the_rest_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new").join("roundtable.toml");
    let environment = Environment::default();
    let set = |key: &str, value: &str| {
        set(&path, key, value, &environment).map_err(|error| error.to_string())
    };
    let text = || std::fs::read_to_string(&path).unwrap();

    set("providers.lab.kind", "openai").unwrap();
    assert_eq!("[providers.lab]\nkind = \"openai\"\n", text());
    std::fs::write(&path, "# mine\n[providers.lab] # the lab\nkind = \"openai\"\n\n[tiers]\nfast = \"lab:old\" # quick\n").unwrap();
    set("tiers.fast", "lab:qwen3:32b").unwrap();
    set("providers.lab.max_concurrent", "8").unwrap();
    set("dialectic.skeptic_temperature", "0.9").unwrap();
    let expected = "# mine\n[providers.lab] # the lab\nkind = \"openai\"\nmax_concurrent = 8\n\n[tiers]\nfast = \"lab:qwen3:32b\" # quick\n\n[dialectic]\nskeptic_temperature = 0.9\n";
    assert_eq!(expected, text());

    let refused = set("tiers.fast", "missing:x").unwrap_err();
    assert!(refused.contains("unknown provider 'missing'"), "{refused}");
    let refused = set("tiers.quick", "lab:x").unwrap_err();
    assert!(
        refused.contains("unknown key 'quick' in [tiers]"),
        "{refused}"
    );
    assert_eq!(
        "invalid setting 'tiers': expected a section and a key, such as tiers.fast",
        set("tiers", "x").unwrap_err()
    );
    assert_eq!(expected, text());
}

/// `~` is the home folder.
#[test]
fn paths_in_a_file_are_relative_to_its_folder() {
    let folder = |name: &str| PathBuf::from(format!("/home/me/{name}"));
    let folders = Folders {
        home: PathBuf::from("/home/me"),
        config: folder("c"),
        data: folder("d"),
        cache: folder("e"),
    };
    let environment = Environment::at("", Some(folders));
    let dir = |text: &str| {
        let config = Config::parse(
            text,
            Some(Path::new("/etc/rt/roundtable.toml")),
            &environment,
        );
        config.unwrap().data.dir
    };
    assert_eq!(Some(folder("d")), dir(""));
    let file = Path::new("/etc/rt/roundtable.toml");
    let config = Config::parse("", Some(file), &environment).unwrap();
    let shown = config
        .settings()
        .iter()
        .find(|setting| setting.key == "data.dir");
    assert_eq!(Some(&Origin::Default), shown.map(|setting| &setting.origin));
    assert_eq!(Some(folder("x")), dir("[data]\ndir = \"~/x\""));
    assert_eq!(Some(PathBuf::from("/etc/rt/x")), dir("[data]\ndir = \"x\""));
    assert_eq!(Some(PathBuf::from("/x")), dir("[data]\ndir = \"/x\""));
}

#[test]
fn model_names_are_short_and_printable() {
    let config = parse("").unwrap();
    let long = format!("ollama:{}", "x".repeat(200 - "ollama:".len()));
    assert!(config.model_name(&long).is_ok());
    for text in [
        format!("{long}x"),
        "ollama:a\u{1b}[2J".into(),
        "ollama:a\u{202e}b".into(),
    ] {
        let error = config.model_name(&text).unwrap_err();
        assert!(matches!(error, NameError::Characters { .. }), "{error}");
        assert!(!error.to_string().contains(char::is_control));
    }
}
