//! Who serves models: the built-in providers, and those that a file adds or changes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use toml_edit::TableLike;

use super::document::{Findings, Given, Section};
use super::environment::{Environment, Secret};
use super::name::ModelName;

/// The wire format that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
    /// The embedded model.
    Local,
}

impl Kind {
    const NAMED: [(&'static str, Self); 4] = [
        ("openai", Self::OpenAi),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
        ("ollama", Self::Ollama),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::NAMED
            .into_iter()
            .find_map(|(known, kind)| (known == name).then_some(kind))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Local => "local",
        }
    }

    fn home(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Ollama => "http://127.0.0.1:11434",
            Self::Local => "",
        }
    }

    /// Where the key of the service itself is customarily kept.
    fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama | Self::Local => &[],
        }
    }

    fn max_concurrent(self) -> u32 {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => 16,
            Self::Ollama => 4,
            Self::Local => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A key, and the variable it was found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    pub secret: Secret,
    pub variable: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Provider {
    pub name: String,
    pub kind: Kind,
    /// Without a slash at the end.
    pub base_url: String,
    pub key: Option<Credential>,
    /// The variables that may hold the key, in order; none where no key is sent.
    pub key_variables: Vec<String>,
    /// A call without a key would be refused, so it is not made.
    pub needs_key: bool,
    pub max_concurrent: u32,
    /// In place of `limits.call_timeout_s`.
    pub timeout: Option<Duration>,
    pub headers: Vec<(String, Secret)>,
    /// Whether its models can be offered tools, where the file says so.
    pub tools: Option<bool>,
    /// Who answers when it is dead, in this order.
    pub fallback: Vec<ModelName>,
    /// The user's file has a section for it.
    pub configured: bool,
}

impl Provider {
    /// Whether this is the service of the company that made the format, with its names and prices.
    pub(crate) fn is_official(&self) -> bool {
        self.base_url == self.kind.home() && self.kind != Kind::Ollama
    }

    fn built_in(kind: Kind, environment: &Environment) -> Self {
        let base_url = match (kind, environment.variable("OLLAMA_HOST")) {
            (Kind::Ollama, Some(host)) => ollama_url(host),
            _ => kind.home().to_owned(),
        };
        let key_variables: Vec<String> =
            kind.key_variables().iter().map(|&v| v.to_owned()).collect();
        Self {
            name: kind.name().to_owned(),
            kind,
            base_url,
            key: key_of(&key_variables, environment),
            needs_key: !key_variables.is_empty(),
            key_variables,
            max_concurrent: kind.max_concurrent(),
            timeout: None,
            headers: Vec::new(),
            tools: None,
            fallback: Vec::new(),
            configured: false,
        }
    }
}

fn key_of(variables: &[String], environment: &Environment) -> Option<Credential> {
    variables.iter().find_map(|variable| {
        Some(Credential {
            secret: environment.secret(variable)?.clone(),
            variable: variable.clone(),
        })
    })
}

/// `OLLAMA_HOST` as Ollama itself reads it: any part may be missing, and 0.0.0.0 is where it listens, not where to call.
fn ollama_url(host: &str) -> String {
    let (scheme, rest, port) = match host.split_once("://") {
        Some(("https", rest)) => ("https", rest, "443"),
        Some((_, rest)) => ("http", rest, "80"),
        None => ("http", host, "11434"),
    };
    let rest = rest.trim_end_matches('/');
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, given)) if given.parse::<u16>().is_ok() => (name, given),
        Some(_) | None => (rest, port),
    };
    let name = match name {
        "" | "0.0.0.0" | "[::]" => "127.0.0.1",
        name => name,
    };
    format!("{scheme}://{name}:{port}")
}

/// All providers by name: the built-in ones, changed and added to by the `[providers.…]` sections.
pub(super) fn read(
    findings: &mut Findings<'_>,
    table: Option<&dyn TableLike>,
    environment: &Environment,
) -> BTreeMap<String, Provider> {
    let mut providers: BTreeMap<String, Provider> = [
        Kind::Anthropic,
        Kind::OpenAi,
        Kind::Gemini,
        Kind::Ollama,
        Kind::Local,
    ]
    .into_iter()
    .map(|kind| {
        (
            kind.name().to_owned(),
            Provider::built_in(kind, environment),
        )
    })
    .collect();
    let mut fallbacks = Vec::new();
    let sections = Section::new(findings, "providers", table).tables();
    for (name, table, line) in sections {
        if let Some(message) = unusable(name) {
            findings.fault(line, message);
            continue;
        }
        let section = Section::new(findings, format!("providers.{name}"), Some(table));
        if let Some((provider, given)) = read_one(section, name, line, environment) {
            providers.insert(name.to_owned(), provider);
            fallbacks.extend(given.map(|given| (name.to_owned(), given)));
        }
    }
    stand_in(findings, &mut providers, fallbacks);
    for provider in providers.values() {
        if !provider.configured && provider.kind != Kind::Local {
            let mut section = Section::new(findings, format!("providers.{}", provider.name), None);
            let nothing = Stated::read(&mut section);
            show(&mut section, provider, &nothing);
        }
    }
    providers
}

/// Fills in who answers for whom.
fn stand_in(
    findings: &mut Findings<'_>,
    providers: &mut BTreeMap<String, Provider>,
    fallbacks: Vec<(String, Given<Vec<String>>)>,
) {
    let names: Vec<String> = providers.keys().cloned().collect();
    for (name, given) in fallbacks {
        let mut models = Vec::new();
        for text in &given.value {
            match ModelName::parse(text, names.iter().map(String::as_str)) {
                Ok(model) => models.push(model),
                Err(error) => findings.fault(
                    given.line,
                    format!("providers.{name}.fallback has to name models: {error}"),
                ),
            }
        }
        let shown = given.value.join(", ");
        let mut section = Section::new(findings, format!("providers.{name}"), None);
        section.record("fallback", Some(shown), Some(given.line));
        if let Some(provider) = providers.get_mut(&name) {
            provider.fallback = models;
        }
    }
}

fn unusable(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name == Kind::Local.name() {
        Some("'local' is the embedded model: set it up in [local]".to_owned())
    } else if name.is_empty() || !name.chars().all(plain) {
        Some(format!(
            "'{name}' cannot be the name of a provider: use letters, digits, - and _"
        ))
    } else {
        None
    }
}

fn show(section: &mut Section<'_, '_, '_>, provider: &Provider, stated: &Stated) {
    fn line<T>(given: Option<&Given<T>>) -> Option<usize> {
        given.map(|given| given.line)
    }
    let Stated {
        kind,
        base_url,
        api_key_env,
        max_concurrent,
        timeout,
        headers: _,
        tools,
        fallback: _,
    } = stated;
    section.record("kind", Some(provider.kind), line(kind.as_ref()));
    section.record(
        "base_url",
        Some(&provider.base_url),
        line(base_url.as_ref()),
    );
    if let Some(given) = api_key_env {
        section.record("api_key_env", Some(&given.value), Some(given.line));
    }
    show_key(section, provider);
    let most = provider.max_concurrent;
    section.record("max_concurrent", Some(most), line(max_concurrent.as_ref()));
    if let Some(given) = timeout {
        section.record("timeout_s", Some(given.value), Some(given.line));
    }
    if let Some(given) = tools {
        section.record("tools", Some(given.value), Some(given.line));
    }
}

fn show_key(section: &mut Section<'_, '_, '_>, provider: &Provider) {
    match &provider.key {
        Some(key) => section.record_from("api_key", &key.secret, &key.variable),
        None if provider.key_variables.is_empty() => {}
        None => section.record("api_key", None::<&str>, None),
    }
}

/// What a section says, before anything is made of it.
struct Stated {
    kind: Option<Given<Kind>>,
    base_url: Option<Given<String>>,
    api_key_env: Option<Given<String>>,
    max_concurrent: Option<Given<u32>>,
    timeout: Option<Given<f64>>,
    headers: Vec<(String, Secret)>,
    tools: Option<Given<bool>>,
    /// Read when all providers are known.
    fallback: Option<Given<Vec<String>>>,
}

const KINDS: &str = "\"openai\", \"anthropic\", \"gemini\" or \"ollama\"";

impl Stated {
    fn read(section: &mut Section<'_, '_, '_>) -> Self {
        Self {
            kind: section.read("kind", |item| {
                item.as_str()
                    .and_then(Kind::named)
                    .ok_or_else(|| KINDS.to_owned())
            }),
            base_url: section.read("base_url", |item| {
                item.as_str()
                    .and_then(|text| web_address(text.trim()))
                    .ok_or_else(|| {
                        "an address like \"http://127.0.0.1:8000/v1\", without user, password or query"
                            .to_owned()
                    })
            }),
            api_key_env: section.text("api_key_env"),
            max_concurrent: section.whole("max_concurrent", 1..=1024),
            timeout: section.number("timeout_s", 0.001..=86_400.0),
            headers: read_headers(section),
            tools: section.read("tools", |item| {
                let expected = "true or false: whether its models can call tools";
                item.as_bool().ok_or_else(|| expected.to_owned())
            }),
            fallback: section.read("fallback", |item| {
                let list = item.as_array().map(|list| {
                    let text = |value: &toml_edit::Value| value.as_str().map(str::to_owned);
                    list.iter().map(text).collect::<Option<Vec<_>>>()
                });
                list.flatten()
                    .ok_or_else(|| "a list of models like [\"ollama:qwen3:32b\"]".to_owned())
            }),
        }
    }

    fn provider(&self, name: &str, kind: Kind, environment: &Environment) -> Provider {
        let mut provider = Provider::built_in(kind, environment);
        name.clone_into(&mut provider.name);
        provider.configured = true;
        if let Some(given) = &self.base_url {
            provider.base_url.clone_from(&given.value);
            provider.needs_key = false;
            if Kind::named(name).is_none() {
                // A key for one company's service is not sent to somebody else's server.
                provider.key_variables.clear();
                provider.key = None;
            }
        }
        if let Some(given) = &self.api_key_env {
            provider.key_variables = vec![given.value.clone()];
            provider.key = key_of(&provider.key_variables, environment);
            provider.needs_key = true;
        }
        if let Some(given) = &self.max_concurrent {
            provider.max_concurrent = given.value;
        }
        let timeout = self.timeout.as_ref();
        provider.timeout = timeout.map(|given| Duration::from_secs_f64(given.value));
        provider.headers.clone_from(&self.headers);
        provider.tools = self.tools.as_ref().map(|given| given.value);
        provider
    }
}

fn read_one(
    mut section: Section<'_, '_, '_>,
    name: &str,
    line: usize,
    environment: &Environment,
) -> Option<(Provider, Option<Given<Vec<String>>>)> {
    let stated = Stated::read(&mut section);
    let kind = stated.kind.as_ref().map(|given| given.value);
    let provider = kind
        .or_else(|| Kind::named(name))
        .map(|kind| stated.provider(name, kind, environment));
    if let Some(provider) = &provider {
        show(&mut section, provider, &stated);
    } else if section.is_absent("kind") {
        // A wrong one has been complained about already.
        section.fault(line, format!("[providers.{name}] needs kind = {KINDS}"));
    }
    section.finish();
    Some((provider?, stated.fallback))
}

fn read_headers(section: &mut Section<'_, '_, '_>) -> Vec<(String, Secret)> {
    let Some(table) = section.table("headers") else {
        return Vec::new();
    };
    let mut headers = Vec::new();
    for (name, item) in table.iter() {
        let line = section.line_of(table.key(name));
        let value = item
            .as_str()
            .filter(|text| HeaderValue::from_str(text).is_ok());
        match (HeaderName::from_bytes(name.as_bytes()), value) {
            (Ok(_), Some(value)) => {
                section.record(&format!("headers.{name}"), Some("***"), Some(line));
                headers.push((name.to_owned(), Secret::new(value)));
            }
            // The value may be a secret, so it is not repeated.
            _ => section.fault(
                line,
                format!("the header '{name}' has to be a header name with text in quotes"),
            ),
        }
    }
    headers
}

fn web_address(text: &str) -> Option<String> {
    let url = reqwest::Url::parse(text).ok()?;
    let usable = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    usable.then(|| text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
