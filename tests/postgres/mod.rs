//! A throw-away `PostgreSQL` cluster for tests and benchmarks: whoever needs it first starts it, all of a run share it, and it
//! goes away with its files when nobody has used it for a while. Every test gets a database of its own.
//!
//! `PostgreSQL` refuses to run for the administrator, so it runs as another user where the tests do not.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests and benchmarks each use a part of it, and stop where it is not to be had"
)]

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An empty database, gone with this value.
pub(crate) struct Database {
    url: String,
    name: String,
    cluster: Cluster,
}

/// What a write costs there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// Nothing is waited for: tests kill processes, not machines.
    Forgetful,
    /// As in earnest, for measurements.
    Safe,
}

struct Cluster {
    tools: Tools,
    folder: PathBuf,
    port: u16,
    /// Locked as long as somebody uses the cluster.
    _in_use: File,
}

impl Database {
    pub(crate) fn new() -> Self {
        Self::on(Disk::Forgetful)
    }

    pub(crate) fn on(disk: Disk) -> Self {
        let cluster = Cluster::join(disk);
        let name = format!("t{}", uuid::Uuid::new_v4().simple());
        cluster.sql(&format!("CREATE DATABASE {name} STRATEGY file_copy"));
        Self {
            url: format!("postgres://postgres@127.0.0.1:{}/{name}", cluster.port),
            name,
            cluster,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The same, from a connection to another database of the cluster.
    pub(crate) fn sql_elsewhere(&self, sql: &str) -> String {
        self.cluster.sql(sql)
    }

    /// Says something to the database itself, past the program, and gives what it answers.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.cluster.sql_in(&self.name, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        // It goes with its cluster in any case.
        let _ = self.cluster.psql("postgres", &drop);
    }
}

impl Cluster {
    fn join(disk: Disk) -> Self {
        let tools = Tools::find();
        let (name, further) = match disk {
            Disk::Forgetful => (
                "forgetful",
                "-c fsync=off -c synchronous_commit=off -c full_page_writes=off",
            ),
            Disk::Safe => ("safe", "-c fsync=on"),
        };
        let user = answer(Command::new("id").arg("-u"));
        let folder = std::env::temp_dir().join(format!("roundtable-postgres-{name}-{user}"));
        fs::create_dir_all(&folder).unwrap();
        tools.give(&folder);
        // One at a time looks and starts; who has found it running keeps it so.
        let starting = open(&folder.join("starting"));
        starting.lock().unwrap();
        let in_use = open(&folder.join("in-use"));
        tools.give(&folder.join("in-use"));
        in_use.lock_shared().unwrap();
        let data = folder.join("data");
        let is_running = data.join("postmaster.pid").exists()
            && tools
                .run("pg_ctl", &folder)
                .arg("status")
                .arg("-D")
                .arg(&data)
                .output()
                .unwrap()
                .status
                .success();
        let port_file = folder.join("port");
        if !is_running {
            let port = start(&tools, &folder, &data, further);
            fs::write(&port_file, port.to_string()).unwrap();
            tools.watch(&folder);
        }
        let port = fs::read_to_string(&port_file).unwrap().parse().unwrap();
        Self {
            tools,
            folder,
            port,
            _in_use: in_use,
        }
    }

    fn psql(&self, database: &str, sql: &str) -> Output {
        let mut psql = Command::new(self.tools.folder.join("psql"));
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
        ])
        .args(["-p", &self.port.to_string(), "-d", database, "-c", sql])
        .current_dir(&self.folder)
        .output()
        .unwrap()
    }

    fn sql(&self, sql: &str) -> String {
        self.sql_in("postgres", sql)
    }

    fn sql_in(&self, database: &str, sql: &str) -> String {
        let output = self.psql(database, sql);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

fn start(tools: &Tools, folder: &Path, data: &Path, further: &str) -> u16 {
    let _ = fs::remove_dir_all(data);
    let mut init = tools.run("initdb", folder);
    init.arg("-D").arg(data).args([
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    ]);
    succeed(&mut init);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let options = format!(
        "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c max_connections=300 {further}",
        folder.display()
    );
    let mut server = tools.run("pg_ctl", folder);
    server
        .args(["start", "-w", "-t", "60", "-D"])
        .arg(data)
        .arg("-l")
        .arg(folder.join("log"))
        .args(["-o", &options]);
    // Its output goes to the log; a pipe of ours would stay open for as long as the server runs.
    let status = server
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    assert!(status.success(), "PostgreSQL did not start: {log}");
    port
}

struct Tools {
    folder: PathBuf,
    /// The user that it runs as, where that is not us.
    user: Option<String>,
}

impl Tools {
    fn find() -> Self {
        let debian = Path::new("/usr/lib/postgresql");
        let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(debian)
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                let folder = debian.join(&name).join("bin");
                folder
                    .join("initdb")
                    .exists()
                    .then_some((name.parse().ok()?, folder))
            })
            .collect();
        versions.sort();
        let folder = versions.pop().map(|(_, folder)| folder).or_else(|| {
            let found = Command::new("sh")
                .args(["-c", "command -v initdb"])
                .output()
                .ok()?;
            let path = String::from_utf8(found.stdout).ok()?;
            Path::new(path.trim())
                .parent()
                .filter(|it| it.join("initdb").exists())
                .map(Path::to_path_buf)
        });
        let folder = folder.unwrap_or_else(|| {
            panic!("these tests need PostgreSQL: `cargo xtask test` installs it, or install your system's package of that name")
        });
        let is_administrator = answer(Command::new("id").arg("-u")) == "0";
        let user = is_administrator.then(|| {
            let there = Command::new("id")
                .arg("postgres")
                .output()
                .is_ok_and(|it| it.status.success());
            if there { "postgres" } else { "nobody" }.to_owned()
        });
        Self { folder, user }
    }

    /// The words before a command that has it run as the cluster's user.
    fn prefix(&self) -> Vec<String> {
        let as_user = |user: &String| {
            let group = answer(Command::new("id").args(["-g", user]));
            let words = ["setpriv", "--clear-groups"].map(str::to_owned);
            [
                words.as_slice(),
                &[format!("--reuid={user}"), format!("--regid={group}")],
            ]
            .concat()
        };
        self.user.as_ref().map_or_else(Vec::new, as_user)
    }

    fn run(&self, tool: &str, folder: &Path) -> Command {
        let program = self.folder.join(tool);
        let mut command = Command::new("env");
        command
            .args(self.prefix())
            .arg(program)
            .current_dir(folder)
            .env("HOME", folder)
            .stdin(Stdio::null());
        command
    }

    fn give(&self, path: &Path) {
        if let Some(user) = &self.user {
            succeed(Command::new("chown").arg(user).arg(path));
        }
    }

    /// A process that ends the cluster when nobody has used it for a while.
    fn watch(&self, folder: &Path) {
        let pg_ctl = self.folder.join("pg_ctl");
        let stop = format!(
            "{} stop -m immediate -D data; rm -rf data",
            pg_ctl.display()
        );
        let script = format!("while sleep 20; do flock -n -x in-use sh -c '{stop}' && exit; done");
        // In a session of its own and in the background: it outlives whoever started it.
        succeed(
            Command::new("setsid")
                .args(["--fork"])
                .args(self.prefix())
                .args(["sh", "-c", &script])
                .current_dir(folder)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
    }
}

fn open(path: &Path) -> File {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .unwrap()
}

fn succeed(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn answer(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
