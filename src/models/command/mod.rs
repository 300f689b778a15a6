//! A command-line program as a model: a prompt in, a reply out, one process per call.
//!
//! The program runs in an empty temporary folder with a clean environment and in a process group of its own, which ends with the
//! call (see [`process`]). Its reply arrives as one piece, because it is complete only when the program has exited.

mod invocation;
mod output;
mod process;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use roundtable_engine::model::{Delta, Deltas, Finish, Model, ModelError, Profile, Request};

use super::delta_stream::{DeltaSource, Item, into_deltas};
use super::errors::ErrorContext;
use crate::config::{CommandSpec, Provider, find_program};
use invocation::Invocation;
use output::{Reply, Unreadable};
use process::{Finished, Stopped};

pub(super) use process::end_all;

/// Of an error message in the program's output.
const MAX_ERROR_CHARS: usize = 300;

/// A model that a program provides.
pub(super) struct CommandModel {
    spec: Arc<CommandSpec>,
    errors: Arc<ErrorContext>,
    timeout: Duration,
    profile: Profile,
}

impl CommandModel {
    pub(super) fn new(
        provider: &Provider,
        spec: &Arc<CommandSpec>,
        timeout: Duration,
        profile: Profile,
    ) -> Self {
        let is_secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            ["KEY", "TOKEN", "SECRET", "PASSWORD", "PROXY"]
                .iter()
                .any(|word| name.contains(word))
        };
        let passed = spec.environment.iter();
        Self {
            spec: Arc::clone(spec),
            errors: Arc::new(ErrorContext {
                provider: provider.name.clone(),
                address: provider.shown_address(),
                key_setting: String::new(),
                is_ollama: false,
                secrets: passed
                    .filter(|(name, _)| is_secret(name))
                    .map(|(_, value)| value.clone())
                    .collect(),
            }),
            timeout,
            profile,
        }
    }
}

impl Model for CommandModel {
    fn stream(&self, request: Request) -> Deltas {
        into_deltas(Call {
            spec: Arc::clone(&self.spec),
            errors: Arc::clone(&self.errors),
            timeout: self.timeout,
            request,
            deltas: None,
        })
    }

    fn profile(&self) -> Profile {
        self.profile
    }
}

struct Call {
    spec: Arc<CommandSpec>,
    errors: Arc<ErrorContext>,
    timeout: Duration,
    request: Request,
    /// `None` until the program has exited.
    deltas: Option<VecDeque<Item>>,
}

impl DeltaSource for Call {
    async fn next(&mut self) -> Option<Item> {
        if self.deltas.is_none() {
            self.deltas = Some(self.run().await);
        }
        self.deltas.as_mut()?.pop_front()
    }
}

impl Call {
    async fn run(&self) -> VecDeque<Item> {
        let finished = match self.finished().await {
            Ok(finished) => finished,
            Err(error) => return VecDeque::from([Err(error)]),
        };
        let read = output::read(self.spec.output, &self.spec.reply, &finished.stdout);
        let mut deltas = VecDeque::new();
        // A failed call may be billed too.
        if let Ok(Reply {
            usage: Some(usage), ..
        }) = &read
        {
            deltas.push_back(Ok(Delta::Usage(*usage)));
        }
        match self.text(&finished, read) {
            Err(error) => deltas.push_back(Err(error)),
            Ok(text) => {
                deltas.push_back(Ok(Delta::Text(text)));
                if self.request.schema.is_some() && !invocation::takes_schema(&self.spec) {
                    deltas.push_back(Ok(Delta::Notice(format!(
                        "{} does not accept schemas; replies are checked but not constrained",
                        self.errors.provider
                    ))));
                }
                deltas.push_back(Ok(Delta::Finish(Finish::Stop)));
            }
        }
        deltas
    }

    async fn finished(&self) -> Result<Finished, ModelError> {
        let program = find_program(&self.spec.program, self.spec.search_path.as_deref());
        let Some(program) = program else {
            let program = &self.spec.program;
            return Err(ModelError::ProgramMissing {
                detail: self.detail(&format!(
                    "program '{program}' not found: install it, or set command in [providers.{}]",
                    self.errors.provider
                )),
            });
        };
        let invocation = Invocation::new(&self.spec, program, &self.request);
        let invocation = invocation.map_err(|problem| ModelError::UnknownModel {
            detail: self.detail(&problem),
        })?;
        let finished = process::run(invocation, self.timeout).await;
        finished.map_err(|stopped| match stopped {
            Stopped::NotStarted(error)
                if error.kind() == std::io::ErrorKind::ArgumentListTooLong =>
            {
                ModelError::TooLong {
                    detail: self.detail("too long for a command line; set prompt = \"stdin\""),
                }
            }
            Stopped::NotStarted(error) => ModelError::ProgramMissing {
                detail: self.detail(&error.to_string()),
            },
            Stopped::TimedOut => ModelError::Timeout {
                after: self.timeout,
            },
            Stopped::TooMuchOutput => ModelError::Program {
                detail: self.detail(&format!(
                    "it printed more than {} MiB and was stopped",
                    process::MAX_OUTPUT >> 20
                )),
            },
            Stopped::Ended => ModelError::Interrupted {
                detail: self.detail("the program was stopped"),
            },
        })
    }

    /// The text of the reply, or why there is none.
    fn text(
        &self,
        finished: &Finished,
        read: Result<Reply, Unreadable>,
    ) -> Result<String, ModelError> {
        let reported = read.as_ref().ok().and_then(|reply| reply.error.as_deref());
        if reported.is_some() || !finished.status.success() {
            return Err(self.failure(finished, reported));
        }
        let truncated = || {
            self.interrupted(&format!(
                "the program ended in the middle of its reply{}",
                last_words(finished)
            ))
        };
        let failed = |why: String| ModelError::Program {
            detail: self.detail(&format!("{why}{}", last_words(finished))),
        };
        match read {
            Err(Unreadable::Truncated) => Err(truncated()),
            Err(Unreadable::NotUtf8 { at }) => {
                Err(failed(format!("its output is not UTF-8 (byte {at})")))
            }
            Err(Unreadable::NoJson) => Err(failed("it printed no JSON".to_owned())),
            Ok(reply) if !reply.is_complete => Err(truncated()),
            Ok(Reply {
                text: Some(text), ..
            }) if !text.trim().is_empty() => Ok(text),
            Ok(_) => Err(self.failure(finished, Some("it printed no reply"))),
        }
    }

    fn interrupted(&self, reason: &str) -> ModelError {
        self.errors.interrupted(&self.request.model, reason)
    }

    /// The program reported an error or exited with one.
    fn failure(&self, finished: &Finished, reported: Option<&str>) -> ModelError {
        let stdout = String::from_utf8_lossy(tail(&finished.stdout));
        let stderr = String::from_utf8_lossy(&finished.stderr);
        let said = format!("{}\n{stderr}\n{stdout}", reported.unwrap_or_default());
        let said = said.to_lowercase();
        let says_any = |texts: &[String]| texts.iter().any(|text| said.contains(text));
        let shown = [reported.unwrap_or_default(), &stderr, &stdout]
            .into_iter()
            .map(last_line)
            .find(|text| !text.is_empty())
            .unwrap_or_default();
        if says_any(&self.spec.login) {
            let remedy = self.spec.login_with.as_ref();
            let remedy =
                remedy.map_or_else(String::new, |command| format!("; to log in: {command}"));
            return ModelError::Login {
                detail: self.detail(&format!("{shown}{remedy}")),
            };
        }
        if says_any(&self.spec.rate_limited) {
            return ModelError::RateLimited {
                retry_after: None,
                detail: self.detail(&shown),
            };
        }
        let status = if finished.status.success() {
            String::new()
        } else {
            format!("{}: ", finished.status)
        };
        ModelError::Program {
            detail: self.detail(&format!("{status}{shown}")),
        }
    }

    fn detail(&self, text: &str) -> String {
        self.errors.detail(&self.request.model, text)
    }
}

/// The end of standard error, to append to a message.
fn last_words(finished: &Finished) -> String {
    let text = last_line(&String::from_utf8_lossy(&finished.stderr));
    if text.is_empty() {
        text
    } else {
        format!("; it said: {text}")
    }
}

fn tail(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(process::MAX_STDERR)..]
}

/// The last lines, up to the length of a message.
fn last_line(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(MAX_ERROR_CHARS);
    text.chars().skip(skipped).collect()
}
