use std::collections::BTreeSet;

use super::*;
use crate::config::{Config, Provider};

fn provider(text: &str, name: &str, environment: &Environment) -> Provider {
    let config = Config::parse(text, None, environment).unwrap();
    config.providers[name].clone()
}

/// The variable and the key that would be sent, if any.
fn key(provider: &Provider) -> Option<&str> {
    provider.key.as_ref().map(|key| key.secret.expose())
}

/// C-03: the file is valid, and each preset has an address, a unique name and variables of its own.
#[test]
fn c03_the_presets_are_valid() {
    let all: toml::Table = toml::from_str(BUILT_IN).unwrap();
    assert_eq!(all["providers"].as_array().unwrap().len(), presets().len());
    let names: BTreeSet<&str> = presets().iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.len(), presets().len());
    for kind in Kind::ALL {
        assert!(names.contains(kind.name()), "{kind}");
    }
    for name in [
        "openrouter",
        "groq",
        "mistral",
        "deepseek",
        "xai",
        "together",
        "fireworks",
        "cerebras",
        "azure",
        "lmstudio",
        "vllm",
        "llamacpp",
        "litellm",
    ] {
        assert!(names.contains(name), "{name}");
    }
    let mut variables = BTreeSet::new();
    for preset in presets() {
        for variable in &preset.api_key_env {
            assert!(variables.insert(variable), "{variable} belongs to two");
        }
        let is_local = preset.hosts.is_empty();
        assert!(
            is_local || preset.base_url_env.is_some() || preset.is_vendor_address(&preset.base_url),
            "{}",
            preset.name
        );
    }
}

/// C-03: a key in the environment is all that a preset needs; other providers have none.
#[test]
fn c03_a_key_is_all_that_a_preset_needs() {
    let environment = Environment::default().with("GROQ_API_KEY", "gsk");
    let groq = provider("", "groq", &environment);
    assert_eq!(Some("gsk"), key(&groq));
    assert_eq!("https://api.groq.com/openai/v1", groq.base_url);
    assert!(
        !groq.is_official(),
        "a compatible server, not OpenAI itself"
    );
    assert_eq!(None, key(&provider("", "mistral", &environment)));
    let litellm = provider("", "litellm", &environment);
    assert_eq!((false, None), (litellm.needs_key, key(&litellm)));
}

/// The key of a vendor goes to hosts of that vendor only, unless the section names it for this server.
#[test]
fn a_presets_key_goes_only_to_the_vendors_hosts() {
    let environment = Environment::default()
        .with("GROQ_API_KEY", "gsk")
        .with("OPENAI_API_KEY", "sk")
        .with("AZURE_OPENAI_API_KEY", "az")
        .with("LITELLM_API_KEY", "ll");
    let at = |name: &str, url: &str, more: &str| {
        let text = format!("[providers.{name}]\nkind = \"openai\"\nbase_url = \"{url}\"\n{more}");
        provider(&text, name, &environment)
    };
    for (name, url, expected) in [
        ("groq", "https://api.groq.com/openai/v1", Some("gsk")),
        ("groq", "http://api.groq.com/openai/v1", None),
        ("groq", "https://api.groq.com.evil.example/v1", None),
        ("groq", "https://evil.example/api.groq.com", None),
        ("openai", "https://eu.api.openai.com/v1", Some("sk")),
        ("openai", "https://evilapi.openai.com.example/v1", None),
        (
            "azure",
            "https://mine.openai.azure.com/openai/v1",
            Some("az"),
        ),
        ("azure", "https://openai.azure.com.example/openai/v1", None),
        ("litellm", "http://10.0.0.5:4000/v1", None),
        ("mine", "https://api.groq.com/openai/v1", None),
    ] {
        assert_eq!(expected, key(&at(name, url, "")), "{name} at {url}");
    }
    let named = at(
        "groq",
        "http://127.0.0.1:9/v1",
        "api_key_env = \"GROQ_API_KEY\"\n",
    );
    assert_eq!(Some("gsk"), key(&named));
    // A variable with the address of another host does not get the key either.
    let elsewhere = environment
        .clone()
        .with("AZURE_OPENAI_ENDPOINT", "https://evil.example");
    assert_eq!(None, key(&provider("", "azure", &elsewhere)));
}

/// C-03: Azure's address is in the environment, its key in a header of its own, its deployments in the configuration.
#[test]
fn c03_azure_has_an_address_a_header_and_deployments() {
    let environment = Environment::default().with("AZURE_OPENAI_API_KEY", "az");
    let unknown = provider("", "azure", &environment);
    assert_eq!(
        Some("AZURE_OPENAI_ENDPOINT"),
        unknown.base_url_env.as_deref()
    );
    let environment = environment.with("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/");
    let text = "[providers.azure]\nmodels = [\"our-gpt\"]\nquery = \"api-version=preview\"\n";
    let azure = provider(text, "azure", &environment);
    assert_eq!("https://mine.openai.azure.com/openai/v1", azure.base_url);
    assert_eq!(
        (Some("api-key"), Some("az")),
        (azure.key_header.as_deref(), key(&azure))
    );
    assert_eq!(Some("api-version=preview"), azure.query.as_deref());
    assert_eq!(Some(vec!["our-gpt".to_owned()]), azure.models);
    assert_eq!(None, azure.base_url_env);
}

/// C-03: a provider of the user's own is a table with the same keys; mistakes are reported.
#[test]
fn c03_a_new_provider_is_a_table() {
    let text = "[providers.own]\nkind = \"openai\"\nbase_url = \"https://models.example/v1\"\napi_key_env = \"OWN_KEY\"\n\
                key_header = \"x-key\"\ndeliberate = [[\"big-#\"]]\nfast = [[\"small-#\"]]\nquirks = [\"no_seed\", \"json_object\"]\n";
    let environment = Environment::default().with("OWN_KEY", "k");
    let own = provider(text, "own", &environment);
    assert_eq!(vec![vec!["big-#".to_owned()]], own.deliberate);
    assert_eq!(vec![Quirk::NoSeed, Quirk::JsonObject], own.quirks);
    let wrong = "[providers.own]\nkind = \"openai\"\nquirks = [\"slow\"]\ndeliberate = [\"a\"]\nquery = \"?a\"\nmodels = 3\nkey_header = \"a b\"\n";
    let error = Config::parse(wrong, None, &environment)
        .unwrap_err()
        .to_string();
    for expected in [
        ":3: invalid providers.own.quirks",
        "max_completion_tokens, strict_schema, json_object, no_seed, no_stream_options",
        ":4: invalid providers.own.deliberate",
        ":5: invalid providers.own.query",
        ":6: invalid providers.own.models",
        ":7: invalid providers.own.key_header",
    ] {
        assert!(error.contains(expected), "'{expected}' is not in {error}");
    }
}
