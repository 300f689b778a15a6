//! Model providers: the built-in ones, and those that the configuration file adds or changes.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};

use super::command::{self, CommandSpec};
use super::document::{Given, Reader, SECONDS, Section};
use super::environment::{Environment, Secret};
use super::name::ModelName;
use super::presets::{Preset, Quirk, presets};
use super::simulated::{self, Simulation};

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
    /// Simulated seats, without a model.
    Simulated,
}

impl Kind {
    /// The built-in providers, in the order of C-04, in which discovery prefers them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Ollama,
        Self::Local,
        Self::Simulated,
    ];

    /// The kinds of HTTP providers that a file can name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let named = Self::ALL.into_iter().find(|kind| kind.name() == name);
        named.filter(|kind| !matches!(kind, Self::Local | Self::Simulated))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Local => "local",
            Self::Command => "command",
            Self::Simulated => "simulated",
        }
    }

    /// The built-in settings of the service that the format is named after.
    fn preset(self) -> Option<&'static Preset> {
        Preset::named(self.name())
    }

    /// Whether discovery may pick its models. A program may be billed in another way than its owner expects, and a simulated model
    /// knows nothing: both are used only if they are named.
    pub(crate) fn is_found(self) -> bool {
        !matches!(self, Self::Command | Self::Simulated)
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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub(crate) struct Provider {
    pub name: String,
    pub kind: Kind,
    /// Without a trailing slash; the program of a command provider.
    pub base_url: String,
    /// Whether messages leave the address out: those of a server are read by its clients.
    pub hides_address: bool,
    /// Set for [`Kind::Command`].
    pub command: Option<Arc<CommandSpec>>,
    /// Set for [`Kind::Simulated`].
    pub simulation: Option<Simulation>,
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
    /// A debate starts without it if it cannot be reached.
    pub optional: bool,
    /// The variable that would hold the beginning of an empty `base_url`.
    pub base_url_env: Option<String>,
    /// The header of the key, instead of the format's own.
    pub key_header: Option<String>,
    /// Appended to every address.
    pub query: Option<String>,
    /// Its models, if it cannot be asked for them.
    pub models: Option<Vec<String>>,
    /// Product lines in order of preference, each a list of patterns of model names.
    pub deliberate: Vec<Vec<String>>,
    pub fast: Vec<Vec<String>>,
    pub quirks: Vec<Quirk>,
}

impl Provider {
    /// The address for messages.
    pub(crate) fn shown_address(&self) -> String {
        if self.hides_address {
            format!("the address of [providers.{}]", self.name)
        } else {
            self.base_url.clone()
        }
    }

    /// Whether this is the official service of the company behind the format, with its model names and prices.
    pub(crate) fn is_official(&self) -> bool {
        let official = self.kind.preset();
        let is_hosted = !matches!(self.kind, Kind::Ollama | Kind::Command | Kind::Simulated);
        is_hosted && official.is_some_and(|preset| preset.base_url == self.base_url)
    }

    /// Whether it runs on this machine or on the user's network.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.kind, Kind::Ollama | Kind::Local | Kind::Simulated)
            || is_private_host(&self.base_url)
    }

    fn built_in(preset: &Preset, environment: &Environment) -> Self {
        let base_url = match (preset.kind, environment.variable("OLLAMA_HOST")) {
            (Kind::Ollama, Some(host)) => ollama_url(host),
            _ => preset.url(environment),
        };
        let key = key_of(&preset.api_key_env, environment);
        let mut provider = Self {
            name: preset.name.clone(),
            kind: preset.kind,
            command: None,
            simulation: (preset.kind == Kind::Simulated).then(Simulation::default),
            key: key.filter(|_| preset.may_send_key_to(&base_url)),
            needs_key: preset.needs_key(),
            key_variables: preset.api_key_env.clone(),
            max_concurrent: preset.max_concurrent,
            timeout: None,
            headers: Vec::new(),
            tools: None,
            vision: None,
            fallback: Vec::new(),
            configured: false,
            optional: false,
            base_url_env: preset.base_url_env.clone().filter(|_| base_url.is_empty()),
            base_url,
            hides_address: false,
            key_header: preset.key_header.clone(),
            query: preset.query.clone(),
            models: preset.models.clone(),
            deliberate: preset.deliberate.clone(),
            fast: preset.fast.clone(),
            quirks: preset.quirks.clone(),
        };
        if preset.deliberate.is_empty() {
            provider.set_lines_of_all_vendors();
        }
        provider
    }

    fn of_command(name: &str, spec: CommandSpec, fields: &Fields) -> Self {
        let timeout = fields.timeout.as_ref();
        let max_concurrent = fields.max_concurrent.as_ref();
        Self {
            name: name.to_owned(),
            kind: Kind::Command,
            base_url: spec.program.clone(),
            hides_address: false,
            command: Some(Arc::new(spec)),
            simulation: None,
            key: None,
            key_variables: Vec::new(),
            needs_key: false,
            // Each call is a process of its own, often with a hundred megabytes.
            max_concurrent: max_concurrent.map_or(2, |given| given.value),
            timeout: timeout.map(|given| Duration::from_secs_f64(given.value)),
            headers: Vec::new(),
            tools: None,
            vision: None,
            fallback: Vec::new(),
            configured: true,
            optional: false,
            base_url_env: None,
            key_header: None,
            query: None,
            models: None,
            deliberate: Vec::new(),
            fast: Vec::new(),
            quirks: Vec::new(),
        }
    }

    /// A compatible server may have models of any vendor.
    fn set_lines_of_all_vendors(&mut self) {
        if self.kind != Kind::OpenAi {
            return;
        }
        let vendors = [Kind::OpenAi, Kind::Anthropic, Kind::Gemini];
        let vendors = vendors.into_iter().filter_map(Kind::preset);
        self.deliberate = vendors
            .clone()
            .flat_map(|one| one.deliberate.clone())
            .collect();
        self.fast = vendors.flat_map(|one| one.fast.clone()).collect();
    }
}

fn is_private_host(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    let host = url.as_ref().and_then(reqwest::Url::host_str);
    host.is_some_and(|host| {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse() {
            Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
            Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
            Err(_) => {
                let domain = host.rsplit_once('.').map(|(_, domain)| domain);
                domain.is_none_or(|domain| domain.eq_ignore_ascii_case("local"))
            }
        }
    })
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
    let mut providers: BTreeMap<String, Provider> = presets()
        .iter()
        .map(|preset| Provider::built_in(preset, reader.environment))
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
        let is_known = Kind::from_name(&provider.name).is_some() || provider.key.is_some();
        if !provider.configured && is_known {
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
        let is_simulated = |name: &str| {
            let provider = providers.get(name);
            provider.is_some_and(|provider| provider.kind == Kind::Simulated)
        };
        for text in &given.value {
            match ModelName::parse(text, reader.provider_names.iter().map(String::as_str)) {
                Ok(model) if is_simulated(model.provider()) => reader.fault(
                    given.line,
                    format!(
                        "invalid providers.{name}.fallback: {model} is simulated and cannot replace a real model"
                    ),
                ),
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
        optional,
        key_header,
        query,
        models,
        deliberate,
        fast,
        quirks,
        fallback: _,
    } = fields;
    section.record("kind", Some(provider.kind), line(kind.as_ref()));
    if !matches!(provider.kind, Kind::Command | Kind::Simulated) {
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
    if let Some(given) = optional {
        section.record("optional", Some(given.value), Some(given.line));
    }
    for (key, given) in [("key_header", key_header), ("query", query)] {
        if let Some(given) = given {
            section.record(key, Some(&given.value), Some(given.line));
        }
    }
    if let Some(given) = models {
        section.record("models", Some(given.value.join(", ")), Some(given.line));
    }
    for (key, given) in [("deliberate", deliberate), ("fast", fast)] {
        if let Some(given) = given {
            section.record(key, Some(given.value.concat().join(", ")), Some(given.line));
        }
    }
    if let Some(given) = quirks {
        let names = given.value.iter().map(|quirk| quirk.name());
        let names: Vec<&str> = names.collect();
        section.record("quirks", Some(names.join(", ")), Some(given.line));
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
    optional: Option<Given<bool>>,
    key_header: Option<Given<String>>,
    query: Option<Given<String>>,
    models: Option<Given<Vec<String>>>,
    deliberate: Option<Given<Vec<Vec<String>>>>,
    fast: Option<Given<Vec<Vec<String>>>>,
    quirks: Option<Given<Vec<Quirk>>>,
    /// Parsed when all providers are known.
    fallback: Option<Given<Vec<String>>>,
}

const KINDS: &str = r#""openai", "anthropic", "gemini", "ollama", "command" or "simulated""#;

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
            optional: section.read("optional", |item| {
                let expected = "expected true or false (whether a debate starts without it if it cannot be reached)";
                item.as_bool().ok_or_else(|| expected.to_owned())
            }),
            key_header: section.read("key_header", |item| {
                let name = item.as_str().filter(|name| HeaderName::from_bytes(name.as_bytes()).is_ok());
                name.map(str::to_owned)
                    .ok_or_else(|| "expected the name of a header, such as \"api-key\"".to_owned())
            }),
            query: section.read("query", |item| {
                let is_plain = |text: &&str| text.contains('=') && !text.contains(['?', '#', ' ', '/']);
                let text = item.as_str().filter(is_plain);
                text.map(str::to_owned).ok_or_else(|| {
                    "expected a query like \"api-version=2024-10-21\"".to_owned()
                })
            }),
            models: section.read("models", |item| {
                let models = item.as_value().and_then(texts);
                models.ok_or_else(|| "expected a list of model names".to_owned())
            }),
            deliberate: lines(section, "deliberate"),
            fast: lines(section, "fast"),
            quirks: section.read("quirks", |item| {
                let names = item.as_value().and_then(texts);
                let quirks = names.and_then(|names| names.iter().map(|name| Quirk::named(name)).collect());
                quirks.ok_or_else(|| format!("expected a list of: {}", Quirk::names().join(", ")))
            }),
            fallback: section.read("fallback", fallback),
        }
    }

    fn provider(&self, name: &str, kind: Kind, environment: &Environment) -> Option<Provider> {
        let preset = preset_of(name, kind)?;
        let mut provider = Provider::built_in(preset, environment);
        name.clone_into(&mut provider.name);
        provider.configured = true;
        if let Some(given) = &self.base_url {
            provider.base_url.clone_from(&given.value);
            provider.base_url_env = None;
            provider.needs_key = false;
            provider.key = key_of(&preset.api_key_env, environment);
            if preset.name != name || !preset.is_vendor_address(&given.value) {
                // The key of the official service is sent to another server only if `api_key_env` names it for this one.
                provider.key_variables.clear();
                provider.key = None;
            }
            if preset.name != name && !provider.is_official() {
                provider.set_lines_of_all_vendors();
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
        provider.optional = self.optional.as_ref().is_some_and(|given| given.value);
        set(&mut provider.deliberate, self.deliberate.as_ref());
        set(&mut provider.fast, self.fast.as_ref());
        set(&mut provider.quirks, self.quirks.as_ref());
        let some = |given: &Given<String>| Some(given.value.clone());
        provider.key_header = self.key_header.as_ref().map_or(provider.key_header, some);
        provider.query = self.query.as_ref().map_or(provider.query, some);
        if let Some(given) = &self.models {
            provider.models = Some(given.value.clone());
        }
        Some(provider)
    }
}

fn set<T: Clone>(value: &mut T, given: Option<&Given<T>>) {
    if let Some(given) = given {
        value.clone_from(&given.value);
    }
}

/// The preset that a section changes: the one of its name, or the one of its kind.
fn preset_of(name: &str, kind: Kind) -> Option<&'static Preset> {
    let named = Preset::named(name).filter(|preset| preset.kind == kind);
    named.or_else(|| kind.preset())
}

fn texts(value: &toml_edit::Value) -> Option<Vec<String>> {
    let text = |value: &toml_edit::Value| value.as_str().map(str::to_owned);
    value.as_array()?.iter().map(text).collect()
}

/// Product lines, each a list of patterns.
fn lines(section: &mut Section<'_, '_>, key: &'static str) -> Option<Given<Vec<Vec<String>>>> {
    section.read(key, |item| {
        let lines = item
            .as_array()
            .map(|lines| lines.iter().map(texts).collect());
        lines.flatten().ok_or_else(|| {
            "expected lists of model names like [[\"gpt-#\"], [\"gpt-#-mini\"]]".to_owned()
        })
    })
}

fn read_one(
    mut section: Section<'_, '_>,
    name: &str,
    line: usize,
) -> Option<(Provider, Option<Given<Vec<String>>>)> {
    if section.is_text("kind", Kind::Command.name()) {
        return read_command(section, name, line);
    }
    let is_preset = section.is_absent("kind") && name == Kind::Simulated.name();
    if is_preset || section.is_text("kind", Kind::Simulated.name()) {
        return read_simulated(section, name, line);
    }
    let fields = Fields::read(&mut section);
    let kind = fields.kind.as_ref().map(|given| given.value);
    let provider = kind
        .or_else(|| Some(Preset::named(name)?.kind))
        .and_then(|kind| fields.provider(name, kind, section.reader.environment));
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
    let provider = spec.map(|spec| Provider::of_command(name, spec, &fields));
    if let Some(provider) = &provider {
        record(&mut section, provider, &fields);
    }
    section.finish();
    Some((provider?, fields.fallback))
}

/// A simulated provider has no address, no key and no fallback: it does not fail.
fn read_simulated(
    mut section: Section<'_, '_>,
    name: &str,
    line: usize,
) -> Option<(Provider, Option<Given<Vec<String>>>)> {
    if Preset::named(name).is_some_and(|preset| preset.kind != Kind::Simulated) {
        let message = format!(
            "[providers.{name}] cannot be simulated: it is the name of a real provider. Choose another name"
        );
        section.fault(line, message);
        return None;
    }
    let fields = Fields {
        kind: section.read("kind", |_| Ok(Kind::Simulated)),
        max_concurrent: section.whole("max_concurrent", 1..=1024),
        ..Fields::default()
    };
    let simulation = simulated::read(&mut section);
    let provider = fields.provider(name, Kind::Simulated, section.reader.environment);
    let provider = provider.map(|provider| Provider {
        simulation: Some(simulation),
        ..provider
    });
    if let Some(provider) = &provider {
        record(&mut section, provider, &fields);
    }
    section.finish();
    Some((provider?, None))
}

fn fallback(item: &toml_edit::Item) -> Result<Vec<String>, String> {
    let models = item.as_value().and_then(texts);
    models.ok_or_else(|| "expected a list of models like [\"ollama:qwen3:32b\"]".to_owned())
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
