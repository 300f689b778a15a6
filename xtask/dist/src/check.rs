//! `cargo xtask dist --check`: installs every package into an empty folder, as a user would, and runs it there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::file_server::{self, Archives};
use crate::pack::{PACKAGE, archive_name};
use crate::{log, program};

/// A debate with a scripted model over HTTP, run by the suite on the installed program.
const DEBATE: &str = "ask::quiet_prints_only_the_answer";
const MODEL: &str = "SmolLM2-135M-Instruct";
const WEIGHTS: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

struct Check<'a> {
    /// The files of the release.
    folder: &'a Path,
    version: &'a str,
    /// Removed afterwards.
    temporary: &'a Path,
}

pub(crate) fn run(folder: &Path, version: &str) -> Result<(), String> {
    let temporary = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let check = Check {
        folder,
        version,
        temporary: temporary.path(),
    };
    check.checksums()?;
    let full = check.archive("")?;
    let mut installed = vec![
        ("tar.gz", full.clone()),
        ("tar.gz, slim", check.archive("-slim")?),
        ("install.sh with curl", check.install_script("curl")?),
        ("install.sh with wget", check.install_script("wget")?),
    ];
    check.damaged_download_is_refused()?;
    let optional = [
        ("deb", "dpkg-deb", check.deb()),
        ("wheel", "python3", check.wheel()),
        ("npm", "npm", check.npm()),
    ];
    for (name, tool, result) in optional {
        if runs(tool) {
            installed.push((name, result?));
        } else {
            log(&format!(
                "{name}: not checked, because {tool} is not installed"
            ));
        }
    }
    for (name, path) in &installed {
        check
            .debate(path)
            .map_err(|error| format!("{name}: {error}"))?;
        log(&format!("{name}: installed, and a debate ran"));
    }
    check.embedded_model(&full)
}

impl Check<'_> {
    fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.temporary.join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// The file of the release with this ending.
    fn package(&self, ending: &str) -> Result<PathBuf, String> {
        let files = std::fs::read_dir(self.folder).into_iter().flatten();
        let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
        paths
            .find(|path| path.to_string_lossy().ends_with(ending))
            .ok_or_else(|| format!("there is no file *{ending}"))
    }

    fn checksums(&self) -> Result<(), String> {
        let mut command = Command::new("sha256sum");
        command
            .args(["--check", "--quiet", "SHA256SUMS"])
            .current_dir(self.folder);
        succeed(&mut command)
    }

    fn archive(&self, variant: &str) -> Result<PathBuf, String> {
        let name = archive_name(self.version, variant);
        let folder = self.folder("archive")?;
        let mut command = Command::new("tar");
        command
            .arg("-xzf")
            .arg(self.folder.join(format!("{name}.tar.gz")));
        succeed(command.current_dir(&folder))?;
        Ok(folder.join(name).join("roundtable"))
    }

    fn deb(&self) -> Result<PathBuf, String> {
        let package = self.package(".deb")?;
        let folder = self.folder("deb")?;
        succeed(
            Command::new("dpkg-deb")
                .arg("--raw-extract")
                .arg(&package)
                .arg(&folder),
        )?;
        let mut sums = Command::new("md5sum");
        succeed(
            sums.args(["--check", "--quiet", "DEBIAN/md5sums"])
                .current_dir(&folder),
        )?;
        Ok(folder.join("usr/bin/roundtable"))
    }

    fn wheel(&self) -> Result<PathBuf, String> {
        let environment = self.temporary.join("venv");
        succeed(
            Command::new("python3")
                .args(["-m", "venv"])
                .arg(&environment),
        )?;
        let programs = environment.join("bin");
        let mut install = Command::new(programs.join("pip"));
        install.args([
            "install",
            "--quiet",
            "--no-index",
            "--disable-pip-version-check",
        ]);
        succeed(install.arg(self.package(".whl")?))?;
        program::output(&programs.join(PACKAGE), &["--version"])?;
        Ok(programs.join("roundtable"))
    }

    fn npm(&self) -> Result<PathBuf, String> {
        let package = self.package(".tgz")?;
        let folder = self.folder("npm")?;
        let quiet = ["--offline", "--no-audit", "--no-fund", "--loglevel=error"];
        let mut install = Command::new("npm");
        install
            .arg("install")
            .args(quiet)
            .arg("--prefix")
            .arg(&folder);
        succeed(install.arg(&package))?;
        // The package's only command, although it has another name.
        let mut run = Command::new("npx");
        run.args(["--no-install", "--offline", PACKAGE, "--version"]);
        succeed(run.current_dir(&folder))?;
        Ok(folder.join("node_modules/.bin/roundtable"))
    }

    /// Runs `install.sh` with one of the two programs that download.
    fn install_script(&self, downloader: &str) -> Result<PathBuf, String> {
        let address = file_server::start(self.folder, self.version, Archives::AsTheyAre)?;
        let home = self.folder(&format!("home-{downloader}"))?;
        succeed(&mut self.script(&address, &home, downloader)?)?;
        let leftovers = files_below(&self.folder("tmp")?);
        if !leftovers.is_empty() {
            return Err(format!("install.sh left {leftovers:?} behind"));
        }
        Ok(home.join(".local/bin/roundtable"))
    }

    fn damaged_download_is_refused(&self) -> Result<(), String> {
        let address = file_server::start(self.folder, self.version, Archives::Damaged)?;
        let home = self.folder("home-damaged")?;
        match succeed(&mut self.script(&address, &home, "curl")?) {
            Ok(()) => return Err("install.sh installed a damaged file".to_owned()),
            Err(error) if error.contains("sha256") => {}
            Err(error) => return Err(error),
        }
        let leftovers = [files_below(&home), files_below(&self.folder("tmp")?)].concat();
        if leftovers.is_empty() {
            log("install.sh: a damaged download is refused, and nothing is left");
            return Ok(());
        }
        Err(format!("install.sh failed and left {leftovers:?} behind"))
    }

    fn script(&self, address: &str, home: &Path, downloader: &str) -> Result<Command, String> {
        let mut command = Command::new("sh");
        command
            .arg(self.folder.join("install.sh"))
            .env("PATH", self.tools(downloader)?)
            .env("HOME", home)
            .env("TMPDIR", self.folder("tmp")?)
            .env("ROUNDTABLE_BASE_URL", address)
            .env("no_proxy", "127.0.0.1");
        Ok(command)
    }

    /// A folder with the only programs that `install.sh` may use.
    fn tools(&self, downloader: &str) -> Result<PathBuf, String> {
        const USED: &str = "awk chmod cp cut gzip mkdir mktemp mv rm sh sha256sum tar uname";
        let folder = self.folder(&format!("tools-{downloader}"))?;
        for name in USED.split(' ').chain([downloader]) {
            let found = program::output(Path::new("sh"), &["-c", &format!("command -v {name}")])?;
            let link = folder.join(name);
            if !link.exists() {
                std::os::unix::fs::symlink(found.trim(), link)
                    .map_err(|error| format!("cannot link {name}: {error}"))?;
            }
        }
        Ok(folder)
    }

    fn debate(&self, installed: &Path) -> Result<(), String> {
        let version = program::output(installed, &["--version"])?;
        if version.trim() != format!("roundtable {}", self.version) {
            return Err(format!("it says that it is {}", version.trim()));
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let suite =
            "test --quiet --package roundtable --no-default-features --test suite -- --exact";
        let mut command = Command::new(cargo);
        command
            .args(suite.split(' '))
            .arg(DEBATE)
            .env("SUITE_BINARY", installed);
        let output = command
            .output()
            .map_err(|error| format!("cannot run cargo: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        // A name that no test has would succeed too.
        if output.status.success() && text.contains("1 passed") {
            return Ok(());
        }
        Err(format!(
            "{text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    /// A real answer, if the weights are in the user's cache.
    fn embedded_model(&self, full: &Path) -> Result<(), String> {
        let cache = std::env::home_dir().map(|home| home.join(".cache/roundtable/weights"));
        let names = cache.map(|cache| files_below(&cache)).unwrap_or_default();
        if !names.iter().any(|name| name == WEIGHTS) {
            log(&format!(
                "embedded model: not run, because {MODEL} is not in the cache: `roundtable pull` downloads it"
            ));
            return Ok(());
        }
        let configuration = self.temporary.join("empty.toml");
        std::fs::write(&configuration, "").map_err(|error| format!("cannot write: {error}"))?;
        let data = self.folder("data")?;
        let (configuration, data) = (configuration.to_string_lossy(), data.to_string_lossy());
        let model = format!("local:{MODEL}");
        let question = "Is a bicycle better than a car in a city?";
        let arguments = [
            "ask", question, "--quiet", "--rounds", "1", "--model", &model,
        ];
        let paths = ["--config", &configuration, "--data", &data];
        let answer = program::output(full, &[&arguments[..], &paths].concat())?;
        if answer.trim().is_empty() {
            return Err("the embedded model answered nothing".to_owned());
        }
        log("embedded model: a debate ran");
        Ok(())
    }
}

fn runs(tool: &str) -> bool {
    succeed(Command::new(tool).arg("--version")).is_ok()
}

/// Runs a command; the error has its output.
fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!(
        "{name}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&text)
    ))
}

/// The names of everything in a folder, with its subfolders.
fn files_below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.extend(files_below(&entry.path()));
        }
    }
    names
}
