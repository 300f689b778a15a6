use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::dependencies::{self, Inputs};

fn id(name: &str, version: &str) -> PackageId {
    PackageId {
        name: name.to_owned(),
        version: version.to_owned(),
    }
}

#[test]
fn a_document_has_components_hashes_licences_and_dependencies() {
    let library = Package {
        license: "MIT/Apache-2.0".to_owned(),
        repository: "https://a.example/\"a\"".to_owned(),
        ..Package::default()
    };
    let program = Package {
        license: "MIT".to_owned(),
        dependencies: [id("a", "1.0.0+x")].into(),
        ..Package::default()
    };
    let packages = [
        (id("a", "1.0.0+x"), library),
        (id("roundtable", "0.1.0"), program),
    ];
    let locked = Locked {
        source: "registry".to_owned(),
        checksum: "00ff".to_owned(),
    };
    let lock = [(id("a", "1.0.0+x"), locked)].into();
    let license = |_: &PackageId, stated: &str| crate::spdx::normalize(stated);
    let document = document(&packages.into(), &lock, &license, Some(1_709_210_096)).unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        document,
        json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "timestamp": "2024-02-29T12:34:56Z",
                "component": {
                    "type": "application",
                    "bom-ref": "pkg:cargo/roundtable@0.1.0",
                    "name": "roundtable",
                    "version": "0.1.0",
                    "licenses": [{ "expression": "MIT" }],
                    "purl": "pkg:cargo/roundtable@0.1.0",
                },
            },
            "components": [{
                "type": "library",
                "bom-ref": "pkg:cargo/a@1.0.0%2Bx",
                "name": "a",
                "version": "1.0.0+x",
                "hashes": [{ "alg": "SHA-256", "content": "00ff" }],
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                "purl": "pkg:cargo/a@1.0.0%2Bx",
                "externalReferences": [{ "type": "vcs", "url": "https://a.example/\"a\"" }],
            }],
            "dependencies": [
                { "ref": "pkg:cargo/a@1.0.0%2Bx", "dependsOn": [] },
                { "ref": "pkg:cargo/roundtable@0.1.0", "dependsOn": ["pkg:cargo/a@1.0.0%2Bx"] },
            ],
        })
    );
}

#[test]
fn times_are_utc() {
    assert_eq!(
        [0, 951_782_399, 951_782_400, 4_102_444_799].map(rfc3339),
        [
            "1970-01-01T00:00:00Z",
            "2000-02-28T23:59:59Z",
            "2000-02-29T00:00:00Z",
            "2099-12-31T23:59:59Z",
        ]
    );
}

/// The essentials of the CycloneDX 1.5 schema, on the real workspace: required fields, allowed values, unique references.
#[test]
fn the_document_of_this_workspace_is_valid_and_deterministic() {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap();
    let write = || {
        let mut cargo = std::process::Command::new(crate::probe::cargo());
        cargo.current_dir(workspace);
        let inputs = Inputs::read(
            &mut cargo,
            workspace,
            "normal,build",
            "--package roundtable",
        )
        .unwrap();
        let license = |id: &_, stated: &str| dependencies::license(&inputs.rules, id, stated);
        document(&inputs.packages, &inputs.lock, &license, None).unwrap()
    };
    let text = write();
    assert_eq!(text, write());
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (
            &document["bomFormat"],
            &document["specVersion"],
            &document["version"]
        ),
        (&json!("CycloneDX"), &json!("1.5"), &json!(1))
    );
    assert!(document["metadata"].get("timestamp").is_none());
    let components = document["components"].as_array().unwrap();
    assert!(components.len() > 200, "{}", components.len());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let program = &document["metadata"]["component"];
    let mut references = BTreeSet::new();
    for component in components.iter().chain([program]) {
        let name = text(&component["name"]);
        assert!(["library", "application"].contains(&text(&component["type"]).as_str()));
        assert!(!name.is_empty() && !text(&component["version"]).is_empty());
        let purl = text(&component["purl"]);
        assert!(purl.starts_with(&format!("pkg:cargo/{name}@")), "{purl}");
        assert!(
            references.insert(text(&component["bom-ref"])),
            "{purl} twice"
        );
        let licenses = component["licenses"].as_array().unwrap();
        let expression = text(&licenses[0]["expression"]);
        assert!(licenses.len() == 1 && !expression.contains('/'), "{purl}");
        if name.starts_with("roundtable") {
            continue;
        }
        let hash = &component["hashes"][0];
        let content = text(&hash["content"]);
        assert!(hash["alg"] == "SHA-256" && content.len() == 64, "{purl}");
        assert!(content.chars().all(|c| c.is_ascii_hexdigit()), "{purl}");
    }
    let dependencies = document["dependencies"].as_array().unwrap();
    let sources: BTreeSet<String> = dependencies.iter().map(|from| text(&from["ref"])).collect();
    assert_eq!(sources, references, "every component has its dependencies");
    for from in dependencies {
        let targets: Vec<String> = from["dependsOn"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect();
        let unique: BTreeSet<String> = targets.iter().cloned().collect();
        assert!(
            unique.len() == targets.len() && unique.is_subset(&references),
            "{from}"
        );
    }
    for tool in ["fantoccini", "proptest", "xtask"] {
        assert!(
            !references
                .iter()
                .any(|purl| purl.contains(&format!("/{tool}@"))),
            "{tool} is not shipped"
        );
    }
}
