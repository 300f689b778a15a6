use roundtable_core::sources::of_text as passages;
use roundtable_engine::protocols::Dialectic;
use roundtable_engine::protocols::dialectic::Input;
use serde_json::json;

use super::*;

/// Put together here, so that no scanner finds a token in this file.
fn token() -> String {
    ["ghp", "_a1B2c3D4e5F6g7H8", "i9J0k1L2m3N4o5P6q7R8"].concat()
}

fn messages(spec: &DebateSpec) -> Vec<(String, String)> {
    let faults = of_request(spec).into_iter();
    faults.map(|fault| (fault.at, fault.message)).collect()
}

/// Question, sources and every text of the input are searched, and a finding names its place but not the secret.
#[test]
fn every_text_of_a_request_is_searched() {
    let mut spec = DebateSpec::new(&Dialectic, format!("Why?\n{}", token()), &Input::default());
    let lines = "word\n".repeat(600);
    spec.sources = vec![Source {
        name: "notes.md".into(),
        sha256: String::new(),
        passages: passages("notes.md", &format!("{lines}{}\n", token())),
    }];
    spec.input = json!({ "parts": [{ "name": "a", "text": token() }] });
    let shown = "GitHub token (ghp_… 40 characters)";
    let expected = [
        ("/question", "the question, line 2"),
        ("/sources/0", "notes.md, line 601"),
        ("/rules/parts/0/text", "parts 0 text, line 1"),
    ]
    .map(|(at, place)| (at.to_owned(), format!("likely secret in {place}: {shown}")));
    assert_eq!(messages(&spec), expected);
}
