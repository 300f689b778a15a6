use super::*;

#[test]
fn a_weak_model_has_a_remark() {
    let poor = "Qwen2.5-Coder-1.5B-Instruct reasons poorly: check every conclusion.";
    assert_eq!(remark("local:Qwen2.5-Coder-1.5B-Instruct").unwrap(), poor);
    // As the user's own file.
    let own = remark("local:SmolLM2-135M-Instruct.Q4_1").unwrap();
    assert!(own.contains("cannot reason"), "{own}");
    assert_eq!(remark("local:Qwen3-4B-Instruct-2507"), None);
    assert_eq!(remark("lab:SmolLM2-135M-Instruct"), None);
}

#[test]
fn short_memory_is_reported() {
    let name = "Qwen2.5-Coder-1.5B-Instruct";
    assert_eq!(short_of_memory(name, 2_800_000_000), None);
    let warning = short_of_memory(name, 2_799_999_999).unwrap();
    assert!(
        warning.starts_with(
            "Only 2.8 GB of memory is free, and Qwen2.5-Coder-1.5B-Instruct requires 2.8 GB"
        ),
        "{warning}"
    );
    assert_eq!(short_of_memory("my-own-file", 0), None);
}

/// While other programs use the memory, `auto` runs a small model, and `pull` downloads the one for the whole machine.
#[test]
fn pull_chooses_by_total_memory() {
    let folder = tempfile::tempdir().unwrap();
    let locations = Locations::new(folder.path().to_owned(), AllowedSources::None);
    let busy = Memory {
        total: 8_000_000_000,
        available: 3_000_000_000,
    };
    let first = |purpose| automatic(busy, purpose, &locations)[0].name;
    assert_eq!(first(Purpose::Run), "Qwen2.5-Coder-1.5B-Instruct");
    assert_eq!(first(Purpose::Pull), "Qwen3-4B-Instruct-2507");
}
