//! Fuzzing: valid and invalid requests generated from the OpenAPI document. Every response must be documented and match
//! its schema, and none may be a server error.

#![cfg(unix)]

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::harness::{Home, Server, Serving};

/// A deterministic random number generator (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides).unwrap()).unwrap()
    }
}

struct Document(Value);

impl Document {
    fn resolve<'v>(&'v self, schema: &'v Value) -> &'v Value {
        match schema["$ref"].as_str() {
            Some(path) => self.0.pointer(path.trim_start_matches('#')).unwrap(),
            None => schema,
        }
    }

    /// A value that matches the schema.
    fn valid(&self, schema: &Value, dice: &mut Dice) -> Value {
        let schema = self.resolve(schema);
        if let Some(choices) = schema["enum"].as_array() {
            return choices[dice.roll(choices.len())].clone();
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[key].as_array() {
                return self.valid(&choices[dice.roll(choices.len())], dice);
            }
        }
        let kind = match schema["type"].as_array() {
            Some(kinds) => kinds[dice.roll(kinds.len())].as_str(),
            None => schema["type"].as_str(),
        };
        match kind {
            Some("string") => text(schema, dice),
            Some("integer") => {
                let min = schema["minimum"].as_i64().unwrap_or(0);
                let max = schema["maximum"]
                    .as_i64()
                    .unwrap_or(min + 100)
                    .min(min + 100_000);
                let span = usize::try_from(max - min + 1).unwrap();
                json!(min + i64::try_from(dice.roll(span)).unwrap())
            }
            Some("number") => json!(schema["minimum"].as_f64().unwrap_or(0.0) + 1.5),
            Some("boolean") => json!(dice.roll(2) == 0),
            Some("array") => json!([self.valid(&schema["items"], dice)]),
            Some("object") => self.object(schema, dice),
            _ => Value::Null,
        }
    }

    fn object(&self, schema: &Value, dice: &mut Dice) -> Value {
        let mut object = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let required = schema["required"]
                .as_array()
                .is_some_and(|all| all.contains(&json!(name)));
            if required || dice.roll(3) == 0 {
                object.insert(name.clone(), self.valid(property, dice));
            }
        }
        Value::Object(object)
    }

    /// A mutated valid value, which probably does not match the schema.
    fn invalid(&self, schema: &Value, dice: &mut Dice) -> Value {
        let mutations = [
            json!(null),
            json!(-1),
            json!(1e300),
            json!(""),
            json!([]),
            json!({}),
            json!(true),
            json!("\u{0}\u{202e}\u{ffff}"),
            json!("x".repeat(30_000)),
            json!(18_446_744_073_709_551_615_u64),
            json!([[[[[[]]]]]]),
            json!({ "__proto__": 1 }),
        ];
        let mut value = self.valid(schema, dice);
        let mutation = mutations[dice.roll(mutations.len())].clone();
        match value.as_object_mut() {
            Some(object) if !object.is_empty() && dice.roll(6) > 0 => {
                let names: Vec<String> = object.keys().cloned().collect();
                let name = names[dice.roll(names.len())].clone();
                match dice.roll(3) {
                    0 => drop(object.remove(&name)),
                    1 => drop(object.insert("unheard_of".into(), mutation)),
                    _ => drop(object.insert(name, mutation)),
                }
                value
            }
            _ => mutation,
        }
    }
}

fn text(schema: &Value, dice: &mut Dice) -> Value {
    if let Some(examples) = schema["examples"].as_array() {
        return examples[dice.roll(examples.len())].clone();
    }
    if schema["format"] == "uuid" {
        return json!("00000000-0000-4000-8000-000000000000");
    }
    let words = [
        "Why?",
        "lab:x",
        "a 😀 b",
        "continue",
        "<script>alert(1)</script>",
        "x'; DROP TABLE debates; --",
    ];
    json!(words[dice.roll(words.len())])
}

fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn as_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Every rule of every protocol's input, with valid and invalid values. No value causes a server error, and a rejection
/// names what is wrong.
#[test]
fn every_rule_of_every_protocol_is_validated() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(&home, &["--max-running", "2", "--max-queued", "100000"]);
    let document = Document(serving.get("/api/openapi.json").json());
    let validators = validators(&document);
    let new_debate = json!({ "$ref": "#/components/schemas/NewDebate" });
    let new_debate = document.resolve(&new_debate);
    let inputs = new_debate["properties"]["rules"]["anyOf"].as_array();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let create = |protocol: &Value, rule: &str, value: &Value| -> u16 {
        let body = json!({ "question": "Why?", "protocol": protocol, "model": "lab:x", "rules": { rule: value } });
        let body = body.to_string();
        let headers = [("content-type", "application/json")];
        let reply = serving.send("POST", "/api/v1/debates", &headers, body.as_bytes());
        let what = format!("{body} → {} {}", reply.status, reply.text());
        assert!(matches!(reply.status, 202 | 422), "{what}");
        let status = reply.status.to_string();
        check(
            &validators,
            "/api/v1/debates",
            "post",
            &status,
            &reply,
            &what,
        );
        if reply.status == 422 {
            assert!(reply.json()["faults"][0]["message"].is_string(), "{what}");
        }
        reply.status
    };
    let mut protocols = Vec::new();
    for input in inputs.unwrap() {
        let protocol = &input["title"];
        protocols.push(protocol.clone());
        assert_eq!(create(protocol, "unheard_of", &json!(1)), 422, "{protocol}");
        let rules = document.resolve(input)["properties"].as_object().unwrap();
        assert!(!rules.is_empty(), "{protocol}");
        for (rule, schema) in rules {
            for _ in 0..3 {
                create(protocol, rule, &document.valid(schema, &mut dice));
                create(protocol, rule, &document.invalid(schema, &mut dice));
            }
        }
    }
    assert_eq!(
        json!(protocols),
        new_debate["properties"]["protocol"]["enum"]
    );
    assert_eq!(serving.get("/readyz").status, 200);
}

/// Every operation of the document, many times, with valid and invalid input.
#[test]
fn no_generated_request_causes_a_server_error() {
    let home = Home::with(&Server::good());
    let serving = Serving::start(
        &home,
        &[
            "--max-running",
            "4",
            "--max-queued",
            "100000",
            "--burst",
            "1000000",
        ],
    );
    let document = Document(serving.get("/api/openapi.json").json());
    let real = serving.debate();
    serving.until(&real, "complete");
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let validators = validators(&document);
    for (path, operations) in document.0["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for attempt in 0..60 {
                let is_invalid = attempt % 3 == 2;
                let request = generate(&document, path, operation, &real, is_invalid, &mut dice);
                // The other operations need the only real debate.
                if method == "delete" && request.path.contains(&real) {
                    continue;
                }
                let headers: Vec<(&str, &str)> = request
                    .headers
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                let reply = serving.send(
                    &method.to_uppercase(),
                    &request.path,
                    &headers,
                    &request.body,
                );
                let what = format!(
                    "{method} {} {} → {} {}",
                    request.path,
                    String::from_utf8_lossy(&request.body),
                    reply.status,
                    reply.text()
                );
                assert!(reply.status < 500 || reply.status == 503, "{what}");
                let response = &operation["responses"][reply.status.to_string()];
                assert!(response.is_object(), "not documented: {what}");
                check(
                    &validators,
                    path,
                    method,
                    &reply.status.to_string(),
                    &reply,
                    &what,
                );
                *seen
                    .entry(format!("{method} {path} {}", reply.status))
                    .or_default() += 1;
            }
        }
    }
    // The generator must reach both success and error responses.
    for expected in [
        "post /api/v1/debates 202",
        "post /api/v1/debates 422",
        "get /api/v1/debates 200",
        "get /api/v1/debates 422",
        "post /api/v1/debates/{id}/rating 204",
        "get /api/v1/debates/{id}/export 200",
        "get /api/v1/debates/{id} 404",
    ] {
        assert!(
            seen.contains_key(expected),
            "{expected} is missing in {seen:#?}"
        );
    }
    assert_eq!(serving.get("/readyz").status, 200);
}

struct Generated {
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn generate(
    document: &Document,
    path: &str,
    operation: &Value,
    real: &str,
    is_invalid: bool,
    dice: &mut Dice,
) -> Generated {
    let mut request = Generated {
        path: path.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        let is_path = parameter["in"] == "path";
        if !is_path && dice.roll(4) != 0 {
            continue;
        }
        let value = if is_invalid && dice.roll(2) == 0 {
            document.invalid(&parameter["schema"], dice)
        } else if is_path && dice.roll(3) != 0 {
            json!(real)
        } else {
            document.valid(&parameter["schema"], dice)
        };
        let value: String = as_text(&value).chars().take(2000).collect();
        match parameter["in"].as_str().unwrap() {
            "path" => {
                request.path = request.path.replace(
                    &format!("{{{name}}}"),
                    &percent_encoded(if value.is_empty() { "-" } else { &value }),
                );
            }
            "query" => query.push(format!("{name}={}", percent_encoded(&value))),
            _ => {
                let plain: String = value.chars().filter(char::is_ascii_graphic).collect();
                request.headers.push((name.to_owned(), plain));
            }
        }
    }
    if !query.is_empty() {
        request.path = format!("{}?{}", request.path, query.join("&"));
    }
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    if schema.is_object() {
        let mut value = if is_invalid {
            document.invalid(schema, dice)
        } else {
            document.valid(schema, dice)
        };
        if !is_invalid && value["question"].is_string() {
            value["model"] = json!("lab:x");
            for other in ["cast", "seats", "rules", "budget"] {
                value.as_object_mut().unwrap().remove(other);
            }
        }
        request.body = value.to_string().into_bytes();
        if is_invalid && dice.roll(10) == 0 {
            request.body.truncate(dice.roll(request.body.len() + 1));
        }
        if !(is_invalid && dice.roll(10) == 0) {
            request
                .headers
                .push(("content-type".into(), "application/json".into()));
        }
    }
    request
}

type Validators = BTreeMap<(String, String, String), BTreeMap<String, jsonschema::Validator>>;

/// One per documented media type of each response that has a schema.
fn validators(document: &Document) -> Validators {
    let mut all = Validators::new();
    for (path, operations) in document.0["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                for (kind, content) in response["content"].as_object().into_iter().flatten() {
                    let mut schema = content["schema"].clone();
                    schema["components"] = document.0["components"].clone();
                    let validator = jsonschema::validator_for(&schema).unwrap();
                    all.entry((path.clone(), method.clone(), status.clone()))
                        .or_default()
                        .insert(kind.clone(), validator);
                }
            }
        }
    }
    all
}

fn check(
    validators: &Validators,
    path: &str,
    method: &str,
    status: &str,
    reply: &crate::harness::Reply,
    what: &str,
) {
    let key = (path.to_owned(), method.to_owned(), status.to_owned());
    let Some(validators) = validators.get(&key) else {
        assert!(reply.body.is_empty(), "{what}");
        return;
    };
    let kind = reply.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    let validator = validators.get(kind);
    let validator = validator.unwrap_or_else(|| panic!("undocumented '{kind}': {what}"));
    if kind.ends_with("/json") || kind.ends_with("+json") {
        let value = reply.json();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert!(faults.is_empty(), "{faults:?} in {what}");
    }
}
