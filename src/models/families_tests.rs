use std::time::Duration;

use super::*;
use crate::config::{Config, Environment, Kind};

fn listed(ids: &[&str]) -> Vec<Listed> {
    ids.iter()
        .map(|id| Listed {
            id: (*id).to_owned(),
            ..Listed::default()
        })
        .collect()
}

fn dated(ids: &[(&str, u64)]) -> Vec<Listed> {
    ids.iter()
        .map(|(id, day)| Listed {
            id: (*id).to_owned(),
            created: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400)),
            ..Listed::default()
        })
        .collect()
}

fn sized(ids: &[(&str, u64)]) -> Vec<Listed> {
    ids.iter()
        .map(|(id, gigabytes)| Listed {
            id: (*id).to_owned(),
            bytes: Some(gigabytes << 30),
            ..Listed::default()
        })
        .collect()
}

fn both<'l>(choose: impl Fn(Tier) -> Option<&'l Listed>) -> (Option<&'l str>, Option<&'l str>) {
    let id = |tier| choose(tier).map(|model| model.id.as_str());
    (id(Tier::Deliberate), id(Tier::Fast))
}

/// A provider of the official service of this kind.
fn official(kind: Kind) -> Provider {
    let config = Config::parse("", None, &Environment::default()).unwrap();
    config.providers[kind.name()].clone()
}

/// A compatible server.
fn compatible() -> Provider {
    let text = "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"";
    let config = Config::parse(text, None, &Environment::default()).unwrap();
    config.providers["lab"].clone()
}

fn newest(kind: Kind, list: &[Listed]) -> (Option<&str>, Option<&str>) {
    let (families, provider) = (Families::built_in(), official(kind));
    both(|tier| Some(families.suited(&provider, tier, list).first()?.model))
}

/// C-04
#[test]
fn c04_the_newest_model_of_a_hosted_family_serves_each_tier() {
    let anthropic = dated(&[
        ("claude-sonnet-4-5-20250929", 20_360),
        ("claude-opus-9", 20_800),
        ("claude-sonnet-5-5", 20_724),
        ("claude-haiku-4-5-20251001", 20_362),
        ("claude-3-5-haiku-20241022", 20_018),
    ]);
    assert_eq!(
        (Some("claude-sonnet-5-5"), Some("claude-haiku-4-5-20251001")),
        newest(Kind::Anthropic, &anthropic)
    );
    let openai = dated(&[
        ("gpt-4o", 1),
        ("gpt-5.5", 4),
        ("gpt-6.1-sol", 7),
        ("gpt-6.1-sol-2026-10-15", 8),
        ("gpt-5.4-mini", 3),
        ("gpt-6-luna", 6),
        ("gpt-6-luna-audio", 9),
        ("gpt-6-astra", 9),
    ]);
    assert_eq!(
        (Some("gpt-6.1-sol"), Some("gpt-6-luna")),
        newest(Kind::OpenAi, &openai)
    );
    // Google's list has no dates, so versions are compared as numbers.
    let gemini = listed(&[
        "gemini-2.5-pro",
        "gemini-3.1-pro-preview",
        "gemini-10.0-pro",
        "gemini-3.1-pro-preview-customtools",
        "gemini-2.5-flash",
        "gemini-3.8-flash",
        "gemini-3.9-flash-image",
        "gemini-3.5-flash-lite",
    ]);
    assert_eq!(
        (Some("gemini-10.0-pro"), Some("gemini-3.8-flash")),
        newest(Kind::Gemini, &gemini)
    );
}

#[test]
fn a_list_without_any_known_family_serves_no_tier() {
    assert_eq!(
        (None, None),
        newest(
            Kind::OpenAi,
            &listed(&["whisper-1", "dall-e-3", "ft:gpt-5:me"])
        )
    );
    assert_eq!((None, None), newest(Kind::OpenAi, &[]));
}

/// C-04: the largest deliberates, a much smaller one is fast, and models that cannot chat are ignored.
#[test]
fn c04_ollama_models_are_chosen_by_size() {
    let families = Families::built_in();
    let list = sized(&[
        ("nomic-embed-text:latest", 99),
        ("qwen3:32b", 20),
        ("llama3.3:70b", 43),
        ("llama3.1:8b", 5),
        ("gemma3:1b", 1),
        ("kimi-k2:1t-cloud", 0),
    ]);
    assert_eq!(
        (Some("llama3.3:70b"), Some("llama3.1:8b")),
        both(|tier| families.by_size(tier, &list))
    );
    let two = sized(&[("llama3.1:8b", 5), ("llama3.2:3b", 2)]);
    assert_eq!(
        (Some("llama3.1:8b"), Some("llama3.2:3b")),
        both(|tier| families.by_size(tier, &two))
    );
    let one = sized(&[("llama3.1:8b", 5), ("bge-m3:latest", 1)]);
    assert_eq!(
        (Some("llama3.1:8b"), Some("llama3.1:8b")),
        both(|tier| families.by_size(tier, &one))
    );
    // If the server reports no size, the name may contain it.
    let named = listed(&["a-7b", "qwen3-235b-a22b", "b"]);
    assert_eq!(
        (Some("qwen3-235b-a22b"), Some("a-7b")),
        both(|tier| families.by_size(tier, &named))
    );
}

#[test]
fn the_first_preferred_model_in_the_list_is_chosen() {
    let list = listed(&["mistral:latest", "qwen3:32b"]);
    let choose = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        first_listed(&names, &list).map(|model| model.id.as_str())
    };
    assert_eq!(Some("qwen3:32b"), choose(&["llama3.3:70b", "qwen3:32b"]));
    assert_eq!(Some("mistral:latest"), choose(&["mistral"]));
    assert_eq!(None, choose(&["qwen3"]));
}

#[test]
fn small_models_are_recognised_by_name() {
    for small in [
        "qwen3:0.6b",
        "smollm2-135m-instruct",
        "llama3.2:3b",
        "gemma3n:e4b",
    ] {
        assert_eq!(Ability::Small, ability(small), "{small}");
    }
    for full in ["qwen3:32b", "qwen3:30b-a3b", "gpt-5", "phi", "llama3.1:8b"] {
        assert_eq!(Ability::Full, ability(full), "{full}");
    }
}

/// C-04
#[test]
fn c04_families_are_known_by_name() {
    let families = Families::built_in();
    for (model, family) in [
        ("claude-sonnet-5-5", "claude"),
        ("anthropic/claude-sonnet-4.5", "claude"),
        ("gpt-6.1-sol", "gpt"),
        ("openai/gpt-oss-120b", "gpt"),
        ("o3", "gpt"),
        ("gemini-3.1-pro", "gemini"),
        ("google/gemma-3-27b-it", "gemini"),
        ("accounts/fireworks/models/deepseek-v3p1", "deepseek"),
        ("qwen3:32b", "qwen"),
        ("meta-llama/Llama-4-Maverick", "llama"),
        ("llama3.3:70b", "llama"),
        ("mistral-large-latest", "mistral"),
        ("grok-4", "grok"),
        ("our-own-model", "our"),
        ("x", "x"),
        ("42", "42"),
    ] {
        assert_eq!(family, families.of(model), "{model}");
    }
}

fn suited(provider: &Provider, tier: Tier, list: &[Listed]) -> Vec<(String, u32)> {
    let suited = Families::built_in();
    let suited = suited.suited(provider, tier, list).into_iter();
    suited.map(|one| (one.model.id.clone(), one.line)).collect()
}

fn named(expected: &[(&str, u32)]) -> Vec<(String, u32)> {
    expected
        .iter()
        .map(|(id, line)| ((*id).to_owned(), *line))
        .collect()
}

/// The two newest versions of a line take turns; a dated name is the same model as the one without.
#[test]
fn the_two_newest_versions_of_a_line_are_suited() {
    let list = listed(&[
        "claude-sonnet-5",
        "claude-sonnet-5-5",
        "claude-sonnet-5-5-20260901",
        "claude-sonnet-4-6",
        "claude-opus-5-5",
    ]);
    let found = suited(&official(Kind::Anthropic), Tier::Deliberate, &list);
    let expected = [
        ("claude-sonnet-5-5-20260901", 0),
        ("claude-sonnet-5", 0),
        ("claude-opus-5-5", 1),
    ];
    assert_eq!(named(&expected), found);
}

/// C-04: a compatible server with models of many vendors has as many families.
#[test]
fn c04_a_server_with_many_vendors_has_many_families() {
    let list = listed(&[
        "anthropic/claude-sonnet-4.5",
        "google/gemini-3.1-pro-preview",
        "openai/gpt-5.5",
        "meta-llama/llama-3.1-405b-instruct",
        "openai/gpt-5.5-image",
    ]);
    let found = suited(&compatible(), Tier::Deliberate, &list);
    let families = Families::built_in();
    let families: Vec<String> = found.iter().map(|(id, _)| families.of(id)).collect();
    assert_eq!(["gpt", "claude", "gemini"].to_vec(), families, "{found:?}");
}

/// C-04: the vendors behind one key of an aggregator are families, in the order of its preset.
#[test]
fn c04_the_vendors_behind_one_key_are_families() {
    let config = Config::parse("", None, &Environment::default()).unwrap();
    let list = listed(&[
        "x-ai/grok-4",
        "google/gemini-3.1-pro-preview",
        "meta-llama/llama-3.1-405b-instruct",
        "anthropic/claude-sonnet-4.5",
        "openai/gpt-5.5",
        "openai/gpt-5.5-pro",
    ]);
    let found = suited(&config.providers["openrouter"], Tier::Deliberate, &list);
    let found: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    let expected = [
        "anthropic/claude-sonnet-4.5",
        "openai/gpt-5.5",
        "google/gemini-3.1-pro-preview",
        "x-ai/grok-4",
    ];
    assert_eq!(expected.to_vec(), found);
}

/// C-04: the families of an Ollama server, without models that are much smaller than the largest.
#[test]
fn c04_the_families_of_an_ollama_server_are_those_of_comparable_size() {
    let list = sized(&[
        ("nomic-embed-text:latest", 99),
        ("qwen3:32b", 20),
        ("qwen3:30b", 18),
        ("llama3.3:70b", 43),
        ("gemma3:12b", 8),
        ("mistral-small:24b", 14),
        ("llama3.2:3b", 2),
        ("qwen3:4b", 3),
    ]);
    let ollama = official(Kind::Ollama);
    let found = suited(&ollama, Tier::Deliberate, &list);
    assert_eq!(
        named(&[
            ("llama3.3:70b", 0),
            ("qwen3:32b", 0),
            ("mistral-small:24b", 0)
        ]),
        found
    );
    let found = suited(&ollama, Tier::Fast, &list);
    assert_eq!(
        named(&[
            ("gemma3:12b", 0),
            ("mistral-small:24b", 0),
            ("qwen3:4b", 0),
            ("llama3.2:3b", 0)
        ]),
        found
    );
}
