//! Hostile input: no single request stops the server, makes it fail, or reads a file of its machine.
//!
//! Values for every field come from the OpenAPI document and from the forms of the pages. Each is sent while a [`Watchdog`] asks
//! whether the server still answers others.

#![cfg(unix)]

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::harness::watchdog::{LIMIT, Watchdog};
use crate::harness::{Home, Reply, Scale, Server, Serving};

/// In files that no answer may contain.
const SECRET: &str = "secret-5d1e8c70";
const MEGABYTE: usize = 1_000_000;

const OPTIONS: [&str; 8] = [
    "--max-running",
    "4",
    "--max-queued",
    "1000000",
    "--burst",
    "10000000",
    "--rate",
    "1000000",
];

struct Input {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Input {
    fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    fn json(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            method: "POST",
            path: path.to_owned(),
            headers: vec![("content-type", "application/json".into())],
            body: body.into(),
        }
    }

    fn form(path: &str, fields: &[(&str, &str)]) -> Self {
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{}={}", percent(name), percent(value)))
            .collect();
        Self {
            method: "POST",
            path: path.to_owned(),
            headers: vec![("content-type", "application/x-www-form-urlencoded".into())],
            body: fields.join("&").into_bytes(),
        }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn shown(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        let text = format!("{} {} {:?} {body}", self.method, self.path, self.headers);
        text.chars().take(300).collect()
    }
}

/// What the inputs have done so far.
struct Attack<'s> {
    serving: &'s Serving,
    watchdog: Watchdog,
    inputs: usize,
    answers: std::collections::BTreeMap<u16, usize>,
    /// Inputs that the server closed the connection on.
    closed: Vec<String>,
    longest: Duration,
    faults: Vec<String>,
}

impl<'s> Attack<'s> {
    fn on(serving: &'s Serving, control: &Serving) -> Self {
        Self {
            serving,
            watchdog: Watchdog::new(&serving.address, &control.address),
            inputs: 0,
            answers: std::collections::BTreeMap::new(),
            closed: Vec::new(),
            longest: Duration::ZERO,
            faults: Vec::new(),
        }
    }

    fn send(&mut self, input: &Input) -> Option<Reply> {
        let headers: Vec<(&str, &str)> = input
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let (reply, wait) = self.watchdog.watch(|| {
            self.serving
                .try_send(input.method, &input.path, &headers, &input.body)
        });
        self.inputs += 1;
        self.longest = self.longest.max(wait);
        if wait > LIMIT {
            self.faults
                .push(format!("stood still for {wait:?}: {}", input.shown()));
        }
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.faults.push(format!("no answer: {}", input.shown()));
                return None;
            }
            Err(error) => {
                self.closed.push(format!("{error}: {}", input.shown()));
                return None;
            }
        };
        *self.answers.entry(reply.status).or_default() += 1;
        let text = reply.text();
        if reply.status >= 500 || reply.status == 0 {
            let text: String = text.chars().take(300).collect();
            let status = reply.status;
            self.faults
                .push(format!("{status}: {} → {text}", input.shown()));
        }
        if text.contains(SECRET) {
            self.faults.push(format!("leaked: {}", input.shown()));
        }
        Some(reply)
    }

    /// Prints the figures, and fails if an input did what it must not.
    fn end(self, what: &str) {
        let count = |kind: &str| self.faults.iter().filter(|f| f.starts_with(kind)).count();
        let failures: usize = self.answers.range(500..).map(|(_, count)| count).sum();
        Scale::asked_for().tell(
            &format!("hostile input, {what}"),
            &json!({
                "inputs": self.inputs, "answers": self.answers, "closed": self.closed, "5xx": failures,
                "stalls": count("stood"), "leaks": count("leaked"), "longest_wait_ms": self.longest.as_millis(),
                "peak_memory_mb": peak_memory_mb(self.serving),
            }),
        );
        assert!(self.faults.is_empty(), "{:#?}", self.faults);
        assert_eq!(self.serving.get("/readyz").status, 200);
    }
}

#[cfg(target_os = "linux")]
fn peak_memory_mb(serving: &Serving) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes.map_or(0, |number| number.parse::<u64>().unwrap() / 1000)
}

#[cfg(not(target_os = "linux"))]
fn peak_memory_mb(_: &Serving) -> u64 {
    0
}

fn percent(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// A home with files that a path could lead to.
fn home(server: &Server) -> Home {
    let home = Home::with_file(server);
    let cast = format!("name = \"{SECRET}\"\nprotocol = \"dialectic\"\nsummary = \"{SECRET}\"\n");
    for file in ["canary", "canary.toml", "canary.md"] {
        home.write(file, &cast);
    }
    home
}

/// Short values, first those that lead to files.
fn short_values(home: &Home) -> Vec<String> {
    let canary = home.path().join("canary").display().to_string();
    let mut values = vec![
        canary.clone(),
        format!("{canary}.toml"),
        "../canary".to_owned(),
        "../../../../../../../../dev/zero".to_owned(),
        "./canary.toml".to_owned(),
        format!("file://{canary}"),
    ];
    let fixed = [
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/environ",
        "..\\..\\canary",
        "C:\\canary",
        "~/canary",
        "%2e%2e%2fcanary",
        "canary.toml\0.md",
        "\0",
        "\u{202e}txt.exe",
        "\u{feff}",
        "\u{1b}]52;c;eA==\u{7}",
        "\r\nx-injected: 1",
        "<script>alert(1)</script>",
        "'; DROP TABLE debates; --",
        "{{7*7}}${jndi:ldap://x}",
        "--help",
        "",
        " ",
        "-1",
        "18446744073709551615",
        "1e308",
        "1e18",
        "NaN",
        "inf",
        "9999-12-31T23:59:59.999999999Z",
        "-262143-01-01",
    ];
    values.extend(fixed.map(str::to_owned));
    values
}

/// A megabyte of each of these, as JSON.
fn long_values() -> Vec<String> {
    let pieces = [
        "<", "</", "<script>", "\"", " ", "%PDF-", "\0", "\u{202e}", "a", "a ", "\n", "[", "`",
        "`<`", "#", "# a\n", "&", "a,", "\\", "{", "*", "> ", "😀", "| ", "![", "../",
    ];
    pieces.iter().map(|piece| many(piece)).collect()
}

fn many(piece: &str) -> String {
    let encoded = json!(piece).to_string().len() - 2;
    piece.repeat(MEGABYTE / encoded)
}

/// Values of other types than the schema's.
fn other_values() -> Vec<Value> {
    let deep = (0..100).fold(json!([]), |inner, _| json!([inner]));
    let wide: Map<String, Value> = (0..20_000)
        .map(|key| (format!("k{key}"), json!(1)))
        .collect();
    let long_key: Map<String, Value> = [("k".repeat(MEGABYTE), json!(1))].into_iter().collect();
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1),
        json!([]),
        json!({}),
        json!(["a", 1, null]),
        deep,
        json!(vec![0; 100_000]),
        Value::Object(wide),
        Value::Object(long_key),
    ]
}

/// A place in a request body.
#[derive(Clone, Debug)]
enum Part {
    Field(String),
    First,
}

/// The fields of request bodies, as the OpenAPI document describes them.
struct Document(Value);

impl Document {
    fn resolve<'v>(&'v self, schema: &'v Value) -> &'v Value {
        match schema["$ref"].as_str() {
            Some(path) => self.0.pointer(path.trim_start_matches('#')).unwrap(),
            None => schema,
        }
    }

    /// The smallest value that fits, so that the hostile one beside it is looked at.
    fn sample(&self, schema: &Value) -> Value {
        let schema = self.resolve(schema);
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[key].as_array() {
                return self.sample(&choices[0]);
            }
        }
        if let Some(choices) = schema["enum"].as_array() {
            return choices[0].clone();
        }
        let kind = match schema["type"].as_array() {
            Some(kinds) => kinds[0].as_str(),
            None => schema["type"].as_str(),
        };
        match kind {
            Some("string") => json!("Why?"),
            Some("integer") => json!(schema["minimum"].as_i64().unwrap_or(1)),
            Some("number") => json!(schema["minimum"].as_f64().unwrap_or(0.5)),
            Some("boolean") => json!(true),
            Some("array") => json!([self.sample(&schema["items"])]),
            Some("object") => {
                let required = schema["required"].as_array().into_iter().flatten();
                let fields = required.filter_map(|name| {
                    let name = name.as_str()?;
                    Some((name.to_owned(), self.sample(&schema["properties"][name])))
                });
                Value::Object(fields.collect())
            }
            _ => Value::Null,
        }
    }

    /// Every field of a schema, with those within it.
    fn fields(&self, schema: &Value, here: &[Part], found: &mut Vec<Vec<Part>>) {
        const MAX_DEPTH: usize = 8;
        let schema = self.resolve(schema);
        if here.len() > MAX_DEPTH {
            return;
        }
        for key in ["anyOf", "oneOf"] {
            for choice in schema[key].as_array().into_iter().flatten() {
                self.fields(choice, here, found);
            }
        }
        if schema["items"].is_object() {
            self.fields(&schema["items"], &[here, &[Part::First]].concat(), found);
        }
        if schema["additionalProperties"].is_object() {
            found.push([here, &[Part::Field("skeptic".into())]].concat());
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = [here, &[Part::Field(name.clone())]].concat();
            found.push(path.clone());
            self.fields(property, &path, found);
        }
    }
}

/// Puts a value at a place. Objects and lists on the way there are added.
fn put(body: &mut Value, path: &[Part], value: Value) {
    let mut here = body;
    for part in path {
        here = match part {
            Part::Field(name) => {
                if !here.is_object() {
                    *here = json!({});
                }
                &mut here[name.as_str()]
            }
            Part::First => {
                if here.as_array().is_none_or(Vec::is_empty) {
                    *here = json!([null]);
                }
                &mut here[0]
            }
        };
    }
    *here = value;
}

/// Requests for every field of every operation that takes a body.
fn bodies(document: &Document, debate: &str) -> Vec<(String, Value, Vec<Part>)> {
    let mut all = Vec::new();
    for (path, operations) in document.0["paths"].as_object().unwrap() {
        let schema = &operations["post"]["requestBody"]["content"]["application/json"]["schema"];
        if !schema.is_object() {
            continue;
        }
        let schema = document.resolve(schema);
        let target = path.replace("{id}", debate);
        let mut base = document.sample(schema);
        if path == "/api/v1/debates" {
            // Nothing is called with this budget, so that thousands of debates end at once.
            base = json!({ "question": "Why?", "model": "lab:x", "budget": { "max_tokens": 1 } });
        }
        let mut fields = Vec::new();
        document.fields(schema, &[], &mut fields);
        let rules = schema["properties"]["rules"]["anyOf"].as_array();
        let inputs = rules.into_iter().flatten();
        fields.retain(|field| !matches!(&field[..], [Part::Field(name), _, ..] if name == "rules"));
        all.extend(
            fields
                .into_iter()
                .map(|field| (target.clone(), base.clone(), field)),
        );
        for input in inputs {
            let mut base = base.clone();
            base["protocol"] = input["title"].clone();
            let mut fields = Vec::new();
            document.fields(input, &[Part::Field("rules".into())], &mut fields);
            all.extend(
                fields
                    .into_iter()
                    .map(|field| (target.clone(), base.clone(), field)),
            );
        }
    }
    all
}

/// Every field of every body, with paths, devices, markup, numbers, and values of other types.
#[test]
fn c20_no_value_of_a_request_body_harms_the_server() {
    let server = Server::good();
    let home = home(&server);
    let serving = Serving::start(&home, &OPTIONS);
    let (control, _home) = idle(&server);
    let document = Document(serving.get("/api/openapi.json").json());
    let debate = serving.debate();
    serving.until(&debate, "complete");
    let (short, long, other) = (short_values(&home), long_values(), other_values());
    let bodies = bodies(&document, &debate);
    assert!(bodies.len() > 80, "{}", bodies.len());
    let mut attack = Attack::on(&serving, &control);
    for (number, (path, base, field)) in bodies.iter().enumerate() {
        let mut send = |value: Value| {
            let mut body = base.clone();
            put(&mut body, field, value);
            attack.send(&Input::json(path, body.to_string()));
        };
        // Without `SUITE_SCALE=full`, the paths for every field, and of the rest a different part for each.
        let is_full = Scale::asked_for() == Scale::Full;
        let turn = |index: usize, of: usize| is_full || (index + number).is_multiple_of(of);
        for (index, value) in short.iter().enumerate() {
            if index < 7 || turn(index, 6) {
                send(json!(value));
            }
        }
        for (index, value) in long.iter().enumerate() {
            if turn(index, long.len()) {
                send(json!(value));
            }
        }
        for (index, value) in other.iter().enumerate() {
            if turn(index, 5) {
                send(value.clone());
            }
        }
    }
    assert!(attack.answers.contains_key(&202) && attack.answers.contains_key(&422));
    attack.end("bodies");
}

/// An idle server beside the one that is attacked, with its home.
fn idle(server: &Server) -> (Serving, Home) {
    let home = Home::with_file(server);
    (Serving::start(&home, &OPTIONS), home)
}

/// Parameters in paths, queries and headers of every operation and page.
#[test]
fn c20_no_parameter_harms_the_server() {
    let server = Server::good();
    let home = home(&server);
    let serving = Serving::start(&home, &OPTIONS);
    let (control, _home) = idle(&server);
    let document = Document(serving.get("/api/openapi.json").json());
    let debate = serving.debate();
    serving.until(&debate, "complete");
    let mut values = short_values(&home);
    values.extend(["<", "\0", "a", "%", "~1:1:1:1"].map(|piece| piece.repeat(6_000 / piece.len())));
    values.push("a".repeat(MEGABYTE));
    let mut attack = Attack::on(&serving, &control);
    let mut queries: Vec<(String, String)> = ["q", "protocol", "state", "from", "until", "page"]
        .map(|name| ("/debates".to_owned(), name.to_owned()))
        .to_vec();
    for (path, operations) in document.0["paths"].as_object().unwrap() {
        let Some(parameters) = operations["get"]["parameters"].as_array() else {
            continue;
        };
        for parameter in parameters {
            let name = parameter["name"].as_str().unwrap();
            match parameter["in"].as_str().unwrap() {
                "query" => queries.push((path.replace("{id}", &debate), name.to_owned())),
                "path" => {
                    for value in values.iter().filter(|value| value.len() < 10_000) {
                        let path = path.replace(&format!("{{{name}}}"), &percent(value));
                        attack.send(&Input::get(path.replace("{id}", &debate)));
                    }
                }
                _ => {}
            }
        }
    }
    for (path, name) in &queries {
        for value in &values {
            attack.send(&Input::get(format!("{path}?{name}={}", percent(value))));
        }
    }
    for name in [
        "idempotency-key",
        "prefer",
        "last-event-id",
        "cookie",
        "authorization",
    ] {
        for value in &values {
            let plain: String = value.chars().filter(|c| !c.is_control()).collect();
            let path = format!("/api/v1/debates/{debate}/events");
            attack.send(&Input::get(path).with(name, &plain));
        }
    }
    attack.end("parameters");
}

/// The names of the fields in the forms of a page.
fn field_names(page: &str) -> Vec<String> {
    let mut names: Vec<String> = page
        .split(" name=\"")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()))
        .filter(|name| name != "viewport" && name != "color-scheme")
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Every field of every form.
#[test]
fn c20_no_form_harms_the_server() {
    let server = Server::good();
    let home = home(&server);
    let serving = Serving::start(&home, &OPTIONS);
    let (control, _home) = idle(&server);
    let debate = serving.debate();
    serving.until(&debate, "complete");
    let names = field_names(&serving.get("/").text());
    assert!(names.len() > 10, "{names:?}");
    let mut forms: Vec<(String, String)> = Vec::new();
    forms.extend(names.into_iter().map(|name| ("/debates".to_owned(), name)));
    for (path, name) in [
        ("say", "text"),
        ("decision", "choice"),
        ("decision", "note"),
        ("rating", "rating"),
        ("rating", "comment"),
    ] {
        forms.push((format!("/debates/{debate}/{path}"), name.to_owned()));
    }
    forms.push(("/sign-in".into(), "token".into()));
    forms.push(("/sign-in".into(), "next".into()));
    forms.push(("/models/test".into(), "model".into()));
    let (short, long) = (short_values(&home), long_values());
    let mut attack = Attack::on(&serving, &control);
    for (number, (path, name)) in forms.iter().enumerate() {
        let mut send = |value: &str| {
            let mut fields = vec![
                ("question", "Why?"),
                ("model", "lab:x"),
                ("max_tokens", "1"),
            ];
            fields.retain(|(other, _)| other != name && path == "/debates");
            fields.push((name, value));
            attack.send(&Input::form(path, &fields));
        };
        for value in &short {
            send(value);
        }
        for (index, value) in long.iter().enumerate() {
            if (index + number).is_multiple_of(6) {
                // Three bytes for each, where they are encoded.
                send(value.get(..400_000).unwrap_or(value));
            }
        }
    }
    attack.end("forms");
}

fn with_source(name: &str, text: &str) -> Value {
    json!({
        "question": "Why?", "protocol": "modes", "model": "lab:x", "budget": { "max_tokens": 1 },
        "sources": [{ "name": name, "text": text }],
    })
}

/// A PDF in ASCII whose page expands a thousandfold, twice.
fn pdf_bomb() -> String {
    let stream = "<~".to_owned() + &"z".repeat(400_000) + "~>";
    format!(
        "%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n\
         3 0 obj\n<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>\nendobj\n4 0 obj\n<< /Length {} /Filter [/ASCII85Decode \
         /FlateDecode] >>\nstream\n{stream}\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n",
        stream.len()
    )
}

/// Sources that would expand, and bodies that would.
#[test]
fn c20_no_bomb_harms_the_server() {
    let server = Server::good();
    let home = home(&server);
    let serving = Serving::start(&home, &OPTIONS);
    let (control, _home) = idle(&server);
    let mut attack = Attack::on(&serving, &control);
    let path = "/api/v1/debates";
    let wide = format!("{}\n{}", "h".repeat(512 * 1024), "a\n".repeat(250_000));
    let cells = format!("{}\n{}", "h,".repeat(250_000), "a,".repeat(250_000));
    for (name, text, expected) in [
        ("x.csv", wide.as_str(), 422),
        ("x.csv", &cells, 202),
        ("x.csv", &many("\""), 422),
        ("x.tsv", &many("\t"), 422),
        ("x.pdf", &pdf_bomb(), 422),
        ("x.md", &pdf_bomb(), 422),
        ("x.html", &format!("\n{}", pdf_bomb()), 422),
    ] {
        let reply = attack.send(&Input::json(path, with_source(name, text).to_string()));
        assert_eq!(reply.map(|reply| reply.status), Some(expected), "{name}");
    }
    let step = if Scale::asked_for() == Scale::Full {
        1
    } else {
        3
    };
    for text in long_values().into_iter().step_by(step) {
        for name in ["x.html", "x.csv", "x.md", "x"] {
            attack.send(&Input::json(path, with_source(name, &text).to_string()));
        }
        let page = format!("<p>a</p><script>{text}");
        attack.send(&Input::json(path, with_source("x.html", &page).to_string()));
    }
    let deep = |open: &str, count: usize| {
        let nested = open.repeat(count);
        format!("{{\"question\":\"Why?\",\"rules\":{nested}")
    };
    let keys: Vec<String> = (0..100_000).map(|key| format!("\"k{key}\":1")).collect();
    for body in [
        deep("[", 500_000),
        deep("{\"a\":", 200_000),
        format!(
            "{{\"question\":\"Why?\",\"seed\":{}}}",
            "9".repeat(MEGABYTE)
        ),
        format!("{{\"question\":\"Why?\",\"seed\":1e{}}}", "9".repeat(1000)),
        format!("{{\"question\":\"Why?\",{}}}", keys.join(",")),
        format!(
            "{{{}\"question\":\"Why?\"}}",
            "\"question\":\"a\",".repeat(60_000)
        ),
        " ".repeat(MEGABYTE),
        format!("\"{}\"", "\\u0000".repeat(160_000)),
        format!("\"{}", "\\".repeat(MEGABYTE)),
    ] {
        attack.send(&Input::json(path, body));
    }
    let zipped = Input::json(path, b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03".to_vec());
    let reply = attack.send(&zipped.with("content-encoding", "gzip"));
    assert_eq!(reply.map(|reply| reply.status), Some(400));
    let memory = peak_memory_mb(&serving);
    assert!(memory < 1_000, "{memory} MB");
    attack.end("bombs");
}

/// Debates about hostile texts, from the request to every export and page.
#[test]
fn c20_no_debate_about_hostile_text_harms_the_server() {
    let server = Server::good();
    let home = home(&server);
    let serving = Serving::start(&home, &OPTIONS);
    let (control, _home) = idle(&server);
    let mut attack = Attack::on(&serving, &control);
    let step = if Scale::asked_for() == Scale::Full {
        1
    } else {
        4
    };
    for text in long_values().iter().step_by(step) {
        let question = text.get(..150_000).unwrap_or("Why?");
        let body = json!({ "question": question, "model": "lab:x" }).to_string();
        let Some(reply) =
            attack.send(&Input::json("/api/v1/debates", body).with("prefer", "wait=30"))
        else {
            continue;
        };
        if reply.status == 422 {
            continue;
        }
        let id = reply.json()["id"].as_str().unwrap().to_owned();
        serving.until(&id, "complete");
        let comment = json!({ "rating": 3, "comment": text.get(..20_000).unwrap_or("a") });
        let rating = format!("/api/v1/debates/{id}/rating");
        attack.send(&Input::json(&rating, comment.to_string()));
        for format in ["json", "yaml", "md", "html"] {
            attack.send(&Input::get(format!(
                "/api/v1/debates/{id}/export?format={format}"
            )));
        }
        for path in ["", "/panels"] {
            attack.send(&Input::get(format!("/debates/{id}{path}")));
        }
        attack.send(&Input::get(format!("/api/v1/debates/{id}")));
        attack.send(&Input::get("/api/v1/debates?limit=500"));
    }
    assert!(attack.answers[&200] > 20, "{:?}", attack.answers);
    attack.end("debates");
}

/// The watchdog itself: a server that stands still is noticed, and one that only takes long for an answer is not.
#[test]
fn c20_the_watchdog_notices_a_server_that_stands_still() {
    let server = Server::good();
    let ((serving, _home), (control, _other)) = (idle(&server), idle(&server));
    let watchdog = Watchdog::new(&serving.address, &control.address);
    let signal = |name: &str| {
        let pid = serving.pid().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.unwrap().success());
    };
    let ((), wait) = watchdog.watch(|| {
        signal("-STOP");
        thread::sleep(LIMIT * 3);
        signal("-CONT");
    });
    assert!(wait > LIMIT, "{wait:?}");
    let ((), wait) = watchdog.watch(|| thread::sleep(LIMIT * 3));
    assert!(wait <= LIMIT, "{wait:?}");
}

/// Beyond the limit a connection gets 503; when one is closed, the next is served.
#[test]
fn c20_connections_are_limited() {
    let server = Server::good();
    let home = Home::with_file(&server);
    let serving = Serving::start(&home, &["--max-connections", "8"]);
    let mut open: Vec<TcpStream> = (0..8)
        .map(|_| TcpStream::connect(&serving.address).unwrap())
        .collect();
    let refused = serving.get("/healthz");
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.header("retry-after"), Some("5"));
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(
        refused.json()["type"],
        "urn:roundtable:problem:too-many-connections"
    );
    // Idle ones beyond those that are told so are closed at once.
    let idle: Vec<TcpStream> = (0..64)
        .map(|_| TcpStream::connect(&serving.address).unwrap())
        .collect();
    let mut closed = TcpStream::connect(&serving.address).unwrap();
    closed
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    assert!(matches!(closed.read(&mut [0; 1]), Ok(0) | Err(_)));
    drop(idle);
    open.pop();
    let served = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        serving
            .try_send("GET", "/healthz", &[], b"")
            .is_ok_and(|reply| reply.status == 200)
    });
    assert!(served);
}

/// The process that parses PDF files has limits on memory and time, and nothing of the environment.
#[cfg(target_os = "linux")]
#[test]
fn m15_the_reader_of_pdf_files_is_limited() {
    use std::io::Write;
    use std::process::Stdio;
    let home = Home::empty();
    let mut child = home
        .command(&["read-pdf"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let file = format!("/proc/{}/limits", child.id());
    let mut limits = String::new();
    let is_set = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(20));
        limits = std::fs::read_to_string(&file).unwrap();
        limits.contains("2147483648")
    });
    assert!(is_set, "{limits}");
    let line = |name: &str| {
        limits
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(line("Max address space").contains("2147483648"), "{limits}");
    assert!(line("Max cpu time").contains(" 30 "), "{limits}");
    child.stdin.take().unwrap().write_all(b"nonsense").unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["Err"].is_string(), "{answer}");
}

/// The command line refuses anything but a regular file, with the reason, wherever it reads one.
#[test]
fn c20_devices_and_pipes_are_refused_on_the_command_line() {
    let server = Server::good();
    let home = home(&server);
    let pipe = home.path().join("pipe.toml").display().to_string();
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let folder = home.path().display().to_string();
    for (path, why) in [
        ("/dev/zero", "it is a device or a pipe, not a file"),
        (pipe.as_str(), "it is a device or a pipe, not a file"),
        (folder.as_str(), "folder"),
    ] {
        for args in [
            vec!["ask", "Why?", "--model", "lab:x", "--cast", path],
            vec!["debate", "Why?", "--model", "lab:x", "--cast", path],
            vec!["debate", "Why?", "--model", "lab:x", "--source", path],
            vec!["judge", path, "--model", "lab:x"],
            vec!["casts", "show", path],
            vec!["casts", "check", path],
            vec!["modes", "check", path],
            vec!["templates", "add", path],
            vec!["forecast", "--request", path, "--model", "lab:x"],
        ] {
            home.run(&args).expect(2, &[why]);
        }
    }
}
