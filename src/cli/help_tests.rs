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

/// A command that is split over two lines cannot be copied.
#[test]
fn no_example_is_wrapped_at_80_columns() {
    let mut examples = 0;
    let mut waiting = vec![Cli::command()];
    while let Some(command) = waiting.pop() {
        let text = command.get_after_help().map(ToString::to_string);
        let shown = command.clone().term_width(80).render_help().to_string();
        let shown: BTreeSet<&str> = shown.lines().collect();
        for line in text.unwrap_or_default().lines() {
            if line.starts_with("  ") {
                assert!(shown.contains(line), "{}: {line}", command.get_name());
                examples += 1;
            }
        }
        waiting.extend(command.get_subcommands().cloned());
    }
    assert!(examples > 150, "{examples} examples");
}

/// Clap wraps paragraphs. One that has line breaks of its own would be wrapped unevenly.
#[test]
fn no_paragraph_is_broken_by_hand() {
    let mut waiting = vec![Cli::command()];
    while let Some(command) = waiting.pop() {
        let text = command.get_after_help().map(ToString::to_string);
        let text = text.unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2) {
            let [line, next] = pair else { continue };
            let is_prose = !line.starts_with(' ') && !next.trim().is_empty();
            assert!(
                !(is_prose && line.chars().count() > 80),
                "{}: {line}",
                command.get_name()
            );
        }
        waiting.extend(command.get_subcommands().cloned());
    }
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
