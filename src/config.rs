//! Settings from `roundtable.toml` and the environment, with defaults.
//!
//! All unknown keys and invalid values of a file are reported at once, with file, line and the nearest valid key. Nothing
//! outside this module reads the environment. API keys are [`Secret`]s, which cannot be printed.

mod command;
mod constitution;
mod document;
mod edit;
mod environment;
mod name;
mod network;
mod presets;
mod protocols;
mod provider;
mod sections;
mod simulated;
pub(crate) mod trust;
mod untrusted;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roundtable_core::breaker::Settings as Breaker;
use roundtable_core::convergence::Thresholds;
use roundtable_core::learning::HalfLife;
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;
use roundtable_engine::cast::dealing::Diversity;
use roundtable_engine::protocols::forecast;

pub(crate) use command::{
    Argument, CommandSpec, Output, ProgramPreset, PromptVia, ReplyRule, SchemaDialect, find_program,
};
pub(crate) use edit::{Edit, add_preset, remove_preset, set};
#[cfg(any(feature = "local", test))]
pub(crate) use environment::Folders;
pub(crate) use environment::{Environment, Secret};
pub(crate) use name::{ModelName, NameError};
pub(crate) use network::{Network, is_loopback, is_secure_url};
pub(crate) use presets::Quirk;
pub(crate) use protocols::SeatSettings;
#[cfg(test)]
pub(crate) use provider::Credential;
pub(crate) use provider::{Kind, Provider};
pub(crate) use simulated::Simulation;

pub(crate) const FILE_NAME: &str = "roundtable.toml";

/// All settings, with defaults filled in.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The configuration file, if there is one.
    pub source: Option<PathBuf>,
    /// The file was found in the working folder, so it may belong to someone else's repository.
    pub is_from_working_dir: bool,
    /// Whether all of the file counts: it was named, is the user's own, or was trusted with `config trust`.
    pub is_trusted: bool,
    /// Sections of the file, and folders next to it, that are not used because the user has not trusted the file.
    ignored: Vec<String>,
    /// The built-in and configured providers, by name.
    pub providers: BTreeMap<String, Provider>,
    pub tiers: Tiers,
    /// `None` for the embedded one.
    pub embedder: Option<ModelName>,
    pub retry: Retry,
    /// When the circuit breaker of a provider opens, and for how long.
    pub breaker: Breaker,
    pub limits: Limits,
    pub dialectic: Dialectic,
    pub learning: Learning,
    pub debate: Debate,
    pub convergence: Thresholds,
    pub forecast: forecast::Settings,
    pub data: Data,
    pub local: Local,
    pub seating: Seating,
    pub server: Server,
    pub mcp: Mcp,
    /// A debate on a terminal that took at least this long ends with the terminal's bell; `None` for never.
    pub bell_after: Option<Duration>,
    /// The address that `roundtable update` asks for the newest release.
    pub release_feed: Option<String>,
    settings: Vec<Setting>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tiers {
    pub deliberate: Option<ModelName>,
    pub fast: Option<ModelName>,
}

/// The number of attempts of a call, and the backoff between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    pub attempts: u32,
    pub base: Duration,
    /// Also the longest `Retry-After` that is honoured.
    pub max: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            // If one call in six fails by chance, one step in 50,000 is lost. The backoff is at most 15.5 s in total.
            attempts: 6,
            base: Duration::from_millis(500),
            max: Duration::from_mins(1),
        }
    }
}

/// Opens after one call with all of its six attempts, and one more.
const BREAKER: Breaker = Breaker {
    failures: 7,
    rest_ms: 30_000,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits {
    /// For one attempt of a call, from connecting to the end of the response.
    pub call_timeout: Duration,
    /// For silence within an attempt.
    pub idle_timeout: Duration,
    pub max_question_tokens: u64,
    /// The budget of a debate, unless the command line sets one.
    pub max_tokens_total: Option<u64>,
    pub max_cost: Option<Money>,
    pub timeout: Option<Duration>,
    /// Whether requests to a server may allow likely secrets in their text.
    pub allow_secrets: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_mins(10),
            idle_timeout: Duration::from_mins(3),
            max_question_tokens: 50_000,
            max_tokens_total: None,
            max_cost: None,
            timeout: None,
            allow_secrets: false,
        }
    }
}

/// Defaults of `roundtable debate` (E-21).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Debate {
    /// By name; `None` for plain debates.
    pub algorithm: Option<String>,
}

/// P-01: the keys and defaults of the design.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dialectic {
    pub min_rounds: u32,
    pub max_rounds: u32,
    pub early_stop_score: u8,
    pub proposer_model: Option<ModelName>,
    pub skeptic_model: Option<ModelName>,
    pub synthesizer_model: Option<ModelName>,
    pub proposer_temperature: f64,
    pub skeptic_temperature: f64,
    pub synthesizer_temperature: f64,
}

impl Limits {
    /// The default budget of a debate.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            max_tokens: self.max_tokens_total,
            max_cost: self.max_cost,
            max_ms: self
                .timeout
                .map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

impl Default for Dialectic {
    fn default() -> Self {
        Self {
            min_rounds: 3,
            max_rounds: 5,
            early_stop_score: 8,
            proposer_model: None,
            skeptic_model: None,
            synthesizer_model: None,
            proposer_temperature: 0.7,
            skeptic_temperature: 0.8,
            synthesizer_temperature: 0.5,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Learning {
    /// The age at which the lessons of a post-mortem have half of their weight.
    pub half_life: HalfLife,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Data {
    /// `None` only without a home folder and a setting.
    pub dir: Option<PathBuf>,
    /// The database that stores debates instead of the folder. Its address may contain a password.
    pub database: Option<Secret>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Local {
    pub threads: Option<u32>,
    pub context_tokens: Option<u32>,
    pub weights: Option<PathBuf>,
    /// Whether the embedded model may replace a provider that cannot be used (C-18).
    pub fallback: bool,
}

/// How models are dealt to seats (C-04).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seating {
    pub diversity: Diversity,
    /// A model costs at most this many times as much as the first one of its tier.
    pub max_price_ratio: f64,
    /// Whether local and hosted models sit at one table.
    pub mix_local: bool,
}

impl Default for Seating {
    fn default() -> Self {
        Self {
            diversity: Diversity::default(),
            max_price_ratio: 2.0,
            mix_local: false,
        }
    }
}

/// Access to `roundtable serve`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Server {
    /// Proxies whose forwarding headers are believed.
    pub trusted_proxies: Vec<Network>,
    /// The longest time between two requests of a browser's session.
    pub session_idle: Duration,
    /// The longest time from the sign-in.
    pub session_total: Duration,
    /// Open event streams, of all clients and of one token.
    pub max_streams: usize,
    pub max_streams_per_token: usize,
    /// How often the token of an open event stream is checked again.
    pub stream_check: Duration,
    /// The field of a streamed chat chunk that carries the debate before the answer.
    pub reasoning_key: String,
}

const DAY: Duration = Duration::from_hours(24);

impl Default for Server {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            session_idle: 7 * DAY,
            session_total: 30 * DAY,
            max_streams: 2_000,
            max_streams_per_token: 200,
            stream_check: Duration::from_secs(30),
            reasoning_key: "reasoning_content".into(),
        }
    }
}

/// The MCP server, on standard input and at `/mcp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mcp {
    /// How long a call waits for a debate before it returns the id instead of the result.
    pub wait: Duration,
}

impl Default for Mcp {
    fn default() -> Self {
        Self {
            // Several clients give up after 60 s, even if they receive progress.
            wait: Duration::from_secs(45),
        }
    }
}

/// One line of `config show`. Secrets are already masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub key: String,
    /// `None` if it is not set and has no default.
    pub value: Option<String>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment { variable: String },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => write!(f, "environment variable {variable}"),
        }
    }
}

/// One error in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    /// Counted from 1.
    pub line: usize,
    pub message: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("configuration file {} not found (set by {given_by})", path.display())]
    Missing {
        path: PathBuf,
        given_by: &'static str,
    },
    #[error("cannot read the configuration {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}", one_per_line(path, faults))]
    Faulty { path: PathBuf, faults: Vec<Fault> },
    #[error("invalid setting '{key}': expected a section and a key, such as tiers.fast")]
    NoSuchSetting { key: String },
    #[error(
        "no folder for trusted configurations: the home folder is unknown. Pass the file with --config"
    )]
    NoHome,
    #[error(
        "[{section}] has settings of its own, such as {key}: remove the section from {}", path.display()
    )]
    OwnSettings {
        path: PathBuf,
        section: String,
        key: String,
    },
    #[error("cannot write the configuration {}: {source}", path.display())]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
    },
}

fn one_per_line(path: &Path, faults: &[Fault]) -> String {
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| format!("{}:{}: {}", path.display(), fault.line, fault.message))
        .collect();
    lines.join("\n")
}

impl Config {
    /// Reads the first of `--config` (`given`), `ROUNDTABLE_CONFIG`, the working folder and the user's folder.
    pub(crate) fn load(
        given: Option<&Path>,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let Some(path) = find(given, environment)? else {
            return Self::parse("", None, environment);
        };
        let is_named = given.is_some() || environment.path("ROUNDTABLE_CONFIG").is_some();
        let text = std::fs::read_to_string(&path).map_err(|source| ConfigError::Unreadable {
            path: path.clone(),
            source,
        })?;
        let in_users_folder = users_file(environment);
        let is_from_working_dir = !is_named
            && path == environment.working_dir.join(FILE_NAME)
            && !in_users_folder
                .as_ref()
                .is_some_and(|own| is_same_file(own, &path));
        if is_from_working_dir && !trust::is_trusted(&path, &text, environment) {
            let users = match in_users_folder.filter(|path| path.is_file()) {
                Some(own) => Self::load(Some(&own), environment)?,
                None => Self::parse("", None, environment)?,
            };
            return untrusted::load(&text, &path, users, environment);
        }
        let config = Self::parse(&text, Some(&path), environment)?;
        Ok(Self {
            is_from_working_dir,
            ..config
        })
    }

    /// The sections and folders of a file in the working folder that are not used, because it is not trusted.
    pub(crate) fn ignored_sections(&self) -> &[String] {
        &self.ignored
    }

    /// The ignored parts of the file in the working folder, and the command that changes that.
    pub(crate) fn untrusted_note(&self) -> Option<String> {
        let path = self.source.as_ref().filter(|_| !self.ignored.is_empty())?;
        Some(format!(
            "{}: {}",
            path.display(),
            untrusted::note(&self.ignored)
        ))
    }

    /// Folders with the user's data files: the configuration folder, and the folder of the file in use, which takes precedence.
    pub(crate) fn data_folders(&self, environment: &Environment) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        folders.extend(
            environment
                .folders
                .as_ref()
                .map(|folders| folders.config.clone()),
        );
        let source = self.source.as_ref();
        let source = source.filter(|_| self.is_trusted);
        if let Some(folder) = source.and_then(|path| path.parent()) {
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_path_buf());
            }
        }
        folders
    }

    /// The user's price lists. One in the working folder is not read: it could call a model free and so defeat a cost limit.
    pub(crate) fn price_files(&self, environment: &Environment) -> Vec<PathBuf> {
        let mut folders = self.data_folders(environment);
        if self.is_from_working_dir && folders.len() > usize::from(environment.folders.is_some()) {
            folders.pop();
        }
        folders
            .iter()
            .map(|folder| folder.join("prices.toml"))
            .collect()
    }

    /// Parses `text`, the content of `path`.
    pub(crate) fn parse(
        text: &str,
        path: Option<&Path>,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        sections::read(text, path, environment).map_err(|faults| ConfigError::Faulty {
            path: path.unwrap_or_else(|| Path::new(FILE_NAME)).to_path_buf(),
            faults,
        })
    }

    /// The effective configuration, each value with its origin.
    pub(crate) fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// Every model that the configuration names.
    pub(crate) fn named_models(&self) -> impl Iterator<Item = &ModelName> {
        let fallbacks = self.providers.values().flat_map(|one| &one.fallback);
        [
            &self.tiers.deliberate,
            &self.tiers.fast,
            &self.dialectic.proposer_model,
            &self.dialectic.skeptic_model,
            &self.dialectic.synthesizer_model,
        ]
        .into_iter()
        .flatten()
        .chain(fallbacks)
    }

    /// Parses `provider:model` with a known provider.
    pub(crate) fn model_name(&self, text: &str) -> Result<ModelName, NameError> {
        ModelName::parse(text, self.providers.keys().map(String::as_str))
    }

    /// The providers that the file has no section for, in the order in which discovery prefers them.
    pub(crate) fn unconfigured(&self) -> impl Iterator<Item = &Provider> {
        let names = presets::presets().iter();
        let providers = names.filter_map(|preset| self.providers.get(&preset.name));
        providers.filter(|provider| !provider.configured)
    }

    /// The timeout of one attempt at a call to this provider.
    pub(crate) fn call_timeout(&self, provider: &Provider) -> Duration {
        provider.timeout.unwrap_or(self.limits.call_timeout)
    }
}

/// The configuration file in use, or the one that `config set` would create.
pub(crate) fn path_in_use(
    given: Option<&Path>,
    environment: &Environment,
) -> Result<PathBuf, ConfigError> {
    let found = find(given, environment)?;
    Ok(found.unwrap_or_else(|| default_path(environment)))
}

/// The path for `config set` and `config path` if no file exists yet.
pub(crate) fn default_path(environment: &Environment) -> PathBuf {
    environment.folders.as_ref().map_or_else(
        || environment.working_dir.join(FILE_NAME),
        |folders| folders.config.join(FILE_NAME),
    )
}

fn find(given: Option<&Path>, environment: &Environment) -> Result<Option<PathBuf>, ConfigError> {
    let named = given
        .map(|path| (path.to_path_buf(), "--config"))
        .or_else(|| {
            let path = environment.path("ROUNDTABLE_CONFIG")?;
            Some((path, "ROUNDTABLE_CONFIG"))
        });
    if let Some((path, given_by)) = named {
        return if path.exists() {
            Ok(Some(path))
        } else {
            Err(ConfigError::Missing { path, given_by })
        };
    }
    let in_working_dir = environment.working_dir.join(FILE_NAME);
    let in_users_folder = users_file(environment);
    Ok([Some(in_working_dir), in_users_folder]
        .into_iter()
        .flatten()
        .find(|path| path.is_file()))
}

/// The path of the user's own file.
fn users_file(environment: &Environment) -> Option<PathBuf> {
    let folders = environment.folders.as_ref()?;
    Some(folders.config.join(FILE_NAME))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let full = |path: &Path| std::fs::canonicalize(path).ok();
    full(one).is_some() && full(one) == full(other)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
