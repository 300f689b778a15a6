//! What `roundtable init` finds: providers and their models, the embedded model, programs and the machine.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::time::Duration;

use roundtable_core::usage::Money;
use serde_json::{Value, json};

use super::super::display::wrap;
use super::super::output::{self, BOLD, painted};
use super::super::{models, pull};
use super::choice::same_for_both;
use super::prompt::{Prompt, Stop};
use super::typical_debate;
use crate::app_context::AppContext;
use crate::config::{Kind, ModelName, find_program};
use crate::embedded::{Admission, Local};
use crate::failure::Failure;
use crate::format::counted;
use crate::models::{Discovery, Finding, ModelPreferences, Search, TierModels, discover};

/// A provider that accepts the connection may still be silent for minutes.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(20);
/// Command-line agents, and the program of the Ollama server.
const PROGRAMS: [&str; 6] = ["claude", "codex", "gemini", "opencode", "llm", OLLAMA];
const OLLAMA: &str = "ollama";
/// The column of what was found.
const INDENT: usize = 13;
/// Longer lists of models are not shown.
const MAX_SHOWN_MODELS: usize = 8;

pub(super) struct Found {
    discovery: Discovery,
    /// Models to choose from; the default first.
    choices: Vec<TierModels>,
    /// The embedded model whose weights are on this machine.
    pub weights: Option<ModelName>,
    programs: Vec<&'static str>,
    cores: usize,
    /// Available memory in bytes, if the system reports it.
    memory: Option<u64>,
}

impl Found {
    pub(super) async fn look(app: &AppContext) -> Result<Self, Failure> {
        let preferences = ModelPreferences::default();
        let search = discover(&app.models, &preferences, Search::Everything);
        let discovery = tokio::time::timeout(DISCOVERY_TIMEOUT, search).await;
        let discovery = discovery.map_err(|_| {
            Failure::no_model(format!(
                "a provider has not listed its models within {} s. Choose a model: roundtable init --model PROVIDER:MODEL",
                DISCOVERY_TIMEOUT.as_secs()
            ))
        })?;
        let path = app.environment.variable("PATH").unwrap_or_default();
        let memory = std::fs::read_to_string("/proc/meminfo").ok();
        Ok(Self {
            choices: choices(&discovery),
            discovery,
            weights: weights(app).await,
            programs: programs(path),
            cores: std::thread::available_parallelism().map_or(1, NonZero::get),
            memory: memory.as_deref().and_then(available_memory),
        })
    }

    pub(super) fn print(&self, app: &AppContext) -> Result<(), Failure> {
        output::note(&painted(BOLD, "Found"));
        for (part, text) in self.lines() {
            let text = if output::stderr_is_terminal() {
                wrap::wrap(&text, output::width(), INDENT)
            } else {
                text
            };
            output::note(&format!("  {part:<10} {}", text.trim_start()));
        }
        if self.choices.is_empty() {
            return Ok(());
        }
        let estimate = typical_debate(app)?;
        let heading = painted(BOLD, "Models");
        let size = estimate.size_text();
        output::note(&format!(
            "\n{heading} and what a debate costs (about {size})"
        ));
        for (number, choice) in (1..).zip(&self.choices) {
            let price = app.models.price(&choice.deliberate);
            let cost = estimate.cost_text(price.as_ref());
            let fast = if choice.fast == choice.deliberate {
                String::new()
            } else {
                format!(", simple work by {}", choice.fast.model())
            };
            output::note(&format!("  {number}  {}{fast}: {cost}", choice.deliberate));
        }
        if let Some(advice) = &self.discovery.advice {
            output::note(&format!("     {advice}"));
        }
        Ok(())
    }

    fn lines(&self) -> Vec<(&str, String)> {
        let findings = self.discovery.findings.iter();
        let mut lines: Vec<(&str, String)> = findings
            .map(|finding| (finding.provider.as_str(), self.describe(finding)))
            .collect();
        let agents: Vec<&str> = self.agents().collect();
        if !agents.is_empty() {
            let first = agents[0];
            let agents = agents.join(", ");
            lines.push((
                "programs",
                format!("{agents}; used only if you allow it: roundtable config enable {first}"),
            ));
        }
        lines.push(("machine", self.machine()));
        lines
    }

    /// A finding, with what else is known about its provider.
    fn describe(&self, finding: &Finding) -> String {
        let note = output::short(&finding.note, 200);
        let models = &finding.models;
        let is_embedded = finding.provider == Kind::Local.name();
        let can_be_started = finding.provider == OLLAMA && self.programs.contains(&OLLAMA);
        match &self.weights {
            Some(model) if is_embedded => {
                format!("{note}; the weights of {} are here", model.model())
            }
            None if is_embedded => format!("{note}; its weights are downloaded on first use"),
            _ if models.is_empty() && can_be_started => {
                format!("{note}; it is installed: `ollama serve` starts it")
            }
            _ if (1..=MAX_SHOWN_MODELS).contains(&models.len()) => {
                format!("{note}: {}", models.join(", "))
            }
            _ => note,
        }
    }

    fn agents(&self) -> impl Iterator<Item = &'static str> {
        self.programs.iter().copied().filter(|name| *name != OLLAMA)
    }

    fn machine(&self) -> String {
        let cores = counted(self.cores, "core");
        match self.memory {
            Some(bytes) => format!("{cores}, {} GB of memory free", gigabytes(bytes)),
            None => cores,
        }
    }

    pub(super) fn to_json(&self, app: &AppContext) -> Result<Value, Failure> {
        let estimate = typical_debate(app)?;
        let cost = |model| -> Option<Money> {
            let price = app.models.price(model)?;
            Some(estimate.cost(&price))
        };
        let providers = self.discovery.findings.iter().map(|finding| {
            json!({ "provider": finding.provider, "note": finding.note, "models": finding.models })
        });
        let choices = self.choices.iter().map(|choice| {
            json!({ "model": choice.deliberate, "fast_model": choice.fast, "cost": cost(&choice.deliberate) })
        });
        Ok(json!({
            "providers": providers.collect::<Vec<_>>(),
            "choices": choices.collect::<Vec<_>>(),
            "embedded_weights": self.weights,
            "programs": self.programs,
            "cores": self.cores,
            "memory_bytes": self.memory,
            "advice": self.discovery.advice,
        }))
    }

    /// The models used without a choice. A provider with a key is not replaced by another one unless the user says so.
    pub(super) fn default(&self) -> Result<&TierModels, Failure> {
        let has_default = self.discovery.deliberate.is_some();
        let default = self.choices.first().filter(|_| has_default);
        default.ok_or_else(|| self.no_model())
    }

    /// The families that share the seats if nothing is configured. Empty if another model than the default was chosen.
    pub(super) fn families_of_default(&self, chosen: &TierModels) -> Vec<&str> {
        let is_default = self.default().is_ok_and(|default| default == chosen);
        let families = models::families(&self.discovery).into_keys();
        families.filter(|_| is_default).collect()
    }

    fn no_model(&self) -> Failure {
        let reason = self.discovery.unavailable.as_deref();
        let advice = self.discovery.advice.as_deref();
        let words: Vec<&str> = reason.into_iter().chain(advice).collect();
        let words = words.join("\n");
        Failure::no_model(format!(
            "{words}\nThen run `roundtable init` again. Nothing was changed."
        ))
    }

    pub(super) async fn ask(
        &self,
        app: &AppContext,
        prompt: &mut Prompt,
    ) -> Result<TierModels, Stop> {
        if self.choices.is_empty() {
            return Err(Stop::Failed(self.no_model()));
        }
        let question = "Your choice, as number or PROVIDER:MODEL [1]:";
        let is_known = |text: &str| {
            app.config
                .model_name(text)
                .map_err(|error| error.to_string())
        };
        let parse = |line: &str| chosen(line, &self.choices, is_known);
        prompt.ask(question, parse).await
    }
}

/// One per provider, and the default first: what would be used without a choice.
fn choices(discovery: &Discovery) -> Vec<TierModels> {
    let mut choices = discovery.options.clone();
    if let Some((deliberate, fast)) = discovery.deliberate.as_ref().zip(discovery.fast.as_ref()) {
        let default = TierModels {
            deliberate: deliberate.model.clone(),
            fast: fast.model.clone(),
        };
        choices.retain(|choice| *choice != default);
        choices.insert(0, default);
    }
    choices
}

/// The choice that was typed: its number, its name, or any other model.
fn chosen(
    line: &str,
    choices: &[TierModels],
    parse: impl Fn(&str) -> Result<ModelName, String>,
) -> Result<TierModels, String> {
    let number = if line.is_empty() { "1" } else { line };
    if let Ok(number) = number.parse::<usize>() {
        let choice = number.checked_sub(1).and_then(|index| choices.get(index));
        return choice.cloned().ok_or_else(|| {
            format!(
                "Enter a number from 1 to {}, or PROVIDER:MODEL.",
                choices.len()
            )
        });
    }
    let model = parse(line)?;
    let known = choices.iter().find(|choice| choice.deliberate == model);
    Ok(known.cloned().unwrap_or_else(|| same_for_both(model)))
}

/// Asks as a server does for its clients: missing weights are not downloaded.
async fn weights(app: &AppContext) -> Option<ModelName> {
    if !app.models.has_embedded_model() {
        return None;
    }
    let mut local = Local::new(&app.config, &app.environment);
    local.admission = Admission::Configured(BTreeSet::new());
    let ready = local.ready_model("auto", pull::reporter(false)).await;
    ready.ok()
}

fn programs(path: &str) -> Vec<&'static str> {
    let is_there = |name: &&str| find_program(name, Some(path)).is_some();
    PROGRAMS.into_iter().filter(is_there).collect()
}

/// Of `/proc/meminfo`, in bytes.
fn available_memory(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes = line.split_whitespace().next()?.parse::<u64>().ok()?;
    Some(kilobytes.saturating_mul(1024))
}

/// With one decimal.
fn gigabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
#[path = "found_tests.rs"]
mod tests;
