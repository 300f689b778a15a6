//! Manual pages from the help texts of the program, so that nothing is written twice.

use std::fmt::Write as _;

/// The names under `Commands:` in a help text.
pub(crate) fn subcommands(help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The page of one command, such as `roundtable ask`. Lines without indentation that end in a colon are headings; all other
/// lines are printed as they are.
pub(crate) fn page(command: &str, help: &str, version: &str) -> String {
    let name = command.replace(' ', "-");
    let (about, rest) = help.split_once("\n\n").unwrap_or((help, ""));
    let (title, about) = (name.to_uppercase(), escape(about.trim()));
    let mut text = format!(
        ".TH {title} 1 \"\" \"Roundtable {version}\" \"Roundtable\"\n.SH NAME\n{} \\- {about}\n",
        escape(&name)
    );
    let mut is_open = false;
    for line in rest.trim_end().lines() {
        let heading = line.strip_suffix(':').filter(|line| !line.starts_with(' '));
        let usage = line.strip_prefix("Usage: ");
        if heading.is_none() && usage.is_none() && is_open {
            let _ = writeln!(text, "{}", escape(line));
            continue;
        }
        if is_open {
            text.push_str(".fi\n");
        }
        is_open = true;
        let title = match (heading, usage) {
            (Some(heading), _) => heading.to_uppercase(),
            (None, Some(_)) => "SYNOPSIS".to_owned(),
            (None, None) => "DESCRIPTION".to_owned(),
        };
        let _ = writeln!(text, ".SH {title}\n.nf");
        if heading.is_none() {
            let _ = writeln!(text, "{}", escape(usage.unwrap_or(line)));
        }
    }
    text + if is_open { ".fi\n" } else { "" }
}

/// A line that begins with a dot or an apostrophe would be a command.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}

#[cfg(test)]
#[path = "man_tests.rs"]
mod tests;
