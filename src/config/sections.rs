//! The sections of `roundtable.toml`, each with its keys, bounds and defaults.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roundtable_core::convergence::Thresholds;
use roundtable_core::learning::HalfLife;
use roundtable_core::usage::Money;
use toml_edit::TableLike;

use super::document::{Findings, Given, Section};
use super::environment::{Environment, Folders, Secret};
use super::name::ModelName;
use super::{
    BREAKER, Breaker, Config, Data, Debate, Dialectic, Fault, Learning, Limits, Local, Retry,
    Tiers, provider,
};
use crate::store::Address;

const SECTIONS: [&str; 11] = [
    "providers",
    "tiers",
    "embedder",
    "retry",
    "limits",
    "dialectic",
    "learning",
    "debate",
    "convergence",
    "data",
    "local",
];

const SECONDS: RangeInclusive<f64> = 0.001..=86_400.0;

pub(super) fn read(
    text: &str,
    path: Option<&Path>,
    environment: &Environment,
) -> Result<Config, Vec<Fault>> {
    let mut findings = Findings::new(text, path);
    let parsed = toml_edit::Document::parse(text).map_err(|error| {
        vec![Fault {
            line: findings.line(error.span()),
            message: format!("this is not TOML: {}", error.message().replace('\n', ", ")),
        }]
    })?;
    let mut root = Section::new(&mut findings, "", Some(parsed.as_table()));
    let tables = SECTIONS.map(|name| root.table(name));
    root.finish();
    let [
        providers,
        tiers,
        embedder,
        retry,
        limits,
        dialectic,
        learning,
        debate,
        convergence,
        data,
        local,
    ] = tables;

    let providers = provider::read(&mut findings, providers, environment);
    let names: Vec<&str> = providers.keys().map(String::as_str).collect();
    let mut file = File {
        findings: &mut findings,
        names: &names,
        folder: path.and_then(Path::parent),
        environment,
    };
    let tiers = file.tiers(tiers);
    let embedder = file.embedder(embedder);
    let (retry, breaker) = file.retry(retry);
    let limits = file.limits(limits);
    let dialectic = file.dialectic(dialectic);
    let learning = file.learning(learning);
    let debate = file.debate(debate);
    let convergence = file.convergence(convergence);
    let data = file.data(data);
    let local = file.local(local);

    if findings.faults.is_empty() {
        Ok(Config {
            source: path.map(Path::to_path_buf),
            providers,
            tiers,
            embedder,
            retry,
            breaker,
            limits,
            dialectic,
            learning,
            debate,
            convergence,
            data,
            local,
            settings: findings.settings,
        })
    } else {
        findings.faults.sort();
        Err(findings.faults)
    }
}

/// What every section needs to be read.
struct File<'f, 't> {
    findings: &'f mut Findings<'t>,
    names: &'f [&'f str],
    folder: Option<&'t Path>,
    environment: &'f Environment,
}

type Table<'a> = Option<&'a dyn TableLike>;

impl File<'_, '_> {
    fn tiers(&mut self, table: Table<'_>) -> Tiers {
        let names = self.names;
        let mut section = Section::new(self.findings, "tiers", table);
        let tiers = Tiers {
            deliberate: model(&mut section, "deliberate", names),
            fast: model(&mut section, "fast", names),
        };
        section.finish();
        tiers
    }

    fn embedder(&mut self, table: Table<'_>) -> Option<ModelName> {
        let names = self.names;
        let mut section = Section::new(self.findings, "embedder", table);
        let embedder = model(&mut section, "model", names);
        section.finish();
        embedder
    }

    fn retry(&mut self, table: Table<'_>) -> (Retry, Breaker) {
        let default = Retry::default();
        let mut section = Section::new(self.findings, "retry", table);
        let attempts = whole(&mut section, "attempts", 1..=20, default.attempts);
        let base = milliseconds(&mut section, "base_ms", default.base);
        let max = milliseconds(&mut section, "max_ms", default.max);
        let failures = whole(&mut section, "open_after", 1..=1000, BREAKER.failures);
        let rest = seconds(
            &mut section,
            "rest_s",
            Duration::from_millis(BREAKER.rest_ms),
        );
        section.finish();
        let retry = Retry {
            attempts,
            base,
            max,
        };
        let breaker = Breaker {
            failures,
            rest_ms: u64::try_from(rest.as_millis()).unwrap_or(u64::MAX),
        };
        (retry, breaker)
    }

    fn limits(&mut self, table: Table<'_>) -> Limits {
        let default = Limits::default();
        let mut section = Section::new(self.findings, "limits", table);
        let limits = Limits {
            call_timeout: seconds(&mut section, "call_timeout_s", default.call_timeout),
            idle_timeout: seconds(&mut section, "idle_timeout_s", default.idle_timeout),
            max_question_tokens: whole(
                &mut section,
                "max_question_tokens",
                1..=10_000_000,
                default.max_question_tokens,
            ),
            max_tokens_total: {
                let given = section.whole("max_tokens_total", 1..=1_000_000_000_000_u64);
                optional(&mut section, "max_tokens_total", given)
            },
            max_cost: {
                let given = section.number("max_cost", 0.0..=1_000_000.0);
                optional(&mut section, "max_cost", given).and_then(Money::from_dollars)
            },
            timeout: {
                let given = section.number("timeout_s", SECONDS);
                optional(&mut section, "timeout_s", given).map(Duration::from_secs_f64)
            },
        };
        section.finish();
        limits
    }

    fn dialectic(&mut self, table: Table<'_>) -> Dialectic {
        let default = Dialectic::default();
        let names = self.names;
        let mut section = Section::new(self.findings, "dialectic", table);
        let min = section.whole("min_rounds", 1..=20_u32);
        let max = section.whole("max_rounds", 1..=20_u32);
        let line = min.as_ref().or(max.as_ref()).map(|given| given.line);
        let min_rounds = or_default(&mut section, "min_rounds", min, default.min_rounds);
        let max_rounds = or_default(&mut section, "max_rounds", max, default.max_rounds);
        if let Some(line) = line.filter(|_| min_rounds > max_rounds) {
            section.fault(
                line,
                format!("dialectic.min_rounds is {min_rounds}, above dialectic.max_rounds, which is {max_rounds}"),
            );
        }
        let dialectic = Dialectic {
            min_rounds,
            max_rounds,
            early_stop_score: whole(
                &mut section,
                "early_stop_score",
                1..=10,
                default.early_stop_score,
            ),
            proposer_model: model(&mut section, "proposer_model", names),
            skeptic_model: model(&mut section, "skeptic_model", names),
            synthesizer_model: model(&mut section, "synthesizer_model", names),
            proposer_temperature: temperature(
                &mut section,
                "proposer_temperature",
                default.proposer_temperature,
            ),
            skeptic_temperature: temperature(
                &mut section,
                "skeptic_temperature",
                default.skeptic_temperature,
            ),
            synthesizer_temperature: temperature(
                &mut section,
                "synthesizer_temperature",
                default.synthesizer_temperature,
            ),
        };
        section.finish();
        dialectic
    }

    fn learning(&mut self, table: Table<'_>) -> Learning {
        let default = HalfLife::default();
        let mut section = Section::new(self.findings, "learning", table);
        let given = section.number("half_life_days", HalfLife::MIN_DAYS..=HalfLife::MAX_DAYS);
        let days = or_default(&mut section, "half_life_days", given, default.in_days());
        section.finish();
        Learning {
            half_life: HalfLife::days(days).unwrap_or(default),
        }
    }

    fn debate(&mut self, table: Table<'_>) -> Debate {
        let mut section = Section::new(self.findings, "debate", table);
        let algorithm = section.text("algorithm");
        let algorithm = optional(&mut section, "algorithm", algorithm);
        section.finish();
        Debate { algorithm }
    }

    fn convergence(&mut self, table: Table<'_>) -> Thresholds {
        let default = Thresholds::default();
        let mut section = Section::new(self.findings, "convergence", table);
        let thresholds = Thresholds {
            similarity: share(&mut section, "similarity", default.similarity),
            evidence: share(&mut section, "evidence", default.evidence),
            settled: share(&mut section, "settled", default.settled),
            stalled: share(&mut section, "stalled", default.stalled),
            stalled_rounds: whole(
                &mut section,
                "stalled_rounds",
                1..=20,
                default.stalled_rounds,
            ),
            early_similarity: share(&mut section, "early_similarity", default.early_similarity),
            early_round: whole(&mut section, "early_round", 0..=20, default.early_round),
            divergence: share(&mut section, "divergence", default.divergence),
        };
        section.finish();
        thresholds
    }

    fn data(&mut self, table: Table<'_>) -> Data {
        let default = self
            .environment
            .folders
            .as_ref()
            .map(|folders| folders.data.clone());
        let (folder, environment) = (self.folder, self.environment);
        let mut section = Section::new(self.findings, "data", table);
        let dir = section
            .text("dir")
            .map(|given| beside(folder, environment.folders.as_ref(), &given));
        let dir = or_variable(
            &mut section,
            "dir",
            dir,
            default,
            ("ROUNDTABLE_DATA", environment),
        );
        let database = database(&mut section, environment);
        section.finish();
        Data { dir, database }
    }

    fn local(&mut self, table: Table<'_>) -> Local {
        let (folder, environment) = (self.folder, self.environment);
        let mut section = Section::new(self.findings, "local", table);
        let threads = section.whole("threads", 1..=1024_u32);
        let threads = optional(&mut section, "threads", threads);
        let context_tokens = section.whole("context_tokens", 512..=1_048_576_u32);
        let context_tokens = optional(&mut section, "context_tokens", context_tokens);
        let weights = section
            .text("weights")
            .map(|given| beside(folder, environment.folders.as_ref(), &given));
        let weights = or_variable(
            &mut section,
            "weights",
            weights,
            None,
            ("ROUNDTABLE_WEIGHTS", environment),
        );
        section.finish();
        Local {
            threads,
            context_tokens,
            weights,
        }
    }
}

/// Neither the file's value nor the variable's is shown: there may be a password in it.
fn database(section: &mut Section<'_, '_, '_>, environment: &Environment) -> Option<Secret> {
    const KEY: &str = "database";
    const VARIABLE: &str = "ROUNDTABLE_DATABASE";
    let given = section.read_secret(KEY, |text| {
        Address::is_server(text)
            .then(|| Secret::new(text))
            .ok_or_else(|| "an address like postgres://user@host/database".to_owned())
    });
    if let Some(secret) = environment.secret(VARIABLE) {
        section.record_from(KEY, secret, VARIABLE);
        return Some(secret.clone());
    }
    optional(section, KEY, given)
}

fn or_default<T: Copy + Display>(
    section: &mut Section<'_, '_, '_>,
    key: &str,
    given: Option<Given<T>>,
    default: T,
) -> T {
    let line = given.as_ref().map(|given| given.line);
    let value = given.map_or(default, |given| given.value);
    section.record(key, Some(value), line);
    value
}

fn optional<T: Display>(
    section: &mut Section<'_, '_, '_>,
    key: &str,
    given: Option<Given<T>>,
) -> Option<T> {
    let line = given.as_ref().map(|given| given.line);
    let value = given.map(|given| given.value);
    section.record(key, value.as_ref(), line);
    value
}

fn whole<T>(
    section: &mut Section<'_, '_, '_>,
    key: &'static str,
    range: RangeInclusive<T>,
    default: T,
) -> T
where
    T: Copy + Display + PartialOrd + TryFrom<i64>,
{
    let given = section.whole(key, range);
    or_default(section, key, given, default)
}

fn share(section: &mut Section<'_, '_, '_>, key: &'static str, default: f64) -> f64 {
    let given = section.number(key, 0.0..=1.0);
    or_default(section, key, given, default)
}

fn temperature(section: &mut Section<'_, '_, '_>, key: &'static str, default: f64) -> f64 {
    let given = section.number(key, 0.0..=2.0);
    or_default(section, key, given, default)
}

fn seconds(section: &mut Section<'_, '_, '_>, key: &'static str, default: Duration) -> Duration {
    let given = section.number(key, SECONDS);
    Duration::from_secs_f64(or_default(section, key, given, default.as_secs_f64()))
}

fn milliseconds(
    section: &mut Section<'_, '_, '_>,
    key: &'static str,
    default: Duration,
) -> Duration {
    let given = section.whole(key, 1..=3_600_000_u64);
    let default = u64::try_from(default.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(or_default(section, key, given, default))
}

fn model(
    section: &mut Section<'_, '_, '_>,
    key: &'static str,
    names: &[&str],
) -> Option<ModelName> {
    let given = section.read(key, |item| {
        let text = item.as_str().unwrap_or_default();
        ModelName::parse(text, names.iter().copied()).map_err(|error| format!("a model: {error}"))
    });
    optional(section, key, given)
}

/// A path in a file is meant from where the file is.
fn beside(
    folder: Option<&Path>,
    folders: Option<&Folders>,
    given: &Given<String>,
) -> Given<PathBuf> {
    let value = match given.value.strip_prefix("~/").zip(folders) {
        Some((rest, folders)) => folders.home.join(rest),
        None => folder.unwrap_or(Path::new("")).join(&given.value),
    };
    Given {
        value,
        line: given.line,
    }
}

/// The variable goes before the file: it is set for one run, the file for all.
fn or_variable(
    section: &mut Section<'_, '_, '_>,
    key: &str,
    given: Option<Given<PathBuf>>,
    default: Option<PathBuf>,
    (variable, environment): (&str, &Environment),
) -> Option<PathBuf> {
    if let Some(path) = environment.path(variable) {
        section.record_from(key, path.display(), variable);
        return Some(path);
    }
    let line = given.as_ref().map(|given| given.line);
    let value = given.map(|given| given.value).or(default);
    section.record(key, value.as_deref().map(Path::display), line);
    value
}
