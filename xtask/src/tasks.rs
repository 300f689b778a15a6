//! The tasks: their requirements and the cargo commands they run.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::arguments::{DistOptions, HELP, Task};
use crate::cargo::{Cargo, Step, exec, run_all};
use crate::folders::Folders;
use crate::probe::run_captured;
use crate::requirements::Purpose;
use crate::{clients, dependencies, dist, install, log, mcp_clients, other_models, shots};

const FIRST_BUILD: &str = "the first build of the embedded model's runtime takes about two minutes";

const FULL_BUILD: &str = "the first build takes about 7 minutes on two cores; later ones a minute";
const SLIM_BUILD: &str = "the first build takes about 5 minutes on two cores; later ones a minute";

/// Runs a task. Missing requirements are logged.
pub(crate) fn run(task: Task) -> ExitCode {
    let done = match task {
        Task::Try {
            question,
            options,
            embedded,
        } => try_debate(&question, &options, embedded),
        Task::Check(filters) => check(&filters),
        Task::Test(filters) => test(&filters),
        Task::Bench(filters) => bench(&filters),
        Task::Soak(filters) => soak(&filters),
        Task::Clients(filters) => clients(&filters),
        Task::Shots(folder) => shots(folder),
        Task::Deny => deny(),
        Task::Dist(options) => dist(&options),
        Task::Help => Ok(help()),
    };
    done.unwrap_or_else(|missing| {
        log(&format!("missing requirements:\n{missing}"));
        ExitCode::FAILURE
    })
}

fn help() -> ExitCode {
    // Fails only if the reader closed the pipe.
    let _ = writeln!(std::io::stdout(), "{HELP}");
    ExitCode::SUCCESS
}

/// `try`: builds the program and runs a debate on one question. On a terminal, cargo shows its progress itself.
fn try_debate(question: &OsStr, options: &[OsString], embedded: bool) -> Result<ExitCode, String> {
    let other = other_models::find(options).filter(|_| !embedded);
    let (purposes, features, hint) = match &other {
        Some(found) => {
            log(&format!(
                "found {found}: building without the embedded model; --embedded builds it"
            ));
            (&[Purpose::Compile][..], "--no-default-features", SLIM_BUILD)
        }
        None => (
            &[Purpose::Compile, Purpose::EmbeddedModel][..],
            "",
            FULL_BUILD,
        ),
    };
    let cargo = prepare(purposes)?;
    let arguments = format!("build --profile quick --bin roundtable {features}");
    let mut build = cargo
        .step("building roundtable", &arguments)
        .duration_hint(hint);
    if !build.run() {
        return Ok(ExitCode::FAILURE);
    }
    log(&format!("asking: {}", question.display()));
    let arguments = [OsString::from("ask"), question.to_owned()];
    Ok(exec(
        cargo.run_roundtable(features, arguments.iter().chain(options)),
    ))
}

/// `check`: the fast checks, none of which compiles C++. With filters only the tests they select, of every package except
/// the embedded model.
fn check(filters: &[OsString]) -> Result<ExitCode, String> {
    if !filters.is_empty() {
        return check_filtered(filters);
    }
    let mut purposes = vec![Purpose::Compile, Purpose::Lint];
    let has_deny = install::is_installed(Purpose::Deny, &Folders::find().tools);
    purposes.extend(has_deny.then_some(Purpose::Deny));
    let cargo = prepare(&purposes)?;
    let mut steps = vec![formatting(&cargo), dependencies(&cargo)];
    if has_deny {
        steps.extend(deny_steps(&cargo));
    } else {
        log("advisories are not checked: `cargo xtask deny` installs cargo-deny and checks them");
    }
    steps.push(cargo.step(
        "lints, without the embedded model",
        "clippy --workspace --exclude roundtable-local --no-default-features --all-targets -- -D warnings",
    ));
    steps.push(tests(
        &cargo,
        "--package roundtable-core --package roundtable-engine --package xtask --package xtask-dist",
        &[],
    ));
    Ok(run_all(steps))
}

/// Does not install what the tests need (PostgreSQL, a browser): most filters select no test that uses them, and the tests
/// that do name what is missing.
fn check_filtered(filters: &[OsString]) -> Result<ExitCode, String> {
    let cargo = prepare(&[Purpose::Compile])?;
    // `--tests` leaves out the documentation tests, which are slow to build.
    let packages = "--workspace --exclude roundtable-local --no-default-features --tests";
    Ok(run_all(vec![tests(&cargo, packages, filters)]))
}

/// `test`: everything CI runs. With filters only the tests they select.
fn test(filters: &[OsString]) -> Result<ExitCode, String> {
    let purposes = [
        Purpose::Compile,
        Purpose::EmbeddedModel,
        Purpose::Lint,
        Purpose::Test,
    ];
    let cargo = prepare(&purposes)?;
    let tests = tests(&cargo, "--workspace", filters);
    if !filters.is_empty() {
        return Ok(run_all(vec![tests.duration_hint(FIRST_BUILD)]));
    }
    let mut steps = vec![
        formatting(&cargo),
        dependencies(&cargo),
        cargo
            .step("lints", "clippy --workspace --all-targets -- -D warnings")
            .duration_hint(FIRST_BUILD),
        // Finds code that is unused without the embedded model.
        cargo.step(
            "the build without the embedded model",
            "clippy --package roundtable --no-default-features -- -D warnings",
        ),
    ];
    if Cargo::has_nextest() {
        // `cargo test` includes these; nextest does not.
        steps.push(cargo.step("documentation tests", "test --workspace --doc"));
    }
    // Last, so that the test summary is at the end of the output.
    steps.push(tests);
    Ok(run_all(steps))
}

/// `bench`: the benchmarks, run on a release build.
fn bench(filters: &[OsString]) -> Result<ExitCode, String> {
    let cargo = prepare(&[Purpose::Compile, Purpose::EmbeddedModel, Purpose::Test])?;
    let mut release = cargo
        .step("release build", "build --release --bin roundtable")
        .duration_hint("the first one takes about 15 minutes");
    if !release.run() {
        return Ok(ExitCode::FAILURE);
    }
    // `--bench *`, because plain `cargo bench` would also compile all unit tests, only to skip them. Another profile, because
    // that of `cargo bench` would overwrite the release build, which is to be measured.
    let benches = cargo
        .step(
            "benchmarks",
            "bench --workspace --profile quick --bench * --",
        )
        .args(filters)
        .env("SUITE_BINARY", cargo.release_binary())
        .duration_hint(FIRST_BUILD);
    Ok(run_all(vec![benches]))
}

/// The modules of `tests/suite` that run a tenth of their cases in `test` and all of them in `soak`.
const SOAK_TESTS: [&str; 5] = [
    "faults::",
    "crashes::",
    "store_faults::",
    "disconnects::",
    "hostile::",
];

/// `soak`: the fault and crash tests at full length, with the figures they print. They do not use the embedded model.
fn soak(filters: &[OsString]) -> Result<ExitCode, String> {
    let cargo = prepare(&[Purpose::Compile, Purpose::Test])?;
    // Sequentially: parallel tests would distort each other's figures.
    let packages = "--package roundtable --no-default-features --test suite";
    let arguments = if Cargo::has_nextest() {
        format!("nextest run --no-fail-fast --no-capture {packages}")
    } else {
        format!("test --no-fail-fast {packages} -- --nocapture --test-threads 1")
    };
    let all = SOAK_TESTS.map(OsString::from);
    let filters = if filters.is_empty() { &all } else { filters };
    let soak = cargo
        .step("soak tests", &arguments)
        .args(filters)
        .env("SUITE_SCALE", "full")
        .duration_hint("one to two hours on two cores");
    Ok(run_all(vec![soak]))
}

/// `clients`: software that others wrote, against a scripted model server: command-line agents as seats, clients of the
/// OpenAI-compatible API, and MCP clients. Not a part of `test`, because it downloads two gigabytes.
fn clients(filters: &[OsString]) -> Result<ExitCode, String> {
    let cargo = prepare(&[Purpose::Compile, Purpose::Clients])?;
    let tools = Folders::find().tools;
    let programs = clients::install(&tools.join("clients"))?;
    let mcp_clients = mcp_clients::install(&tools.join("mcp-clients"))?;
    let all = [OsString::from("clients::")];
    let packages = "--package roundtable --no-default-features --test suite";
    let arguments = if Cargo::has_nextest() {
        format!("nextest run --no-fail-fast --run-ignored only {packages}")
    } else {
        format!("test --no-fail-fast {packages} -- --ignored --test-threads 1")
    };
    let filters: Vec<OsString> = filters
        .iter()
        .map(|filter| clients::test_name(filter))
        .collect();
    let tests = cargo
        .step("agents as seats, and clients of the API", &arguments)
        .args(if filters.is_empty() { &all } else { &filters })
        .env("SUITE_CLIENTS", programs)
        .env("SUITE_MCP_CLIENTS", mcp_clients);
    Ok(run_all(vec![tests]))
}

/// `shots`: screenshots of every page against a scripted model server, and axe-core on each.
fn shots(folder: Option<OsString>) -> Result<ExitCode, String> {
    let cargo = prepare(&[Purpose::Compile, Purpose::Test, Purpose::Clients])?;
    let axe = shots::install(&Folders::find().tools.join("axe"))?;
    let folder = shots::folder(folder)?;
    let arguments = "test --package roundtable --no-default-features --test suite -- --ignored shots_of_every_page";
    let tests = cargo
        .step("screenshots and axe-core", arguments)
        .env("SUITE_SHOTS", &folder)
        .env("SUITE_AXE", axe);
    let code = run_all(vec![tests]);
    log(&format!("pictures: {}", folder.display()));
    Ok(code)
}

/// `deny`: cargo-deny with all its checks.
fn deny() -> Result<ExitCode, String> {
    let cargo = prepare(&[Purpose::Deny])?;
    Ok(run_all(deny_steps(&cargo)))
}

fn deny_steps(cargo: &Cargo) -> Vec<Step> {
    let rules = "deny --workspace --all-features --locked check bans licenses sources";
    let mut fetch = cargo.in_workspace();
    fetch.args(["deny", "fetch", "db"]);
    let mut steps = vec![cargo.step("licences, sources and duplicates by cargo-deny", rules)];
    // Without a network there is nothing to compare with, which is not the fault of a dependency.
    match run_captured(&mut fetch) {
        Ok(()) => steps.push(cargo.step(
            "advisories",
            "deny --workspace --all-features --offline check advisories",
        )),
        Err(error) => log(&format!(
            "advisories are not checked: the database cannot be fetched: {error}"
        )),
    }
    steps
}

/// `dist`: the files of a release.
fn dist(options: &DistOptions) -> Result<ExitCode, String> {
    let cargo = prepare(&[Purpose::Compile, Purpose::EmbeddedModel])?;
    let default = || cargo.target_folder().join("dist");
    let folder = options.folder.as_ref().map_or_else(default, PathBuf::from);
    // The packager runs in another folder.
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    match dist::run(&cargo, &folder, options) {
        Ok(()) => log(&format!("wrote {}", folder.display())),
        Err(error) => {
            log(&error);
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Licences, sources and duplicates, in less than a second and without installing anything.
fn dependencies(cargo: &Cargo) -> Step {
    let (mut tree, workspace) = (cargo.in_workspace(), cargo.workspace().to_owned());
    Step::check(
        "licences, sources and duplicates of the dependencies",
        move || dependencies::check(&mut tree, &workspace),
    )
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
    cargo.step("tests", &arguments).args(filters)
}

/// Installs the requirements of `purposes`; the error says which of them are missing.
fn prepare(purposes: &[Purpose]) -> Result<Cargo, String> {
    let folders = Folders::find();
    let environment = install::ensure(purposes, &folders.tools)?;
    Ok(Cargo::new(folders, environment))
}
