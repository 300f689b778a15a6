use super::*;

fn environment() -> Environment {
    let folder = |name: &str| PathBuf::from("/home/ada").join(name);
    Environment::at(
        "/",
        Some(Folders {
            home: folder(""),
            config: folder(".config/roundtable"),
            data: folder(".local/share/roundtable"),
            cache: folder(".cache/roundtable"),
        }),
    )
}

#[test]
fn without_variables_the_usual_places_are_used() {
    let found = locations(&environment()).unwrap();
    assert_eq!(
        found.cache,
        Path::new("/home/ada/.cache/roundtable/weights")
    );
    assert_eq!(found.sources, AllowedSources::All);
    assert_eq!(found.hugging_face, HuggingFaceSettings::default());
    let programs = found.other_programs;
    let hub = Path::new("/home/ada/.cache/huggingface/hub");
    assert_eq!(programs.hugging_face.as_deref(), Some(hub));
    assert_eq!(programs.ollama[0], Path::new("/home/ada/.ollama/models"));
    assert_eq!(
        programs.lm_studio[0],
        Path::new("/home/ada/.lmstudio/models")
    );
    assert_eq!(
        programs.llama_cpp[0],
        Path::new("/home/ada/.cache/llama.cpp")
    );
    assert_eq!(locations(&Environment::default()), None);
}

#[test]
fn the_variables_of_other_programs_are_respected() {
    let environment = environment()
        .with("HF_ENDPOINT", "https://mirror.example")
        .with("HF_TOKEN", "hf_x")
        .with("HF_HUB_OFFLINE", "True")
        .with("HF_HOME", "/data/hf")
        .with("OLLAMA_MODELS", "/data/ollama")
        .with("LLAMA_CACHE", "/data/llama");
    let found = locations(&environment).unwrap();
    assert_eq!(
        found.hugging_face,
        HuggingFaceSettings {
            endpoint: "https://mirror.example".to_owned(),
            token: Some("hf_x".to_owned()),
            is_offline: true,
        }
    );
    let programs = found.other_programs;
    assert_eq!(
        programs.hugging_face.as_deref(),
        Some(Path::new("/data/hf/hub"))
    );
    assert_eq!(programs.ollama[0], Path::new("/data/ollama"));
    assert_eq!(programs.llama_cpp[0], Path::new("/data/llama"));
    let environment = environment
        .with("HF_HUB_CACHE", "/data/hub")
        .with("HF_HUB_OFFLINE", "0");
    let found = locations(&environment).unwrap();
    assert!(!found.hugging_face.is_offline);
    assert_eq!(
        found.other_programs.hugging_face.as_deref(),
        Some(Path::new("/data/hub"))
    );
}
