//! Test harness: a home folder per test, the program as a child process, and a scripted model server.

#[allow(dead_code, reason = "not used by the benchmarks")]
pub(crate) mod agent_server;
pub(crate) mod councils;
pub(crate) mod forecast;
#[allow(dead_code, reason = "not used by the benchmarks")]
pub(crate) mod mcp;
#[path = "../../postgres/mod.rs"]
pub(crate) mod postgres;
#[allow(dead_code, reason = "not used by the benchmarks")]
pub(crate) mod proxy;
mod server;
mod serving;
#[allow(dead_code, reason = "not used by the benchmarks")]
pub(crate) mod watchdog;
#[allow(dead_code, reason = "not all of it is used by the benchmarks")]
pub(crate) mod weights;
mod wire_format;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use postgres::Database;
use serde_json::Value;
use tempfile::TempDir;

#[allow(unused_imports, reason = "not all of it is used by the benchmarks")]
pub(crate) use {
    councils::{council_reply, council_server, enum_values},
    server::{Answer, Gate, Server, good, schema_name},
    serving::{Events, Reply, Sent, Serving},
};

/// Length of the endurance tests: a tenth, or full with `SUITE_SCALE=full` (`cargo xtask soak`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not all of it is used by the benchmarks")]
pub(crate) enum Scale {
    Tenth,
    Full,
}

#[allow(dead_code, reason = "not all of it is used by the benchmarks")]
impl Scale {
    pub(crate) fn asked_for() -> Self {
        #[expect(clippy::disallowed_methods, reason = "a setting of the test run")]
        let is_full = std::env::var_os("SUITE_SCALE").is_some_and(|value| value == "full");
        if is_full { Self::Full } else { Self::Tenth }
    }

    /// `full`, or a tenth of it.
    pub(crate) fn of(self, full: usize) -> usize {
        match self {
            Self::Tenth => full / 10,
            Self::Full => full,
        }
    }

    /// Prints figures for `docs/reliability.md`.
    pub(crate) fn tell(self, what: &str, figures: &Value) {
        use std::io::Write;
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
    /// The database of the debates, if they are not in a file.
    #[allow(dead_code, reason = "kept alive as long as the home")]
    database: Option<Database>,
}

/// Exit code and output of a command.
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

    /// The server is the provider `lab`. Retries are few and fast, to keep tests of failures short.
    pub(crate) fn with(server: &Server) -> Self {
        Self::configured(&server.url(), "")
    }

    /// With `SUITE_ON=postgres`, debates are stored in PostgreSQL: the whole suite passes on both databases (C-10).
    pub(crate) fn configured(url: &str, more: &str) -> Self {
        let mut home = Self::empty();
        #[expect(clippy::disallowed_methods, reason = "a setting of the test run")]
        let is_on_postgres = std::env::var_os("SUITE_ON").is_some_and(|value| value == "postgres");
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

    /// Always stores the debates in a file.
    #[allow(dead_code, reason = "not all of it is used by the benchmarks")]
    pub(crate) fn with_file(server: &Server) -> Self {
        let tiers = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";
        Self::configured(&server.url(), &format!("{tiers}\n[data]\n"))
    }

    /// Stores the debates in this database.
    #[allow(dead_code, reason = "not all of it is used by the benchmarks")]
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

    /// The program in this home, with an empty environment and without downloads.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("ROUNDTABLE_SOURCES", "nowhere")
            .stdin(Stdio::null());
        // Named, so that all of its sections count: a file that is only found in the working folder is not trusted.
        if self.path().join("roundtable.toml").exists() {
            command.env("ROUNDTABLE_CONFIG", "roundtable.toml");
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        finished(self.command(args).output().unwrap())
    }

    /// Uses the server's model for every tier.
    #[allow(dead_code, reason = "not all of it is used by the benchmarks")]
    pub(crate) fn with_model(server: &Server) -> Self {
        let tiers = "\n[tiers]\ndeliberate = \"lab:x\"\nfast = \"lab:x\"\n";
        Self::configured(&server.url(), tiers)
    }

    /// Uses the server's model for every tier, and a `PostgreSQL` database of its own.
    #[allow(dead_code, reason = "not all of it is used by the benchmarks")]
    pub(crate) fn on_postgres(server: &Server) -> Self {
        let database = Database::new();
        let mut home = Self::with_database(server, database.url());
        home.database = Some(database);
        home
    }

    /// Lets this number of calls of the provider `lab` be in flight at once.
    #[allow(dead_code, reason = "not all of it is used by the benchmarks")]
    pub(crate) fn allow_calls(&self, calls: usize) {
        let config = std::fs::read_to_string(self.path().join("roundtable.toml")).unwrap();
        let allowed = format!("[providers.lab]\nmax_concurrent = {calls}");
        self.write(
            "roundtable.toml",
            &config.replacen("[providers.lab]", &allowed, 1),
        );
    }

    /// A service token of this scope.
    #[allow(dead_code, reason = "not all of it is used by the benchmarks")]
    pub(crate) fn token(&self, scope: &str) -> String {
        let made = self.run(&["token", "add", "tester", "--scope", scope, "--json"]);
        made.json()["token"].as_str().unwrap().to_owned()
    }

    /// `roundtable ask QUESTION --model lab:x` with further arguments.
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

/// The program built with these tests, or the one that `SUITE_BINARY` names.
pub(crate) fn program() -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a setting of the test run")]
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

/// A text without its line breaks: the verdict is wrapped at the width of the terminal.
pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Run {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.out, self.err))
    }

    /// Asserts the exit code and texts on standard error, and that the program did not panic.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, texts: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{}\n{}", self.out, self.err);
        for text in texts {
            let is_in = self.err.contains(text) || flat(&self.err).contains(text);
            assert!(is_in, "'{text}' is not in: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}
