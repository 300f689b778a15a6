//! Every field of every request body, and every parameter.

use serde_json::Value;

use super::Target;
use super::attack::{Input, percent};
use super::document::{Document, places, put};
use super::values::{MEGABYTE, long_values, other_values, short_values};
use crate::harness::Scale;

/// Every field of every body, with paths, devices, markup, numbers, and values of other types.
#[test]
fn c20_no_value_of_a_request_body_harms_the_server() {
    let target = Target::start();
    let document = Document(target.serving.get("/api/openapi.json").json());
    let places = places(&document, &target.debate);
    assert!(places.len() > 80, "{}", places.len());
    let short: Vec<Value> = short_values(&target.home)
        .into_iter()
        .map(Value::from)
        .collect();
    let long: Vec<Value> = long_values().into_iter().map(Value::from).collect();
    let other = other_values();
    // Without `SUITE_SCALE=full`, the paths for every field, and of the rest a different part for each.
    let is_full = Scale::asked_for() == Scale::Full;
    let mut cases = Vec::new();
    for (number, place) in places.iter().enumerate() {
        let (paths, rest) = short.split_at(7);
        cases.extend(paths.iter().map(|value| (place, value)));
        for (values, of) in [(rest, 12), (&long, long.len()), (&other, 15)] {
            let turn = |index: usize| is_full || (index + number).is_multiple_of(of);
            let chosen = values.iter().enumerate().filter(|(index, _)| turn(*index));
            cases.extend(chosen.map(|(_, value)| (place, value)));
        }
    }
    let mut attack = target.attack();
    attack.send_all(&cases, |(place, value)| {
        let mut body = place.base.clone();
        put(&mut body, &place.field, (*value).clone());
        if place.is_put {
            Input::put(&place.path, body.to_string())
        } else {
            Input::json(&place.path, body.to_string())
        }
    });
    assert_eq!(attack.answers.get(&401), None);
    assert!(attack.answers.contains_key(&202) && attack.answers.contains_key(&422));
    attack.end("bodies");
}

/// The parameters of pages. Those of the API are in its document.
const PAGE_PARAMETERS: [(&str, &[&str]); 5] = [
    (
        "/debates",
        &[
            "q", "protocol", "state", "from", "until", "page", "tag", "pinned",
        ],
    ),
    ("/audit", &["before", "page"]),
    ("/learning", &["domain"]),
    ("/calibration", &["domain"]),
    ("/sign-in", &["next", "failed"]),
];

/// Parameters in paths, queries and headers of every operation and page.
#[test]
fn c20_no_parameter_harms_the_server() {
    let target = Target::start();
    let document = Document(target.serving.get("/api/openapi.json").json());
    let debate = &target.debate;
    let mut values = short_values(&target.home);
    values.extend(["<", "\0", "a", "%", "~1:1:1:1"].map(|piece| piece.repeat(6_000 / piece.len())));
    values.push("a".repeat(MEGABYTE));
    let mut queries: Vec<(String, String)> = Vec::new();
    for (path, names) in PAGE_PARAMETERS {
        queries.extend(
            names
                .iter()
                .map(|name| (path.to_owned(), (*name).to_owned())),
        );
    }
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
    for page in [
        "/debates/{}",
        "/debates/{}/outcome",
        "/shared/{}",
        "/assets/{}",
    ] {
        let short = values.iter().filter(|value| value.len() < 10_000);
        paths.extend(short.map(|value| page.replace("{}", &percent(value))));
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
