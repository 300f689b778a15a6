use super::*;
use crate::model::Ability;
use crate::protocols::dialectic::Opening;
use proptest::prelude::*;

const GOOD: &str = r#"{"answer": "Yes 😀 \"so\".", "assumptions": []}"#;

/// `read` with the schema that is sent for the type.
fn read<T: Reply>(text: &str, finish: Finish) -> Result<T, ReplyError> {
    let sent = schema::schema_for::<T>(&schema::Refinement::default(), Ability::Full);
    super::read(text, finish, &sent.json)
}

fn good() -> Opening {
    serde_json::from_str(GOOD).unwrap()
}

/// C-05: a reply is found in the text that models put around it.
#[test]
fn c05_a_reply_is_found_in_surrounding_text() {
    let cases = [
        GOOD.to_owned(),
        format!("<think>{{\"answer\": \"draft\"}}</think>\n{GOOD}"),
        format!("Here you are:\n```json\n{GOOD}\n```\nAnything else?"),
        format!("Sure! {GOOD} Hope that helps."),
        GOOD.replace("[]}", "[],}"),
        GOOD.replace("\"answer\"", "answer"),
        GOOD.replace("\"assumptions\"", "'assumptions'"),
        // Broken JSON with text around it.
        format!("Sure! {} Hope that helps.", GOOD.replace("[]}", "[],}")),
        format!("```json\n{}\n```", GOOD.replace("[]}", "[]")),
        GOOD.replace("[]}", "[]"),
    ];
    for text in cases {
        assert_eq!(read::<Opening>(&text, Finish::Stop), Ok(good()), "{text}");
    }
}

/// C-05: errors are messages the model can act on.
#[test]
fn c05_an_invalid_reply_says_why() {
    let read = |text: &str, finish| read::<Opening>(text, finish).unwrap_err();
    assert_eq!(read("", Finish::Stop), ReplyError::Empty);
    assert_eq!(read("<think>on and on", Finish::Stop), ReplyError::Empty);
    assert_eq!(read(GOOD, Finish::Refused), ReplyError::Refused);
    assert_eq!(read("No.", Finish::Stop), ReplyError::Prose);
    assert!(matches!(read("{No.", Finish::Stop), ReplyError::NotJson(_)));
    assert!(matches!(
        read("[1, 2]", Finish::Stop),
        ReplyError::NotJson(_)
    ));
    let missing = read(r#"{"answer": ""}"#, Finish::Stop).to_string();
    assert!(
        missing.contains("answer must not be empty") && missing.contains("assumptions is missing"),
        "{missing}"
    );
    let unknown = read(r#"{"answer": "x", "extra": 1}"#, Finish::Stop).to_string();
    assert!(unknown.contains("extra"), "{unknown}");
}

/// A truncated reply is never repaired; one that was complete at the limit is accepted.
#[test]
fn a_truncated_reply_is_not_repaired() {
    assert_eq!(
        read::<Opening>(&GOOD[..GOOD.len() - 4], Finish::Length),
        Err(ReplyError::CutOff)
    );
    assert_eq!(read::<Opening>(GOOD, Finish::Length), Ok(good()));
}

proptest! {
    #[test]
    fn nothing_a_model_writes_panics(text in any::<String>()) {
        let _ = read::<Opening>(&text, Finish::Stop);
    }

    #[test]
    fn broken_copies_of_a_reply_never_panic(cut in 0..60_usize, noise in "[{}\\[\\]\",:\\\\a-z ]{0,6}") {
        let cut = (0..=cut.min(GOOD.len())).rev().find(|at| GOOD.is_char_boundary(*at)).unwrap();
        let text = format!("{}{noise}{}", &GOOD[..cut], &GOOD[cut..]);
        let _ = read::<Opening>(&text, Finish::Stop);
    }
}

/// C-05: deep nesting, unclosed braces and long escapes are read or refused in bounded time.
#[test]
fn c05_deep_nesting_does_not_break_the_reader() {
    const DEEP: usize = 100_000;
    let pieces = [
        "{",
        "[",
        "{\"answer\":",
        "{\"a\":[",
        "<think>",
        "</think>",
        "```json\n",
        "\\",
        "\\u00",
        "\"",
        "'",
        "/*",
        "//",
        "{a:'",
        "}{",
        ",",
    ];
    for piece in pieces {
        for (head, tail) in [("", ""), ("{", "}"), ("{\"answer\": \"", "\"}")] {
            let text = format!("{head}{}{tail}", piece.repeat(DEEP));
            let began = std::time::Instant::now();
            let _ = read::<Opening>(&text, Finish::Stop);
            let took = began.elapsed();
            assert!(took.as_secs() < 20, "{head}{piece}…{tail}: {took:?}");
        }
    }
}

proptest! {
    /// C-05: arbitrary JSON is read or refused.
    #[test]
    fn c05_any_json_is_read_or_refused(value in crate::journal::tests::json(), finish in prop::sample::select(vec![Finish::Stop, Finish::Length])) {
        if let Err(misfit) = read::<Opening>(&value.to_string(), finish) {
            prop_assert!(misfit.to_string().len() < 4_000, "what is sent back has no bound");
        }
    }
}
