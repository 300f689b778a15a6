use super::*;
use crate::config::{Config, Environment};

fn price_of(own: &str, providers: &str, provider: &str, model: &str) -> Option<f64> {
    let config = Config::parse(providers, None, &Environment::default()).unwrap();
    let own: Prices = toml::from_str(own).unwrap();
    price(
        &own,
        &Prices::built_in(),
        &config.providers[provider],
        model,
    )
    .map(|price| price.input)
}

/// C-11: an unknown price is not zero; only local models are free.
#[test]
fn c11_prices_are_known_free_or_unknown() {
    let built_in = |provider, model| price_of("", "", provider, model);
    assert_eq!(Some(4.0), built_in("anthropic", "claude-opus-5-5"));
    assert_eq!(Some(15.0), built_in("anthropic", "claude-opus-4-20250514"));
    assert_eq!(Some(5.0), built_in("anthropic", "claude-opus-4-5-20251101"));
    assert_eq!(Some(0.25), built_in("openai", "gpt-5-mini-2025-08-07"));
    assert_eq!(Some(2.0), built_in("gemini", "gemini-3.1-pro-preview"));
    assert_eq!(Some(0.0), built_in("ollama", "qwen3:32b"));
    assert_eq!(Some(0.0), built_in("local", "auto"));
    // A later version or another variant has its own price.
    assert_eq!(None, built_in("anthropic", "claude-opus-4-9"));
    assert_eq!(None, built_in("openai", "gpt-5-ultra"));
}

#[test]
fn the_same_model_name_on_another_server_has_no_known_price() {
    let lab = "[providers.lab]\nkind = \"openai\"\nbase_url = \"http://lab/v1\"";
    assert_eq!(None, price_of("", lab, "lab", "gpt-5"));
    let own =
        "[prices.lab]\n\"gpt-*\" = { input = 9, output = 9 }\ngpt-5 = { input = 1, output = 2 }";
    assert_eq!(Some(1.0), price_of(own, lab, "lab", "gpt-5"));
    assert_eq!(Some(9.0), price_of(own, lab, "lab", "gpt-oss-120b"));
}

#[test]
fn the_users_prices_override_the_built_in_ones() {
    let own = "[prices.openai]\ngpt-5 = { input = 7, output = 8 }\n[prices.ollama]\n\"*\" = { input = 0.5, output = 0.5 }";
    assert_eq!(Some(7.0), price_of(own, "", "openai", "gpt-5"));
    assert_eq!(Some(0.5), price_of(own, "", "ollama", "qwen3:32b"));
}

#[test]
fn an_invalid_price_file_is_reported_with_its_location() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prices.toml");
    let read = || Prices::from_files(std::slice::from_ref(&path));
    assert!(read().is_ok(), "a missing file is no error");
    std::fs::write(&path, "[prices.openai]\ngpt-5 = { input = 1, outptu = 2 }").unwrap();
    let message = read().unwrap_err().to_string();
    let expected = format!("{}:2: unknown key 'outptu'", path.display());
    assert!(message.contains(&expected), "{message}");
    std::fs::write(&path, "[prices.openai]\ngpt-5 = { input = -1, output = 2 }").unwrap();
    let message = read().unwrap_err().to_string();
    assert!(
        message.contains("prices.toml:2: the price of gpt-5"),
        "{message}"
    );
}

#[test]
fn the_built_in_prices_are_dated() {
    assert!(Prices::built_in().as_of.is_some());
}
