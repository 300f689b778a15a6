//! Memory and disk space of this machine.

use std::path::Path;

use sysinfo::{
    CGroupLimits, MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, RefreshKind, System,
    get_current_pid,
};

use super::WeightsError;

/// In bytes. Zero if unknown, so that only the smallest model is selected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    pub total: u64,
    pub available: u64,
}

impl Memory {
    /// The memory of the system, or of the container or control group if that is less.
    pub fn detect() -> Self {
        let ram = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let Ok(mut system) = System::new_with_specifics(ram) else {
            return Self::default();
        };
        let memory = Self {
            total: system.total_memory(),
            available: system.available_memory(),
        };
        memory.within(limits(&mut system))
    }

    fn within(self, limits: Option<CGroupLimits>) -> Self {
        let Some(limits) = limits else {
            return self;
        };
        // Not `free_memory`: that counts cached files as used, such as a model that was just downloaded.
        let available = limits.total_memory.saturating_sub(limits.rss);
        Self {
            total: self.total.min(limits.total_memory),
            available: self.available.min(available),
        }
    }
}

fn limits(system: &mut System) -> Option<CGroupLimits> {
    let own = get_current_pid().ok().and_then(|id| {
        let kind = ProcessRefreshKind::nothing();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[id]), false, kind);
        system.process(id)?.cgroup_limits()
    });
    own.or_else(|| system.cgroup_limits())
}

/// Fails if the folder's file system has no room for `bytes` and a reserve of 5%.
pub(super) fn check_disk_space(
    name: &'static str,
    folder: &Path,
    bytes: u64,
) -> Result<(), WeightsError> {
    let needed = bytes.saturating_add(bytes / 20);
    match fs4::available_space(folder) {
        Ok(free) if free < needed => Err(WeightsError::DiskFull {
            name,
            folder: folder.to_owned(),
            needed,
            free,
        }),
        // A file system that does not report it is tried.
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
