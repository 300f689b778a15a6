use std::process::Command;

use super::*;

const WHEEL: Wheel = Wheel {
    name: "roundtable_debate",
    version: "1.2.3rc1",
    architecture: "x86_64",
    summary: "A summary",
    description: "# Roundtable\n",
};

fn example() -> Vec<u8> {
    let script = Entry::program("roundtable", (*b"#!/bin/sh\necho it runs\n").into());
    WHEEL
        .package(&[script], &[Entry::text("LICENSE-MIT", "MIT")])
        .unwrap()
}

#[test]
fn the_name_has_every_platform_that_a_static_program_runs_on() {
    assert_eq!(
        WHEEL.file_name(),
        "roundtable_debate-1.2.3rc1-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl"
    );
}

#[test]
fn the_record_has_the_hash_of_every_file_but_its_own() {
    let files = [Entry::text("a", "abc")];
    assert_eq!(
        record(&files, "x.dist-info/RECORD"),
        "a,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\nx.dist-info/RECORD,,\n"
    );
}

#[test]
fn the_same_files_give_the_same_bytes() {
    assert_eq!(example(), example());
}

/// B-16. Checked if the system has Python with pip.
#[test]
fn pip_installs_the_wheel() {
    let pip = |arguments: &[&str]| {
        Command::new("python3")
            .args(["-m", "pip"])
            .args(arguments)
            .output()
    };
    if !pip(&["--version"]).is_ok_and(|output| output.status.success()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(WHEEL.file_name());
    std::fs::write(&path, example()).unwrap();
    let target = folder.path().join("installed");
    let (path, target_name) = (path.to_string_lossy(), target.to_string_lossy());
    let quiet = ["--quiet", "--no-index", "--disable-pip-version-check"];
    // For the platform in the name, which need not be that of the test.
    let platform = [
        "--platform",
        "manylinux2014_x86_64",
        "--only-binary",
        ":all:",
    ];
    let arguments = [
        &["install"],
        &quiet[..],
        &platform,
        &["--target", &target_name, &path],
    ]
    .concat();
    let output = pip(&arguments).unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = Command::new(target.join("bin/roundtable"))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "it runs\n");
    assert!(
        target
            .join("roundtable_debate-1.2.3rc1.dist-info/licenses/LICENSE-MIT")
            .exists()
    );
}
