use super::*;

#[test]
fn a_release_has_the_same_version_everywhere() {
    assert_eq!(for_python("1.2.3"), Ok("1.2.3".to_owned()));
    assert_eq!(for_debian("1.2.3"), "1.2.3");
}

#[test]
fn a_pre_release_is_written_as_each_registry_writes_it() {
    let python = ["1.2.3-alpha.1", "1.2.3-beta.12", "1.2.3-rc.1"].map(for_python);
    assert_eq!(
        python,
        ["1.2.3a1", "1.2.3b12", "1.2.3rc1"].map(|version| Ok(version.to_owned()))
    );
    assert_eq!(for_debian("1.2.3-rc.1"), "1.2.3~rc.1");
}

#[test]
fn a_pre_release_that_python_cannot_write_is_refused() {
    for version in ["1.2.3-rc", "1.2.3-rc.x", "1.2.3-nightly.1"] {
        assert!(for_python(version).is_err(), "{version}");
    }
}
