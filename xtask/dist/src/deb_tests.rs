use std::process::Command;

use super::*;

fn example(date: u64) -> Vec<u8> {
    let control = Control {
        package: "roundtable-debate",
        version: "1.2.3~rc.1",
        architecture: "amd64",
        summary: "A summary",
        description: "First line.\nSecond line.",
    };
    let files = [
        Entry::program("usr/bin/roundtable", (*b"program").into()),
        Entry::text("usr/share/doc/roundtable-debate/copyright", "MIT\n"),
    ];
    package(control, &files, date).unwrap()
}

#[test]
fn the_archive_has_its_three_members_at_even_offsets() {
    let archive = example(1_700_000_000);
    assert_eq!(archive[..8], *b"!<arch>\n");
    let mut names = Vec::new();
    let mut at = 8;
    while at < archive.len() {
        let header = std::str::from_utf8(&archive[at..at + 60]).unwrap();
        assert!(header.ends_with("`\n"), "{header}");
        names.push(format!("{} {}", header[..16].trim(), header[16..28].trim()));
        let size: usize = header[48..58].trim().parse().unwrap();
        at += 60 + size.next_multiple_of(2);
    }
    assert_eq!(
        names,
        ["debian-binary", "control.tar.gz", "data.tar.gz"].map(|name| format!("{name} 1700000000"))
    );
    assert_eq!(archive, example(1_700_000_000));
}

/// B-16. Checked if the system has `dpkg-deb`.
#[test]
fn dpkg_reads_the_package() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.deb");
    std::fs::write(&path, example(0)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new("dpkg-deb");
        let output = command
            .arg(arguments[0])
            .arg(&path)
            .args(&arguments[1..])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        run(&["--field"]),
        "Package: roundtable-debate\nVersion: 1.2.3~rc.1\nArchitecture: amd64\nMaintainer: Roundtable contributors\n\
         Installed-Size: 2\nRecommends: ca-certificates\nSection: utils\nPriority: optional\n\
         Description: A summary\n First line.\n Second line.\n"
    );
    let unpacked = folder.path().join("unpacked");
    run(&["--raw-extract", &unpacked.to_string_lossy()]);
    let mut sums = Command::new("md5sum");
    sums.args(["--check", "DEBIAN/md5sums"])
        .current_dir(&unpacked);
    let output = sums.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "usr/bin/roundtable: OK\nusr/share/doc/roundtable-debate/copyright: OK\n"
    );
}
