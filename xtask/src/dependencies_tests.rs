use super::*;
use crate::dependency_tree::Package;

const REGISTRY: &str = "https://r.example";

fn id(name: &str, version: &str) -> PackageId {
    PackageId {
        name: name.to_owned(),
        version: version.to_owned(),
    }
}

fn rules() -> DenyFile {
    DenyFile {
        allowed: vec!["MIT".to_owned()],
        exceptions: vec![("special".to_owned(), "MPL-2.0".to_owned())],
        clarified: vec![("silent".to_owned(), "MIT".to_owned())],
        registries: vec![REGISTRY.to_owned()],
        duplicates: vec!["twice@0.9.0".to_owned()],
    }
}

fn licensed(packages: &[(&str, &str, &str)]) -> Packages {
    let package = |(name, version, license): &(&str, &str, &str)| {
        let package = Package {
            license: (*license).to_owned(),
            ..Package::default()
        };
        (id(name, version), package)
    };
    packages.iter().map(package).collect()
}

#[test]
fn licences_outside_the_list_are_reported() {
    let packages = licensed(&[
        ("fine", "1.0.0", "GPL-3.0 OR MIT"),
        ("silent", "1.0.0", ""),
        ("special", "1.0.0", "MPL-2.0"),
        ("copyleft", "1.0.0", "MPL-2.0"),
        ("mute", "1.0.0", ""),
    ]);
    assert_eq!(
        licenses(&rules(), &packages),
        [
            "copyleft 1.0.0: its licence is not allowed: MPL-2.0",
            "mute 1.0.0: its licence is not allowed: none",
        ]
    );
}

#[test]
fn only_the_workspace_and_listed_registries_are_sources() {
    let locked = |source: &str, checksum: String| Locked {
        source: source.to_owned(),
        checksum,
    };
    let sha256 = "0".repeat(64);
    let registry = format!("registry+{REGISTRY}");
    let lock = BTreeMap::from([
        (id("app", "0.1.0"), Locked::default()),
        (id("elsewhere", "0.1.0"), Locked::default()),
        (id("fine", "1.0.0"), locked(&registry, sha256.clone())),
        (
            id("git", "1.0.0"),
            locked("git+https://g.example#00ff", String::new()),
        ),
        (
            id("mirror", "1.0.0"),
            locked("registry+https://m.example", sha256),
        ),
        (id("unsummed", "1.0.0"), locked(&registry, String::new())),
    ]);
    let folder = |name: &str, folder: &str| {
        let package = Package {
            folder: Some(folder.to_owned()),
            ..Package::default()
        };
        (id(name, "0.1.0"), package)
    };
    let packages = [folder("app", "/clone/app"), folder("elsewhere", "/other")].into();
    assert_eq!(
        sources(&rules(), &packages, &lock, "/clone"),
        [
            "elsewhere 0.1.0: it is not in the workspace",
            "git 1.0.0: its source is not allowed: git+https://g.example#00ff",
            "mirror 1.0.0: its source is not allowed: registry+https://m.example",
            "unsummed 1.0.0: Cargo.lock has no sha256 of it",
        ]
    );
}

#[test]
fn duplicates_must_be_listed_and_the_list_must_be_current() {
    let listed = licensed(&[("twice", "0.9.0", ""), ("twice", "0.10.0+x", "")]);
    assert_eq!(duplicates(&rules(), &listed), [""; 0]);
    let other = licensed(&[
        ("twice", "0.10.0", ""),
        ("new", "1.0.0", ""),
        ("new", "2.0.0", ""),
    ]);
    assert_eq!(
        duplicates(&rules(), &other),
        [
            "new@1.0.0: a second version that deny.toml does not list",
            "twice@0.9.0: listed in deny.toml, but no longer a second version",
        ]
    );
}
