//! The sections of `roundtable.toml`, each with its keys, bounds and defaults.

use std::path::Path;
use std::time::Duration;

use roundtable_core::convergence::Thresholds;
use roundtable_core::learning::HalfLife;
use roundtable_core::usage::Money;
use roundtable_engine::cast::dealing::Diversity;
use roundtable_engine::data::is_name;
use roundtable_engine::protocols::forecast;

use super::document::{Reader, SECONDS, Section, line_of};
use super::environment::{Environment, Secret};
use super::untrusted::HARMLESS;
use super::{
    BREAKER, Breaker, Config, DAY, Data, Debate, Dialectic, Fault, Kind, Learning, Limits, Local,
    Mcp, Network, Retry, Seating, Server, Tiers, is_secure_url, provider,
};
use crate::store::Address;

/// A user who has waited longer than this has probably turned to another window.
const BELL_AFTER_S: f64 = 30.0;

pub(super) fn read(
    text: &str,
    path: Option<&Path>,
    environment: &Environment,
) -> Result<Config, Vec<Fault>> {
    let document = parse(text)?;
    read_table(document.as_table(), text, path, environment, None)
}

/// The harmless sections of a file that is not trusted, those that are present, and the others that were left out; or the
/// faults, and the others. Models are of the providers of the user's own configuration.
#[expect(clippy::type_complexity, reason = "for one caller")]
pub(super) fn read_harmless(
    text: &str,
    path: &Path,
    environment: &Environment,
    users: &Config,
) -> Result<(Config, Vec<String>, Vec<String>), (Vec<Fault>, Vec<String>)> {
    let document = parse(text).map_err(|faults| (faults, Vec::new()))?;
    let mut table = document.as_table().clone();
    let (present, others): (Vec<String>, Vec<String>) = table
        .iter()
        .map(|(name, _)| name.to_owned())
        .partition(|name| HARMLESS.contains(&name.as_str()));
    table.retain(|name, _| HARMLESS.contains(&name));
    let others: Vec<String> = others.iter().map(|name| format!("[{name}]")).collect();
    match read_table(&table, text, Some(path), environment, Some(users)) {
        Ok(config) => Ok((config, present, others)),
        Err(faults) => Err((faults, others)),
    }
}

fn parse(text: &str) -> Result<toml_edit::Document<&str>, Vec<Fault>> {
    toml_edit::Document::parse(text).map_err(|error| {
        vec![Fault {
            line: line_of(text, error.span()),
            message: format!("invalid TOML: {}", error.message().replace('\n', ", ")),
        }]
    })
}

fn read_table(
    table: &toml_edit::Table,
    text: &str,
    path: Option<&Path>,
    environment: &Environment,
    users: Option<&Config>,
) -> Result<Config, Vec<Fault>> {
    let mut reader = Reader::new(text, path, environment);
    let mut root = Section::new(&mut reader, "", Some(table));
    let providers = if let Some(users) = users {
        // A file that is not trusted starts no program, not even one that the user has enabled.
        let usable = users.providers.values();
        let usable = usable.filter(|provider| provider.kind != Kind::Command);
        root.reader.provider_names = usable.map(|provider| provider.name.clone()).collect();
        users.providers.clone()
    } else {
        provider::read(&mut root)
    };
    let tiers = root.section("tiers", |section| Tiers {
        deliberate: section.model("deliberate"),
        fast: section.model("fast"),
    });
    let embedder = root.section("embedder", |section| section.model("model"));
    let (retry, breaker) = root.section("retry", retry);
    let limits = root.section("limits", limits);
    let dialectic = root.section("dialectic", dialectic);
    let learning = root.section("learning", learning);
    let debate = root.section("debate", |section| {
        let algorithm = section.text("algorithm");
        Debate {
            algorithm: section.optional("algorithm", algorithm),
        }
    });
    let convergence = root.section("convergence", convergence);
    let forecast = root.section("forecast", |section| {
        let default = forecast::Settings::default();
        let tokens = default.max_prompt_tokens;
        let prior = section.read("crowd_prior", |item| {
            let expected =
                "expected true or false (whether a crowd's forecast has a learned weight in the accuracy pool)";
            item.as_bool().ok_or_else(|| expected.to_owned())
        });
        forecast::Settings {
            max_prompt_tokens: section.whole_or("max_prompt_tokens", 600..=100_000, tokens),
            is_crowd_prior: section.or_default("crowd_prior", prior, default.is_crowd_prior),
        }
    });
    let data = root.section("data", |section| {
        let folders = section.reader.environment.folders.as_ref();
        let default = folders.map(|folders| folders.data.clone());
        Data {
            dir: section.path("dir", "ROUNDTABLE_DATA", default),
            database: database(section),
        }
    });
    let local = root.section("local", local);
    let seating = root.section("seating", seating);
    let server = root.section("server", server);
    let mcp = root.section("mcp", |section| {
        let wait = Mcp::default().wait.as_secs_f64();
        Mcp {
            wait: Duration::from_secs_f64(section.number_or("wait_s", 0.0..=600.0, wait)),
        }
    });
    let bell_after = root.section("terminal", |section| {
        let after = section.number_or("bell_after_s", 0.0..=86_400.0, BELL_AFTER_S);
        (after > 0.0).then(|| Duration::from_secs_f64(after))
    });
    let release_feed = root.section("update", release_feed);
    root.finish();
    if !reader.faults.is_empty() {
        reader.faults.sort();
        return Err(reader.faults);
    }
    Ok(Config {
        source: path.map(Path::to_path_buf),
        is_from_working_dir: false,
        is_trusted: true,
        ignored: Vec::new(),
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
        forecast,
        data,
        local,
        seating,
        server,
        mcp,
        bell_after,
        release_feed,
        settings: reader.settings,
    })
}

fn retry(section: &mut Section<'_, '_>) -> (Retry, Breaker) {
    let default = Retry::default();
    let retry = Retry {
        attempts: section.whole_or("attempts", 1..=20, default.attempts),
        base: section.milliseconds_or("base_ms", default.base),
        max: section.milliseconds_or("max_ms", default.max),
    };
    let failures = section.whole_or("open_after", 1..=1000, BREAKER.failures);
    let rest = section.seconds_or("rest_s", Duration::from_millis(BREAKER.rest_ms));
    let breaker = Breaker {
        failures,
        rest_ms: u64::try_from(rest.as_millis()).unwrap_or(u64::MAX),
    };
    (retry, breaker)
}

fn limits(section: &mut Section<'_, '_>) -> Limits {
    let default = Limits::default();
    let call_timeout = section.seconds_or("call_timeout_s", default.call_timeout);
    let idle_timeout = section.seconds_or("idle_timeout_s", default.idle_timeout);
    let default = default.max_question_tokens;
    let max_question_tokens = section.whole_or("max_question_tokens", 1..=10_000_000, default);
    let max_tokens_total = section.whole("max_tokens_total", 1..=1_000_000_000_000_u64);
    let max_tokens_total = section.optional("max_tokens_total", max_tokens_total);
    let max_cost = section.number("max_cost", 0.0..=1_000_000.0);
    let max_cost = section.optional("max_cost", max_cost);
    let timeout = section.number("timeout_s", SECONDS);
    let timeout = section.optional("timeout_s", timeout);
    let allow_secrets = section.read("allow_secrets", |item| {
        let expected =
            "expected true or false (whether API requests may send text with likely secrets)";
        item.as_bool().ok_or_else(|| expected.to_owned())
    });
    let allow_secrets = section.or_default("allow_secrets", allow_secrets, false);
    Limits {
        call_timeout,
        idle_timeout,
        max_question_tokens,
        max_tokens_total,
        max_cost: max_cost.and_then(Money::from_dollars),
        timeout: timeout.map(Duration::from_secs_f64),
        allow_secrets,
    }
}

fn dialectic(section: &mut Section<'_, '_>) -> Dialectic {
    const TEMPERATURES: std::ops::RangeInclusive<f64> = 0.0..=2.0;
    let default = Dialectic::default();
    let (min_rounds, max_rounds) = rounds(section, &default);
    Dialectic {
        min_rounds,
        max_rounds,
        early_stop_score: section.whole_or("early_stop_score", 1..=10, default.early_stop_score),
        proposer_model: section.model("proposer_model"),
        skeptic_model: section.model("skeptic_model"),
        synthesizer_model: section.model("synthesizer_model"),
        proposer_temperature: section.number_or(
            "proposer_temperature",
            TEMPERATURES,
            default.proposer_temperature,
        ),
        skeptic_temperature: section.number_or(
            "skeptic_temperature",
            TEMPERATURES,
            default.skeptic_temperature,
        ),
        synthesizer_temperature: section.number_or(
            "synthesizer_temperature",
            TEMPERATURES,
            default.synthesizer_temperature,
        ),
    }
}

fn rounds(section: &mut Section<'_, '_>, default: &Dialectic) -> (u32, u32) {
    let min = section.whole("min_rounds", 1..=20_u32);
    let max = section.whole("max_rounds", 1..=20_u32);
    let line = min.as_ref().or(max.as_ref()).map(|given| given.line);
    let min = section.or_default("min_rounds", min, default.min_rounds);
    let max = section.or_default("max_rounds", max, default.max_rounds);
    if let Some(line) = line.filter(|_| min > max) {
        let message = format!("dialectic.min_rounds ({min}) is above dialectic.max_rounds ({max})");
        section.fault(line, message);
    }
    (min, max)
}

fn learning(section: &mut Section<'_, '_>) -> Learning {
    let default = HalfLife::default();
    let range = HalfLife::MIN_DAYS..=HalfLife::MAX_DAYS;
    let days = section.number_or("half_life_days", range, default.in_days());
    Learning {
        half_life: HalfLife::days(days).unwrap_or(default),
    }
}

fn convergence(section: &mut Section<'_, '_>) -> Thresholds {
    let default = Thresholds::default();
    Thresholds {
        similarity: section.share_or("similarity", default.similarity),
        evidence: section.share_or("evidence", default.evidence),
        settled: section.share_or("settled", default.settled),
        stalled: section.share_or("stalled", default.stalled),
        stalled_rounds: section.whole_or("stalled_rounds", 1..=20, default.stalled_rounds),
        early_similarity: section.share_or("early_similarity", default.early_similarity),
        early_round: section.whole_or("early_round", 0..=20, default.early_round),
        divergence: section.share_or("divergence", default.divergence),
    }
}

fn local(section: &mut Section<'_, '_>) -> Local {
    let threads = section.whole("threads", 1..=1024_u32);
    let context_tokens = section.whole("context_tokens", 512..=1_048_576_u32);
    let fallback = section.read("fallback", |item| {
        let expected = "expected true or false (whether the embedded model may replace a provider that cannot be reached)";
        item.as_bool().ok_or_else(|| expected.to_owned())
    });
    Local {
        fallback: section.or_default("fallback", fallback, false),
        threads: section.optional("threads", threads),
        context_tokens: section.optional("context_tokens", context_tokens),
        weights: section.path("weights", "ROUNDTABLE_WEIGHTS", None),
    }
}

fn seating(section: &mut Section<'_, '_>) -> Seating {
    let default = Seating::default();
    let diversity = section.read("diversity", |item| {
        let mut all = Diversity::ALL.into_iter();
        let text = item.as_str().unwrap_or_default();
        all.find(|one| one.name() == text)
            .ok_or_else(|| r#"expected "families", "models" or "one""#.to_owned())
    });
    let mix_local = section.read("mix_local", |item| {
        let expected = "expected true or false (whether local and hosted models sit at one table)";
        item.as_bool().ok_or_else(|| expected.to_owned())
    });
    Seating {
        diversity: section.or_default("diversity", diversity, default.diversity),
        max_price_ratio: section.number_or(
            "max_price_ratio",
            1.0..=1_000.0,
            default.max_price_ratio,
        ),
        mix_local: section.or_default("mix_local", mix_local, default.mix_local),
    }
}

fn server(section: &mut Section<'_, '_>) -> Server {
    const DAYS: std::ops::RangeInclusive<f64> = 0.01..=3_650.0;
    let default = Server::default();
    let mut days = |key, default: Duration| {
        let days = default.as_secs_f64() / DAY.as_secs_f64();
        DAY.mul_f64(section.number_or(key, DAYS, days))
    };
    let session_idle = days("session_idle_days", default.session_idle);
    let session_total = days("session_days", default.session_total);
    let check = section.number("stream_check_s", 0.1..=60.0);
    let check = section.or_default("stream_check_s", check, default.stream_check.as_secs_f64());
    Server {
        trusted_proxies: trusted_proxies(section),
        session_idle,
        session_total,
        max_streams: section.whole_or("max_streams", 1..=1_000_000, default.max_streams),
        max_streams_per_token: section.whole_or(
            "max_streams_per_token",
            1..=1_000_000,
            default.max_streams_per_token,
        ),
        stream_check: Duration::from_secs_f64(check),
        reasoning_key: reasoning_key(section, default.reasoning_key),
    }
}

fn reasoning_key(section: &mut Section<'_, '_>, default: String) -> String {
    const KEY: &str = "reasoning_key";
    let given = section.read(KEY, |item| {
        let is_key = |key: &&str| is_name(key, "_-") && key.len() <= 64 && *key != "content";
        let key = item.as_str().filter(is_key).map(str::to_owned);
        key.ok_or_else(|| "expected the name of a field, such as \"reasoning\"".to_owned())
    });
    let line = given.as_ref().map(|given| given.line);
    let key = given.map_or(default, |given| given.value);
    section.record(KEY, Some(&key), line);
    key
}

fn trusted_proxies(section: &mut Section<'_, '_>) -> Vec<Network> {
    const KEY: &str = "trusted_proxies";
    let given = section.read(KEY, |item| {
        let expected =
            "expected a list of addresses and networks, such as [\"127.0.0.1\", \"10.0.0.0/8\"]";
        let items = item.as_array().map(toml_edit::Array::iter);
        let parse = |item: &toml_edit::Value| item.as_str()?.parse().ok();
        let networks: Option<Vec<Network>> = items.and_then(|items| items.map(parse).collect());
        networks.ok_or_else(|| expected.to_owned())
    });
    let line = given.as_ref().map(|given| given.line);
    let networks = given.map_or_else(Vec::new, |given| given.value);
    let shown: Vec<String> = networks.iter().map(Network::to_string).collect();
    let shown = (!shown.is_empty()).then(|| shown.join(", "));
    section.record(KEY, shown, line);
    networks
}

/// The variable has priority: it is set for one run, the file for all.
fn release_feed(section: &mut Section<'_, '_>) -> Option<String> {
    const KEY: &str = "url";
    const VARIABLE: &str = "ROUNDTABLE_UPDATE_URL";
    let given = section.read(KEY, |item| {
        let url = item.as_str().map(str::trim);
        let url = url.filter(|url| is_secure_url(url)).map(str::to_owned);
        url.ok_or_else(|| "expected an https:// URL".to_owned())
    });
    let environment = section.reader.environment;
    if let Some(url) = environment.variable(VARIABLE) {
        section.record_variable(KEY, url, VARIABLE);
        return Some(url.to_owned());
    }
    section.optional(KEY, given)
}

/// The address may contain a password, so neither the file's nor the variable's value is shown.
fn database(section: &mut Section<'_, '_>) -> Option<Secret> {
    const KEY: &str = "database";
    const VARIABLE: &str = "ROUNDTABLE_DATABASE";
    let expected = "expected an address like postgres://user@host/database";
    let given = section.read_secret(KEY, Address::is_server, expected);
    if let Some(secret) = section.reader.environment.secret(VARIABLE) {
        section.record_variable(KEY, secret, VARIABLE);
        return Some(secret.clone());
    }
    section.optional(KEY, given)
}
