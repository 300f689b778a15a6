//! An answer of the caller in place of the first proposal (B-02).

use serde_json::json;

use super::*;
use crate::data::Data;
use crate::event::Setup;
use crate::protocol::{self, AnyProtocol};

/// B-02: the skeptic attacks the caller's answer in place of the proposer's, and what the debate changed is measured against it.
#[tokio::test]
async fn b02_the_skeptic_attacks_the_answer_of_the_caller() {
    const OWN: &str = "Leave the queue out and add a cache.";
    let (model, journal) = (Scripted::new(good_script), Arc::<MemoryJournal>::default());
    let input = json!({ "my_answer": OWN });
    let setup = Setup {
        rules: rules_at(&Dialectic, Depth::Normal, input, QUESTION),
        ..setup(QUESTION)
    };
    let trace = played_with(&model, &journal, setup.clone(), Budget::default()).await;
    let asked = model.asked();
    assert_eq!(asked[..3], ["critique", "revision", "review"]);
    assert!(!asked.contains(&"opening".to_owned()));
    let heard = model.heard();
    for request in &heard[..2] {
        let texts: String = request.texts().collect();
        assert!(texts.contains(OWN) && !texts.contains("caller"), "{texts}");
    }
    assert_eq!(trace.state, State::Complete);
    assert_eq!(trace.rounds[0].proposer.as_deref(), Some(OWN));
    let first = trace.result.unwrap().worth.first.unwrap();
    assert_eq!((first.answer.as_str(), first.tokens), (OWN, 0));
    // A replay folds the same, and the estimate has no call for it.
    let entries = entries(&journal);
    assert_eq!(
        Debate::replay(&entries).exchanges().len(),
        trace.rounds.len()
    );
    let outline = AnyProtocol::outline(&Dialectic, &setup).unwrap();
    assert_eq!(outline.least[0][0].seat, "skeptic");
}

#[test]
fn b02_an_empty_or_long_answer_of_the_caller_is_refused() {
    let data = Data::built_in();
    let fault = |answer: &str| {
        let request = protocol::Request {
            question: QUESTION.into(),
            ..protocol::Request::default()
        };
        let context = Context::new(&data, 20);
        let input = json!({ "my_answer": answer });
        let plan = AnyProtocol::validate(&Dialectic, input, request, context);
        plan.err().map(|faults| faults[0].at.clone())
    };
    assert_eq!(fault("word ".repeat(5).trim()), None);
    assert_eq!(
        fault(&"word ".repeat(40)).as_deref(),
        Some("/rules/my_answer")
    );
    assert_eq!(fault(" ").as_deref(), Some("/rules/my_answer"));
}
