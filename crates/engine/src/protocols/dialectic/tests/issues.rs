//! Issues, responses and verdicts.

use super::*;

/// P-04: an issue that the proposer left unanswered is listed in the next prompts of skeptic and proposer.
#[tokio::test]
async fn p04_unanswered_issues_are_listed_by_the_program() {
    let model = Scripted::new(good_script);
    played(&model, &Arc::default()).await;
    let own = |request: &Request| request.messages[1].text.clone();
    assert!(own(&asked_of(&model, "review")[0]).contains("has not answered these at all: S2"));
    assert!(
        own(&asked_of(&model, "revision")[1]).contains("You have not answered these so far: S2")
    );
    assert!(!own(&asked_of(&model, "review")[1]).contains("has not answered"));
}

/// P-04: the verdict on an issue without an answer is not one on an answer.
#[tokio::test]
async fn p04_a_verdict_without_an_answer_is_quoted_as_such() {
    let model = with_replies("review", |mut reply, _| {
        let verdict =
            |id| serde_json::json!({ "issue": id, "status": "unresolved", "reason": "No." });
        reply["verdicts"] = serde_json::json!(["S1", "S2"].map(verdict));
        reply
    });
    played(&model, &Arc::default()).await;
    let second = &asked_of(&model, "revision")[1].messages[1].text;
    assert!(
        second.contains("the skeptic, after your last answer to S1"),
        "{second}"
    );
    assert!(second.contains("the skeptic, still on S2"), "{second}");
    assert!(!second.contains("after your last answer to S2"), "{second}");
}

/// C-05, P-04: only open issues can be named in a reply, by the schema itself.
#[tokio::test]
async fn c05_the_schema_offers_only_the_ids_that_exist() {
    let model = Scripted::new(good_script);
    played(&model, &Arc::default()).await;
    let schema = asked_of(&model, "revision")[0].schema.clone().unwrap().json;
    assert_eq!(
        schema["properties"]["responses"]["items"]["properties"]["issue"],
        serde_json::json!({ "type": "string", "enum": ["S1", "S2"] })
    );
}

/// P-04: an id that does not exist is sent back once; if it is still there, it is ignored and the debate continues.
#[tokio::test]
async fn p04_unknown_ids_are_sent_back_once() {
    let model = Scripted::new(|request: &Request, before| {
        let said = good_script(request, before)?;
        Ok(if name(request) == "revision" {
            said.replace("\"S1\"", "\"S9\"")
        } else {
            said
        })
    });
    played(&model, &Arc::default()).await;
    let revisions = asked_of(&model, "revision");
    let reason = sent_back(&revisions);
    assert!(
        reason.contains("There is no issue 'S9'; there are: S1, S2."),
        "{reason}"
    );
}

/// C-05: an invalid reply is sent back once with the validator's message; a valid one is then accepted.
#[tokio::test]
async fn c05_an_invalid_reply_is_sent_back_once_with_the_reason() {
    let model = Scripted::new(
        |request: &Request, before| match (name(request).as_str(), before) {
            ("critique", 0) => {
                Ok(r#"{"assessment": "Weak.", "issues": [], "quality_score": 11}"#.into())
            }
            ("critique", _) => good_script(request, 0),
            _ => good_script(request, before),
        },
    );
    let trace = played(&model, &Arc::default()).await;
    assert_eq!(trace.state, State::Complete);
    let critiques = asked_of(&model, "critique");
    let reason = sent_back(&critiques);
    assert!(
        reason.contains("quality_score must be at most 10")
            && reason.contains("ready_for_synthesis"),
        "{reason}"
    );
    assert_eq!(trace.totals.seats["skeptic"].calls, 4);
}

/// P-04: a proposer that twice answers only issues that do not exist has answered none. Other seats do not read its answers to
/// them, the open issues are listed as unanswered, and the result says so.
#[tokio::test]
async fn p04_answers_to_unknown_issues_are_left_out_and_remarked() {
    let model = with_replies("revision", |mut reply, _| {
        reply["responses"] =
            serde_json::json!([{ "issue": "S99", "action": "accept", "explanation": "x" }]);
        reply
    });
    let trace = played(&model, &Arc::default()).await;
    let reviews = asked_of(&model, "review");
    let prompt = reviews[0].texts().collect::<Vec<_>>().join("\n");
    assert!(!prompt.contains("S99"), "{prompt}");
    assert!(prompt.contains("The proposer has not answered these at all: S1, S2."));
    let remarks = trace.result.unwrap().remarks;
    assert_eq!(
        remarks[..2],
        [
            "The proposer in round 2: There is no issue 'S99'; there are: S1, S2.",
            "The proposer in round 2: None of the open issues is answered: S1, S2."
        ]
    );
    assert!(!trace.rounds[1].proposer.as_ref().unwrap().contains("S99"));
}

/// P-04: a review without any verdict on open issues is sent back once, then kept with a remark.
#[tokio::test]
async fn p04_a_review_without_verdicts_is_sent_back() {
    let empty = |mut reply: Value, before| {
        if before < 2 {
            reply["verdicts"] = serde_json::json!([]);
        }
        reply
    };
    let model = with_replies("review", empty);
    let trace = played(&model, &Arc::default()).await;
    let reviews = asked_of(&model, "review");
    let reason = sent_back(&reviews);
    assert!(reason.contains("None of the open issues is judged: S1, S2."));
    assert_eq!(
        trace.result.unwrap().remarks,
        ["The skeptic in round 2: None of the open issues is judged: S1, S2."]
    );
}

/// P-04: an issue both accepted and defended is sent back once, then it counts as defended.
#[tokio::test]
async fn p04_an_issue_both_accepted_and_defended_counts_as_defended() {
    let model = with_replies("revision", |mut reply, _| {
        reply["responses"] = serde_json::json!([
            { "issue": "S1", "action": "accept", "explanation": "Yes." },
            { "issue": "s1", "action": "defend", "explanation": "No." },
        ]);
        reply
    });
    let trace = played(&model, &Arc::default()).await;
    let revisions = asked_of(&model, "revision");
    assert!(sent_back(&revisions).contains("S1 is both accepted and defended."));
    let result = trace.result.unwrap();
    let answers = &result.issues.all()[0].answers;
    let explanations: Vec<_> = answers
        .iter()
        .map(|a| a.what.explanation.as_str())
        .collect();
    assert_eq!(explanations, ["No.", "No."]);
    assert!(result.remarks[0].contains("S1 is both accepted and defended."));
}
