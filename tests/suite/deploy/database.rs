//! The steps of the Kubernetes installation on a real database: the role, the first token, the server, a backup and its restore.

use std::path::Path;
use std::process::Command;

use super::{container, folder, pods, words};
use crate::harness::postgres::Database;
use crate::harness::{Home, Server, Serving};

/// Every character that has a meaning in URLs, shells or SQL.
const PASSWORD: &str = "p@ss/w:o?r#d%20 '\"$x";

/// A cluster on which `create-role.sh` was run, with a name of its own instead of `roundtable`: tests share the cluster.
struct Installed {
    cluster: Database,
    name: String,
}

impl Installed {
    fn new() -> Self {
        let cluster = Database::new();
        let name = format!("role_{}", uuid::Uuid::new_v4().simple());
        let script = std::fs::read_to_string(folder().join("kubernetes/create-role.sh")).unwrap();
        let mut bash = cluster.client("bash");
        bash.arg("-c")
            .arg(script.replace(" roundtable", &format!(" {name}")));
        bash.env("PGUSER", "postgres")
            .env("ROUNDTABLE_PASSWORD", PASSWORD);
        run(&mut bash);
        cluster.sql_elsewhere(&format!("GRANT password_required TO {name}"));
        Self { cluster, name }
    }

    /// The address in a manifest, as it applies here.
    fn address(&self, name: &str) -> String {
        let env = container(name)["env"].as_array().unwrap().clone();
        let database = env
            .iter()
            .find(|variable| variable["name"] == "ROUNDTABLE_DATABASE");
        let address = database.unwrap()["value"].as_str().unwrap().to_owned();
        let host = format!("@127.0.0.1:{}/", self.cluster.port());
        address
            .replace("roundtable", &self.name)
            .replace("@postgres/", &host)
    }

    /// The program in `home` with the arguments and the database of a manifest.
    fn program(&self, home: &Home, name: &str, args: &[&str]) -> Command {
        let mut command = home.command(args);
        command
            .env("ROUNDTABLE_DATABASE", self.address(name))
            .env("PGPASSWORD", PASSWORD);
        command
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let name = &self.name;
        self.cluster
            .sql_elsewhere(&format!("DROP DATABASE {name} WITH (FORCE)"));
        self.cluster.sql_elsewhere(&format!("DROP ROLE {name}"));
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

fn secret_file(home: &Home, digit: &str) -> (String, String) {
    let token = format!("rt_{}", digit.repeat(64));
    let path = home.write(&format!("first-token-{digit}"), &format!("{token}\n"));
    (token, path.to_str().unwrap().to_owned())
}

/// B-04: the role owns its database and nothing else; the job adds the token once and prints nothing; then the server starts.
#[test]
fn b04_kubernetes_starts_by_its_own_instructions() {
    let installed = Installed::new();
    let rights =
        "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles WHERE rolname";
    let rights = installed
        .cluster
        .sql_elsewhere(&format!("{rights} = '{}'", installed.name));
    assert_eq!(rights, "f|f|f|f");

    let home = Home::with(&Server::good());
    let bind = ["serve", "--no-work", "--bind", "0.0.0.0:0"];
    let refused = installed.program(&home, "server", &bind).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "without a token");

    let migrate = words(&pods()["first-token"]["spec"]["initContainers"][0]["args"]);
    let migrate: Vec<&str> = migrate.iter().map(String::as_str).collect();
    run(&mut installed.program(&home, "first-token", &migrate));
    let (token, file) = secret_file(&home, "a");
    let (_, other_file) = secret_file(&home, "b");
    let args = words(&container("first-token")["args"]);
    let add = |file: &str| {
        let args = args.iter().map(|word| match word.as_str() {
            "/run/first-token/token" => file,
            word => word,
        });
        run(&mut installed.program(&home, "first-token", &args.collect::<Vec<_>>()))
    };
    // Applied twice, and with another secret: the first one stays the only one.
    assert_eq!([add(&file), add(&file), add(&other_file)], [""; 3]);

    let mut serving = Serving::spawn(&mut installed.program(&home, "server", &bind));
    serving.address = serving.address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(serving.get("/api/v1/debates").status, 401);
    serving.token = Some(token);
    assert_eq!(serving.get("/api/v1/debates").status, 200);
    serving.token = Some(format!("rt_{}", "b".repeat(64)));
    assert_eq!(serving.get("/api/v1/debates").status, 401);

    // Applied again after it was revoked: it does not come back.
    run(&mut installed.program(&home, "server", &["token", "revoke", "first"]));
    assert_eq!(add(&file), "");
    let listed = run(&mut installed.program(&home, "server", &["token", "list", "--json"]));
    assert_eq!(listed.trim(), "[]");
}

/// C-10: without its password, or with a wrong one, the role cannot connect; a password file works as well as a variable.
#[test]
fn c10_the_password_comes_from_a_variable_or_a_password_file() {
    let installed = Installed::new();
    let home = Home::empty();
    let address = installed.address("server");
    let list = || {
        let mut command = home.command(&["list"]);
        command.env("ROUNDTABLE_DATABASE", &address);
        command
    };
    let code = |command: &mut Command| command.output().unwrap().status.code();
    assert_eq!(code(&mut list()), Some(1), "without a password");
    assert_eq!(code(list().env("PGPASSWORD", "wrong")), Some(1));
    assert_eq!(code(list().env("PGPASSWORD", PASSWORD)), Some(0));
    let escaped = PASSWORD.replace(':', "\\:");
    let line = format!(
        "127.0.0.1:*:{}:{}:{escaped}\n",
        installed.name, installed.name
    );
    let file = home.write(".pgpass", &line);
    private(&file);
    assert_eq!(code(&mut list()), Some(0), ".pgpass");
    std::fs::rename(&file, home.path().join("elsewhere")).unwrap();
    assert_eq!(
        code(list().env("PGPASSFILE", home.path().join("elsewhere"))),
        Some(0)
    );
}

#[cfg(unix)]
fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// C-10: the nightly dump is a backup: restored into an empty database, it has the same debates and is sound.
#[test]
fn c10_the_backup_job_writes_a_dump_that_can_be_restored() {
    let installed = Installed::new();
    let server = Server::good();
    let home = Home::with(&server);
    let asked = ["ask", "Is it so?", "--model", "lab:x", "--quiet"];
    run(&mut installed.program(&home, "worker", &asked));

    let backups = home.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let command = words(&container("backup")["command"]);
    let script = command[2].replace("/backup", backups.to_str().unwrap());
    let client = |program: &str| {
        let mut client = installed.cluster.client(program);
        client
            .env("PGUSER", &installed.name)
            .env("PGDATABASE", &installed.name)
            .env("PGPASSWORD", PASSWORD);
        client
    };
    run(client(&command[0]).args([&command[1], &script]));
    let files: Vec<_> = std::fs::read_dir(&backups)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    let [dump] = files.as_slice() else {
        panic!("{files:?}");
    };
    assert_eq!(dump.extension().unwrap(), "dump");

    let restored = Database::new();
    let owner = &installed.name;
    let database = restored.url().rsplit_once('/').unwrap().1.to_owned();
    restored.sql(&format!("ALTER DATABASE {database} OWNER TO {owner}"));
    restored.sql("ALTER SCHEMA public OWNER TO pg_database_owner");
    run(client("pg_restore")
        .args(["--no-owner", "--exit-on-error", "--dbname", &database])
        .arg(dump));
    let url = installed.address("server").replace(owner, "NAME");
    let url = url.replacen("NAME", owner, 1).replace("NAME", &database);
    let program = |args: &[&str]| {
        let mut command = home.command(args);
        command
            .env("ROUNDTABLE_DATABASE", &url)
            .env("PGPASSWORD", PASSWORD);
        run(&mut command)
    };
    let checked: serde_json::Value =
        serde_json::from_str(&program(&["db", "check", "--json"])).unwrap();
    assert_eq!(
        (&checked["debates"], &checked["faults"]),
        (&1.into(), &serde_json::json!([]))
    );
    assert!(program(&["show", "last"]).contains("Put a queue"));
    restored.sql_elsewhere(&format!("ALTER DATABASE {database} OWNER TO postgres"));
    restored.sql(&format!("REASSIGN OWNED BY {owner} TO postgres"));
}
