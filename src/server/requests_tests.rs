use roundtable_engine::cast::Cast;
use roundtable_engine::data::{Data, DataError};

use super::*;

fn faults(value: Value) -> Vec<String> {
    let problem = checked::<NewDebate>(value).unwrap_err();
    let faults = problem.faults().iter();
    faults.map(|fault| fault.at.clone()).collect()
}

/// All faults are reported, each with its JSON pointer.
#[test]
fn all_faults_are_reported_at_once() {
    let wrong = json!({ "question": 3, "seats": { "skeptic": 1 }, "budget": { "max_tokens": 0 }, "seed": -1, "colour": "red" });
    let mut at = faults(wrong);
    at.sort();
    assert_eq!(
        at,
        [
            "",
            "/budget/max_tokens",
            "/question",
            "/seats/skeptic",
            "/seed"
        ]
    );
    assert_eq!(faults(json!([])), [""]);
    assert_eq!(faults(json!({ "question": "" })), ["/question"]);
}

#[test]
fn a_question_alone_is_enough() {
    let spec: NewDebate = checked(json!({ "question": "Why?" })).unwrap();
    assert_eq!(
        (spec.protocol.as_str(), spec.question.as_str()),
        ("dialectic", "Why?")
    );
    let spec = spec.spec(&Limits::default()).unwrap();
    assert_eq!(
        (spec.protocol.name(), spec.budget),
        ("dialectic", Budget::default())
    );
}

/// JSON Schema counts 1.0 as an integer.
#[test]
fn whole_numbers_may_have_a_decimal_point() {
    let rating: RatingRequest = checked(json!({ "rating": 1.0 })).unwrap();
    assert_eq!(rating.rating, 1);
    let debate = json!({ "question": "Why?", "budget": { "max_tokens": 1.0, "max_cost": 2.0 }, "rules": { "rounds": 3.0 } });
    let debate: NewDebate = checked(debate).unwrap();
    assert_eq!(debate.budget.unwrap().max_tokens, Some(1));
    assert_eq!(debate.budget.unwrap().max_cost, Some(2.0));
    assert_eq!(debate.rules["rounds"], json!(3));
    for wrong in [json!(1.5), json!(11.0), json!(1e300), json!(-0.5)] {
        let problem = checked::<RatingRequest>(json!({ "rating": wrong })).unwrap_err();
        assert_eq!(problem.faults()[0].at, "/rating", "{wrong}");
    }
}

/// The protocol decides whether it needs a question; an empty one is never right.
#[test]
fn a_question_may_be_left_out() {
    let judged: NewDebate = checked(json!({ "protocol": "councils" })).unwrap();
    assert_eq!(judged.question, "");
}

/// C-20: a request names a cast; it cannot make the server read a file.
#[test]
fn c20_a_cast_is_a_name_and_not_a_path() {
    for cast in ["./mine.toml", "/etc/passwd", "casts\\mine", "mine.toml"] {
        let request: NewDebate = checked(json!({ "question": "Why?", "cast": cast })).unwrap();
        let choice = request.spec(&Limits::default()).unwrap().cast;
        assert_eq!(choice, Some(CastChoice::Named(cast.to_owned())));
        let found = Cast::find(&Data::built_in(), choice.as_ref(), "dialectic");
        let is_refused = matches!(found, Err(DataError::InvalidName { .. }));
        assert!(is_refused, "{found:?}");
    }
}

/// C-19: a form has no schema, so its numbers are checked here too.
#[test]
fn c19_a_budget_has_limits() {
    let check = |request: BudgetRequest| {
        let mut faults = Vec::new();
        let budget = request.budget(&mut faults);
        (budget, faults.len())
    };
    let time = |seconds: f64| {
        check(BudgetRequest {
            max_seconds: Some(seconds),
            ..BudgetRequest::default()
        })
    };
    assert_eq!(time(0.001).0.max_ms, Some(1));
    assert_eq!(time(31_536_000.0).0.max_ms, Some(31_536_000_000));
    for wrong in [
        0.0,
        0.0009,
        31_536_001.0,
        6e19,
        f64::INFINITY,
        f64::NAN,
        -1.0,
    ] {
        assert_eq!(time(wrong), (Budget::default(), 1), "{wrong}");
    }
    let tokens = |tokens: u64| {
        check(BudgetRequest {
            max_tokens: Some(tokens),
            ..BudgetRequest::default()
        })
    };
    assert_eq!(tokens(MAX_TOKENS).0.max_tokens, Some(MAX_TOKENS));
    for wrong in [0, MAX_TOKENS + 1, u64::MAX] {
        assert_eq!(tokens(wrong), (Budget::default(), 1), "{wrong}");
    }
}

async fn form_reply(body: Body) -> StatusCode {
    let form = |axum::Form(fields): axum::Form<Vec<(String, String)>>| async move {
        fields.len().to_string()
    };
    let router: axum::Router = axum::Router::new()
        .route("/", axum::routing::post(form))
        .layer(axum::middleware::from_fn_with_state(
            10_usize,
            within_limits,
        ));
    let request = Request::post("/")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .unwrap();
    let reply = tower::ServiceExt::oneshot(router, request).await.unwrap();
    reply.status()
}

/// Forms have the limits on size and time that JSON has.
#[tokio::test(start_paused = true)]
async fn a_form_has_limits_on_size_and_time() {
    assert_eq!(form_reply(Body::from("a=12345678")).await, StatusCode::OK);
    let long = form_reply(Body::from("a=123456789")).await;
    assert_eq!(long, StatusCode::PAYLOAD_TOO_LARGE);
    let stream = futures::stream::pending::<Result<bytes::Bytes, std::io::Error>>();
    let slow = form_reply(Body::from_stream(stream)).await;
    assert_eq!(slow, StatusCode::REQUEST_TIMEOUT);
}
