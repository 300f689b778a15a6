//! A home of its own for every test, and a model server that does as it is told.

pub(crate) mod court;
pub(crate) mod forecast;
#[path = "../../postgres/mod.rs"]
pub(crate) mod postgres;
#[allow(dead_code, reason = "for the tests alone")]
pub(crate) mod proxy;
mod server;
mod serving;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use postgres::Database;
use serde_json::Value;
use tempfile::TempDir;

#[allow(
    unused_imports,
    reason = "the benchmarks need less of it than the tests"
)]
pub(crate) use {
    court::{allowed, court, judged},
    server::{Answer, Gate, Server, good, schema_name},
    serving::{Events, Reply, Sent, Serving},
};

/// How much the tests of endurance do: a tenth, or all of it where `SUITE_SCALE=full` is in the environment
/// (`cargo xtask soak`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
pub(crate) enum Scale {
    Tenth,
    Full,
}

#[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
impl Scale {
    pub(crate) fn asked_for() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a choice of whoever runs the tests"
        )]
        let is_full = std::env::var_os("SUITE_SCALE").is_some_and(|it| it == "full");
        if is_full { Self::Full } else { Self::Tenth }
    }

    /// So much of what is done in full.
    pub(crate) fn of(self, full: usize) -> usize {
        match self {
            Self::Tenth => full / 10,
            Self::Full => full,
        }
    }

    /// Tells a figure to whoever runs the tests, in a form that goes into `docs/reliability.md`.
    pub(crate) fn tell(self, what: &str, figures: &Value) {
        use std::io::Write;
        // Whoever does not look at the output of tests misses nothing that they check.
        let _ = writeln!(
            std::io::stdout(),
            "figures ({}) {what}: {figures}",
            if self == Self::Full {
                "full"
            } else {
                "a tenth"
            }
        );
    }
}

/// An empty home folder with a configuration for one server.
pub(crate) struct Home {
    folder: TempDir,
    /// Where its debates are, if not in a file.
    #[allow(dead_code, reason = "it is there as long as this home is")]
    database: Option<Database>,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Home {
    pub(crate) fn empty() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            database: None,
        }
    }

    /// The server is the provider `lab`. Retries are quick and few, so that tests of failures are too.
    pub(crate) fn with(server: &Server) -> Self {
        Self::configured(&server.url(), "")
    }

    /// With `SUITE_ON=postgres` in the environment, debates are kept there: the whole suite holds on both databases (C-10).
    pub(crate) fn configured(url: &str, more: &str) -> Self {
        let mut home = Self::empty();
        #[expect(
            clippy::disallowed_methods,
            reason = "a choice of whoever runs the tests"
        )]
        let is_on_postgres = std::env::var_os("SUITE_ON").is_some_and(|it| it == "postgres");
        let mut more = more.to_owned();
        if is_on_postgres && !more.contains("[data]") {
            let database = Database::new();
            more = format!("{more}\n[data]\ndatabase = \"{}\"\n", database.url());
            home.database = Some(database);
        }
        let text = format!(
            "[providers.lab]\nkind = \"openai\"\nbase_url = \"{url}\"\n\n[retry]\nattempts = 2\nbase_ms = 1\nmax_ms = 20\n\n\
             [limits]\ncall_timeout_s = 120\nidle_timeout_s = 90\n{more}"
        );
        home.write("roundtable.toml", &text);
        home
    }

    /// The same, with its debates in a file in any case.
    #[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
    pub(crate) fn with_file(server: &Server) -> Self {
        let tiers = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";
        Self::configured(&server.url(), &format!("{tiers}\n[data]\n"))
    }

    /// The same, with its debates in this database.
    #[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
    pub(crate) fn with_database(server: &Server, url: &str) -> Self {
        let tiers = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";
        Self::configured(
            &server.url(),
            &format!("{tiers}\n[data]\ndatabase = \"{url}\"\n"),
        )
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The program in this home, with nothing else of the machine's environment. It fetches nothing from outside.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("ROUNDTABLE_SOURCES", "nowhere")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        finished(self.command(args).output().unwrap())
    }

    /// The same, with the server's model for everything that no other is named for.
    #[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
    pub(crate) fn with_model(server: &Server) -> Self {
        let tiers = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";
        Self::configured(&server.url(), tiers)
    }

    /// A service token of this scope.
    #[allow(dead_code, reason = "the benchmarks need less of it than the tests")]
    pub(crate) fn token(&self, scope: &str) -> String {
        let made = self.run(&["token", "add", "tester", "--scope", scope, "--json"]);
        made.json()["token"].as_str().unwrap().to_owned()
    }

    /// One question to `lab:x`, with what else is asked for.
    pub(crate) fn ask(&self, more: &[&str]) -> Run {
        let mut args = vec!["ask", QUESTION, "--model", "lab:x"];
        args.extend(more);
        self.run(&args)
    }

    pub(crate) fn list(&self) -> Vec<Value> {
        self.run(&["list", "--json"])
            .json()
            .as_array()
            .unwrap()
            .clone()
    }
}

/// The program that was built with these tests, or another build of it, which `SUITE_BINARY` names: one in release, or one that is
/// installed.
fn program() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "a choice of whoever runs the tests"
    )]
    let named = std::env::var_os("SUITE_BINARY");
    named.map_or_else(|| env!("CARGO_BIN_EXE_roundtable").into(), PathBuf::from)
}

pub(crate) const QUESTION: &str = "Should we put a queue in front of the database?";

pub(crate) fn finished(output: Output) -> Run {
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.out, self.err))
    }

    /// It ended like this, said this on standard error, and did not fall over.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, said: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        for words in said {
            assert!(
                self.err.contains(words),
                "'{words}' is not in: {}",
                self.err
            );
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}
