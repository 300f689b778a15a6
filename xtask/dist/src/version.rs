//! The version of a release as the registries write it. Cargo's form is `1.2.3` or `1.2.3-rc.1`.

/// For Python (PEP 440): `1.2.3rc1`. A pre-release must be `alpha`, `beta` or `rc` with a number.
pub(crate) fn for_python(version: &str) -> Result<String, String> {
    let Some((release, pre)) = version.split_once('-') else {
        return Ok(version.to_owned());
    };
    let kinds = [("alpha.", "a"), ("beta.", "b"), ("rc.", "rc")];
    let found = kinds
        .iter()
        .find_map(|(name, short)| Some((short, pre.strip_prefix(name)?.parse::<u32>().ok()?)));
    match found {
        Some((short, number)) => Ok(format!("{release}{short}{number}")),
        None => Err(format!(
            "version {version} has no form for Python: a pre-release must be like -alpha.1, -beta.1 or -rc.1"
        )),
    }
}

/// For Debian: a tilde sorts before everything, so `1.2.3~rc.1` is older than `1.2.3`.
pub(crate) fn for_debian(version: &str) -> String {
    version.replacen('-', "~", 1)
}

#[cfg(test)]
#[path = "version_tests.rs"]
mod tests;
