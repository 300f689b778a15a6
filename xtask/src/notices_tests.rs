use super::*;

fn id(name: &str) -> PackageId {
    PackageId {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
    }
}

/// A folder like `~/.cargo/registry`, removed when dropped.
struct Registry(PathBuf);

impl Registry {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("notices-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = folder.join("src/index").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self(folder)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_text_appears_once_with_the_packages_that_have_it() {
    let registry = Registry::new(
        "texts",
        &[
            ("a-1.0.0/LICENSE-MIT", "Permission is granted\r\n"),
            ("b-1.0.0/license.md", "Permission is granted\n\n"),
            ("b-1.0.0/src/lib.rs", "not a licence"),
            ("c-1.0.0/vendor/COPYING", "Of the C code"),
        ],
    );
    let (a, b, c) = (id("a"), id("b"), id("c"));
    let packages = [
        (&a, "MIT".to_owned()),
        (&b, "MIT".to_owned()),
        (&c, "ISC".to_owned()),
    ];
    let rule = "-".repeat(80);
    assert_eq!(
        document(&packages, &registry.0),
        Ok(format!(
            "Roundtable contains these libraries:\n\na 1.0.0: MIT\nb 1.0.0: MIT\nc 1.0.0: ISC\n\n\
             {rule}\na 1.0.0, b 1.0.0\n{rule}\n\nPermission is granted\n\n\
             {rule}\nc 1.0.0\n{rule}\n\nOf the C code\n"
        ))
    );
}

#[test]
fn a_package_that_is_not_there_is_an_error() {
    let registry = Registry::new("missing", &[]);
    let result = document(&[(&id("a"), "MIT".to_owned())], &registry.0);
    assert_eq!(
        result,
        Err("cargo has not unpacked a-1.0.0: run `cargo fetch`".to_owned())
    );
}
