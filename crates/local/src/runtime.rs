//! The native runtime that the language model and the embedder share: started once, silent, and computing for one of
//! them at a time.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::available_parallelism;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use roundtable_engine::model::ModelError;

/// How many threads compute. Threads wait for each other several hundred times for every token, so one that has no core of
/// its own holds up all: on two busy cores, one thread was five times as fast as two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads(NonZeroU32);

impl Threads {
    /// At least one.
    pub fn new(count: u32) -> Self {
        Self(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN))
    }

    /// As many as there are cores free at this moment: of those that this process may use, each physical core counted
    /// once, without those that others keep busy.
    pub fn of_this_machine() -> Self {
        let allowed = available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
        let told = |file, read: fn(&str) -> Option<u32>| {
            std::fs::read_to_string(file)
                .ok()
                .and_then(|text| read(&text))
        };
        let physical = told("/proc/cpuinfo", physical_cores).unwrap_or(allowed);
        let busy = told("/proc/loadavg", running_elsewhere).unwrap_or(0);
        Self::new(physical.min(allowed).saturating_sub(busy))
    }

    pub fn get(self) -> u32 {
        self.0.get()
    }

    pub(crate) fn as_i32(self) -> i32 {
        i32::try_from(self.0.get()).unwrap_or(i32::MAX)
    }
}

/// The number of distinct pairs of socket and core; `None` where the system does not tell them.
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

/// How many threads run besides the one that asks: the fourth word is `running/all`.
fn running_elsewhere(loadavg: &str) -> Option<u32> {
    let (running, _) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    Some(running.parse::<u32>().ok()?.saturating_sub(1))
}

/// The started runtime. It stays for the life of the process: stopping it while a model is loaded would be unsound.
pub(crate) fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    BACKEND
        .get_or_init(|| {
            let mut backend = LlamaBackend::init().map_err(|error| error.to_string())?;
            // It would write pages to the user's terminal.
            backend.void_logs();
            Ok(backend)
        })
        .as_ref()
        .map_err(|reason| failed(format!("the native runtime does not start: {reason}")))
}

/// The turn to compute. Language model and embedder each use every core, so they must not compute at the same moment.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maps the file into memory; pages are read when they are needed.
pub(crate) fn load(path: &Path) -> Result<LlamaModel, ModelError> {
    if !path.is_file() {
        return Err(failed(format!(
            "there is no model file at {}; fetch the weights first or correct the path",
            path.display()
        )));
    }
    LlamaModel::load_from_file(backend()?, path, &LlamaModelParams::default()).map_err(|error| {
        failed(format!(
            "{} cannot be loaded as a GGUF model: {error}",
            path.display()
        ))
    })
}

pub(crate) fn failed(detail: impl Into<String>) -> ModelError {
    ModelError::Local {
        detail: detail.into(),
    }
}

#[cfg(test)]
#[path = "runtime_tests.rs"]
mod tests;
