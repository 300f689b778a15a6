use super::*;
use crate::config::{Config, ConfigError, Folders, Kind};

fn environment() -> Environment {
    let folders = Folders {
        home: "/home/ada".into(),
        config: "/home/ada/.config/roundtable".into(),
        data: "/home/ada/.local/share/roundtable".into(),
        cache: "/home/ada/.cache/roundtable".into(),
    };
    Environment::at("", Some(folders))
        .with("PATH", "/nowhere")
        .with("HOME", "/home/ada")
        .with("ANTHROPIC_API_KEY", "sk-secret")
        .with("CODEX_HOME", "/home/ada/.codex")
        .with("MINE", "yes")
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    let path = Path::new("/home/ada/.config/roundtable/roundtable.toml");
    Config::parse(text, Some(path), &environment())
}

fn spec_of(text: &str) -> CommandSpec {
    let config = parse(text).unwrap();
    let provider = &config.providers["mine"];
    assert_eq!(provider.kind, Kind::Command);
    assert!(!provider.is_official());
    CommandSpec::clone(provider.command.as_ref().unwrap())
}

#[test]
fn every_preset_is_valid() {
    let (presets, faults) = read_presets(PRESETS);
    assert_eq!(faults, []);
    let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "claude",
            "codex",
            "gemini-cli",
            "llm",
            "ollama-cli",
            "opencode"
        ]
    );
    for preset in &presets {
        assert!(!preset.title.is_empty() && !preset.cost.is_empty());
        let text = format!(
            "[providers.mine]\nkind = \"command\"\npreset = \"{}\"\n",
            preset.name
        );
        let spec = spec_of(&text);
        assert!(!spec.login.is_empty(), "{}", preset.name);
        // No preset passes on a key of a model provider: the program's own login pays.
        assert!(
            spec.environment
                .iter()
                .all(|(name, _)| !name.ends_with("API_KEY"))
        );
    }
}

#[test]
fn a_preset_is_found_by_its_name_or_its_program() {
    let name = |name| ProgramPreset::named(name).map(|preset| preset.name.as_str());
    assert_eq!(name("gemini"), Some("gemini-cli"));
    assert_eq!(name("gemini-cli"), Some("gemini-cli"));
    assert_eq!(name("bash"), None);
    assert_eq!(
        ProgramPreset::named("codex").unwrap().example_model(),
        "default"
    );
    assert_eq!(
        ProgramPreset::named("ollama").unwrap().example_model(),
        "MODEL"
    );
}

#[test]
fn own_keys_replace_those_of_the_preset_and_lists_of_variables_add_up() {
    let spec = spec_of(
        "[providers.mine]\nkind = \"command\"\npreset = \"codex\"\ncommand = \"~/bin/codex\"\nextra_args = [\"-c\", \"x=1\"]\nenv = [\"MINE\", \"UNSET\"]\nlogin = [\"Log In\"]\nmax_concurrent = 3\n[providers.mine.set_env]\nA = \"{files}\"\n",
    );
    assert_eq!(spec.program, "/home/ada/bin/codex");
    let last: Vec<&str> = spec
        .args
        .iter()
        .flat_map(Argument::parts)
        .map(String::as_str)
        .collect();
    assert_eq!(last[last.len() - 2..], ["-c", "x=1"]);
    let names: Vec<&str> = spec
        .environment
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["CODEX_HOME", "HOME", "MINE", "PATH"]);
    assert_eq!(spec.login, ["log in"]);
    assert_eq!(
        spec.set_environment,
        [("A".to_owned(), "{files}".to_owned())]
    );
}

#[test]
fn a_program_with_a_folder_is_relative_to_the_file() {
    let spec = spec_of("[providers.mine]\nkind = \"command\"\ncommand = \"tools/answer\"\n");
    assert_eq!(spec.program, "/home/ada/.config/roundtable/tools/answer");
}

#[test]
fn faults_name_the_key_and_what_is_expected() {
    for (keys, expected) in [
        (
            "",
            "a command provider needs command = \"PROGRAM\", or preset = one of claude",
        ),
        ("preset = \"cluade\"", "expected one of claude"),
        (
            "command = \"x\"\nbase_url = \"http://127.0.0.1\"",
            "unknown key 'base_url'",
        ),
        (
            "command = \"x\"\nprompt = \"mail\"",
            "expected \"stdin\", \"argument\" or \"file\"",
        ),
        (
            "command = \"x\"\nprompt = \"argument\"",
            "args need {prompt}",
        ),
        (
            "command = \"x\"\nprompt = \"file\"",
            "args need {prompt_file}",
        ),
        ("command = \"x\"\noutput = \"json\"", "where the text is"),
        (
            "command = \"x\"\noutput = \"json\"\nreply = [{ text = \"result\" }]",
            "expected JSON pointers",
        ),
        (
            "command = \"x\"\noutput = \"json\"\nreply = [{ txt = \"/result\" }]",
            "unknown key 'txt'",
        ),
        ("command = \"x\"\nargs = \"-p\"", "expected a list"),
        (
            "command = \"x\"\nfiles = { \"../x\" = \"\" }",
            "file names without a folder",
        ),
        (
            "command = \"x\"\nmax_concurrent = 0",
            "expected a whole number from 1 to 64",
        ),
    ] {
        let text = format!("[providers.mine]\nkind = \"command\"\n{keys}\n");
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.contains(expected), "{keys}: {message}");
    }
}

#[test]
fn a_program_is_not_looked_for_in_relative_folders_of_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("agent");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(find_program("agent", Some(path)), None, "not executable");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let search = format!(".:relative:{path}");
        assert_eq!(find_program("agent", Some(&search)), Some(program.clone()));
        assert_eq!(find_program("agent", Some(".")), None);
        assert_eq!(find_program(program.to_str().unwrap(), None), Some(program));
    }
}
