//! Command-line arguments, as `cargo xtask dist` passes them.

use std::path::PathBuf;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Pack(Release),
    Check { folder: PathBuf, version: String },
}

/// The source of the packages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Release {
    /// The output folder; it already has the files that accompany the packages.
    pub(crate) folder: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) version: String,
    /// Seconds since 1970, for every file of every package.
    pub(crate) date: u64,
    /// The program with and without the embedded model.
    pub(crate) full: PathBuf,
    pub(crate) slim: PathBuf,
    /// Folders of the building machine, which must not be in the programs.
    pub(crate) forbidden: Vec<String>,
}

impl Task {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let task = arguments.next().unwrap_or_default();
        let mut release = Release::default();
        while let Some(name) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{name} has no value"))?;
            match &*name {
                "--folder" => release.folder = value.into(),
                "--workspace" => release.workspace = value.into(),
                "--version" => release.version = value,
                "--date" => {
                    release.date = value.parse().map_err(|_| {
                        format!("invalid --date '{value}': expected seconds since 1970")
                    })?;
                }
                "--full" => release.full = value.into(),
                "--slim" => release.slim = value.into(),
                "--forbid" => release.forbidden.push(value),
                _ => return Err(format!("unknown option `{name}`")),
            }
        }
        match &*task {
            "pack" => Ok(Self::Pack(release)),
            "check" => Ok(Self::Check {
                folder: release.folder,
                version: release.version,
            }),
            _ => Err(format!("unknown task `{task}`; run `cargo xtask dist`")),
        }
    }
}
