use std::sync::Arc;

use roundtable_engine::model::{Message, Schema};
use serde_json::json;

use super::*;
use crate::config::{Config, Environment};

fn spec(keys: &str) -> CommandSpec {
    let text = format!("[providers.mine]\nkind = \"command\"\ncommand = \"agent\"\n{keys}\n");
    let environment = Environment::default()
        .with("HOME", "/home/ada")
        .with("OPENAI_API_KEY", "k");
    let config = Config::parse(&text, None, &environment).unwrap();
    CommandSpec::clone(config.providers["mine"].command.as_ref().unwrap())
}

fn message(speaker: Speaker, text: &str) -> Message {
    Message {
        speaker,
        text: text.into(),
        shared: false,
        tools: Vec::new(),
    }
}

fn request(model: &str) -> Request {
    Request {
        model: model.into(),
        system: "You are a skeptic.".into(),
        messages: vec![message(Speaker::User, "Is {schema} wet?")],
        images: Vec::new(),
        schema: Some(Schema {
            name: "check".into(),
            json: Arc::new(json!({"type": "object", "minProperties": 1}).into()),
        }),
        tools: None,
        temperature: 0.5,
        max_output_tokens: 100,
        seed: 1,
    }
}

fn invoke(keys: &str, request: &Request) -> Result<Invocation, String> {
    Invocation::new(&spec(keys), "agent".into(), request)
}

const ARGS: &str = r#"args = ["-p", "", ["--model", "{model}"], ["--system", "{system}"], ["--schema", "{schema}"], "{\"a\": {}}"]"#;

#[test]
fn placeholders_are_filled_and_a_prompt_is_not_searched_for_them() {
    let made = invoke(ARGS, &request("big:latest")).unwrap();
    let schema = r#"{"type":"object","minProperties":1}"#;
    assert_eq!(
        made.args,
        [
            "-p",
            "",
            "--model",
            "big:latest",
            "--system",
            "You are a skeptic.",
            "--schema",
            schema,
            "{\"a\": {}}"
        ]
    );
    assert_eq!(made.stdin, "Is {schema} wet?");
    assert!(made.files.is_empty());
}

#[test]
fn groups_without_a_value_are_left_out() {
    let plain = Request {
        system: String::new(),
        schema: None,
        ..request("default")
    };
    assert_eq!(
        invoke(ARGS, &plain).unwrap().args,
        ["-p", "", "{\"a\": {}}"]
    );
}

#[test]
fn a_program_without_flags_gets_system_prompt_and_schema_in_words() {
    let made = invoke("", &request("default")).unwrap();
    assert!(
        made.stdin
            .starts_with("You are a skeptic.\n\nReply with one JSON object")
    );
    assert!(
        made.stdin
            .contains(r#"{"type":"object","minProperties":1}"#)
    );
    assert!(made.stdin.ends_with("\n\nIs {schema} wet?"));
}

#[test]
fn the_model_must_be_named_if_the_program_has_no_default() {
    let keys = r#"args = ["run", "{model}"]"#;
    assert_eq!(
        invoke(keys, &request("q:8b")).unwrap().args,
        ["run", "q:8b"]
    );
    assert!(invoke(keys, &request("default")).is_err());
}

#[test]
fn a_model_name_cannot_be_an_option() {
    for name in ["--dangerous", "-m", "", "a b", "x;y", "$(x)", "é", "a\nb"] {
        assert!(invoke("", &request(name)).is_err(), "{name:?}");
    }
    for name in ["gpt-5", "qwen3:8b", "openai/gpt-4.1@eu", "a_b+c"] {
        assert!(invoke("", &request(name)).is_ok(), "{name}");
    }
}

#[test]
fn files_are_written_and_named() {
    let keys = "prompt = \"file\"\nargs = [\"{prompt_file}\", [\"--schema\", \"{schema_file}\"], \"{files}/own.json\"]\nschema_dialect = \"openai\"\nfiles = { \"own.json\" = \"{}\" }\nset_env = { SYSTEM = \"{system_file}\" }";
    let mut made = invoke(keys, &request("default")).unwrap();
    made.place_files(Path::new("/tmp/x/files"));
    assert_eq!(
        made.args,
        [
            "/tmp/x/files/prompt.txt",
            "--schema",
            "/tmp/x/files/schema.json",
            "/tmp/x/files/own.json"
        ]
    );
    assert_eq!(made.stdin, "");
    let expected = [
        ("own.json", "{}"),
        ("prompt.txt", "Is {schema} wet?"),
        ("system.txt", "You are a skeptic."),
        ("schema.json", r#"{"type":"object"}"#),
    ];
    let files: Vec<(&str, &str)> = made
        .files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    assert_eq!(files, expected);
    assert!(
        made.environment
            .contains(&("SYSTEM".into(), "/tmp/x/files/system.txt".into()))
    );
}

#[test]
fn the_environment_has_no_foreign_keys() {
    let made = invoke("", &request("default")).unwrap();
    let names: Vec<&str> = made
        .environment
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["HOME", "NO_COLOR", "TERM"]);
}

#[test]
fn a_retry_quotes_the_earlier_reply() {
    let mut request = request("default");
    request.schema = None;
    request.messages.push(message(Speaker::Assistant, "{oops"));
    request.messages.push(message(Speaker::User, "Fix it."));
    let made = invoke(
        "prompt = \"argument\"\nargs = [\"{prompt}\", [\"{system}\"]]",
        &request,
    )
    .unwrap();
    assert_eq!(
        made.args[0],
        "Is {schema} wet?\n\n[Your earlier reply]\n{oops\n[End of your earlier reply]\n\nFix it."
    );
    request.messages = vec![message(Speaker::User, "-x is what?")];
    let made = invoke(
        "prompt = \"argument\"\nargs = [\"{prompt}\", [\"{system}\"]]",
        &request,
    )
    .unwrap();
    assert_eq!(made.args[0], "\n-x is what?");
}
