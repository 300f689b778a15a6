//! Coding agents on this machine that can use Roundtable as a tool.

use std::path::Path;

use clap::ValueEnum;

use super::super::mcp::install::{Change, McpClient};
use super::super::output;
use super::prompt::{Prompt, Stop};
use crate::config::{Edit, Environment};
use crate::failure::Failure;

pub(super) struct AgentOffer {
    client: McpClient,
    edit: Edit,
    /// The client's file.
    shown: String,
}

impl AgentOffer {
    /// The agents that are set up here and do not have this program yet. A file that cannot be edited is left out; `roundtable mcp
    /// install` says why.
    pub(super) fn all(environment: &Environment, program: &Path) -> Vec<Self> {
        let Some(folders) = &environment.folders else {
            return Vec::new();
        };
        let is_used = |file: &Path| {
            let folder = file.parent().filter(|folder| *folder != folders.home);
            file.is_file() || folder.is_some_and(Path::is_dir)
        };
        let clients = McpClient::value_variants().iter();
        let offers = clients.filter_map(|&client| {
            let file = client.file(environment).filter(|file| is_used(file))?;
            let edit = client.prepare(&file, program, Change::Install).ok()?;
            let shown = environment.shown(&file);
            (!edit.is_empty()).then_some(Self {
                client,
                edit,
                shown,
            })
        });
        offers.collect()
    }

    pub(super) async fn ask(&self, prompt: &mut Prompt) -> Result<bool, Stop> {
        let (title, file) = (self.client.title(), &self.shown);
        let question = format!("Let {title} ask Roundtable (changes {file})? [y/N]");
        prompt.confirm(&question, false).await
    }

    /// The command that makes the change.
    pub(super) fn instruction(&self) -> String {
        let value = self.client.to_possible_value();
        let name = value.as_ref().map_or("", |value| value.get_name());
        let title = self.client.title();
        format!("{title}: roundtable mcp install --for {name}")
    }

    pub(super) fn install(&self) -> Result<(), Failure> {
        self.edit.write()?;
        let title = self.client.title();
        let shown = &self.shown;
        output::note(&format!(
            "Wrote {shown}. Restart {title} to use it; `roundtable mcp uninstall` undoes it."
        ));
        Ok(())
    }
}

#[cfg(test)]
#[path = "agent_offer_tests.rs"]
mod tests;
