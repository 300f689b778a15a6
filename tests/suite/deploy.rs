//! The files in `deploy/`, checked without a container engine: they parse, their command lines are valid, their probes get an
//! answer, and grace periods are long enough.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

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

/// The pods of the program: grace period and container.
fn pods() -> Vec<(u64, Value)> {
    let mut pods = Vec::new();
    for manifest in manifests() {
        let pod = &manifest["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        if container["image"] == "roundtable:latest" {
            let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
            pods.push((grace, container.clone()));
        }
    }
    assert_eq!(pods.len(), 2, "server and workers");
    pods
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
    let compose = &documents("compose.yaml")[0];
    let mut all: Vec<(Vec<String>, u64)> = ["server", "worker"]
        .map(|name| {
            let service = &compose["services"][name];
            let grace = service["stop_grace_period"].as_str().unwrap();
            let seconds = grace.trim_end_matches('s').parse().unwrap();
            (words(&service["command"]), seconds)
        })
        .into();
    all.extend(
        pods()
            .iter()
            .map(|(grace, pod)| (words(&pod["args"]), *grace)),
    );
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
    for (args, _) in command_lines() {
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
    let pods = pods();
    let server = pods.iter().find(|(_, pod)| pod["name"] == "server");
    let pod = &server.unwrap().1;
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
