//! Static builds for Linux: the target of each variant, and the settings of its compilers.
//!
//! A static program runs on every distribution, in an empty container and next to any C library. The settings also leave the
//! folders of the building machine out of the program, so that the same sources give the same bytes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, Step, cargo_home};
use crate::probe::{first_line, run_captured, runs};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// With the embedded model.
    Full,
    /// Without it.
    Slim,
}

/// The tools that a static build needs beyond the host's own toolchain.
#[derive(Debug, Clone, Copy, Default)]
struct MuslTools {
    standard_library: bool,
    c_compiler: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StaticTarget {
    pub(crate) triple: String,
    /// Why not musl.
    pub(crate) note: Option<&'static str>,
}

impl Variant {
    pub(crate) const ALL: [Self; 2] = [Self::Full, Self::Slim];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Slim => "slim",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Full => "static build with the embedded model",
            Self::Slim => "static build without the embedded model",
        }
    }

    fn features(self) -> &'static str {
        match self {
            Self::Full => "--features roundtable-local/static",
            Self::Slim => "--no-default-features",
        }
    }

    /// The target for this machine. There is no cross-building: every architecture is built on a machine of its own.
    pub(crate) fn target(self) -> StaticTarget {
        let triple = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        let arguments = ["--print", "target-libdir", "--target", &triple];
        let folder = first_line("rustc", &arguments).map(PathBuf::from);
        let files = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let tools = MuslTools {
            standard_library: files.is_some_and(|mut files| files.next().is_some()),
            c_compiler: runs("musl-gcc", &["--version"]),
        };
        self.choose_target(std::env::consts::ARCH, tools)
    }

    fn choose_target(self, architecture: &str, tools: MuslTools) -> StaticTarget {
        let note = match (self, tools) {
            // llama.cpp needs a C++ standard library and OpenMP for musl, which distributions do not package.
            (Self::Full, _) => Some("there is no C++ compiler for musl"),
            (
                Self::Slim,
                MuslTools {
                    standard_library: false,
                    ..
                },
            ) => Some(
                "this toolchain has no standard library for musl: rustup target add installs it",
            ),
            (
                Self::Slim,
                MuslTools {
                    c_compiler: false, ..
                },
            ) => Some("there is no musl-gcc: apt-get install musl-tools installs it"),
            (Self::Slim, _) => None,
        };
        let environment = if note.is_some() { "gnu" } else { "musl" };
        StaticTarget {
            triple: format!("{architecture}-unknown-linux-{environment}"),
            note,
        }
    }

    /// The build; its result is [`StaticTarget::binary`].
    pub(crate) fn build(
        self,
        cargo: &Cargo,
        target: &StaticTarget,
        profile: &str,
    ) -> Result<Step, String> {
        let arguments = format!(
            "build --locked --package roundtable --bin roundtable --profile {profile} --target {} {}",
            target.triple,
            self.features()
        );
        let folder = cargo.target_folder();
        let mut step = cargo
            .step(self.title(), &arguments)
            // llama.cpp would leave out AVX2.
            .env_remove("SOURCE_DATE_EPOCH")
            .duration_hint("with the profile release, 15 minutes or more");
        for (name, value) in target.environment(&Prefixes {
            workspace: cargo.workspace().to_owned(),
            target: folder.clone(),
            cargo: cargo_home(),
        }) {
            step = step.env(&name, value);
        }
        if target.is_glibc() {
            compile_name_services(cargo.workspace(), &folder)?;
            // An environment variable, because a path in the flags would change the program.
            step = step.env("LIBRARY_PATH", folder);
        }
        Ok(step)
    }
}

const NAME_SERVICES: &str = "roundtable-name-services.o";

fn compile_name_services(workspace: &Path, folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let compiler = std::env::var_os("CC").filter(|value| !value.is_empty());
    let mut command = Command::new(compiler.unwrap_or_else(|| "cc".into()));
    command
        .args(["-c", "-O2", "-fPIC", "-o"])
        .arg(folder.join(NAME_SERVICES))
        .arg(workspace.join("xtask/src/name_services.c"));
    run_captured(&mut command).map_err(|error| format!("cannot compile name_services.c: {error}"))
}

/// Folders of this machine that must not be in the program.
struct Prefixes {
    workspace: PathBuf,
    target: PathBuf,
    cargo: PathBuf,
}

impl StaticTarget {
    /// The folder in which cargo puts the program.
    pub(crate) fn binary(&self, target_folder: &Path, profile: &str) -> PathBuf {
        let folder = target_folder.join(&self.triple).join(profile);
        folder.join("roundtable")
    }

    fn is_glibc(&self) -> bool {
        self.triple.ends_with("gnu")
    }

    /// Variables for cargo and for the C compiler. With `--target` the flags do not apply to build scripts.
    fn environment(&self, prefixes: &Prefixes) -> Vec<(String, String)> {
        // The last match wins, and the target folder may be in the workspace.
        let maps = [
            (&prefixes.workspace, "/roundtable"),
            (&prefixes.target, "/build"),
            (&prefixes.cargo, "/cargo"),
        ]
        .map(|(folder, name)| format!("{}={name}", folder.display()));
        let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
        flags.extend(maps.iter().map(|map| format!("--remap-path-prefix={map}")));
        if self.is_glibc() {
            flags.push(format!("-Clink-arg=-l:{NAME_SERVICES}"));
        }
        if self.triple == "x86_64-unknown-linux-gnu" {
            // Equal functions once. Only here, because this is the target for which the compiler brings its own linker.
            flags.push("-Clink-arg=-Wl,--icf=all".to_owned());
        }
        let c_flags = maps.map(|map| format!("-ffile-prefix-map={map}")).join(" ");
        let triple = self.triple.replace('-', "_");
        let mut variables = vec![
            // Takes precedence over the user's own flags, which would change the program.
            ("CARGO_ENCODED_RUSTFLAGS".to_owned(), flags.join("\u{1f}")),
            (format!("CFLAGS_{triple}"), c_flags.clone()),
            (format!("CXXFLAGS_{triple}"), c_flags),
        ];
        if !self.is_glibc() {
            variables.push((format!("CC_{triple}"), "musl-gcc".to_owned()));
        }
        variables
    }
}

#[cfg(test)]
#[path = "static_build_tests.rs"]
mod tests;
