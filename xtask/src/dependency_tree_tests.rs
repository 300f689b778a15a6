use super::*;

fn id(name: &str, version: &str) -> PackageId {
    PackageId {
        name: name.to_owned(),
        version: version.to_owned(),
    }
}

#[test]
fn a_tree_is_read_with_all_edges() {
    let text = "0app v0.1.0 (/clone)\tMIT\t\n1a v1.0.0\tMIT/Apache-2.0\thttps://a.example\n\
                2c v1.0.0+x (proc-macro)\tISC\t\n1b v2.0.0\tMIT\t\n2a v1.0.0\tMIT/Apache-2.0\thttps://a.example (*)\n\n\
                0tool v0.1.0 (/clone/tool)\tMIT\t\n";
    let packages = parse(text).unwrap();
    let edges: Vec<(&str, Vec<&str>)> = packages
        .iter()
        .map(|(id, package)| {
            let names = package.dependencies.iter().map(|id| id.name.as_str());
            (id.name.as_str(), names.collect())
        })
        .collect();
    assert_eq!(
        edges,
        [
            ("a", vec!["c"]),
            ("app", vec!["a", "b"]),
            ("b", vec!["a"]),
            ("c", vec![]),
            ("tool", vec![])
        ]
    );
    let a = &packages[&id("a", "1.0.0")];
    assert_eq!(
        (a.license.as_str(), a.repository.as_str(), &a.folder),
        ("MIT/Apache-2.0", "https://a.example", &None)
    );
    let c = &packages[&id("c", "1.0.0+x")];
    assert_eq!((c.license.as_str(), &c.folder), ("ISC", &None));
    let app = &packages[&id("app", "0.1.0")];
    assert_eq!(app.folder.as_deref(), Some("/clone"));
}

#[test]
fn unexpected_output_is_an_error() {
    assert_eq!(
        parse("what is this"),
        Err("unexpected output of cargo tree: what is this".to_owned())
    );
}

#[test]
fn a_lock_file_is_read() {
    let text = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\
                source = \"registry+https://r\"\nchecksum = \"00ff\"\ndependencies = [\n \"b\",\n]\n\n\
                [[package]]\nname = \"b\"\nversion = \"0.1.0\"\n";
    let expected = [
        (
            id("a", "1.0.0"),
            Locked {
                source: "registry+https://r".to_owned(),
                checksum: "00ff".to_owned(),
            },
        ),
        (id("b", "0.1.0"), Locked::default()),
    ];
    assert_eq!(parse_lock(text), expected.into());
}
