//! Every field of every request body, parameter and form.

use serde_json::Value;

use super::Target;
use super::attack::{Input, percent};
use super::document::{Document, bodies, put};
use super::values::{MEGABYTE, long_values, other_values, short_values};
use crate::harness::Scale;

/// Every field of every body, with paths, devices, markup, numbers, and values of other types.
#[test]
fn c20_no_value_of_a_request_body_harms_the_server() {
    let target = Target::start();
    let document = Document(target.serving.get("/api/openapi.json").json());
    let bodies = bodies(&document, &target.debate);
    assert!(bodies.len() > 80, "{}", bodies.len());
    let short: Vec<Value> = short_values(&target.home)
        .into_iter()
        .map(Value::from)
        .collect();
    let long: Vec<Value> = long_values().into_iter().map(Value::from).collect();
    let other = other_values();
    // Without `SUITE_SCALE=full`, the paths for every field, and of the rest a different part for each.
    let is_full = Scale::asked_for() == Scale::Full;
    let mut cases = Vec::new();
    for (number, body) in bodies.iter().enumerate() {
        let (paths, rest) = short.split_at(7);
        cases.extend(paths.iter().map(|value| (body, value)));
        for (values, of) in [(rest, 6), (&long, long.len()), (&other, 5)] {
            let turn = |index: usize| is_full || (index + number).is_multiple_of(of);
            let chosen = values.iter().enumerate().filter(|(index, _)| turn(*index));
            cases.extend(chosen.map(|(_, value)| (body, value)));
        }
    }
    let mut attack = target.attack();
    attack.send_all(&cases, |((path, base, field), value)| {
        let mut body = base.clone();
        put(&mut body, field, (*value).clone());
        Input::json(path, body.to_string())
    });
    assert!(attack.answers.contains_key(&202) && attack.answers.contains_key(&422));
    attack.end("bodies");
}

/// Parameters in paths, queries and headers of every operation and page.
#[test]
fn c20_no_parameter_harms_the_server() {
    let target = Target::start();
    let document = Document(target.serving.get("/api/openapi.json").json());
    let debate = &target.debate;
    let mut values = short_values(&target.home);
    values.extend(["<", "\0", "a", "%", "~1:1:1:1"].map(|piece| piece.repeat(6_000 / piece.len())));
    values.push("a".repeat(MEGABYTE));
    let mut queries: Vec<(String, String)> = ["q", "protocol", "state", "from", "until", "page"]
        .map(|name| ("/debates".to_owned(), name.to_owned()))
        .to_vec();
    let mut paths = Vec::new();
    for (path, operations) in document.0["paths"].as_object().unwrap() {
        let parameters = operations["get"]["parameters"].as_array();
        for parameter in parameters.into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            match parameter["in"].as_str().unwrap() {
                "query" => queries.push((path.replace("{id}", debate), name.to_owned())),
                "path" => {
                    for value in values.iter().filter(|value| value.len() < 10_000) {
                        let path = path.replace(&format!("{{{name}}}"), &percent(value));
                        paths.push(path.replace("{id}", debate));
                    }
                }
                _ => {}
            }
        }
    }
    let with_values = |(path, name)| values.iter().map(move |value| (path, name, value));
    let queries: Vec<(&String, &String, &String)> = queries
        .iter()
        .map(|(path, name)| (path, name))
        .flat_map(with_values)
        .collect();
    let headers = [
        "idempotency-key",
        "prefer",
        "last-event-id",
        "cookie",
        "authorization",
    ];
    let headers: Vec<(&'static str, String)> = headers
        .iter()
        .flat_map(|name| {
            let plain = values
                .iter()
                .map(|value| value.chars().filter(|c| !c.is_control()));
            plain.map(|value| (*name, value.collect()))
        })
        .collect();
    let mut attack = target.attack();
    attack.send_all(&paths, |path| Input::get(path.as_str()));
    attack.send_all(&queries, |(path, name, value)| {
        Input::get(format!("{path}?{name}={}", percent(value)))
    });
    attack.send_all(&headers, |(name, value)| {
        Input::get(format!("/api/v1/debates/{debate}/events")).with(name, value)
    });
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
    let target = Target::start();
    let debate = &target.debate;
    let names = field_names(&target.serving.get("/").text());
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
    let (short, long) = (short_values(&target.home), long_values());
    let is_full = Scale::asked_for() == Scale::Full;
    let mut cases = Vec::new();
    for (number, form) in forms.iter().enumerate() {
        cases.extend(short.iter().map(|value| (form, value.as_str())));
        for (index, value) in long.iter().enumerate() {
            if is_full || (index + number).is_multiple_of(6) {
                // Three bytes for each, where they are encoded.
                cases.push((form, value.get(..400_000).unwrap_or(value)));
            }
        }
    }
    let mut attack = target.attack();
    attack.send_all(&cases, |((path, name), value)| {
        let mut fields = vec![
            ("question", "Why?"),
            ("model", "lab:x"),
            ("max_tokens", "1"),
        ];
        fields.retain(|(other, _)| other != name && path == "/debates");
        fields.push((name, value));
        Input::form(path, &fields)
    });
    attack.end("forms");
}
