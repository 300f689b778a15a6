//! The commands and the names of their flags, as `--help` lists them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::cli_texts::COMMAND_LISTS;
use crate::harness::Home;

use super::is_update;

const FILE: &str = "tests/fixtures/cli_flags.txt";

/// Adds a line for this command and one for each below it.
fn walk(home: &Home, command: &[&str], lines: &mut String) {
    let run = home.run(&[command, &["--help"]].concat());
    run.expect(0, &[]);
    let mut flags = BTreeSet::new();
    let mut commands = Vec::new();
    let mut section = "";
    for line in run.out.lines() {
        if line.is_empty() {
            continue;
        }
        if !line.starts_with(' ') {
            section = line;
        } else if COMMAND_LISTS.contains(&section) {
            let name = line
                .strip_prefix("  ")
                .filter(|rest| !rest.starts_with(' '));
            commands.extend(name.and_then(|rest| rest.split(' ').next()));
        } else if section.ends_with("ptions:") {
            flags.extend(flag(line));
        }
    }
    let flags: Vec<_> = flags.into_iter().collect();
    writeln!(
        lines,
        "roundtable {}: {}",
        command.join(" "),
        flags.join(" ")
    )
    .unwrap();
    for name in commands.into_iter().filter(|name| *name != "help") {
        walk(home, &[command, &[name]].concat(), lines);
    }
}

/// `--format` of `  -f, --format <FORMAT>`. Descriptions are indented further.
fn flag(line: &str) -> Option<&str> {
    let indent = line.len() - line.trim_start().len();
    let words = line.trim_start();
    if indent > 6 || !words.starts_with('-') {
        return None;
    }
    let from = words.find("--")?;
    let name = &words[from..];
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    Some(&name[..end.unwrap_or(name.len())])
}

#[test]
fn commands_and_flags_keep_their_names() {
    let mut found = String::new();
    walk(&Home::empty(), &[], &mut found);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if is_update() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap();
    let missing: Vec<_> = expected
        .lines()
        .filter(|line| !found.lines().any(|other| other == *line))
        .collect();
    let new: Vec<_> = found
        .lines()
        .filter(|line| !expected.lines().any(|other| other == *line))
        .collect();
    assert_eq!(expected, found, "was {missing:#?}, is {new:#?}");
}
