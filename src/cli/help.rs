//! The help of the program itself: its commands in groups, the most used first.

use std::ffi::OsString;

use anstyle::Style;
use clap::Command;

use super::output::{BOLD, painted};

/// Every command that is not hidden is in one group.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask", &["ask", "panel", "debate", "forecast", "judge"]),
    (
        "Look",
        &["show", "list", "resume", "export", "record", "rm"],
    ),
    (
        "Learn",
        &[
            "rate",
            "resolve",
            "questions",
            "calibration",
            "track",
            "post-mortem",
            "learning",
            "pool",
            "ensemble",
            "simulate",
            "bench",
            "arena",
            "estimates",
        ],
    ),
    (
        "Serve",
        &["serve", "mcp", "worker", "token", "audit", "db", "backup"],
    ),
    (
        "Configure",
        &[
            "init",
            "doctor",
            "models",
            "config",
            "pull",
            "modes",
            "casts",
            "presets",
            "prompts",
            "templates",
            "schema",
            "update",
            "completions",
        ],
    ),
];

/// As in the headings that clap writes.
const HEADING: Style = Style::new().bold().underline();
const NAME_WIDTH: usize = 11;

/// The command with grouped help, if the arguments ask for help: otherwise nothing is rendered.
pub(super) fn with_groups(command: Command, given: &[OsString]) -> Command {
    let asks = |arg: &OsString| ["-h", "--help", "help"].iter().any(|help| arg == help);
    // Without a command, clap prints the help too.
    if given.len() < 2 || given.iter().any(asks) {
        let help = grouped_help(&command);
        return command.override_help(help);
    }
    command
}

fn grouped_help(command: &Command) -> String {
    let groups = GROUPS.map(|(title, names)| group(command, title, names));
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} roundtable [OPTIONS] <COMMAND>\n\n{}\n{} prints the help of a command.\n\n\
         {{all-args}}{{after-help}}",
        groups.join("\n"),
        painted(BOLD, "roundtable COMMAND --help"),
    );
    let mut bare = command
        .clone()
        .mut_subcommands(|command| command.hide(true))
        .disable_help_subcommand(true)
        .help_template(template);
    bare.render_help().ansi().to_string()
}

fn group(command: &Command, title: &str, names: &[&str]) -> String {
    let lines = names.iter().map(|name| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        let name = painted(BOLD, &format!("{name:<NAME_WIDTH$}"));
        format!("  {name}  {about}\n")
    });
    format!(
        "{}\n{}",
        painted(HEADING, &format!("{title}:")),
        lines.collect::<String>()
    )
}

#[cfg(test)]
#[path = "help_tests.rs"]
mod tests;
