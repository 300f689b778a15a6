//! Makes all packages of a release.

use std::path::Path;
use std::sync::Arc;

use crate::arguments::Release;
use crate::checksums;
use crate::deb::{self, Control};
use crate::elf::check_static;
use crate::entry::Entry;
use crate::install_script::script;
use crate::npm::{self, Npm};
use crate::tarball::{gzip, tar_gz};
use crate::version::{for_debian, for_python};
use crate::wheel::Wheel;
use crate::{log, program};

/// On the registries; the command is `roundtable`.
pub(crate) const PACKAGE: &str = "roundtable-debate";
const SUMMARY: &str =
    "A panel of language models argues a question out before you rely on the answer";
const DESCRIPTION: &str = include_str!("../files/README.md");
/// `cargo xtask dist` writes these into the folder.
const ACCOMPANYING: [&str; 2] = ["roundtable.cdx.json", NOTICES];
const NOTICES: &str = "THIRD-PARTY-LICENSES.txt";

/// The same machine in the words of Debian and Node.js.
fn machine_names() -> Result<(&'static str, &'static str), String> {
    match std::env::consts::ARCH {
        "x86_64" => Ok(("amd64", "x64")),
        "aarch64" => Ok(("arm64", "arm64")),
        other => Err(format!("there are no packages for {other}")),
    }
}

/// `roundtable-0.1.0-x86_64-linux`, and with `-slim` the one without the embedded model.
pub(crate) fn archive_name(version: &str, variant: &str) -> String {
    format!(
        "roundtable-{version}-{}-linux{variant}",
        std::env::consts::ARCH
    )
}

/// Files that every package contains in addition to the program.
struct Texts {
    completions: Vec<Entry>,
    manual: Vec<Entry>,
    licenses: Vec<Entry>,
}

pub(crate) fn run(release: &Release) -> Result<(), String> {
    let full = read_program(&release.full, release)?;
    let slim = read_program(&release.slim, release)?;
    let texts = Texts::collect(release)?;
    let (debian_machine, node_machine) = machine_names()?;
    let mut output = Output {
        folder: &release.folder,
        names: ACCOMPANYING.map(str::to_owned).to_vec(),
    };
    for (variant, program) in [("", &full), ("-slim", &slim)] {
        let name = archive_name(&release.version, variant);
        let archive = tar_gz(&texts.archive(&name, program), release.date)?;
        output.write(format!("{name}.tar.gz"), &archive)?;
    }
    let version = for_debian(&release.version);
    let control = Control {
        package: PACKAGE,
        version: &version,
        architecture: debian_machine,
        summary: SUMMARY,
        description: "Several seats, each with its own role and model, answer, attack, revise and vote.",
    };
    let package = deb::package(control, &texts.debian(&full)?, release.date)?;
    output.write(
        format!("{PACKAGE}_{version}_{debian_machine}.deb"),
        &package,
    )?;
    let wheel = Wheel {
        name: &PACKAGE.replace('-', "_"),
        version: &for_python(&release.version)?,
        architecture: std::env::consts::ARCH,
        summary: SUMMARY,
        description: DESCRIPTION,
    };
    output.write(
        wheel.file_name(),
        &wheel.package(&scripts(&full), &texts.licenses)?,
    )?;
    let npm = Npm {
        name: PACKAGE,
        version: &release.version,
        cpu: node_machine,
        summary: SUMMARY,
    };
    let files = [
        &texts.licenses[..],
        &[Entry::text("README.md", DESCRIPTION)],
        &[Entry::program("bin/roundtable", Arc::clone(&full))],
    ]
    .concat();
    let package = npm::package(npm, "bin/roundtable", &files, release.date)?;
    output.write(format!("{PACKAGE}-{}.tgz", release.version), &package)?;
    let base_url = std::env::var("ROUNDTABLE_BASE_URL").unwrap_or_default();
    output.write(
        "install.sh".to_owned(),
        script(&release.version, &base_url)?.as_bytes(),
    )?;
    checksums::write(output.folder, &output.names)
}

struct Output<'a> {
    folder: &'a Path,
    names: Vec<String>,
}

impl Output<'_> {
    fn write(&mut self, name: String, content: &[u8]) -> Result<(), String> {
        let path = self.folder.join(&name);
        std::fs::write(&path, content)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        log(&format!("{:>9}  {name}", megabytes(content.len())));
        self.names.push(name);
        Ok(())
    }
}

fn megabytes(bytes: usize) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// The program, if it is static and does not name folders of the building machine.
fn read_program(path: &Path, release: &Release) -> Result<Arc<[u8]>, String> {
    let error = |reason: String| format!("{}: {reason}", path.display());
    let content = std::fs::read(path).map_err(|reason| error(reason.to_string()))?;
    check_static(&content).map_err(|reason| error(format!("not a static program: {reason}")))?;
    let named = release.forbidden.iter().find(|folder| {
        let mut places = content.windows(folder.len());
        places.any(|bytes| bytes == folder.as_bytes())
    });
    if let Some(folder) = named {
        return Err(error(format!(
            "it contains the name of the folder {folder}"
        )));
    }
    let version = program::output(path, &["--version"])?;
    if version.trim() != format!("roundtable {}", release.version) {
        return Err(error(format!("it says that it is {}", version.trim())));
    }
    log(&format!(
        "{:>9}  {}: static",
        megabytes(content.len()),
        path.display()
    ));
    Ok(content.into())
}

/// Two commands: `uvx PACKAGE` runs the one with the name of the package.
fn scripts(program: &Arc<[u8]>) -> [Entry; 2] {
    let alias = "#!/bin/sh\nexec \"$(dirname \"$0\")/roundtable\" \"$@\"\n";
    [
        Entry::program("roundtable", Arc::clone(program)),
        Entry::program(PACKAGE, alias.as_bytes().into()),
    ]
}

impl Texts {
    fn collect(release: &Release) -> Result<Self, String> {
        let license = |folder: &Path, name: &str| {
            let path = folder.join(name);
            let content = std::fs::read(&path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            Ok::<_, String>(Entry::text(name, content))
        };
        Ok(Self {
            completions: program::completions(&release.full)?,
            manual: program::manual(&release.full, &release.version)?,
            licenses: vec![
                license(&release.workspace, "LICENSE-APACHE")?,
                license(&release.workspace, "LICENSE-MIT")?,
                license(&release.folder, NOTICES)?,
            ],
        })
    }

    fn archive(&self, name: &str, program: &Arc<[u8]>) -> Vec<Entry> {
        let mut entries = vec![Entry::program(
            format!("{name}/roundtable"),
            Arc::clone(program),
        )];
        let folders = [
            (&self.licenses, ""),
            (&self.completions, "completions/"),
            (&self.manual, "man/man1/"),
        ];
        for (files, folder) in folders {
            entries.extend(files.iter().map(|file| Entry {
                path: format!("{name}/{folder}{}", file.path),
                ..file.clone()
            }));
        }
        entries
    }

    fn debian(&self, program: &Arc<[u8]>) -> Result<Vec<Entry>, String> {
        let mut entries = vec![Entry::program("usr/bin/roundtable", Arc::clone(program))];
        for page in &self.manual {
            let path = format!("usr/share/man/man1/{}.gz", page.path);
            entries.push(Entry::text(path, gzip(&page.content)?));
        }
        for script in &self.completions {
            let folder = match &*script.path {
                "_roundtable" => "zsh/vendor-completions",
                "roundtable.fish" => "fish/vendor_completions.d",
                _ => "bash-completion/completions",
            };
            entries.push(Entry {
                path: format!("usr/share/{folder}/{}", script.path),
                ..script.clone()
            });
        }
        let documentation = format!("usr/share/doc/{PACKAGE}");
        let mut copyright =
            b"Roundtable is licensed under MIT or Apache-2.0, at your option.\n".to_vec();
        for license in self
            .licenses
            .iter()
            .filter(|license| license.path != NOTICES)
        {
            copyright.extend_from_slice(format!("\n{}\n\n", license.path).as_bytes());
            copyright.extend_from_slice(&license.content);
        }
        copyright.extend_from_slice(
            format!("\nOf the libraries in the program: {NOTICES}.gz\n").as_bytes(),
        );
        entries.push(Entry::text(format!("{documentation}/copyright"), copyright));
        for license in self
            .licenses
            .iter()
            .filter(|license| license.path == NOTICES)
        {
            let path = format!("{documentation}/{NOTICES}.gz");
            entries.push(Entry::text(path, gzip(&license.content)?));
        }
        Ok(entries)
    }
}
