//! The models of the API: every variant of every protocol, and every preset. A preset with the name of a variant replaces it.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use roundtable_engine::data::{Data, DataKind, Text, closest};
use roundtable_engine::preset::{OnDisconnect, Preset};
use roundtable_engine::protocols;
use serde_json::{Map, Value};

use super::super::log;
use super::super::problem::Problem;
use super::super::requests::NewDebate;
use crate::failure::Fault;

const PREFIX: &str = "roundtable/";

/// A debate that can be chosen by name, without its question.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// With the prefix.
    pub(super) id: String,
    pub(super) summary: String,
    pub(super) debate: NewDebate,
    pub(super) on_disconnect: OnDisconnect,
}

/// The id of a model whose prefix may have been left out.
pub(super) fn full_id(model: &str) -> String {
    format!("{PREFIX}{}", model.strip_prefix(PREFIX).unwrap_or(model))
}

/// Every model, by name. Presets that are invalid are left out.
pub(super) fn all(data: &Data) -> BTreeMap<String, Choice> {
    let mut all = variants(data);
    let presets = data.all(DataKind::Presets).unwrap_or_default();
    let presets = presets.values().filter_map(|text| preset(text).ok());
    all.extend(presets.map(|choice| (choice.id.clone(), choice)));
    all
}

/// The model with this name; the prefix may be left out.
pub(super) fn find(data: &Data, model: &str) -> Result<Choice, Problem> {
    let name = model.strip_prefix(PREFIX).unwrap_or(model);
    if let Ok(Some(text)) = data.one(DataKind::Presets, &format!("{name}.toml")) {
        return preset(&text);
    }
    let mut known = variants(data);
    if let Some(choice) = known.remove(&format!("{PREFIX}{name}")) {
        return Ok(choice);
    }
    // Not listed: the name of a protocol, and a command without its mode.
    let protocol = protocols::of_command(name).or_else(|| protocols::named(name));
    if let Some(protocol) = protocol {
        return Ok(Choice {
            id: format!("{PREFIX}{name}"),
            summary: protocol.title().to_owned(),
            debate: NewDebate::of(protocol.name()),
            on_disconnect: OnDisconnect::Stop,
        });
    }
    let model: String = model.chars().take(100).collect();
    let all = all(data);
    let close = closest(&model, all.keys().map(String::as_str));
    let hint = close.map_or_else(
        || "GET /v1/models lists all".to_owned(),
        |close| format!("did you mean '{close}'?"),
    );
    let message = format!("the model '{model}' does not exist; {hint}");
    Err(Problem::invalid(vec![Fault::new("/model", message)])
        .renamed(StatusCode::NOT_FOUND, "model-not-found"))
}

fn variants(data: &Data) -> BTreeMap<String, Choice> {
    let variants = protocols::ALL.iter().flat_map(|protocol| {
        let variants = protocol.variants(data).into_iter();
        variants.map(|variant| Choice {
            id: format!("{PREFIX}{}", variant.name),
            summary: variant.summary,
            debate: NewDebate {
                rules: object(variant.input),
                ..NewDebate::of(protocol.name())
            },
            on_disconnect: OnDisconnect::Stop,
        })
    });
    variants.map(|choice| (choice.id.clone(), choice)).collect()
}

fn preset(text: &Text) -> Result<Choice, Problem> {
    let preset = Preset::parse(text).map_err(|error| {
        log::note(&format!("invalid preset: {error}"));
        let message = format!(
            "the preset '{}' is invalid: see the server's log",
            text.name
        );
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "invalid-preset", message)
    })?;
    Ok(Choice {
        id: format!("{PREFIX}{}", preset.name),
        summary: preset.summary.clone(),
        on_disconnect: preset.on_disconnect,
        debate: NewDebate::of_preset(preset),
    })
}

fn object(input: Value) -> Map<String, Value> {
    match input {
        // A field that is not set is left out: the configuration may set it.
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b03_models_are_the_variants_and_the_presets() {
        let folder = tempfile::tempdir().unwrap();
        let presets = folder.path().join("presets");
        std::fs::create_dir_all(&presets).unwrap();
        let write = |name: &str, more: &str| {
            let text = format!("name = \"{name}\"\nsummary = \"mine\"\n{more}");
            std::fs::write(presets.join(format!("{name}.toml")), text).unwrap();
        };
        write(
            "mine",
            "protocol = \"ask\"\non_disconnect = \"finish\"\n[rules]\nmax_rounds = 1",
        );
        write("panel", "protocol = \"ask\"");
        write("broken", "protocol = \"nothing\"");
        let data = Data::with_folder(folder.path().to_owned());
        let all = all(&data);
        for expected in [
            "ask",
            "judge",
            "forecast",
            "debate-delphi",
            "second-opinion",
            "mine",
        ] {
            assert!(
                all.contains_key(&format!("roundtable/{expected}")),
                "{expected}"
            );
        }
        assert!(!all.contains_key("roundtable/broken"));
        let mine = find(&data, "roundtable/mine").unwrap();
        assert_eq!(mine.on_disconnect, OnDisconnect::Finish);
        assert_eq!(mine.debate.protocol, "dialectic");
        assert_eq!(mine.debate.rules["max_rounds"], 1);
        // Without the prefix, and a preset that replaces a variant.
        assert_eq!(find(&data, "panel").unwrap().debate.protocol, "dialectic");
        assert_eq!(find(&data, "broken").unwrap_err().status(), 500);
        for (alias, protocol) in [("dialectic", "dialectic"), ("debate", "modes")] {
            let id = format!("roundtable/{alias}");
            assert_eq!(find(&data, &id).unwrap().debate.protocol, protocol);
        }
        let delphi = find(&data, "debate-delphi").unwrap().debate.rules;
        assert_eq!(
            Value::Object(delphi),
            serde_json::json!({ "mode": "delphi" })
        );
    }

    #[test]
    fn b03_an_unknown_model_is_not_found_and_the_nearest_is_named() {
        let data = Data::built_in();
        let problem = find(&data, "roundtable/pannel").unwrap_err();
        assert_eq!(problem.status(), StatusCode::NOT_FOUND);
        assert_eq!(
            problem.messages(),
            ["the model 'roundtable/pannel' does not exist; did you mean 'roundtable/panel'?"]
        );
        for model in ["gpt-5", "", "../../etc/passwd", "roundtable/", "a/b/c"] {
            assert_eq!(find(&data, model).unwrap_err().status(), 404, "{model}");
        }
    }
}
