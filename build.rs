//! Packs the relative relocations of the program if the C library can read them (glibc 2.36). They are otherwise two megabytes
//! of the file, and of every process, because all of them are read when a program starts.

use std::env;
use std::process::Command;

/// The first version of glibc that reads packed relocations.
const GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo passes the target of a build in variables"
    )]
    let variable = |name: &str| env::var(name).unwrap_or_default();
    // Only for the machine that builds: the C library of another one is unknown. Only on x86_64, where the toolchain brings a
    // linker that knows the option.
    let target = variable("TARGET");
    if target == "x86_64-unknown-linux-gnu" && target == variable("HOST") && glibc() >= GLIBC {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc; 0.0 if it is unknown.
fn glibc() -> (u32, u32) {
    let version = || {
        let output = Command::new("getconf")
            .arg("GNU_LIBC_VERSION")
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    version().unwrap_or_default()
}
