//! The error type of every surface: a message with the reason and the remedy, and an exit code that also determines the
//! HTTP status.

use std::process::ExitCode;

use roundtable_engine::data::DataError;
use roundtable_engine::journal::JournalError;
use roundtable_engine::prompt::PromptError;
pub(crate) use roundtable_engine::protocol::Fault;
use roundtable_engine::table::Halt;

use crate::config::{ConfigError, NameError};
use crate::embedded::NotReady;
use crate::models::{PricesError, RegistryError};
use crate::store::{FindError, LeaseError, StoreError};

/// Exit codes. 0 is a complete debate or a successful command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Other = 1,
    Usage = 2,
    Partial = 3,
    NoModel = 4,
    Budget = 5,
    /// The debate waits for a person's decision.
    Waiting = 6,
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
    is_forbidden: bool,
}

/// Whether the same request may succeed later.
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

    /// A limit is used up.
    pub(crate) fn budget(message: impl Into<String>) -> Self {
        Self::new(Code::Budget, message)
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
            is_forbidden: false,
        }
    }

    /// A valid request that the caller's token does not allow.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self {
            is_forbidden: true,
            ..Self::usage(message)
        }
    }

    pub(crate) fn is_forbidden(&self) -> bool {
        self.is_forbidden
    }

    /// For a store that is full, locked or unavailable, and a debate that another process holds; the request itself is valid.
    fn passing(message: impl Into<String>) -> Self {
        Self {
            outlook: Outlook::Passing,
            ..Self::other(message)
        }
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.outlook == Outlook::Passing
    }

    /// The same failure with an earlier message before it.
    pub(crate) fn after(self, earlier: &str) -> Self {
        Self {
            message: format!("{earlier}; {}", self.message),
            ..self
        }
    }

    /// An invalid request, with all of its errors.
    pub(crate) fn refused(faults: Vec<Fault>) -> Self {
        let lines: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
        let message = lines.join("\n");
        Self {
            faults,
            ..Self::usage(message)
        }
    }

    /// The same refusal with its errors named after the flags of a command. `flag` has the flag of a field of the input.
    pub(crate) fn naming_flags(self, flag: impl Fn(&str) -> Option<&'static str>) -> Self {
        if self.faults.is_empty() {
            return self;
        }
        let line = |fault: &Fault| {
            let name = fault.at.strip_prefix("/rules/").unwrap_or_default();
            let Some(flag) = flag(name.split('/').next().unwrap_or_default()) else {
                return fault.message.clone();
            };
            match fault.message.strip_prefix(name) {
                Some(problem) => format!("{flag}{problem}"),
                None => format!("{flag}: {}", fault.message),
            }
        };
        let lines: Vec<String> = self.faults.iter().map(line).collect();
        Self {
            message: lines.join("\n"),
            ..self
        }
    }

    pub(crate) fn code(&self) -> Code {
        self.code
    }

    /// The errors of an invalid request.
    pub(crate) fn faults(&self) -> &[Fault] {
        &self.faults
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The first line of the message as the reason for `consequence`.
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
        match error {
            StoreError::Older { .. } => Self::usage(error.to_string()),
            _ if error.is_transient() => Self::passing(error.to_string()),
            _ => Self::other(error.to_string()),
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
            LeaseError::Held { .. } => Self::passing(error.to_string()),
            LeaseError::NotFound { .. } => Self::other(error.to_string()),
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
            | RegistryError::NoAddress { .. }
            | RegistryError::NotBuiltIn => Self::no_model(error.to_string()),
        }
    }
}

impl From<NotReady> for Failure {
    fn from(error: NotReady) -> Self {
        if let NotReady::NotServed(message) = error {
            return Self::refused(vec![Fault::new("/model", message)]);
        }
        Self::no_model(format!(
            "cannot use the embedded model: {error}.\nSet ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, run \
             Ollama, or choose a model with --model. `roundtable doctor` checks the setup."
        ))
    }
}

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Prompt(error) => error.into(),
            Halt::NoModel { .. } => Self::usage(halt.to_string()),
            Halt::Drift { .. } => Self::other(format!(
                "{halt}. Its prompts, casts or templates have changed: restore them to resume the debate, or start a new one."
            )),
            Halt::Waiting { .. } => Self::new(Code::Waiting, halt.to_string()),
            Halt::Journal(error) => error.into(),
            Halt::Budget(_) | Halt::Cancelled | Halt::OtherSetup => Self::other(halt.to_string()),
        }
    }
}
