use std::collections::BTreeSet;

use clap::CommandFactory;

use super::super::Cli;
use super::*;

#[test]
fn every_command_is_in_one_group() {
    let command = Cli::command();
    let shown = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set());
    let shown: BTreeSet<&str> = shown.map(Command::get_name).collect();
    let grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), shown);
    assert_eq!(grouped.len(), shown.len(), "a command is in two groups");
}

#[test]
fn the_help_fits_80_columns() {
    let help = grouped_help(&Cli::command());
    let plain = anstream::adapter::strip_str(&help).to_string();
    let options = plain.find("Options:").unwrap();
    for line in plain[..options].lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(plain.find("\n  ask ").unwrap() < plain.find("\n  show ").unwrap());
}

#[test]
fn only_a_request_for_help_renders_it() {
    let asked = |words: &[&str]| {
        let words = std::iter::once(&"roundtable")
            .chain(words)
            .map(OsString::from);
        let mut command = with_groups(Cli::command(), &words.collect::<Vec<_>>());
        command.render_help().to_string().contains("\nLook:\n")
    };
    for words in [&["--help"][..], &["-h"], &["help"], &[]] {
        assert!(asked(words), "{words:?}");
    }
    assert!(!asked(&["ask", "Why?"]));
}
