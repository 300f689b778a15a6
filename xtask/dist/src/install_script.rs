//! `install.sh`: a template with the version and address of the release.

const TEMPLATE: &str = include_str!("../files/install.sh");

/// `base_url` is the address of the folder that has one folder for each version; empty if it is not known.
pub(crate) fn script(version: &str, base_url: &str) -> Result<String, String> {
    let is_plain = |text: &str| !text.contains(['\'', '"', '$', '`', '\\', '\n']);
    if !is_plain(version) || !is_plain(base_url) {
        return Err(format!("cannot quote in a script: {version} {base_url}"));
    }
    Ok(TEMPLATE
        .replace("@VERSION@", version)
        .replace("@BASE_URL@", base_url.trim_end_matches('/')))
}

#[cfg(test)]
#[path = "install_script_tests.rs"]
mod tests;
