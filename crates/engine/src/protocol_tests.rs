use serde_json::json;

use super::*;
use crate::protocols::{Dialectic, Modes};

fn context(data: &Data) -> Context<'_> {
    Context::new(data, 1000)
}

fn faults(protocol: &dyn AnyProtocol, input: Value, question: &str) -> Vec<(String, String)> {
    let request = Request {
        question: question.into(),
        ..Request::default()
    };
    let found = protocol.validate(input, request, context(&Data::built_in()));
    let found = found.err().unwrap_or_default().into_iter();
    found.map(|fault| (fault.at, fault.message)).collect()
}

#[test]
fn a_question_is_counted_only_if_it_could_be_too_long() {
    assert!(check_question("short", 5).is_ok());
    assert!(check_question(&"word ".repeat(100), 101).is_ok());
    assert!(check_question(&"word ".repeat(1000), 100).is_err());
}

#[test]
fn a_blank_question_is_rejected() {
    assert_eq!(
        check_question(" \n\t", 100),
        Err(Fault::new("/question", "the question is empty"))
    );
}

#[test]
fn every_fault_of_input_and_request_is_reported_at_once() {
    let input = json!({ "min_round": 1, "max_rounds": "three", "auto_score": 3 });
    let mut found = faults(&Dialectic, input, " ");
    found.sort();
    let at: Vec<&str> = found.iter().map(|(at, _)| at.as_str()).collect();
    assert_eq!(
        at,
        [
            "/question",
            "/rules/auto_score",
            "/rules/max_rounds",
            "/rules/min_round"
        ]
    );
    assert_eq!(
        found[3].1,
        "dialectic has no rule 'min_round'; did you mean 'min_rounds'?"
    );
    assert_eq!(found[2].1, "\"three\" is not of type \"integer\"");
}

#[test]
fn input_left_out_comes_from_the_settings() {
    let data = Data::built_in();
    let context = Context {
        settings: json!({ "min_rounds": 2, "max_rounds": 2, "early_stop_score": 9 }),
        ..context(&data)
    };
    let request = Request {
        question: "Why?".into(),
        ..Request::default()
    };
    let plan = AnyProtocol::validate(&Dialectic, json!({ "auto_score": false }), request, context);
    let rules = plan.unwrap().rules(&SeatModels::new(), &mut Vec::new());
    let expected =
        json!({ "min_rounds": 2, "max_rounds": 2, "early_stop_score": 9, "auto_score": false });
    assert_eq!(rules, Ok(expected));
}

#[test]
fn sources_are_rejected_by_protocols_that_do_not_read_them() {
    let source = || Source {
        name: "notes.md".into(),
        sha256: String::new(),
        passages: roundtable_core::sources::of_text("notes.md", "Text."),
    };
    let request = || Request {
        question: "Why?".into(),
        sources: vec![source()],
        ..Request::default()
    };
    let data = Data::built_in();
    let refused = AnyProtocol::validate(&Dialectic, json!({}), request(), context(&data));
    assert_eq!(refused.err().unwrap()[0].at, "/sources");
    assert!(AnyProtocol::validate(&Modes, json!({}), request(), context(&data)).is_ok());
}

/// B-03: every protocol can be chosen by name, and every mode.
#[test]
fn b03_every_protocol_has_variants_that_its_own_input_accepts() {
    let data = Data::built_in();
    let mut names = Vec::new();
    for protocol in crate::protocols::ALL {
        for variant in protocol.variants(&data) {
            let said = Conversation {
                question: "Will it rain?".into(),
                context: Some("> Earlier".into()),
                images: Vec::new(),
            };
            let (question, input) = protocol.converse(variant.input, said).unwrap();
            let request = Request {
                question,
                ..Request::default()
            };
            let context = Context::new(&data, 1000);
            assert!(
                protocol.validate(input, request, context).is_ok(),
                "{}",
                variant.name
            );
            names.push(variant.name);
        }
    }
    for expected in ["ask", "panel", "judge", "forecast", "debate-delphi"] {
        assert!(names.iter().any(|name| name == expected), "{names:?}");
    }
}

/// B-03: pictures go to the protocol whose seats look at them, and to no other.
#[test]
fn b03_a_picture_is_refused_by_protocols_that_read_text_only() {
    let data = Data::built_in();
    for protocol in crate::protocols::ALL {
        let said = Conversation {
            question: "What is this?".into(),
            context: None,
            images: vec![Image {
                name: "image 1".into(),
                media_type: "image/png".into(),
                data: "AAAA".into(),
            }],
        };
        let input = protocol.variants(&data).remove(0).input;
        match protocol.converse(input, said) {
            Ok((_, input)) => {
                assert_eq!(protocol.command(), "judge");
                assert_eq!(input["images"][0]["name"], "image 1");
            }
            Err(faults) => {
                assert_ne!(protocol.command(), "judge");
                assert!(faults[0].message.contains("read text only"));
            }
        }
    }
}
