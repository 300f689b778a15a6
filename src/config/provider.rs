//! Model providers: the built-in ones, and those that the configuration file adds or changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};

use super::command::{self, CommandSpec};
use super::document::{Given, Reader, SECONDS, Section};
use super::environment::{Environment, Secret};
use super::name::ModelName;

/// The wire format of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
    /// The embedded model.
    Local,
    /// A program that reads a prompt and prints a reply.
    Command,
}

impl Kind {
    /// The built-in providers, in the order of C-04, in which discovery prefers them.
    pub(crate) const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Ollama,
        Self::Local,
    ];

    /// The kinds of HTTP providers that a file can name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let named = Self::ALL.into_iter().find(|kind| kind.name() == name);
        named.filter(|kind| *kind != Self::Local)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Local => "local",
            Self::Command => "command",
        }
    }

    /// The URL of the official service, or of a local server.
    fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Ollama => "http://127.0.0.1:11434",
            Self::Local | Self::Command => "",
        }
    }

    /// The usual environment variables for the key of the official service.
    fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            Self::Ollama | Self::Local | Self::Command => &[],
        }
    }

    /// Whether the key of the official service may be sent to this address: to a host of that company, encrypted.
    fn is_vendor_address(self, url: &str) -> bool {
        let Some(url) = reqwest::Url::parse(url)
            .ok()
            .filter(|url| url.scheme() == "https")
        else {
            return false;
        };
        let host = url.host_str().unwrap_or_default();
        match self {
            // Regional hosts such as eu.api.openai.com.
            Self::OpenAi => host == "api.openai.com" || host.ends_with(".api.openai.com"),
            Self::Anthropic => host == "api.anthropic.com",
            Self::Gemini => host == "generativelanguage.googleapis.com",
            Self::Ollama | Self::Local | Self::Command => false,
        }
    }

    fn max_concurrent(self) -> u32 {
        match self {
            Self::OpenAi | Self::Anthropic | Self::Gemini => 16,
            Self::Ollama => 4,
            // Each call is a process of its own, often with a hundred megabytes.
            Self::Command => 2,
            Self::Local => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An API key and the variable that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    pub secret: Secret,
    pub variable: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Provider {
    pub name: String,
    pub kind: Kind,
    /// Without a trailing slash; the program of a command provider.
    pub base_url: String,
    /// Set for [`Kind::Command`].
    pub command: Option<Arc<CommandSpec>>,
    pub key: Option<Credential>,
    /// The variables that may hold the key, in order; empty if no key is sent.
    pub key_variables: Vec<String>,
    /// Calls without a key would be rejected, so none are made.
    pub needs_key: bool,
    pub max_concurrent: u32,
    /// Overrides `limits.call_timeout_s`.
    pub timeout: Option<Duration>,
    pub headers: Vec<(String, Secret)>,
    /// Whether its models can call tools, if the file says so.
    pub tools: Option<bool>,
    /// Whether its models accept pictures, if the file says so.
    pub vision: Option<bool>,
    /// The models to use if it fails, in this order.
    pub fallback: Vec<ModelName>,
    /// The configuration file has a section for it.
    pub configured: bool,
}

impl Provider {
    /// Whether this is the official service of the company behind the format, with its model names and prices.
    pub(crate) fn is_official(&self) -> bool {
        self.base_url == self.kind.default_url()
            && !matches!(self.kind, Kind::Ollama | Kind::Command)
    }

    fn built_in(kind: Kind, environment: &Environment) -> Self {
        let base_url = match (kind, environment.variable("OLLAMA_HOST")) {
            (Kind::Ollama, Some(host)) => ollama_url(host),
            _ => kind.default_url().to_owned(),
        };
        let key_variables: Vec<String> =
            kind.key_variables().iter().map(|&v| v.to_owned()).collect();
        Self {
            name: kind.name().to_owned(),
            kind,
            base_url,
            command: None,
            key: key_of(&key_variables, environment),
            needs_key: !key_variables.is_empty(),
            key_variables,
            max_concurrent: kind.max_concurrent(),
            timeout: None,
            headers: Vec::new(),
            tools: None,
            vision: None,
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

/// Parses `OLLAMA_HOST` as Ollama does: any part may be missing, and 0.0.0.0 is an address to listen on, not to call.
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

/// All providers by name: the built-in ones, and the `[providers.…]` sections that override or add to them.
pub(super) fn read(root: &mut Section<'_, '_>) -> BTreeMap<String, Provider> {
    let table = root.table("providers");
    let reader = &mut *root.reader;
    let mut providers: BTreeMap<String, Provider> = Kind::ALL
        .into_iter()
        .map(|kind| Provider::built_in(kind, reader.environment))
        .map(|provider| (provider.name.clone(), provider))
        .collect();
    let mut fallbacks = Vec::new();
    for (name, table, line) in Section::new(reader, "providers", table).tables() {
        if let Some(message) = invalid_name(name) {
            reader.fault(line, message);
            continue;
        }
        let section = Section::new(reader, format!("providers.{name}"), Some(table));
        if let Some((provider, given)) = read_one(section, name, line) {
            providers.insert(name.to_owned(), provider);
            fallbacks.extend(given.map(|given| (name.to_owned(), given)));
        }
    }
    reader.provider_names = providers.keys().cloned().collect();
    set_fallbacks(reader, &mut providers, fallbacks);
    for provider in providers.values() {
        if !provider.configured && provider.kind != Kind::Local {
            let mut section = Section::new(reader, format!("providers.{}", provider.name), None);
            let nothing = Fields::read(&mut section);
            record(&mut section, provider, &nothing);
        }
    }
    providers
}

/// Parses the fallbacks, which may name any provider of the file.
fn set_fallbacks(
    reader: &mut Reader<'_>,
    providers: &mut BTreeMap<String, Provider>,
    fallbacks: Vec<(String, Given<Vec<String>>)>,
) {
    for (name, given) in fallbacks {
        let mut models = Vec::new();
        for text in &given.value {
            match ModelName::parse(text, reader.provider_names.iter().map(String::as_str)) {
                Ok(model) => models.push(model),
                Err(error) => reader.fault(
                    given.line,
                    format!("invalid providers.{name}.fallback: {error}"),
                ),
            }
        }
        let mut section = Section::new(reader, format!("providers.{name}"), None);
        section.record("fallback", Some(given.value.join(", ")), Some(given.line));
        if let Some(provider) = providers.get_mut(&name) {
            provider.fallback = models;
        }
    }
}

fn invalid_name(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name == Kind::Local.name() {
        Some("'local' is the embedded model: configure it in [local]".to_owned())
    } else if name.is_empty() || !name.chars().all(plain) {
        Some(format!(
            "invalid provider name '{name}': use letters, digits, - and _"
        ))
    } else {
        None
    }
}

fn record(section: &mut Section<'_, '_>, provider: &Provider, fields: &Fields) {
    fn line<T>(given: Option<&Given<T>>) -> Option<usize> {
        given.map(|given| given.line)
    }
    let Fields {
        kind,
        base_url,
        api_key_env,
        max_concurrent,
        timeout,
        headers: _,
        tools,
        vision,
        fallback: _,
    } = fields;
    section.record("kind", Some(provider.kind), line(kind.as_ref()));
    if provider.kind != Kind::Command {
        section.record(
            "base_url",
            Some(&provider.base_url),
            line(base_url.as_ref()),
        );
    }
    if let Some(given) = api_key_env {
        section.record("api_key_env", Some(&given.value), Some(given.line));
    }
    match &provider.key {
        Some(key) => section.record_variable("api_key", &key.secret, &key.variable),
        None if provider.key_variables.is_empty() => {}
        None => section.record("api_key", None::<&str>, None),
    }
    section.record(
        "max_concurrent",
        Some(provider.max_concurrent),
        line(max_concurrent.as_ref()),
    );
    if let Some(given) = timeout {
        section.record("timeout_s", Some(given.value), Some(given.line));
    }
    if let Some(given) = tools {
        section.record("tools", Some(given.value), Some(given.line));
    }
    if let Some(given) = vision {
        section.record("vision", Some(given.value), Some(given.line));
    }
}

/// The fields of a `[providers.…]` section.
#[derive(Default)]
struct Fields {
    kind: Option<Given<Kind>>,
    base_url: Option<Given<String>>,
    api_key_env: Option<Given<String>>,
    max_concurrent: Option<Given<u32>>,
    timeout: Option<Given<f64>>,
    headers: Vec<(String, Secret)>,
    tools: Option<Given<bool>>,
    vision: Option<Given<bool>>,
    /// Parsed when all providers are known.
    fallback: Option<Given<Vec<String>>>,
}

const KINDS: &str = r#""openai", "anthropic", "gemini", "ollama" or "command""#;

impl Fields {
    fn read(section: &mut Section<'_, '_>) -> Self {
        Self {
            kind: section.read("kind", |item| {
                item.as_str()
                    .and_then(Kind::from_name)
                    .ok_or_else(|| format!("expected {KINDS}"))
            }),
            base_url: section.read("base_url", |item| {
                item.as_str()
                    .and_then(|text| parse_base_url(text.trim()))
                    .ok_or_else(|| {
                        "expected a URL like \"http://127.0.0.1:8000/v1\", without user, password or query"
                            .to_owned()
                    })
            }),
            api_key_env: section.text("api_key_env"),
            max_concurrent: section.whole("max_concurrent", 1..=1024),
            timeout: section.number("timeout_s", SECONDS),
            headers: read_headers(section),
            tools: section.read("tools", |item| {
                let expected = "expected true or false (whether its models can call tools)";
                item.as_bool().ok_or_else(|| expected.to_owned())
            }),
            vision: section.read("vision", |item| {
                let expected = "expected true or false (whether its models accept pictures)";
                item.as_bool().ok_or_else(|| expected.to_owned())
            }),
            fallback: section.read("fallback", fallback),
        }
    }

    fn provider(&self, name: &str, kind: Kind, environment: &Environment) -> Provider {
        let mut provider = Provider::built_in(kind, environment);
        name.clone_into(&mut provider.name);
        provider.configured = true;
        if let Some(given) = &self.base_url {
            provider.base_url.clone_from(&given.value);
            provider.needs_key = false;
            if Kind::from_name(name).is_none() || !kind.is_vendor_address(&given.value) {
                // The key of the official service is sent to another server only if `api_key_env` names it for this one.
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
        provider.vision = self.vision.as_ref().map(|given| given.value);
        provider
    }
}

fn read_one(
    mut section: Section<'_, '_>,
    name: &str,
    line: usize,
) -> Option<(Provider, Option<Given<Vec<String>>>)> {
    if section.is_text("kind", Kind::Command.name()) {
        return read_command(section, name, line);
    }
    let fields = Fields::read(&mut section);
    let kind = fields.kind.as_ref().map(|given| given.value);
    let provider = kind
        .or_else(|| Kind::from_name(name))
        .map(|kind| fields.provider(name, kind, section.reader.environment));
    if let Some(provider) = &provider {
        record(&mut section, provider, &fields);
    } else if section.is_absent("kind") {
        // An invalid kind has already been reported.
        section.fault(line, format!("[providers.{name}] needs kind = {KINDS}"));
    }
    section.finish();
    Some((provider?, fields.fallback))
}

fn read_command(
    mut section: Section<'_, '_>,
    name: &str,
    line: usize,
) -> Option<(Provider, Option<Given<Vec<String>>>)> {
    let kind = section.read("kind", |_| Ok(Kind::Command));
    let spec = command::read(&mut section, line);
    let fields = Fields {
        kind,
        max_concurrent: section.whole("max_concurrent", 1..=64),
        timeout: section.number("timeout_s", SECONDS),
        fallback: section.read("fallback", fallback),
        ..Fields::default()
    };
    let provider = spec.map(|spec| Provider {
        base_url: spec.program.clone(),
        command: Some(Arc::new(spec)),
        ..fields.provider(name, Kind::Command, section.reader.environment)
    });
    if let Some(provider) = &provider {
        record(&mut section, provider, &fields);
    }
    section.finish();
    Some((provider?, fields.fallback))
}

fn fallback(item: &toml_edit::Item) -> Result<Vec<String>, String> {
    let list = item.as_array().map(|list| {
        let text = |value: &toml_edit::Value| value.as_str().map(str::to_owned);
        list.iter().map(text).collect::<Option<Vec<_>>>()
    });
    list.flatten()
        .ok_or_else(|| "expected a list of models like [\"ollama:qwen3:32b\"]".to_owned())
}

fn read_headers(section: &mut Section<'_, '_>) -> Vec<(String, Secret)> {
    let table = section.table("headers");
    let entries = Section::new(section.reader, "headers", table).entries();
    let mut headers = Vec::new();
    for (name, item, line) in entries {
        let value = item
            .as_str()
            .filter(|text| HeaderValue::from_str(text).is_ok());
        match (HeaderName::from_bytes(name.as_bytes()), value) {
            (Ok(_), Some(value)) => {
                section.record(&format!("headers.{name}"), Some("***"), Some(line));
                headers.push((name.to_owned(), Secret::new(value)));
            }
            // Without the value, which may be a secret.
            _ => section.fault(
                line,
                format!("invalid header '{name}': expected a header name and text in quotes"),
            ),
        }
    }
    headers
}

fn parse_base_url(text: &str) -> Option<String> {
    let url = reqwest::Url::parse(text).ok()?;
    let is_valid = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_valid.then(|| text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
