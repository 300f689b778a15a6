//! The places and sources of model files, by the environment of the user.

use std::path::{Path, PathBuf};

use roundtable_local::weights::{AllowedSources, HuggingFaceSettings, Locations, OtherPrograms};

use crate::config::{Environment, Folders};

/// `None` if the user has no home folder.
pub(super) fn locations(environment: &Environment) -> Option<Locations> {
    let folders = environment.folders.as_ref()?;
    let sources = match environment.variable("ROUNDTABLE_SOURCES") {
        Some("packages") => AllowedSources::PackagesOnly,
        Some("nowhere") => AllowedSources::None,
        _ => AllowedSources::All,
    };
    Some(Locations {
        other_programs: other_programs(environment, folders),
        hugging_face: hugging_face(environment),
        ..Locations::new(folders.cache.join("weights"), sources)
    })
}

/// The variables of Hugging Face's own tools.
fn hugging_face(environment: &Environment) -> HuggingFaceSettings {
    let default = HuggingFaceSettings::default();
    let offline = environment.variable("HF_HUB_OFFLINE");
    HuggingFaceSettings {
        endpoint: environment
            .variable("HF_ENDPOINT")
            .map_or(default.endpoint, str::to_owned),
        token: environment.variable("HF_TOKEN").map(str::to_owned),
        is_offline: offline.is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            ["1", "true", "yes", "on"].contains(&value.as_str())
        }),
    }
}

/// The variables and default folders of the other programs.
fn other_programs(environment: &Environment, folders: &Folders) -> OtherPrograms {
    let home = &folders.home;
    let cache = environment
        .path("XDG_CACHE_HOME")
        .unwrap_or_else(|| home.join(".cache"));
    let hub = || {
        let folder = environment.path("HF_HOME");
        folder
            .unwrap_or_else(|| cache.join("huggingface"))
            .join("hub")
    };
    let llama_cpp = environment.path("LLAMA_CACHE");
    OtherPrograms {
        hugging_face: Some(environment.path("HF_HUB_CACHE").unwrap_or_else(hub)),
        ollama: ollama(environment, home),
        lm_studio: vec![
            home.join(".lmstudio/models"),
            home.join(".cache/lm-studio/models"),
        ],
        llama_cpp: vec![
            llama_cpp.unwrap_or_else(|| cache.join("llama.cpp")),
            home.join("Library/Caches/llama.cpp"),
        ],
    }
}

/// The user's own models, and those of a service.
fn ollama(environment: &Environment, home: &Path) -> Vec<PathBuf> {
    let own = environment.path("OLLAMA_MODELS");
    vec![
        own.unwrap_or_else(|| home.join(".ollama/models")),
        PathBuf::from("/usr/share/ollama/.ollama/models"),
    ]
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
