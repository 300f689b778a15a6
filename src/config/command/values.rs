//! Values of a command provider's keys. An error says what is expected.

use toml_edit::{Item, TableLike, Value};

use super::{Argument, ReplyRule};

pub(super) fn texts(item: &Item) -> Result<Vec<String>, String> {
    let list = item.as_array().map(|list| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        list.iter().map(text).collect::<Option<Vec<_>>>()
    });
    list.flatten()
        .ok_or_else(|| "expected a list of texts like [\"one\", \"two\"]".to_owned())
}

pub(super) fn arguments(item: &Item) -> Result<Vec<Argument>, String> {
    let argument = |value: &Value| match value {
        Value::Array(group) => {
            let parts = group.iter().map(|part| part.as_str().map(str::to_owned));
            parts.collect::<Option<Vec<_>>>().map(Argument::Group)
        }
        value => value.as_str().map(|text| Argument::Always(text.to_owned())),
    };
    let list = item.as_array();
    let list = list.and_then(|list| list.iter().map(argument).collect::<Option<Vec<_>>>());
    list.ok_or_else(|| "expected a list like [\"--print\", [\"--model\", \"{model}\"]]".to_owned())
}

pub(super) fn pairs(item: &Item) -> Result<Vec<(String, String)>, String> {
    let table = item.as_table_like();
    let pairs = table.and_then(|table| {
        let pair = |(name, item): (&str, &Item)| Some((name.to_owned(), item.as_str()?.to_owned()));
        table.iter().map(pair).collect::<Option<Vec<_>>>()
    });
    pairs.ok_or_else(|| "expected a table of texts like { NAME = \"value\" }".to_owned())
}

/// A list of inline tables, or `[[…reply]]` sections.
pub(super) fn rules(item: &Item) -> Result<Vec<ReplyRule>, String> {
    let expected = || "expected a list of tables like [{ text = \"/result\" }]".to_owned();
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| rule(table)).collect();
    }
    let list = item.as_array().ok_or_else(expected)?;
    let tables = list
        .iter()
        .map(|value| value.as_inline_table().ok_or_else(expected));
    tables.map(|table| rule(table?)).collect()
}

fn rule(table: &dyn TableLike) -> Result<ReplyRule, String> {
    let mut rule = ReplyRule::default();
    for (key, item) in table.iter() {
        match key {
            "when" => rule.when = conditions(item)?,
            "text" => rule.text = Some(pointer(item)?),
            "append" => rule.append = Some(pointer(item)?),
            "json" => rule.json = Some(pointer(item)?),
            "error" => rule.error = Some(pointer(item)?),
            "input_tokens" => rule.input_tokens = pointers(item)?,
            "cached_tokens" => rule.cached_tokens = pointers(item)?,
            "output_tokens" => rule.output_tokens = pointers(item)?,
            "end" => rule.end = item.as_bool().ok_or("expected end = true")?,
            other => {
                return Err(format!(
                    "unknown key '{other}'; known: when, text, append, json, error, input_tokens, cached_tokens, output_tokens, end"
                ));
            }
        }
    }
    Ok(rule)
}

fn pointer(item: &Item) -> Result<String, String> {
    let text = item.as_str().filter(|text| text.starts_with('/'));
    text.map(str::to_owned)
        .ok_or_else(|| "expected JSON pointers like \"/result/text\"".to_owned())
}

fn pointers(item: &Item) -> Result<Vec<String>, String> {
    if item.is_str() {
        return Ok(vec![pointer(item)?]);
    }
    let list = texts(item)?;
    list.into_iter()
        .map(|text| pointer(&Item::Value(Value::from(text))))
        .collect()
}

fn conditions(item: &Item) -> Result<Vec<(String, serde_json::Value)>, String> {
    let table = item.as_table_like();
    let expected = || "expected when = { \"/type\" = \"result\" }".to_owned();
    let table = table.ok_or_else(expected)?;
    let condition = |(key, item): (&str, &Item)| {
        let value = match item.as_value()? {
            Value::String(text) => serde_json::Value::from(text.value().as_str()),
            Value::Integer(number) => serde_json::Value::from(*number.value()),
            Value::Boolean(truth) => serde_json::Value::from(*truth.value()),
            _ => return None,
        };
        key.starts_with('/').then(|| (key.to_owned(), value))
    };
    let conditions = table.iter().map(condition).collect::<Option<Vec<_>>>();
    conditions.ok_or_else(expected)
}
