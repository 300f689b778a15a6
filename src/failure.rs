//! How a request fails, on every surface: what happened, why, what to do, and the sort of failure that callers branch on:
//! scripts by the exit code, the server by the status.

use std::process::ExitCode;

use roundtable_engine::data::DataError;
use roundtable_engine::journal::JournalError;
use roundtable_engine::prompt::PromptError;
use roundtable_engine::table::Halt;

use crate::config::{ConfigError, NameError};
use crate::embedded::NotReady;
use crate::models::{PricesError, RegistryError};
pub(crate) use roundtable_engine::protocol::Fault;

use crate::store::{FindError, LeaseError, StoreError};

/// Exit codes. 0 is a complete debate, or a command that did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Other = 1,
    Usage = 2,
    Partial = 3,
    NoModel = 4,
    Budget = 5,
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Failure {
    code: Code,
    message: String,
    faults: Vec<Fault>,
    outlook: Outlook,
}

/// Whether the same may well succeed a little later, with nothing changed by whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outlook {
    Lasting,
    Passing,
}

impl Failure {
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self::new(Code::Other, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    pub(crate) fn no_model(message: impl Into<String>) -> Self {
        Self::new(Code::NoModel, message)
    }

    fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            faults: Vec::new(),
            outlook: Outlook::Lasting,
        }
    }

    /// The store is full, locked or away. Nothing is wrong with what was asked.
    fn passing(message: impl Into<String>) -> Self {
        Self {
            outlook: Outlook::Passing,
            ..Self::other(message)
        }
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.outlook == Outlook::Passing
    }

    /// The same failure, with more to say about it.
    pub(crate) fn after(self, earlier: &str) -> Self {
        Self {
            message: format!("{earlier}; {}", self.message),
            ..self
        }
    }

    /// A request that cannot be met as it is written: everything that is wrong with it at once.
    pub(crate) fn refused(faults: Vec<Fault>) -> Self {
        let lines: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        Self {
            code: Code::Usage,
            message: lines.join("\n"),
            faults,
            outlook: Outlook::Lasting,
        }
    }

    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// What is wrong with the request, where it is known in parts.
    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// As the reason for something less than failing.
    pub(crate) fn explained(&self, consequence: &str) -> String {
        let reason = self.message.lines().next().unwrap_or_default();
        format!("{consequence}: {reason}")
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<PromptError> for Failure {
    fn from(error: PromptError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<PricesError> for Failure {
    fn from(error: PricesError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.is_transient() {
            Self::passing(error.to_string())
        } else {
            Self::other(error.to_string())
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Full { .. }
            | JournalError::ReadOnly { .. }
            | JournalError::Unavailable { .. } => Self::passing(error.to_string()),
            JournalError::Fenced
            | JournalError::Duplicate { .. }
            | JournalError::Corrupt { .. } => Self::other(error.to_string()),
        }
    }
}

impl From<LeaseError> for Failure {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Store(error) => error.into(),
            LeaseError::Held { .. } | LeaseError::NotFound { .. } => Self::other(error.to_string()),
        }
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Self {
        match error {
            FindError::NotFound { .. } | FindError::Empty | FindError::Ambiguous { .. } => {
                Self::usage(error.to_string())
            }
            FindError::Store(error) => error.into(),
        }
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Name(error) => error.into(),
            RegistryError::NoEmbedder { .. } => Self::usage(error.to_string()),
            RegistryError::NoKey { .. }
            | RegistryError::NotBuiltIn
            | RegistryError::NoList { .. } => Self::no_model(error.to_string()),
        }
    }
}

impl From<NotReady> for Failure {
    fn from(error: NotReady) -> Self {
        Self::no_model(format!(
            "the embedded model cannot be used: {error}\nSet ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, run \
             Ollama, or name a model with --model. `roundtable doctor` checks what there is."
        ))
    }
}

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Prompt(error) => error.into(),
            Halt::NoModel { .. } => Self::usage(halt.to_string()),
            Halt::Drift { .. } => Self::other(format!(
                "{halt}. Its prompts, casts or templates have changed since; restore them to resume it, or ask anew."
            )),
            Halt::Waiting { .. } => Self::new(Code::Partial, halt.to_string()),
            Halt::Journal(error) => error.into(),
            Halt::Budget(_) | Halt::Cancelled | Halt::OtherSetup => Self::other(halt.to_string()),
        }
    }
}
