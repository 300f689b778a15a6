//! The files in `deploy/`, checked without a container engine: they parse, their command lines are valid, their probes get an
//! answer, grace periods are long enough, and containers and services have no more rights than they need. `deploy/database.rs`
//! runs the steps of an installation on a real database.

mod database;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::harness::{Home, Server, Serving};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

fn documents(name: &str) -> Vec<Value> {
    let text = read(name);
    let parse =
        |part: &str| serde_saphyr::from_str(part).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.split("\n---\n").map(parse).collect()
}

fn manifests() -> Vec<Value> {
    let listed = &documents("kubernetes/kustomization.yaml")[0];
    let names = listed["resources"].as_array().unwrap();
    let all = names
        .iter()
        .flat_map(|name| documents(&format!("kubernetes/{}", name.as_str().unwrap())));
    all.collect()
}

fn words(value: &Value) -> Vec<String> {
    let words = value.as_array().unwrap().iter();
    words
        .map(|word| word.as_str().unwrap().to_owned())
        .collect()
}

/// The pod templates of all workloads, by name.
fn pods() -> BTreeMap<String, Value> {
    let mut pods = BTreeMap::new();
    for manifest in manifests() {
        let spec = match manifest["kind"].as_str().unwrap() {
            "CronJob" => &manifest["spec"]["jobTemplate"]["spec"],
            "Deployment" | "StatefulSet" | "Job" => &manifest["spec"],
            _ => continue,
        };
        let name = manifest["metadata"]["name"].as_str().unwrap().to_owned();
        pods.insert(name, spec["template"].clone());
    }
    let names: Vec<&str> = pods.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["backup", "first-token", "postgres", "server", "worker"]
    );
    pods
}

fn container(name: &str) -> Value {
    pods()[name]["spec"]["containers"][0].clone()
}

/// A service of the compose file, with what it merges (`<<`).
fn service(name: &str) -> Map<String, Value> {
    fn merged(value: &Value) -> Map<String, Value> {
        let own = value.as_object().unwrap().clone();
        let mut all = own.get("<<").map_or_else(Map::new, merged);
        all.extend(own);
        all
    }
    merged(&documents("compose.yaml")[0]["services"][name])
}

fn unit(name: &str) -> Vec<(String, String)> {
    let text = read(&format!("systemd/{name}"));
    let settings = text.lines().filter(|line| !line.starts_with('#'));
    settings
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn setting(unit: &[(String, String)], key: &str) -> String {
    let found = unit.iter().find(|(own, _)| own == key);
    found.unwrap_or_else(|| panic!("no {key}")).1.clone()
}

const UNITS: [&str; 2] = ["roundtable.service", "roundtable-worker@.service"];

/// Every command line that starts the program, with its grace period in seconds.
fn command_lines() -> Vec<(Vec<String>, u64)> {
    let mut all: Vec<(Vec<String>, u64)> = ["server", "worker"]
        .map(|name| {
            let service = service(name);
            let grace = service["stop_grace_period"].as_str().unwrap();
            let seconds = grace.trim_end_matches('s').parse().unwrap();
            (words(&service["command"]), seconds)
        })
        .into();
    let pods = pods();
    all.extend(["server", "worker"].map(|name| {
        let pod = &pods[name]["spec"];
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        (words(&pod["containers"][0]["args"]), grace)
    }));
    for name in UNITS {
        let unit = unit(name);
        let line = setting(&unit, "ExecStart");
        let args = line.split(' ').skip(1).map(str::to_owned).collect();
        all.push((args, setting(&unit, "TimeoutStopSec").parse().unwrap()));
    }
    all
}

/// B-04
#[test]
fn b04_every_command_line_of_the_deployment_is_valid() {
    let home = Home::empty();
    let first_token = &pods()["first-token"]["spec"];
    let steps = ["initContainers", "containers"].map(|kind| words(&first_token[kind][0]["args"]));
    let all = command_lines().into_iter().map(|(args, _)| args);
    for args in all.chain(steps) {
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        // Last, so that all arguments before it are parsed.
        args.push("--help");
        home.run(&args).expect(0, &[]);
        args.insert(1, "--no-such-flag");
        home.run(&args).expect(2, &["--no-such-flag"]);
    }
}

/// B-04: the program has time to drain before it is killed.
#[test]
fn b04_grace_periods_are_long_enough_to_drain() {
    for (args, seconds) in command_lines() {
        let grace = args.iter().position(|arg| arg == "--grace");
        let grace: u64 = grace.map_or(20, |at| args[at + 1].parse().unwrap());
        assert!(seconds >= grace + 5, "{args:?}: {seconds} s");
        assert!(seconds <= 30, "{args:?}: {seconds} s");
    }
}

/// B-04
#[test]
fn b04_the_probes_get_an_answer() {
    let model = Server::good();
    let home = Home::with(&model);
    home.token("run");
    let serving = Serving::start(&home, &["--host", "server"]);
    let pod = container("server");
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let get = &pod[probe]["httpGet"];
        let host = get["httpHeaders"][0]["value"].as_str().unwrap();
        let known = words(&pod["args"]);
        assert!(known.windows(2).any(|pair| pair == ["--host", host]));
        let path = get["path"].as_str().unwrap();
        assert_eq!(serving.get(path).status, 200, "{path}");
    }
}

/// B-04: checked with systemd if it is installed.
#[test]
fn b04_the_systemd_units_are_valid() {
    let home = Home::empty();
    for name in UNITS {
        let unit = unit(name);
        for key in ["Description", "Restart", "WantedBy", "LimitNOFILE"] {
            assert!(!setting(&unit, key).is_empty());
        }
        let text = read(&format!("systemd/{name}"))
            .replace("/usr/local/bin/roundtable", "/bin/true")
            .replace("EnvironmentFile=/etc", "EnvironmentFile=-/etc");
        let path = home.write(name, &text);
        let Ok(verified) = Command::new("systemd-analyze")
            .arg("verify")
            .arg(&path)
            .output()
        else {
            continue;
        };
        let complaints = String::from_utf8_lossy(&verified.stderr);
        let ours: Vec<&str> = complaints
            .lines()
            .filter(|line| line.contains(name))
            .collect();
        assert_eq!(ours, Vec::<&str>::new());
    }
}

/// B-04: a dynamic user has no home folder, so each unit names one that it may write to. A folder belongs to one user only.
#[test]
fn b04_the_systemd_units_name_a_home_folder_of_their_own() {
    let folders = UNITS.map(|name| setting(&unit(name), "CacheDirectory"));
    assert_ne!(folders[0], folders[1]);
    for name in UNITS {
        let unit = unit(name);
        let own = format!("/var/cache/{}", setting(&unit, "CacheDirectory"));
        let variables = format!("HOME={own} XDG_CACHE_HOME={own}");
        assert_eq!(setting(&unit, "Environment"), variables, "{name}");
    }
}

/// B-04: the units have the same protections, and systemd rates them as safe.
#[test]
fn b04_the_systemd_units_are_hardened() {
    let required = [
        ("UMask", "0077"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("SystemCallFilter", "@system-service"),
        ("ProtectSystem", "strict"),
        ("DynamicUser", "yes"),
        ("MemoryMax", "8G"),
    ];
    let protections = UNITS.map(|name| {
        let unit = unit(name);
        for (key, value) in required {
            assert_eq!(setting(&unit, key), value, "{name}: {key}");
        }
        let own = [
            "Description",
            "ExecStart",
            "EnvironmentFile",
            "User",
            "CacheDirectory",
            "Environment",
            "Restart",
            "KillSignal",
        ];
        let shared = unit
            .into_iter()
            .filter(|(key, _)| !own.contains(&key.as_str()) && !key.starts_with("StateDirectory"));
        shared.collect::<BTreeSet<_>>()
    });
    assert_eq!(protections[0], protections[1], "both are equally protected");

    let home = Home::empty();
    let backups = [
        "roundtable-backup.service",
        "roundtable-backup-postgres.service",
    ];
    for name in UNITS.into_iter().chain(backups) {
        let text =
            read(&format!("systemd/{name}")).replace("/usr/local/bin/roundtable", "/bin/true");
        let path = home.write(name, &text);
        let rated = Command::new("systemd-analyze")
            .args(["security", "--offline=yes", "--threshold=20"])
            .arg(&path)
            .output();
        // Versions before 250 cannot rate a file, and say so.
        let Ok(rated) = rated else { continue };
        let errors = String::from_utf8_lossy(&rated.stderr);
        if !errors.contains("unrecognized option") {
            let report = String::from_utf8_lossy(&rated.stdout);
            assert!(rated.status.success(), "{name}: {report}{errors}");
        }
    }
}

/// B-04: Docker refuses to start a container with a limit above the number of CPUs.
#[test]
fn b04_the_compose_file_starts_on_a_machine_with_one_cpu() {
    for name in ["postgres", "server", "worker"] {
        let cpus = service(name)
            .get("cpus")
            .map_or(0.0, |cpus| cpus.as_f64().unwrap());
        assert!(cpus <= 1.0, "{name}: {cpus}");
    }
}

/// B-04: the image is built from everything that the program is built from.
#[test]
fn b04_the_build_context_has_every_build_script() {
    let root = folder().join("..");
    let ignored = std::fs::read_to_string(root.join(".dockerignore")).unwrap();
    let included: Vec<&str> = ignored
        .lines()
        .filter_map(|line| line.strip_prefix('!'))
        .collect();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = manifest
        .split_once("members = [")
        .unwrap()
        .1
        .split_once(']')
        .unwrap()
        .0;
    let members = members.split('"').skip(1).step_by(2);
    for needed in members.chain(["Cargo.lock", "askama.toml", "build.rs", "migrations", "src"]) {
        let top = needed.split('/').next().unwrap();
        assert!(
            included.contains(&top),
            "{needed} is missing in .dockerignore"
        );
    }
}

/// B-04: no pod has rights, network access, space or secrets that it does not need.
#[test]
fn b04_every_pod_is_restricted() {
    for (name, template) in pods() {
        let pod = &template["spec"];
        assert_eq!(pod["automountServiceAccountToken"], false, "{name}");
        let context = &pod["securityContext"];
        assert_eq!(context["runAsNonRoot"], true, "{name}");
        assert!(context["runAsUser"].as_u64().unwrap() > 0, "{name}");
        assert_eq!(
            context["seccompProfile"]["type"], "RuntimeDefault",
            "{name}"
        );
        let prepares = pod["initContainers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for container in pod["containers"]
            .as_array()
            .unwrap()
            .iter()
            .chain(&prepares)
        {
            let context = json!({
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": { "drop": ["ALL"] },
            });
            assert_eq!(container["securityContext"], context, "{name}");
            for limit in ["memory", "ephemeral-storage"] {
                assert!(
                    container["resources"]["limits"][limit].is_string(),
                    "{name}: {limit}"
                );
            }
            assert!(
                container.get("envFrom").is_none(),
                "{name}: only single keys"
            );
        }
        for volume in pod["volumes"].as_array().unwrap() {
            let Some(folder) = volume.get("emptyDir") else {
                continue;
            };
            assert!(folder["sizeLimit"].is_string(), "{name}: {volume}");
        }
    }
    let namespace = &documents("kubernetes/namespace.yaml")[0];
    let level = "pod-security.kubernetes.io/enforce";
    assert_eq!(namespace["metadata"]["labels"][level], "restricted");
}

/// B-04: the network is closed, except for what the policies list.
#[test]
fn b04_network_policies_allow_only_what_is_needed() {
    let policies: BTreeMap<String, Value> = documents("kubernetes/network.yaml")
        .into_iter()
        .map(|policy| {
            assert_eq!(policy["kind"], "NetworkPolicy");
            let name = policy["metadata"]["name"].as_str().unwrap();
            (name.to_owned(), policy["spec"].clone())
        })
        .collect();
    assert_eq!(
        policies["default-deny"],
        json!({ "podSelector": {}, "policyTypes": ["Ingress", "Egress"] })
    );
    // Only the server and PostgreSQL accept connections.
    let accepting: Vec<&str> = policies
        .iter()
        .filter(|(_, policy)| policy.get("ingress").is_some())
        .map(|(_, policy)| {
            policy["podSelector"]["matchLabels"]["app"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(accepting, ["postgres", "server"]);
    let from = &policies["postgres-from-clients"]["ingress"][0]["from"];
    let client = json!({ "database-client": "true" });
    assert_eq!(from, &json!([{ "podSelector": { "matchLabels": client } }]));
    let clients: Vec<String> = pods()
        .into_iter()
        .filter(|(_, template)| template["metadata"]["labels"]["database-client"] == "true")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(clients, ["backup", "first-token", "server", "worker"]);
    let port = &policies["server-from-ingress"]["ingress"][0]["ports"][0]["port"];
    assert_eq!(port, &container("server")["ports"][0]["containerPort"]);
    let providers = &policies["to-providers"]["egress"][0]["to"][0]["ipBlock"]["except"];
    assert!(
        words(providers).contains(&"169.254.0.0/16".to_owned()),
        "no metadata service"
    );
}

/// B-04: servers and workers survive the drain of a node.
#[test]
fn b04_servers_and_workers_are_spread_and_never_drained_together() {
    let budgets: Vec<Value> = manifests()
        .into_iter()
        .filter(|manifest| manifest["kind"] == "PodDisruptionBudget")
        .map(|budget| budget["spec"].clone())
        .collect();
    let pods = pods();
    for (name, budget) in ["server", "worker"].iter().zip(&budgets) {
        let selector = json!({ "matchLabels": { "app": name } });
        assert_eq!(budget, &json!({ "minAvailable": 1, "selector": selector }));
        let spread = &pods[*name]["spec"]["topologySpreadConstraints"][0];
        assert_eq!(spread["topologyKey"], "kubernetes.io/hostname");
        assert_eq!(spread["labelSelector"], selector);
    }
    assert_eq!(budgets.len(), 2);
}

/// B-04: images are named by the version of this program, in one place for each kind of deployment.
#[test]
fn b04_images_have_a_version() {
    let version = env!("CARGO_PKG_VERSION");
    let images = &documents("kubernetes/kustomization.yaml")[0]["images"];
    let names: BTreeMap<&str, &str> = images
        .as_array()
        .unwrap()
        .iter()
        .map(|image| {
            let tag = image["newTag"].as_str().unwrap();
            (image["name"].as_str().unwrap(), tag)
        })
        .collect();
    assert_eq!(names["roundtable"], version);
    for (name, template) in pods() {
        let pod = &template["spec"];
        for container in [&pod["containers"][0], &pod["initContainers"][0]] {
            let image = container["image"].as_str().unwrap_or("roundtable");
            assert!(names.contains_key(image), "{name}: {image} has no version");
        }
    }
    for name in ["server", "worker"] {
        assert_eq!(service(name)["image"], format!("roundtable:{version}"));
    }
    let postgres = service("postgres")["image"].as_str().unwrap().to_owned();
    assert_eq!(postgres, format!("postgres:{}", names["postgres"]));
    for file in [
        "Dockerfile",
        "compose.yaml",
        "kubernetes/kustomization.yaml",
    ] {
        assert!(!read(file).contains(":latest"), "{file}");
    }
}

/// B-04: checked with kubectl if it is installed.
#[test]
fn b04_the_kustomization_builds() {
    let built = Command::new("kubectl")
        .arg("kustomize")
        .arg(folder().join("kubernetes"))
        .output();
    if let Ok(built) = built {
        let errors = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{errors}");
        let text = String::from_utf8_lossy(&built.stdout);
        assert!(text.contains("image: registry.example.org/roundtable:"));
    }
}

/// B-04: containers are read-only and unprivileged, and no password is part of an address.
#[test]
fn b04_the_services_of_compose_are_restricted() {
    for name in ["postgres", "server", "worker"] {
        let service = service(name);
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"], json!(["ALL"]), "{name}");
        assert_eq!(
            service["security_opt"],
            json!(["no-new-privileges:true"]),
            "{name}"
        );
        assert!(
            service["mem_limit"].is_string() && service["pids_limit"].is_number(),
            "{name}"
        );
        if name != "postgres" {
            let environment = &service["environment"];
            let address = environment["ROUNDTABLE_DATABASE"].as_str().unwrap();
            assert!(
                !address.contains('$') && environment["PGPASSWORD"].is_string(),
                "{address}"
            );
        }
    }
    assert_eq!(service("server")["ports"], json!(["127.0.0.1:4711:4711"]));
}

/// B-04
#[test]
fn b04_the_health_check_of_compose_tells_a_ready_server() {
    let check = words(&service("server")["healthcheck"]["test"]);
    assert_eq!(check[0], "CMD");
    // The image has it; not every machine that runs the tests does.
    if Command::new(&check[1]).arg("--version").output().is_err() {
        return;
    }
    let passes = |address: &str| {
        let arguments = check[2..].iter();
        let arguments = arguments.map(|word| word.replace("127.0.0.1:4711", address));
        let run = Command::new(&check[1]).args(arguments).output();
        run.unwrap().status.success()
    };
    let model = Server::good();
    let home = Home::with(&model);
    home.token("run");
    let serving = Serving::start(&home, &["--host", "localhost"]);
    assert!(passes(&serving.address));
    let address = serving.address.clone();
    drop(serving);
    assert!(!passes(&address));
}

/// B-04: a token that someone made up could be guessed.
#[test]
fn b04_a_weak_first_token_is_refused() {
    let home = Home::with_file(&Server::good());
    let add = |text: &str| {
        home.write("token", text);
        home.run(&["token", "add", "first", "--secret-file", "token"])
    };
    let weak = [
        String::new(),
        "rt_secret".into(),
        "a".repeat(67),
        format!("rt_{}", "g".repeat(64)),
    ];
    for text in weak {
        add(&text).expect(2, &["invalid token in token", "openssl rand -hex 32"]);
    }
    let absent = ["token", "add", "first", "--secret-file", "nowhere"];
    home.run(&absent).expect(2, &["cannot read nowhere"]);
    let strong = format!("rt_{}", "0".repeat(64));
    let added = add(&strong);
    added.expect(0, &["Added token 'first'."]);
    assert!(
        !added.err.contains(&strong) && added.out.is_empty(),
        "not printed"
    );
}

/// B-04: the image runs as an ordinary user, and its build sees no secrets.
#[test]
fn b04_the_image_is_built_from_sources_only() {
    let dockerfile = read("Dockerfile");
    let last_user = dockerfile.lines().rfind(|line| line.starts_with("USER "));
    assert_eq!(last_user, Some("USER 10001"));
    let root = folder().join("..");
    let ignored = std::fs::read_to_string(root.join(".dockerignore")).unwrap();
    let mut rules = ignored.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(rules.next(), Some("*"), "everything is left out");
    let included: Vec<&str> = rules.filter_map(|rule| rule.strip_prefix('!')).collect();
    for path in &included {
        assert!(root.join(path).exists(), "{path}");
    }
    // Files that cargo needs to build the workspace.
    for path in [
        "Cargo.toml",
        "Cargo.lock",
        "crates",
        "xtask",
        "src",
        "migrations",
        "data",
    ] {
        assert!(included.contains(&path), "{path}");
    }
}

/// A tag can be moved to other code; a commit cannot.
#[test]
fn the_release_workflow_names_actions_by_commit() {
    let workflow = read("../.github/workflows/release.yml");
    let actions = workflow
        .lines()
        .filter_map(|line| line.split_once("uses: "));
    let mut count = 0;
    for (_, action) in actions {
        let (_, version) = action.split_once('@').unwrap();
        let commit = version.split(' ').next().unwrap();
        let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
        assert!(is_commit && version.contains(" # v"), "{action}");
        count += 1;
    }
    assert_eq!(count, 4);
    serde_saphyr::from_str::<Value>(&workflow).unwrap();
}
