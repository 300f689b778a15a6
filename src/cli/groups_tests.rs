use clap::CommandFactory;

use super::*;
use crate::cli::Cli;

/// Every command is in one group, and every name of a group is a command.
#[test]
fn every_command_is_in_a_group() {
    let command = Cli::command();
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
    let mut names: Vec<&str> = visible.map(Command::get_name).collect();
    let mut grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    names.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(grouped, names);
}
