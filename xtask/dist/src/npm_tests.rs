use std::io::Read as _;

use flate2::read::GzDecoder;

use super::*;

const NPM: Npm = Npm {
    name: "roundtable-debate",
    version: "1.2.3",
    cpu: "x64",
    summary: "A summary",
};

#[test]
fn the_package_has_one_command_for_one_platform() {
    let program = Entry::program("bin/roundtable", (*b"program").into());
    let package = package(NPM, "bin/roundtable", std::slice::from_ref(&program), 0).unwrap();
    let mut text = Vec::new();
    GzDecoder::new(&*package).read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text);
    let manifest = &text[text.find("{\n").unwrap()..=text.rfind("\n}\n").unwrap() + 1];
    let manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
    assert_eq!(
        manifest,
        json!({
            "name": "roundtable-debate",
            "version": "1.2.3",
            "description": "A summary",
            "license": "MIT OR Apache-2.0",
            "bin": { "roundtable": "bin/roundtable" },
            "os": ["linux"],
            "cpu": ["x64"],
        })
    );
    assert!(text.contains("package/bin/roundtable\0"));
}
