use super::*;

fn method(path: &str) -> &'static str {
    InstallMethod::by_path(Path::new(path), false, false).name()
}

#[test]
fn the_path_tells_how_it_was_installed() {
    for (path, expected) in [
        ("/home/ada/.cargo/bin/roundtable", "cargo"),
        (
            "/home/ada/src/roundtable/target/release/roundtable",
            "source",
        ),
        (
            "/home/ada/.local/share/uv/tools/roundtable-debate/bin/roundtable",
            "uv",
        ),
        (
            "/home/ada/.local/pipx/venvs/roundtable-debate/bin/roundtable",
            "pipx",
        ),
        (
            "/usr/lib/python3/site-packages/roundtable/bin/roundtable",
            "pip",
        ),
        (
            "/usr/lib/node_modules/roundtable-debate/bin/roundtable",
            "npm",
        ),
        ("/usr/local/bin/roundtable", "unknown"),
        ("/opt/roundtable/roundtable", "unknown"),
        ("roundtable", "unknown"),
    ] {
        assert_eq!(method(path), expected, "{path}");
    }
}

/// Only the exact folders count, not names that contain them.
#[test]
fn similar_paths_are_unknown() {
    for path in [
        "/home/ada/.cargo/bin/tools/roundtable",
        "/home/ada/my.cargo/bin/roundtable",
        "/srv/node_modules_old/roundtable",
        "/srv/target/roundtable",
        "/home/ada/.local/share/uv/tools/roundtable/bin/roundtable",
    ] {
        assert_eq!(method(path), "unknown", "{path}");
    }
}

/// The registries have other packages called `roundtable`.
#[test]
fn the_commands_name_our_package() {
    let methods = [
        InstallMethod::UvTool,
        InstallMethod::Pipx,
        InstallMethod::Pip,
        InstallMethod::Npm,
    ];
    assert_eq!(
        methods.map(InstallMethod::how_to_update),
        [
            "uv tool upgrade roundtable-debate",
            "pipx upgrade roundtable-debate",
            "pip install --upgrade roundtable-debate",
            "npm install --global roundtable-debate@latest",
        ]
    );
}

#[test]
fn a_package_is_believed_only_with_its_marks() {
    let by = |path: &str, is_python, is_deb| {
        InstallMethod::by_path(Path::new(path), is_python, is_deb).name()
    };
    assert_eq!(by("/usr/bin/roundtable", false, true), "deb");
    assert_eq!(by("/usr/bin/roundtable", false, false), "unknown");
    assert_eq!(by("/usr/local/bin/roundtable", false, true), "unknown");
    assert_eq!(by("/srv/env/bin/roundtable", true, false), "pip");
}

/// `pyvenv.cfg` marks a Python environment.
#[test]
fn a_python_environment_is_found_by_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("bin/roundtable");
    assert_eq!(InstallMethod::of(&program), InstallMethod::Unknown);
    std::fs::write(folder.path().join("pyvenv.cfg"), "home = /usr/bin\n").unwrap();
    assert_eq!(InstallMethod::of(&program), InstallMethod::Pip);
}
