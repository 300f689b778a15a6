//! Texts that the built program prints about itself: completions, manual pages, version.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::entry::Entry;
use crate::man;

/// Standard output of a command that must succeed. It sees no settings of the user.
pub(crate) fn output(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        let arguments = arguments.join(" ");
        return Err(format!(
            "{} {arguments}: {}\n{error}",
            program.display(),
            output.status
        ));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("not UTF-8: {error}"))
}

/// One script for each shell, by the name under which the shell looks for it.
pub(crate) fn completions(program: &Path) -> Result<Vec<Entry>, String> {
    let shells = [
        ("bash", "roundtable"),
        ("zsh", "_roundtable"),
        ("fish", "roundtable.fish"),
    ];
    let script = |(shell, name)| Ok(Entry::text(name, output(program, &["completions", shell])?));
    shells.into_iter().map(script).collect()
}

/// A page for every command: `roundtable.1`, `roundtable-ask.1` and so on.
pub(crate) fn manual(program: &Path, version: &str) -> Result<Vec<Entry>, String> {
    let mut pages = Vec::new();
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(command) = commands.pop() {
        let words: Vec<&str> = command
            .iter()
            .map(String::as_str)
            .chain(["--help"])
            .collect();
        let help = output(program, &words)?;
        let name = [&["roundtable".to_owned()], &*command].concat();
        let page = man::page(&name.join(" "), &help, version);
        pages.push(Entry::text(format!("{}.1", name.join("-")), page));
        let inner = man::subcommands(&help).into_iter();
        commands.extend(inner.map(|subcommand| [&*command, &[subcommand]].concat()));
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}
