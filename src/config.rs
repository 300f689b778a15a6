//! Settings: `roundtable.toml`, the environment, and what holds where neither says anything.
//!
//! A file is read whole: every misspelt key and wrong value is reported at once, with file, line and the nearest valid
//! key. Nothing outside this module reads the environment. Keys of providers live in [`Secret`]s, which no one can print.

mod constitution;
mod document;
mod edit;
mod environment;
mod name;
mod protocols;
mod provider;
mod sections;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roundtable_core::breaker::Settings as Breaker;
use roundtable_core::convergence::Thresholds;
use roundtable_core::learning::HalfLife;
use roundtable_core::usage::Money;
use roundtable_engine::budget::Budget;

pub(crate) use edit::set;
#[cfg(test)]
pub(crate) use environment::Folders;
pub(crate) use environment::{Environment, Secret};
pub(crate) use name::{ModelName, NameError};
pub(crate) use protocols::SeatSettings;
#[cfg(test)]
pub(crate) use provider::Credential;
pub(crate) use provider::{Kind, Provider};

const FILE_NAME: &str = "roundtable.toml";

/// Everything that can be set, with the defaults filled in.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The file it comes from; `None` where there is none.
    pub source: Option<PathBuf>,
    /// The built-in providers and those of the file, by name.
    pub providers: BTreeMap<String, Provider>,
    pub tiers: Tiers,
    /// The embedded one where none is named.
    pub embedder: Option<ModelName>,
    pub retry: Retry,
    /// When a provider that fails is left alone, and for how long.
    pub breaker: Breaker,
    pub limits: Limits,
    pub dialectic: Dialectic,
    pub learning: Learning,
    pub debate: Debate,
    pub convergence: Thresholds,
    pub data: Data,
    #[cfg_attr(
        all(not(feature = "local"), not(test)),
        expect(dead_code, reason = "read by the embedded model")
    )]
    pub local: Local,
    settings: Vec<Setting>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tiers {
    pub deliberate: Option<ModelName>,
    pub fast: Option<ModelName>,
}

/// How often a call is made again, and how long at most is waited between two attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    pub attempts: u32,
    pub base: Duration,
    /// Also the longest `Retry-After` that is waited for.
    pub max: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            // With one call in six failing by chance, one step in 50,000 is lost. The pauses are 15.5 s in all at the most.
            attempts: 6,
            base: Duration::from_millis(500),
            max: Duration::from_mins(1),
        }
    }
}

/// One call that was made six times in vain, and one more.
const BREAKER: Breaker = Breaker {
    failures: 7,
    rest_ms: 30_000,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limits {
    /// One attempt of a call, from the connection to the last word.
    pub call_timeout: Duration,
    /// Silence within an attempt.
    pub idle_timeout: Duration,
    pub max_question_tokens: u64,
    /// The budget of a debate where the command line sets none.
    pub max_tokens_total: Option<u64>,
    pub max_cost: Option<Money>,
    pub timeout: Option<Duration>,
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
        }
    }
}

/// How panels decide (E-21).
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
    /// After how many days what a post-mortem taught counts half.
    pub half_life: HalfLife,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Data {
    /// `None` only where there is neither a home folder nor a setting.
    pub dir: Option<PathBuf>,
    /// The database that debates are kept in instead of the folder. Its address may hold a password.
    pub database: Option<Secret>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Local {
    pub threads: Option<u32>,
    pub context_tokens: Option<u32>,
    pub weights: Option<PathBuf>,
}

/// One line of `config show`. Values of secrets are masked before they get here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub key: String,
    /// `None`: not set, and nothing stands in for it.
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

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    /// Counted from 1.
    pub line: usize,
    pub message: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("there is no configuration file {}, which {given_by} names", path.display())]
    Missing {
        path: PathBuf,
        given_by: &'static str,
    },
    #[error("cannot read the configuration {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}", listed(path, faults))]
    Faulty { path: PathBuf, faults: Vec<Fault> },
    #[error("'{key}' is no setting: name a section and a key, as in tiers.fast")]
    NoSuchSetting { key: String },
    #[error("cannot write the configuration {}: {source}", path.display())]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
    },
}

fn listed(path: &Path, faults: &[Fault]) -> String {
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| format!("{}:{}: {}", path.display(), fault.line, fault.message))
        .collect();
    lines.join("\n")
}

impl Config {
    /// `given` is what `--config` says; then come `ROUNDTABLE_CONFIG`, the working folder and the user's folder.
    pub(crate) fn load(
        given: Option<&Path>,
        environment: &Environment,
    ) -> Result<Self, ConfigError> {
        let Some(path) = find(given, environment)? else {
            return Self::parse("", None, environment);
        };
        let text = std::fs::read_to_string(&path).map_err(|source| ConfigError::Unreadable {
            path: path.clone(),
            source,
        })?;
        Self::parse(&text, Some(&path), environment)
    }

    /// What `text`, the content of `path`, says.
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

    /// The effective configuration, each value with where it comes from.
    pub(crate) fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// `provider:model`, with a provider that there is.
    pub(crate) fn model_name(&self, text: &str) -> Result<ModelName, NameError> {
        ModelName::parse(text, self.providers.keys().map(String::as_str))
    }

    /// How long one attempt at a call to this provider may take.
    pub(crate) fn call_timeout(&self, provider: &Provider) -> Duration {
        provider.timeout.unwrap_or(self.limits.call_timeout)
    }
}

/// Where `config set` writes and `config path` points when no file exists yet.
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
    let in_users_folder = environment
        .folders
        .as_ref()
        .map(|folders| folders.config.join(FILE_NAME));
    Ok([Some(in_working_dir), in_users_folder]
        .into_iter()
        .flatten()
        .find(|path| path.is_file()))
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
