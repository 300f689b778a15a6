//! Finds libclang, which generates the bindings to the embedded model's runtime.
//!
//! The build script of the bindings searches many folders itself. These are searched here first, and then no variable needs
//! to be set. For any other folder `LIBCLANG_PATH` is set.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::probe;

/// The folder of the library in the installed wheel.
const WHEEL_LIBRARY_FOLDER: &str = "clang/native";

/// Searches this machine for libclang, last in `wheel`, the folder that pip installs it into.
pub(crate) fn find(wheel: &Path) -> Option<Environment> {
    let from_user = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from);
    if let Some(path) = &from_user
        && let Some(folder) = [Some(path.as_path()), path.parent()]
            .into_iter()
            .flatten()
            .find(|folder| contains_libclang(folder))
    {
        return Some(with_headers(Environment::default(), folder));
    }
    if let Some(folder) = build_script_folders()
        .into_iter()
        .find(|folder| contains_libclang(folder))
    {
        // A LIBCLANG_PATH without the library would keep the build script from searching its own folders.
        let environment = match from_user {
            Some(_) => Environment::default().set("LIBCLANG_PATH", &folder),
            None => Environment::default(),
        };
        return Some(with_headers(environment, &folder));
    }
    let mut others = other_folders(wheel).into_iter();
    let folder = others.find(|folder| contains_libclang(folder))?;
    let environment = Environment::default().set("LIBCLANG_PATH", &folder);
    Some(with_headers(environment, &folder))
}

/// The folders that the build script of the bindings searches itself.
fn build_script_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let llvm_config = std::env::var_os("LLVM_CONFIG_PATH").unwrap_or_else(|| "llvm-config".into());
    if let Some(prefix) = probe::first_line(llvm_config, &["--prefix"]) {
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

/// Folders that the build script does not search.
fn other_folders(wheel: &Path) -> Vec<PathBuf> {
    let clang_folder = probe::first_line("clang", &["-print-file-name=libclang.so"])
        .and_then(|file| Path::new(&file).parent().map(Path::to_path_buf))
        .filter(|folder| folder.is_absolute());
    let homebrew = PathBuf::from("/opt/homebrew/opt/llvm/lib");
    clang_folder
        .into_iter()
        .chain([homebrew, wheel.join(WHEEL_LIBRARY_FOLDER)])
        .collect()
}

fn subfolders(folder: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(move |entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().starts_with(prefix.as_bytes())
    });
    named.map(|entry| entry.path()).filter(|path| path.is_dir())
}

fn contains_libclang(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // A partly removed package leaves a dangling link.
    entries
        .any(|entry| entry.file_name().to_str().is_some_and(is_libclang) && entry.path().exists())
}

/// Whether this is the file name of the shared library with the C interface; neither `libclang-cpp` nor a static library such
/// as `libclangAST.a` can be used instead.
fn is_libclang(file_name: &str) -> bool {
    let Some(rest) = file_name.strip_prefix("libclang") else {
        return false;
    };
    // Only a version may come before or after the extension: `libclang-14.so.1`.
    let version = |text: &str| {
        text.is_empty()
            || text.starts_with(['-', '.']) && text[1..].starts_with(|c: char| c.is_ascii_digit())
    };
    match rest.split_once(".so") {
        Some((before, after)) => version(before) && version(after),
        None => [".dylib", ".dll"].contains(&rest),
    }
}

/// Adds the C compiler's headers (`stddef.h` and others) if libclang has none of its own, as in the wheel and in the run-time
/// packages of distributions.
fn with_headers(environment: Environment, libclang: &Path) -> Environment {
    if has_headers(libclang) {
        return environment;
    }
    let Some(headers) = probe::first_line("cc", &["-print-file-name=include"])
        .filter(|path| Path::new(path).is_absolute())
    else {
        return environment;
    };
    let mut arguments = std::env::var_os("BINDGEN_EXTRA_CLANG_ARGS").unwrap_or_default();
    if !arguments.is_empty() {
        arguments.push(" ");
    }
    arguments.push(format!("-I{headers}"));
    environment.set("BINDGEN_EXTRA_CLANG_ARGS", arguments)
}

fn has_headers(libclang: &Path) -> bool {
    let folders = [Some(libclang.to_path_buf()), libclang.canonicalize().ok()]
        .into_iter()
        .flatten();
    let versions =
        folders.flat_map(|folder| subfolders(&folder.join("clang"), "").collect::<Vec<_>>());
    // Debian's library reads the headers of its version wherever it is linked from.
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
