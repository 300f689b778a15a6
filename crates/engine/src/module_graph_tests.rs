//! The top-level modules import each other without cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Adds the `crate::module` paths in the source files of a folder, without comments and test code.
fn add_imports(folder: &Path, module: Option<&str>, graph: &mut Graph) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let name = module.unwrap_or(stem);
        if path.is_dir() && !is_test(stem) {
            add_imports(&path, Some(name), graph);
        } else if path.is_file() && !is_test(stem) && stem != "lib" {
            let source = std::fs::read_to_string(&path).unwrap();
            let code = source.lines().map(|line| line.split("//").next().unwrap());
            let paths = code.flat_map(|line| line.split("crate::").skip(1));
            let modules = paths.map(|path| path.split([':', ';', ' ', ')']).next().unwrap());
            let imports = graph.entry(name.to_owned()).or_default();
            imports.extend(modules.filter(|other| *other != name).map(str::to_owned));
        }
    }
}

fn is_test(stem: &str) -> bool {
    stem.ends_with("_tests") || ["tests", "scripted", "test_support", "snapshots"].contains(&stem)
}

/// Modules without imports are removed until none is left, which fails for the modules of a cycle.
#[test]
fn top_level_modules_have_no_import_cycles() {
    let mut graph = Graph::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    add_imports(&source, None, &mut graph);
    assert!(graph["table"].contains("event"), "{graph:?}");
    while let Some((leaf, _)) = graph.iter().find(|(_, imports)| imports.is_empty()) {
        let leaf = leaf.clone();
        graph.remove(&leaf);
        for imports in graph.values_mut() {
            imports.remove(&leaf);
        }
    }
    assert!(graph.is_empty(), "modules in or above a cycle: {graph:#?}");
}
