use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::model::Finish;
use crate::reply::{Reply, ReplyError, read_mended, schema_for};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Opinion {
    #[schemars(length(min = 1, max = 20))]
    text: String,
    vote: Choice,
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    weight: Option<u8>,
    #[schemars(range(min = 1, max = 10))]
    score: u8,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
enum Choice {
    /// As it is.
    Accept,
    /// With small changes.
    Minor,
    /// Not at all.
    Blocker,
}

impl Reply for Opinion {
    const NAME: &'static str = "vote";
    const MAIN: &'static str = "text";

    fn text(&self) -> String {
        self.text.clone()
    }
}

fn vote() -> Value {
    json!({ "text": "Fine.", "vote": "ACCEPT", "weight": 3, "score": 7, "notes": [] })
}

fn read(change: impl FnOnce(&mut Value)) -> Result<(Opinion, Vec<String>), ReplyError> {
    let mut reply = vote();
    change(&mut reply);
    let sent = schema_for::<Opinion>(
        &crate::reply::Refinement::default(),
        crate::model::Ability::Full,
    );
    read_mended::<Opinion>(&reply.to_string(), Finish::Stop, &sent.json)
}

fn error(change: impl FnOnce(&mut Value)) -> String {
    read(change).unwrap_err().to_string()
}

/// C-05: the validator's words are plain: they name the field and what is allowed.
#[test]
fn c05_faults_are_told_in_plain_words() {
    let said = |change: fn(&mut Value)| error(change);
    for (change, message) in [
        (
            (|reply| reply["vote"] = json!("MAINTAIN")) as fn(&mut Value),
            "vote must be ACCEPT, MINOR or BLOCKER",
        ),
        (
            |reply| reply["score"] = json!(11),
            "score must be at most 10",
        ),
        (
            |reply| reply["score"] = json!(0),
            "score must be at least 1",
        ),
        (
            |reply| reply["score"] = json!("8/10"),
            "score must be a whole number",
        ),
        (|reply| reply["text"] = json!(""), "text must not be empty"),
        (
            |reply| reply["notes"] = json!(["a", 2]),
            "notes 2 must be a text",
        ),
        (
            |reply| drop(reply.as_object_mut().unwrap().remove("vote")),
            "vote is missing",
        ),
    ] {
        assert_eq!(
            said(change),
            format!("The reply does not fit the schema: {message}.")
        );
    }
}

/// A text that is too long is cut at a word, with a remark; at the limit it is left alone.
#[test]
fn c05_a_text_over_its_limit_is_cut_and_not_refused() {
    let (reply, remarks) =
        read(|reply| reply["text"] = json!("It is good and it is long.")).unwrap();
    assert_eq!(reply.text, "It is good and it…");
    assert_eq!(remarks, ["text was cut to 20 characters."]);
    let exact = "It is good and long.";
    let (reply, remarks) = read(|reply| reply["text"] = json!(exact)).unwrap();
    assert_eq!((reply.text.as_str(), remarks.len()), (exact, 0));
}

/// A wrong value of an optional field costs that value; one of a required field the reply.
#[test]
fn c05_a_wrong_optional_value_is_left_out_with_a_remark() {
    let (reply, remarks) = read(|reply| reply["weight"] = json!(11)).unwrap();
    assert_eq!(reply.weight, None);
    assert_eq!(remarks, ["weight was left out: weight must be at most 10."]);
    let (reply, remarks) = read(|reply| reply["weight"] = json!(10)).unwrap();
    assert_eq!((reply.weight, remarks.len()), (Some(10), 0));
    assert!(read(|reply| reply["score"] = json!(11)).is_err());
}

/// C-05: only another shape can be rescued by another model; a value that is not allowed cannot.
#[test]
fn c05_wrong_values_are_not_a_matter_of_form() {
    let rescuable = |change: fn(&mut Value)| read(change).unwrap_err().is_about_form();
    assert!(rescuable(|reply| reply["score"] = json!("7")));
    assert!(rescuable(|reply| drop(
        reply.as_object_mut().unwrap().remove("score")
    )));
    assert!(!rescuable(|reply| reply["score"] = json!("8/10")));
    assert!(!rescuable(|reply| reply["score"] = json!(11)));
    assert!(!rescuable(|reply| reply["vote"] = json!("MAINTAIN")));
}

#[test]
fn a_text_without_spaces_is_cut_anywhere() {
    assert_eq!(shortened("aaaaaaaaaa", 5), "aaaa…");
    assert_eq!(shortened("one two", 5), "one…");
}
