use super::*;

fn registry(text: &str, environment: &Environment) -> ModelRegistry {
    let config = Config::parse(text, None, environment).unwrap();
    ModelRegistry::new(&config, environment, Embedded::default()).unwrap()
}

fn refusal(registry: &ModelRegistry, name: &ModelName) -> String {
    match registry.model(name) {
        Ok(_) => "served".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// C-03: every provider has an adapter, and every error says what to do.
#[test]
fn c03_a_model_is_available_or_the_error_says_what_to_do() {
    let environment = Environment::default().with("OPENAI_API_KEY", "k");
    let registry = registry(
        "[providers.lab]\nkind = \"anthropic\"\napi_key_env = \"LAB_KEY\"",
        &environment,
    );
    let refusal = |provider: &str| refusal(&registry, &ModelName::new(provider, "m"));
    assert_eq!("served", refusal("openai"));
    assert_eq!("served", refusal("ollama"));
    assert_eq!(
        "gemini needs a key: set the environment variable GEMINI_API_KEY or GOOGLE_API_KEY",
        refusal("gemini")
    );
    assert_eq!(
        "lab needs a key: set the environment variable LAB_KEY",
        refusal("lab")
    );
    assert_eq!(
        "unknown provider 'olama' in 'olama:m'; known providers: anthropic, azure, cerebras, deepseek, fireworks, gemini, groq, lab, litellm, llamacpp, lmstudio, local, mistral, ollama, openai, openrouter, simulated, together, vllm, xai; did you mean 'ollama'?",
        refusal("olama")
    );
    assert_eq!(
        "this build has no embedded model: choose a model of another provider",
        refusal("local")
    );
    let no_embedder = registry
        .embedder(&ModelName::new("anthropic", "m"))
        .err()
        .unwrap();
    assert_eq!(
        "embeddings from anthropic are not supported: use a model of Ollama or of an OpenAI-compatible server",
        no_embedder.to_string()
    );
}

#[test]
fn a_model_is_built_once_and_its_ability_follows_its_size() {
    let registry = registry("", &Environment::default());
    let small = ModelName::new("ollama", "qwen3:0.6b");
    let first = registry.model(&small).unwrap();
    assert!(Arc::ptr_eq(&first, &registry.model(&small).unwrap()));
    assert_eq!(Ability::Small, first.profile().ability);
}

/// C-11
#[test]
fn c11_the_users_prices_are_found_in_the_configuration_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("prices.toml"),
        "[prices.ollama]\nqwen3 = { input = 1, output = 2 }",
    )
    .unwrap();
    let path = folder.path().to_path_buf();
    let folders = crate::config::Folders {
        home: path.clone(),
        config: path.clone(),
        data: path.clone(),
        cache: path,
    };
    let environment = Environment::at("", Some(folders));
    let price = registry("", &environment).price(&ModelName::new("ollama", "qwen3"));
    assert_eq!(
        Some(Price {
            input: 1.0,
            output: 2.0,
            cached: None
        }),
        price
    );
}

/// M-15: by the name of the model, or as configured; unknown models call no tools.
#[test]
fn m15_tool_support_depends_on_the_model_name_or_the_configuration() {
    let calls = |setting: &str, model: &str| {
        let registry = super::test_support::registry_from(&format!(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9\"\n{setting}\n"
        ));
        let name = registry
            .config()
            .model_name(&format!("lab:{model}"))
            .unwrap();
        registry.model(&name).unwrap().calls_tools()
    };
    assert!(calls("", "qwen3:32b"));
    assert!(!calls("", "qwen3:1.7b"), "too small to call tools reliably");
    assert!(!calls("", "home-made"));
    assert!(calls("tools = true", "home-made"));
    assert!(!calls("tools = false", "qwen3:32b"));
}

/// Clients can name any number of models: the registry remembers a bounded number of them.
#[test]
fn invented_model_names_do_not_grow_the_registry() {
    let registry = registry("", &Environment::default());
    for number in 0..=2 * MAX_REMEMBERED {
        let name = ModelName::new("ollama", format!("invented-{number}"));
        registry.model(&name).unwrap();
    }
    let remembered = registry.models.lock().unwrap().len();
    assert!((1..=MAX_REMEMBERED).contains(&remembered), "{remembered}");
}

/// A listed id that would write to a terminal is left out.
#[tokio::test]
async fn listed_ids_with_control_characters_are_left_out() {
    use super::test_support::{Reply, Server};
    let list = serde_json::json!({ "data": [{ "id": "good" }, { "id": "bad\u{1b}[2J" }, { "id": "c1\u{9b}" }] });
    let server = Server::new([Reply::json(200, &list)]);
    let listed = super::test_support::registry("openai", &server);
    let listed = listed.list("lab").await.unwrap();
    let ids: Vec<&str> = listed.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["good"]);
}

/// A fallback without a price is named; one with a price, or without a key, does not count.
#[test]
fn c19_an_unpriced_fallback_is_found() {
    let fallback = |models: &str| {
        let text = format!(
            "[providers.spare]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
             [providers.locked]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_env = \"MISSING\"\n\
             [providers.ollama]\nfallback = [{models}]\n"
        );
        let registry = registry(&text, &Environment::default());
        registry.unpriced_fallback(&ModelName::new("ollama", "x"), &ModelPolicy::default())
    };
    assert_eq!(fallback("\"spare:y\""), Some(ModelName::new("spare", "y")));
    assert_eq!(fallback("\"ollama:y\""), None);
    assert_eq!(fallback("\"locked:y\""), None);
}

/// C-07: programs of one provider share its concurrency limit, with any models.
#[cfg(unix)]
#[tokio::test]
async fn c07_programs_share_the_concurrency_limit_of_their_provider() {
    use futures::StreamExt;
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("agent");
    let script = format!(
        "#!/bin/sh\nmkdir '{0}/running' || touch '{0}/overlap'\nsleep 0.1\nrmdir '{0}/running'\necho yes\n",
        folder.path().display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let overlaps = async |limit: u32| {
        let text = format!(
            "[providers.mine]\nkind = \"command\"\ncommand = \"{}\"\nmax_concurrent = {limit}\n",
            program.display()
        );
        let environment = Environment::default().with("PATH", "/usr/bin:/bin");
        let registry = registry(&text, &environment);
        let calls = ["a", "b", "default"].map(|name| {
            let model = registry.model(&ModelName::new("mine", name)).unwrap();
            let request = super::test_support::plain_request(name);
            async move { model.stream(request).collect::<Vec<_>>().await }
        });
        for deltas in futures::future::join_all(calls).await {
            assert!(deltas.iter().all(Result::is_ok), "{deltas:?}");
        }
        folder.path().join("overlap").exists()
    };
    assert!(!overlaps(1).await);
    assert!(overlaps(3).await);
}
