//! The commands in groups, for `roundtable --help`: clap lists them in one flat list.

use clap::Command;

/// The most used first. Commands of no group are listed at the end.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Ask", &["ask", "debate", "panel", "forecast", "judge"]),
    (
        "Look",
        &["show", "list", "resume", "export", "record", "rate", "rm"],
    ),
    (
        "Learn",
        &[
            "resolve",
            "calibration",
            "pool",
            "track",
            "post-mortem",
            "learning",
        ],
    ),
    (
        "Serve",
        &["serve", "worker", "token", "audit", "db", "backup"],
    ),
    (
        "Configure",
        &[
            "init",
            "doctor",
            "models",
            "pull",
            "config",
            "modes",
            "casts",
            "templates",
            "prompts",
            "schema",
            "update",
            "completions",
        ],
    ),
];

pub(super) fn with_groups(command: Command) -> Command {
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n{{options}}{{after-help}}",
        listed(&command)
    );
    command.help_template(template)
}

fn listed(command: &Command) -> String {
    let all = || command.get_subcommands().filter(|one| !one.is_hide_set());
    let widest = all().map(|one| one.get_name().len()).max().unwrap_or(0);
    let line = |one: &Command| {
        let about = one.get_about().map(ToString::to_string);
        format!(
            "  {:<widest$}  {}\n",
            one.get_name(),
            about.unwrap_or_default()
        )
    };
    let mut text = String::new();
    for (title, names) in GROUPS {
        let found = names
            .iter()
            .filter_map(|name| all().find(|one| one.get_name() == *name));
        let lines: String = found.map(line).collect();
        text.push_str(&format!("\n{title}:\n{lines}"));
    }
    let is_grouped = |one: &&Command| {
        GROUPS
            .iter()
            .any(|(_, names)| names.contains(&one.get_name()))
    };
    let others: String = all().filter(|one| !is_grouped(one)).map(line).collect();
    if !others.is_empty() {
        text.push_str(&format!("\nOther:\n{others}"));
    }
    text
}

#[cfg(test)]
#[path = "groups_tests.rs"]
mod tests;
