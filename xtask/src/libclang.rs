//! Where libclang is, and what the build must be told to find and use it.
//!
//! The bindings to the embedded model's runtime are generated with libclang. Their build script looks in many places by
//! itself; those are searched here the same way, and then nothing is set. For any other place `LIBCLANG_PATH` names it.

use std::path::{Path, PathBuf};

use crate::machine;
use crate::surroundings::Surroundings;

/// Where pip puts the library inside its target folder.
const IN_THE_WHEEL: &str = "clang/native";

/// Looks for libclang on this machine, last in `wheel`, the folder that pip may have installed it into.
pub(crate) fn find(wheel: &Path) -> Option<Surroundings> {
    let given = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    if let Some(given) = &given
        && let Some(folder) = [Some(given.as_path()), given.parent()]
            .into_iter()
            .flatten()
            .find(|f| holds_libclang(f))
    {
        return Some(with_headers(Surroundings::default(), folder));
    }
    if let Some(folder) = searched_by_the_build()
        .into_iter()
        .find(|folder| holds_libclang(folder))
    {
        // A variable that points nowhere would keep the build script from looking where the library is.
        let surroundings = match given {
            Some(_) => Surroundings::default().with("LIBCLANG_PATH", &folder),
            None => Surroundings::default(),
        };
        return Some(with_headers(surroundings, &folder));
    }
    searched_only_here(wheel)
        .into_iter()
        .find(|folder| holds_libclang(folder))
        .map(|folder| {
            with_headers(
                Surroundings::default().with("LIBCLANG_PATH", &folder),
                &folder,
            )
        })
}

/// The folders in which the bindings' build script looks without being told.
fn searched_by_the_build() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let llvm_config = std::env::var_os("LLVM_CONFIG_PATH").unwrap_or_else(|| "llvm-config".into());
    if let Some(prefix) = machine::answer(llvm_config, &["--prefix"]) {
        folders.extend(["bin", "lib", "lib64"].map(|name| Path::new(&prefix).join(name)));
    }
    for variable in ["LD_LIBRARY_PATH", "LIBRARY_PATH"] {
        let listed = std::env::var_os(variable).unwrap_or_default();
        folders.extend(std::env::split_paths(&listed));
    }
    for root in ["/usr/local", "/usr"] {
        for top in subfolders(Path::new(root), "lib").chain(subfolders(Path::new(root), "llvm")) {
            for middle in subfolders(&top, "") {
                folders.extend(subfolders(&middle, "lib"));
                folders.push(middle);
            }
            folders.push(top);
        }
    }
    if cfg!(target_os = "macos") {
        folders.push("/Library/Developer/CommandLineTools/usr/lib".into());
        folders.push("/usr/local/opt/llvm/lib".into());
    }
    folders
}

/// Further places that the build has to be told of.
fn searched_only_here(wheel: &Path) -> Vec<PathBuf> {
    let beside_clang = machine::answer("clang", &["-print-file-name=libclang.so"])
        .and_then(|file| Path::new(&file).parent().map(Path::to_path_buf))
        .filter(|folder| folder.is_absolute());
    let homebrew = PathBuf::from("/opt/homebrew/opt/llvm/lib");
    beside_clang
        .into_iter()
        .chain([homebrew, wheel.join(IN_THE_WHEEL)])
        .collect()
}

fn subfolders(folder: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(move |entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(prefix.as_bytes())
        })
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
}

fn holds_libclang(folder: &Path) -> bool {
    std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        // A dangling link is left behind when a package was removed halfway.
        .any(|entry| entry.file_name().to_str().is_some_and(is_libclang) && entry.path().exists())
}

/// Whether a file of this name is the library with the C interface. The C++ one, `libclang-cpp`, is no substitute, and
/// neither are the static parts, `libclangAST.a` and so on.
fn is_libclang(file_name: &str) -> bool {
    let Some(rest) = file_name.strip_prefix("libclang") else {
        return false;
    };
    // Before the extension at most a version: `libclang-14.so.1`.
    let version = |text: &str| {
        text.is_empty()
            || text.starts_with(['-', '.']) && text[1..].starts_with(|c: char| c.is_ascii_digit())
    };
    match rest.split_once(".so") {
        Some((before, after)) => version(before) && version(after),
        None => [".dylib", ".dll"].contains(&rest),
    }
}

/// Adds the compiler's own headers (`stddef.h` and its like) where libclang came without any.
///
/// The wheel has only the library, and so has a distribution's bare run-time package.
fn with_headers(surroundings: Surroundings, libclang: &Path) -> Surroundings {
    if has_headers(libclang) {
        return surroundings;
    }
    let Some(headers) = machine::answer("cc", &["-print-file-name=include"])
        .filter(|path| Path::new(path).is_absolute())
    else {
        return surroundings;
    };
    let mut arguments = std::env::var_os("BINDGEN_EXTRA_CLANG_ARGS").unwrap_or_default();
    if !arguments.is_empty() {
        arguments.push(" ");
    }
    arguments.push(format!("-I{headers}"));
    surroundings.with("BINDGEN_EXTRA_CLANG_ARGS", arguments)
}

fn has_headers(libclang: &Path) -> bool {
    let beside = [Some(libclang.to_path_buf()), libclang.canonicalize().ok()]
        .into_iter()
        .flatten();
    let versions =
        beside.flat_map(|folder| subfolders(&folder.join("clang"), "").collect::<Vec<_>>());
    // Debian's library looks in its version's folder wherever it is linked from.
    let debian = subfolders(Path::new("/usr/lib"), "llvm-")
        .flat_map(|llvm| subfolders(&llvm.join("lib/clang"), "").collect::<Vec<_>>())
        .filter(|_| libclang.starts_with("/usr"));
    versions
        .chain(debian)
        .any(|version| version.join("include/stddef.h").exists())
}

#[cfg(test)]
#[path = "libclang_tests.rs"]
mod tests;
