//! Shell completions: where they belong, and the line that installs them.

use std::path::{Path, PathBuf};

use clap_complete::Shell;

use super::super::{completions, output};
use super::prompt::{Prompt, Stop};
use crate::config::Environment;
use crate::failure::Failure;

pub(super) struct CompletionOffer {
    shell: Shell,
    /// `None` if the shell has no standard folder for a user's completions.
    file: Option<PathBuf>,
    /// The file as a shell reads it.
    shown: String,
    script: String,
}

impl CompletionOffer {
    /// `None` if the shell is not known or has them already.
    pub(super) fn for_shell_of(environment: &Environment) -> Result<Option<Self>, Failure> {
        let shell = environment.path("SHELL").and_then(Shell::from_shell_path);
        let Some(shell) =
            shell.filter(|shell| matches!(shell, Shell::Bash | Shell::Fish | Shell::Zsh))
        else {
            return Ok(None);
        };
        let file = standard_file(shell, environment);
        let script = completions::script(shell)?;
        let installed = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok());
        Ok((installed.as_ref() != Some(&script)).then_some(Self {
            shell,
            shown: file.as_ref().map_or_else(
                || "\"${fpath[1]}/_roundtable\"".to_owned(),
                |file| environment.shown(file),
            ),
            file,
            script,
        }))
    }

    pub(super) fn can_be_installed(&self) -> bool {
        self.file.is_some()
    }

    pub(super) async fn ask(&self, prompt: &mut Prompt) -> Result<bool, Stop> {
        let (shell, file) = (self.shell, &self.shown);
        let question = format!("Install completions for {shell} in {file}? [y/N]");
        prompt.confirm(&question, false).await
    }

    /// The line that installs them.
    pub(super) fn instruction(&self) -> String {
        let (shell, file) = (self.shell, &self.shown);
        format!("Completions: roundtable completions {shell} > {file}")
    }

    pub(super) fn install(&self) -> Result<(), Failure> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(file, &self.script))
            .map_err(|error| Failure::other(format!("cannot write {}: {error}", file.display())))?;
        output::note(&format!("Wrote {}", self.shown));
        Ok(())
    }
}

/// The user's folder of the shell. zsh has none: its folders are the user's choice.
fn standard_file(shell: Shell, environment: &Environment) -> Option<PathBuf> {
    let folders = environment.folders.as_ref()?;
    match shell {
        Shell::Bash => {
            let data = folders.data.parent()?;
            Some(data.join("bash-completion/completions/roundtable"))
        }
        Shell::Fish => {
            let config = folders.config.parent()?;
            Some(config.join("fish/completions/roundtable.fish"))
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "completion_offer_tests.rs"]
mod tests;
