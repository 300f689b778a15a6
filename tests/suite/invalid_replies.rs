//! Turns valid replies into invalid ones, with the mistakes that models make.

use std::fmt::Write;

use serde_json::{Value, json};

type Mutation = fn(&str) -> String;

/// Invalid JSON. All but the last can be repaired if the reply does not end in a number.
pub(crate) const INVALID_JSON: [Mutation; 9] = [
    |good| good.replacen('}', ",}", 1),
    single_quoted,
    unquoted_names,
    |good| good[..good.len() - 1].to_owned(),
    // Spaces occur only within strings.
    |good| good.replacen(' ', "\n", 1),
    |good| good.replacen('{', "{ // as you asked\n", 1),
    pythonic,
    |good| good.replacen(",\"", " \"", 1),
    prose,
];

/// JSON that violates the schema. The first three are normalized; the others have to be requested again.
pub(crate) const INVALID_SCHEMA: [Mutation; 6] = [
    |good| json!({ "reply": value(good) }).to_string(),
    |good| {
        changed(good, |fields| {
            drop(fields.insert("thoughts".into(), json!([1, 2])));
        })
    },
    |good| renamed(good, &|name| name.split('_').map(capital).collect()),
    quoted_numbers,
    |good| {
        changed(good, |fields| {
            drop(fields.shift_remove(&first_name(fields)));
        })
    },
    |_| json!({ "thoughts": [1, 2] }).to_string(),
];

/// The whole content of a reply, without JSON.
pub(crate) fn prose(good: &str) -> String {
    let mut text = "This is what I think.\n".to_owned();
    write_points(&mut text, "", &value(good));
    text
}

const POINT: &str = "As to ";

fn write_points(text: &mut String, path: &str, value: &Value) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                write_points(text, &below(name), value);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                write_points(text, &below(&index.to_string()), value);
            }
        }
        _ => writeln!(text, "{POINT}{path}: {value}").unwrap(),
    }
}

/// The reply of a model that puts a participant's attempts into the schema; `None` for any other request.
pub(crate) fn rescued(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array()?;
    let own = messages.last()?["content"].as_str()?;
    let (_, attempts) = own.split_once("## What the participant has written")?;
    let mut reply = json!({});
    for attempt in attempts.split("<quote-").skip(1) {
        let attempt = attempt.split_once('>')?.1;
        let attempt = attempt.split("</quote-").next()?.trim();
        if let Ok(Value::Object(fields)) = serde_json::from_str(attempt) {
            for (name, mut value) in fields {
                unquote_numbers(&mut value);
                reply[name] = value;
            }
        }
        for line in attempt.lines().filter_map(|line| line.strip_prefix(POINT)) {
            let (path, value) = line.split_once(": ")?;
            set(&mut reply, path, serde_json::from_str(value).ok()?);
        }
    }
    Some(reply.to_string())
}

fn unquote_numbers(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Ok(number) = text.parse::<serde_json::Number>() {
                *value = Value::Number(number);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unquote_numbers),
        Value::Object(fields) => fields.values_mut().for_each(unquote_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn set(reply: &mut Value, path: &str, value: Value) {
    let Some((name, rest)) = path.split_once('.') else {
        match path.parse::<usize>() {
            Ok(_) => push(reply, value),
            Err(_) => reply[path] = value,
        }
        return;
    };
    match name.parse::<usize>() {
        Ok(index) => {
            if reply.as_array().is_none_or(|items| items.len() <= index) {
                push(reply, json!({}));
            }
            set(&mut reply[index], rest, value);
        }
        Err(_) => set(&mut reply[name], rest, value),
    }
}

fn push(list: &mut Value, value: Value) {
    match list.as_array_mut() {
        Some(items) => items.push(value),
        None => *list = json!([value]),
    }
}

/// The prose of a reply has all of it: putting it into the schema gives the reply.
#[test]
fn c05_prose_has_the_whole_reply() {
    let good = json!({ "answer": "It: \"so\".\nYes.", "marks": { "depth": 7 }, "issues": [{ "id": "S1" }, { "id": "S2" }], "caveats": ["a"], "none": [] });
    let text = format!(
        "## What the participant has written\n<quote-abcd by=\"a\">\n{}\n</quote-abcd>",
        prose(&good.to_string())
    );
    let request = json!({ "messages": [{ "content": text }] });
    let again: Value = serde_json::from_str(&rescued(&request).unwrap()).unwrap();
    assert_eq!(again, good);
}

fn value(good: &str) -> Value {
    serde_json::from_str(good).unwrap()
}

type Fields = serde_json::Map<String, Value>;

fn changed(good: &str, change: impl FnOnce(&mut Fields)) -> String {
    let mut value = value(good);
    change(value.as_object_mut().unwrap());
    value.to_string()
}

fn first_name(fields: &Fields) -> String {
    fields.keys().next().unwrap().clone()
}

fn renamed(good: &str, rename: &dyn Fn(&str) -> String) -> String {
    let fields = value(good);
    let fields = fields.as_object().unwrap().iter();
    let fields: Fields = fields
        .map(|(name, value)| (rename(name), value.clone()))
        .collect();
    Value::Object(fields).to_string()
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

fn single_quoted(good: &str) -> String {
    let mut out = String::new();
    let mut characters = good.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => out.push('\''),
            '\'' => out.push_str("\\'"),
            '\\' => match characters.next().unwrap() {
                '"' => out.push('"'),
                escaped => out.extend([c, escaped]),
            },
            _ => out.push(c),
        }
    }
    out
}

fn unquoted_names(good: &str) -> String {
    let fields = value(good);
    let names = fields.as_object().unwrap().keys();
    names.fold(good.to_owned(), |text, name| {
        text.replacen(&format!("\"{name}\":"), &format!("{name}:"), 1)
    })
}

/// Python's True, False and None, or its single quotes if the reply has none of them.
fn pythonic(good: &str) -> String {
    let words = [("true", "True"), ("false", "False"), ("null", "None")];
    let out = words.iter().fold(good.to_owned(), |text, (json, python)| {
        text.replace(&format!(":{json}"), &format!(":{python}"))
    });
    if out == good {
        single_quoted(good)
    } else {
        out
    }
}

/// Every number as a string, or another object if there is no number.
fn quoted_numbers(good: &str) -> String {
    fn quote(value: &mut Value) {
        match value {
            Value::Number(number) => *value = json!(number.to_string()),
            Value::Array(items) => items.iter_mut().for_each(quote),
            Value::Object(fields) => fields.values_mut().for_each(quote),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    let mut quoted = value(good);
    quote(&mut quoted);
    if quoted == value(good) {
        quoted = json!({ "answer": 7 });
    }
    quoted.to_string()
}

/// C-05
#[test]
fn c05_every_mutation_invalidates_a_reply() {
    let good = json!({ "answer": "It's \"so\".", "sure": true, "marks": { "depth_of_it": 7 } })
        .to_string();
    for (number, mutate) in INVALID_JSON.iter().enumerate() {
        let invalid = mutate(&good);
        let read = serde_json::from_str::<Value>(&invalid);
        assert!(read.is_err(), "invalid JSON {number}: {invalid}");
    }
    for (number, mutate) in INVALID_SCHEMA.iter().enumerate() {
        assert_ne!(
            value(&mutate(&good)),
            value(&good),
            "invalid schema {number}"
        );
    }
}
