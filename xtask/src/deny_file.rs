//! Reads the parts of `deny.toml` that [`crate::dependencies`] checks.
//!
//! Not a TOML parser, which would be a dependency: one entry per line, and unknown lines are ignored. The tests read the
//! workspace's own file, so a change of its layout that this reader does not understand fails them.

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DenyFile {
    /// Licences that every crate may have.
    pub(crate) allowed: Vec<String>,
    /// A crate and a licence that only it may have.
    pub(crate) exceptions: Vec<(String, String)>,
    /// A crate without a licence in its manifest, and its licence.
    pub(crate) clarified: Vec<(String, String)>,
    pub(crate) registries: Vec<String>,
    /// `NAME@VERSION` of tolerated second versions.
    pub(crate) duplicates: Vec<String>,
}

impl DenyFile {
    pub(crate) fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let (mut section, mut key, mut clarified) = ("", "", String::new());
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            if line.starts_with('[') {
                section = line.trim_matches(['[', ']']);
                continue;
            }
            if let Some((name, _)) = line.split_once(" = ").filter(|_| !line.starts_with('{')) {
                key = name;
            }
            // A comment at the end of a line follows the strings.
            let mut strings = line.split('"').skip(1).step_by(2).map(str::to_owned);
            match (section, key) {
                ("licenses", "allow") => file.allowed.extend(strings.next()),
                ("licenses", "exceptions") => {
                    file.exceptions.extend(strings.next().zip(strings.next()));
                }
                ("licenses.clarify", "crate") => clarified = strings.next().unwrap_or_default(),
                ("licenses.clarify", "expression") => {
                    let expression = strings.next();
                    file.clarified
                        .extend(Some(std::mem::take(&mut clarified)).zip(expression));
                }
                ("sources", "allow-registry") => file.registries.extend(strings),
                ("bans", "skip") => file.duplicates.extend(strings.next()),
                _ => {}
            }
        }
        file
    }
}

#[cfg(test)]
#[path = "deny_file_tests.rs"]
mod tests;
