use super::*;
use crate::entry::Entry;

fn entries() -> Vec<Entry> {
    vec![
        Entry::text("name/b.txt", "second"),
        Entry::program("name/bin/a", (*b"program").into()),
    ]
}

/// What `tar` sees in the archive; it is part of every system that these tests run on.
fn listed(archive: &[u8], options: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar.gz");
    std::fs::write(&path, archive).unwrap();
    let output = std::process::Command::new("tar")
        .args([options, "--file"])
        .arg(&path)
        .args(["--utc", "--numeric-owner"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn tar_reads_the_archive() {
    let archive = tar_gz(&entries(), 1_700_000_000).unwrap();
    let lines: Vec<String> = listed(&archive, "-tvz")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines,
        [
            "drwxr-xr-x 0/0 0 2023-11-14 22:13 name/",
            "drwxr-xr-x 0/0 0 2023-11-14 22:13 name/bin/",
            "-rw-r--r-- 0/0 6 2023-11-14 22:13 name/b.txt",
            "-rwxr-xr-x 0/0 7 2023-11-14 22:13 name/bin/a",
        ]
    );
    assert_eq!(listed(&archive, "-xzO"), "secondprogram");
}

#[test]
fn the_order_of_the_files_does_not_change_the_bytes_but_the_date_does() {
    let mut reversed = entries();
    reversed.reverse();
    let archive = tar_gz(&entries(), 1).unwrap();
    assert_eq!(tar_gz(&reversed, 1).unwrap(), archive);
    assert_ne!(tar_gz(&entries(), 2).unwrap(), archive);
}

#[test]
fn a_path_has_at_most_100_bytes() {
    let archive = |length: usize| tar(&[Entry::text("x".repeat(length), "")], 0);
    assert!(archive(100).is_ok());
    assert!(archive(101).is_err());
}
