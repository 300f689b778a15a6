//! Good replies spoilt, in the ways in which models spoil them.

use serde_json::{Value, json};

type Flaw = fn(&str) -> String;

/// JSON that is none. All but the last can be mended where the reply does not end in a number.
pub(crate) const BROKEN: [Flaw; 9] = [
    |good| good.replacen('}', ",}", 1),
    single_quoted,
    unquoted_names,
    |good| good[..good.len() - 1].to_owned(),
    // Only texts have blanks in them.
    |good| good.replacen(' ', "\n", 1),
    |good| good.replacen('{', "{ // as you asked\n", 1),
    pythonic,
    |good| good.replacen(",\"", " \"", 1),
    prose,
];

/// JSON of another shape. The first three say what was asked for in another spelling; the others have to be asked for again.
pub(crate) const OTHER: [Flaw; 6] = [
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

pub(crate) fn prose(_: &str) -> String {
    "I would rather not say it in that form.".to_owned()
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
        .map(|(name, it)| (rename(name), it.clone()))
        .collect();
    Value::Object(fields).to_string()
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

fn single_quoted(good: &str) -> String {
    let mut spoilt = String::new();
    let mut characters = good.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => spoilt.push('\''),
            '\'' => spoilt.push_str("\\'"),
            '\\' => match characters.next().unwrap() {
                '"' => spoilt.push('"'),
                escaped => spoilt.extend([c, escaped]),
            },
            _ => spoilt.push(c),
        }
    }
    spoilt
}

fn unquoted_names(good: &str) -> String {
    let fields = value(good);
    let names = fields.as_object().unwrap().keys();
    names.fold(good.to_owned(), |text, name| {
        text.replacen(&format!("\"{name}\":"), &format!("{name}:"), 1)
    })
}

/// True, False and None; where there is none of them, as Python's `repr` writes everything else.
fn pythonic(good: &str) -> String {
    let words = [("true", "True"), ("false", "False"), ("null", "None")];
    let spoilt = words.iter().fold(good.to_owned(), |text, (json, python)| {
        text.replace(&format!(":{json}"), &format!(":{python}"))
    });
    if spoilt == good {
        single_quoted(good)
    } else {
        spoilt
    }
}

/// Every number in quotation marks; where there is none, another object.
fn quoted_numbers(good: &str) -> String {
    fn quote(value: &mut Value) {
        match value {
            Value::Number(number) => *value = json!(number.to_string()),
            Value::Array(items) => items.iter_mut().for_each(quote),
            Value::Object(fields) => fields.values_mut().for_each(quote),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    let mut spoilt = value(good);
    quote(&mut spoilt);
    if spoilt == value(good) {
        spoilt = json!({ "answer": 7 });
    }
    spoilt.to_string()
}

/// C-05: each of them is no reply as it stands, or none of the shape that was asked for.
#[test]
fn c05_every_flaw_spoils_a_reply() {
    let good = json!({ "answer": "It's \"so\".", "sure": true, "marks": { "depth_of_it": 7 } })
        .to_string();
    for (number, flaw) in BROKEN.iter().enumerate() {
        let spoilt = flaw(&good);
        let read = serde_json::from_str::<Value>(&spoilt);
        assert!(read.is_err(), "broken {number}: {spoilt}");
    }
    for (number, flaw) in OTHER.iter().enumerate() {
        assert_ne!(value(&flaw(&good)), value(&good), "other {number}");
    }
}
