use super::*;
use crate::models::Choice;

fn pair(provider: &str) -> TierModels {
    TierModels {
        deliberate: ModelName::new(provider, "large"),
        fast: ModelName::new(provider, "small"),
    }
}

fn choice(model: &ModelName) -> Choice {
    Choice {
        model: model.clone(),
        why: String::new(),
    }
}

#[test]
fn the_default_is_the_first_choice() {
    let (a, b) = (pair("a"), pair("b"));
    let mut discovery = Discovery {
        options: vec![a.clone(), b.clone()],
        ..Discovery::default()
    };
    assert_eq!(choices(&discovery), [a.clone(), b.clone()]);
    // The configuration names the second provider's models.
    discovery.deliberate = Some(choice(&b.deliberate));
    discovery.fast = Some(choice(&b.fast));
    assert_eq!(choices(&discovery), [b.clone(), a.clone()]);
    // It names a model that is not among them.
    let other = same_for_both(ModelName::new("a", "other"));
    discovery.deliberate = Some(choice(&other.deliberate));
    discovery.fast = Some(choice(&other.fast));
    assert_eq!(choices(&discovery), [other, a, b]);
}

#[test]
fn a_choice_is_typed_as_number_or_name() {
    let all = [pair("a"), pair("b")];
    let parse = |text: &str| match text.split_once(':') {
        Some((provider, model)) => Ok(ModelName::new(provider, model)),
        None => Err(format!("'{text}' is no model")),
    };
    let typed = |line| chosen(line, &all, parse);
    assert_eq!(typed(""), Ok(pair("a")));
    assert_eq!(typed("1"), Ok(pair("a")));
    assert_eq!(typed("2"), Ok(pair("b")));
    assert_eq!(typed("b:large"), Ok(pair("b")));
    assert_eq!(
        typed("b:tiny"),
        Ok(same_for_both(ModelName::new("b", "tiny")))
    );
    let out_of_range = Err("Enter a number from 1 to 2, or PROVIDER:MODEL.".to_owned());
    for line in ["0", "3", "99999999999"] {
        assert_eq!(typed(line), out_of_range);
    }
    assert_eq!(typed("best"), Err("'best' is no model".to_owned()));
}

#[test]
fn memory_is_read_from_the_system() {
    let text = "MemTotal:       16000000 kB\nMemAvailable:    7812500 kB\n";
    assert_eq!(available_memory(text), Some(8_000_000_000));
    assert_eq!(available_memory("MemTotal: 1 kB\n"), None);
    assert_eq!(available_memory("MemAvailable: much\n"), None);
    assert_eq!(gigabytes(8_000_000_000), "8.0");
    assert_eq!(gigabytes(512_000_000), "0.5");
}

#[cfg(unix)]
#[test]
fn only_executable_files_are_programs() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    assert_eq!(programs(&path), Vec::<&str>::new());
    for (name, mode) in [("codex", 0o755), ("claude", 0o644), ("other", 0o755)] {
        let file = folder.path().join(name);
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    std::fs::create_dir(folder.path().join("llm")).unwrap();
    assert_eq!(programs(&format!("/nowhere:{path}")), ["codex"]);
}

#[test]
fn a_provider_is_described_with_what_else_is_known() {
    let finding = |provider: &str, models: &[&str]| Finding {
        provider: provider.to_owned(),
        note: "a note".to_owned(),
        models: models.iter().map(|&model| model.to_owned()).collect(),
    };
    let mut found = Found {
        discovery: Discovery::default(),
        choices: Vec::new(),
        weights: None,
        programs: vec!["codex"],
        cores: 1,
        memory: None,
    };
    let embedded = finding("local", &[]);
    assert_eq!(
        found.describe(&embedded),
        "a note; its weights are downloaded on first use"
    );
    found.weights = Some(ModelName::new("local", "small"));
    assert_eq!(
        found.describe(&embedded),
        "a note; the weights of small are here"
    );
    assert_eq!(found.describe(&finding("ollama", &[])), "a note");
    found.programs.push(OLLAMA);
    assert_eq!(
        found.describe(&finding("ollama", &[])),
        "a note; it is installed: `ollama serve` starts it"
    );
    assert_eq!(
        found.describe(&finding("ollama", &["a", "b"])),
        "a note: a, b"
    );
    assert_eq!(
        found.describe(&finding("openai", &["x"; 8])),
        "a note: x, x, x, x, x, x, x, x"
    );
    assert_eq!(found.describe(&finding("openai", &["x"; 9])), "a note");
    assert_eq!(
        found.lines().last().unwrap(),
        &("machine", "1 core".to_owned())
    );
}
