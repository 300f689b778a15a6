//! A temporary `PostgreSQL` cluster for tests and benchmarks. The first test starts it, all tests share it, and it is deleted
//! when it has been idle for a while. Every test gets its own database.
//!
//! `PostgreSQL` refuses to run as root; if the tests run as root, it runs as another user.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests and benchmarks each use a part of it, and cannot run without it"
)]

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An empty database, dropped with this value.
pub(crate) struct Database {
    url: String,
    name: String,
    cluster: Cluster,
}

/// Whether commits wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// No fsync: tests kill processes, not machines.
    Unsafe,
    /// With fsync, for measurements.
    Safe,
}

struct Cluster {
    tools: Tools,
    folder: PathBuf,
    port: u16,
    /// Holds a shared lock while the cluster is in use.
    _in_use: File,
}

impl Database {
    pub(crate) fn new() -> Self {
        Self::on(Disk::Unsafe)
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

    pub(crate) fn port(&self) -> u16 {
        self.cluster.port
    }

    /// A program that finds the cluster and the tools of `PostgreSQL`.
    pub(crate) fn client(&self, program: &str) -> Command {
        let own = self.cluster.tools.folder.display();
        let mut client = Command::new("env");
        client
            .arg(format!("PATH={own}:/usr/local/bin:/usr/bin:/bin"))
            .arg(program)
            .env("PGHOST", "127.0.0.1")
            .env("PGPORT", self.cluster.port.to_string());
        client
    }

    /// Runs SQL in this database and returns the output.
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.cluster.sql_in(&self.name, sql)
    }

    /// Runs SQL in another database of the cluster.
    pub(crate) fn sql_elsewhere(&self, sql: &str) -> String {
        self.cluster.sql(sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        // Best effort: it is deleted with the cluster anyway.
        let _ = self.cluster.psql("postgres", &drop);
    }
}

impl Cluster {
    fn join(disk: Disk) -> Self {
        let tools = Tools::find();
        let (name, settings) = match disk {
            Disk::Unsafe => (
                "unsafe",
                "-c fsync=off -c synchronous_commit=off -c full_page_writes=off",
            ),
            Disk::Safe => ("safe", "-c fsync=on"),
        };
        let user = output_of(Command::new("id").arg("-u"));
        let folder = std::env::temp_dir().join(format!("roundtable-postgres-2-{name}-{user}"));
        fs::create_dir_all(&folder).unwrap();
        tools.chown(&folder);
        // One process at a time checks and starts; the shared lock keeps the cluster running.
        let starting = open(&folder.join("starting"));
        starting.lock().unwrap();
        let in_use = open(&folder.join("in-use"));
        tools.chown(&folder.join("in-use"));
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
            let port = start(&tools, &folder, &data, settings);
            fs::write(&port_file, port.to_string()).unwrap();
            tools.spawn_reaper(&folder);
        }
        let port = fs::read_to_string(&port_file).unwrap().parse().unwrap();
        let cluster = Self {
            tools,
            folder,
            port,
            _in_use: in_use,
        };
        if !is_running {
            cluster.sql("CREATE ROLE password_required NOLOGIN");
        }
        cluster
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

fn start(tools: &Tools, folder: &Path, data: &Path, settings: &str) -> u16 {
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
    run_checked(&mut init);
    // Members of this role need their password; everyone else is trusted.
    let rules = data.join("pg_hba.conf");
    let trust = fs::read_to_string(&rules).unwrap();
    let required = "host all +password_required all scram-sha-256";
    fs::write(&rules, format!("{required}\n{trust}")).unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let options = format!(
        "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={} -c max_connections=300 {settings}",
        folder.display()
    );
    let mut server = tools.run("pg_ctl", folder);
    server
        .args(["start", "-w", "-t", "60", "-D"])
        .arg(data)
        .arg("-l")
        .arg(folder.join("log"))
        .args(["-o", &options]);
    // The server inherits stdout and stderr; a pipe would stay open while it runs.
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
    /// The user that the cluster runs as, if the tests run as root.
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
                .filter(|folder| folder.join("initdb").exists())
                .map(Path::to_path_buf)
        });
        let folder = folder.unwrap_or_else(|| {
            panic!("these tests need PostgreSQL: run `cargo xtask test`, which installs it, or install the package postgresql")
        });
        let is_root = output_of(Command::new("id").arg("-u")) == "0";
        let user = is_root.then(|| {
            let exists = Command::new("id")
                .arg("postgres")
                .output()
                .is_ok_and(|output| output.status.success());
            if exists { "postgres" } else { "nobody" }.to_owned()
        });
        Self { folder, user }
    }

    /// The command prefix that switches to the cluster's user.
    fn prefix(&self) -> Vec<String> {
        let as_user = |user: &String| {
            let group = output_of(Command::new("id").args(["-g", user]));
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

    fn chown(&self, path: &Path) {
        if let Some(user) = &self.user {
            run_checked(Command::new("chown").arg(user).arg(path));
        }
    }

    /// Starts a background process that stops the cluster when it is no longer in use.
    fn spawn_reaper(&self, folder: &Path) {
        let pg_ctl = self.folder.join("pg_ctl");
        let stop = format!(
            "{} stop -m immediate -D data; rm -rf data",
            pg_ctl.display()
        );
        let script = format!("while sleep 20; do flock -n -x in-use sh -c '{stop}' && exit; done");
        // In its own session, so that it outlives this process.
        run_checked(
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

fn run_checked(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
