//! The tasks: what each of them needs and which cargo commands it consists of.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use crate::cargo::{Cargo, Step, become_it, run_all};
use crate::folders::Folders;
use crate::install;
use crate::needs::Purpose;
use crate::say;

const FIRST_BUILD: &str =
    "building the embedded model's runtime takes about six minutes the first time";

/// Builds the program and lets it debate one question.
pub(crate) fn try_it(question: &OsStr, options: &[OsString]) -> ExitCode {
    let cargo = match prepare(&[Purpose::Compile, Purpose::Embed]) {
        Ok(cargo) => cargo,
        Err(code) => return code,
    };
    let mut build = cargo
        .step(
            "building roundtable",
            "build --profile quick --bin roundtable",
        )
        .which_may_take(FIRST_BUILD);
    if !build.succeeds() {
        return ExitCode::FAILURE;
    }
    say(&format!("asking: {}", question.display()));
    let arguments = [OsString::from("ask"), question.to_owned()];
    become_it(cargo.run_roundtable(arguments.iter().chain(options)))
}

/// Everything that CI runs; with filters only the tests they select.
pub(crate) fn test(filters: &[OsString]) -> ExitCode {
    let purposes = [
        Purpose::Compile,
        Purpose::Embed,
        Purpose::Lint,
        Purpose::Test,
    ];
    let cargo = match prepare(&purposes) {
        Ok(cargo) => cargo,
        Err(code) => return code,
    };
    let tests = tests(&cargo, "--workspace", filters);
    if !filters.is_empty() {
        return run_all(vec![tests.which_may_take(FIRST_BUILD)]);
    }
    let mut steps = vec![
        formatting(&cargo),
        cargo
            .step("lints", "clippy --workspace --all-targets -- -D warnings")
            .which_may_take(FIRST_BUILD),
        // Clippy is `cargo check` and more: code that only the embedded model uses must not be left over here.
        cargo.step(
            "the build without the embedded model",
            "clippy --package roundtable --no-default-features -- -D warnings",
        ),
    ];
    if Cargo::has_nextest() {
        // The other runner does these by itself.
        steps.push(cargo.step("examples in the documentation", "test --workspace --doc"));
    }
    // Last, so that what they count is the end of the output.
    steps.push(tests);
    run_all(steps)
}

/// The part of the tests that takes seconds once it is built: nothing of it needs the embedded model.
pub(crate) fn check() -> ExitCode {
    let cargo = match prepare(&[Purpose::Compile, Purpose::Lint]) {
        Ok(cargo) => cargo,
        Err(code) => return code,
    };
    run_all(vec![
        formatting(&cargo),
        cargo.step(
            "lints, without the embedded model",
            "clippy --workspace --exclude roundtable-local --no-default-features --all-targets -- -D warnings",
        ),
        tests(
            &cargo,
            "--package roundtable-core --package roundtable-engine --package xtask",
            &[],
        ),
    ])
}

/// The benchmarks, with what they print.
pub(crate) fn bench(filters: &[OsString]) -> ExitCode {
    let cargo = match prepare(&[Purpose::Compile, Purpose::Embed, Purpose::Test]) {
        Ok(cargo) => cargo,
        Err(code) => return code,
    };
    let mut release = cargo
        .step(
            "building the program as it is shipped",
            "build --release --bin roundtable",
        )
        .which_may_take("a quarter of an hour the first time");
    if !release.succeeds() {
        return ExitCode::FAILURE;
    }
    // By name: `cargo bench` alone would also compile all unit tests, only to skip them.
    let benches = cargo
        .step("benchmarks", "bench --workspace --bench * --")
        .with(filters)
        .under("SUITE_BINARY", cargo.released())
        .which_may_take(FIRST_BUILD);
    run_all(vec![benches])
}

/// The files of `tests/suite` that do a tenth of their work in `test`, and all of it here.
const OF_ENDURANCE: [&str; 3] = ["faults::", "crashes::", "store_faults::"];

/// The tests of endurance, all of each, with the figures that they print. Without the embedded model, which has no part in them.
pub(crate) fn soak(filters: &[OsString]) -> ExitCode {
    let cargo = match prepare(&[Purpose::Compile, Purpose::Test]) {
        Ok(cargo) => cargo,
        Err(code) => return code,
    };
    // One after the other: several would measure each other.
    let packages = "--package roundtable --no-default-features --test suite";
    let arguments = if Cargo::has_nextest() {
        format!("nextest run --no-fail-fast --no-capture {packages}")
    } else {
        format!("test --no-fail-fast {packages} -- --nocapture --test-threads 1")
    };
    let standard = OF_ENDURANCE.map(OsString::from);
    let chosen = if filters.is_empty() {
        &standard[..]
    } else {
        filters
    };
    let soak = cargo
        .step("tests of endurance", &arguments)
        .with(chosen)
        .under("SUITE_SCALE", "full")
        .which_may_take("about half an hour on two cores");
    run_all(vec![soak])
}

fn formatting(cargo: &Cargo) -> Step {
    cargo.step("formatting", "fmt --all --check")
}

fn tests(cargo: &Cargo, packages: &str, filters: &[OsString]) -> Step {
    let arguments = if Cargo::has_nextest() {
        format!("nextest run --no-fail-fast {packages}")
    } else {
        format!("test --no-fail-fast {packages} --")
    };
    cargo.step("tests", &arguments).with(filters)
}

/// Gets what the purposes need, or says what is missing.
fn prepare(purposes: &[Purpose]) -> Result<Cargo, ExitCode> {
    let folders = Folders::find();
    match install::provide(purposes, &folders.tools) {
        Ok(surroundings) => Ok(Cargo::new(folders, surroundings)),
        Err(missing) => {
            say(&format!("this machine lacks something.\n{missing}"));
            Err(ExitCode::FAILURE)
        }
    }
}
