//! The llama.cpp runtime shared by the language model and the embedder: initialised once, with its log output off, and
//! computing for one of them at a time.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::available_parallelism;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use roundtable_engine::model::ModelError;

/// The number of compute threads. They synchronise several hundred times per token, so one thread without a free core slows
/// down all: on two busy cores, one thread was five times as fast as two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(NonZeroU32);

impl Threads {
    /// `count`, but at least one.
    pub fn new(count: u32) -> Self {
        Self(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN))
    }

    /// The number of physical cores that this process may use, minus the number of other threads running now.
    pub fn detect() -> Self {
        let allowed = available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
        let read = |file, parse: fn(&str) -> Option<u32>| {
            std::fs::read_to_string(file)
                .ok()
                .and_then(|text| parse(&text))
        };
        let physical = read("/proc/cpuinfo", physical_cores).unwrap_or(allowed);
        let busy = read("/proc/loadavg", other_running_threads).unwrap_or(0);
        Self::new(physical.min(allowed).saturating_sub(busy))
    }

    pub fn get(self) -> u32 {
        self.0.get()
    }

    pub(crate) fn as_i32(self) -> i32 {
        i32::try_from(self.0.get()).unwrap_or(i32::MAX)
    }
}

/// The number of distinct pairs of socket and core; `None` if the system does not report them.
fn physical_cores(cpuinfo: &str) -> Option<u32> {
    let mut cores = std::collections::HashSet::new();
    let mut socket = None;
    for line in cpuinfo.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        match key.trim() {
            "physical id" => socket = Some(value.trim()),
            "core id" => {
                cores.insert((socket?, value.trim()));
            }
            _ => {}
        }
    }
    u32::try_from(cores.len()).ok().filter(|count| *count > 0)
}

/// The number of running threads except the calling one; the fourth field is `running/total`.
fn other_running_threads(loadavg: &str) -> Option<u32> {
    let (running, _) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    Some(running.parse::<u32>().ok()?.saturating_sub(1))
}

/// The runtime. It is never shut down: doing so while a model is loaded would be unsound.
pub(crate) fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            check_processor()?;
            let mut backend = LlamaBackend::init().map_err(|error| error.to_string())?;
            // llama.cpp logs pages of text to standard error.
            backend.void_logs();
            Ok(backend)
        })
        .as_ref()
        .map_err(|reason| local_error(format!("cannot start the native runtime: {reason}")))
}

/// llama.cpp is compiled for these instructions. On a processor without them the process would be killed in a debate.
#[cfg(target_arch = "x86_64")]
fn check_processor() -> Result<(), String> {
    require_all(&[
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("BMI2", is_x86_feature_detected!("bmi2")),
        ("F16C", is_x86_feature_detected!("f16c")),
        ("FMA", is_x86_feature_detected!("fma")),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn check_processor() -> Result<(), String> {
    require_all(&[])
}

fn require_all(instructions: &[(&str, bool)]) -> Result<(), String> {
    let missing = instructions.iter().filter(|(_, present)| !present);
    let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "this processor has no {}, which the embedded model needs. Use a hosted model or Ollama",
        missing.join(", ")
    ))
}

/// Held while computing. Language model and embedder each use all threads, so they must not compute at the same time.
pub(crate) fn compute_lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maps the file into memory; pages are read on demand.
pub(crate) fn load_model(path: &Path) -> Result<LlamaModel, ModelError> {
    if !path.is_file() {
        return Err(local_error(format!(
            "no model file at {}; download the weights with `roundtable pull`, or correct the path",
            path.display()
        )));
    }
    LlamaModel::load_from_file(backend()?, path, &LlamaModelParams::default()).map_err(|error| {
        local_error(format!(
            "cannot load {} as a GGUF model: {error}",
            path.display()
        ))
    })
}

pub(crate) fn local_error(detail: impl Into<String>) -> ModelError {
    ModelError::Local {
        detail: detail.into(),
    }
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
