use super::*;

fn token() -> NewToken {
    NewToken {
        name: " ada ".into(),
        scope: Scope::Run,
        reach: Reach::Own,
        max_cost_per_day: Some(5.0),
        max_running: Some(1),
        models: vec!["openai:*".into(), " ollama:* ".into()],
        expires_in_days: Some(2),
    }
}

#[test]
fn a_valid_token_has_trimmed_names_and_a_summary() {
    let row = token().row("rt_x").unwrap();
    assert_eq!(row.name, "ada");
    assert_eq!(row.hash, tokens::hash("rt_x"));
    assert_eq!(row.expires_at, Some(row.created_at + 2 * DAY_MS));
    assert_eq!(
        summary(&row),
        "scope run, reach own, $5.00 per day, 1 running, models openai:*, ollama:*"
    );
}

#[test]
fn everything_wrong_with_a_token_is_reported_at_once() {
    let wrong = NewToken {
        name: "a\u{7}".into(),
        max_cost_per_day: Some(0.0),
        max_running: Some(0),
        models: vec!["gpt-5".into()],
        ..token()
    };
    let faults = wrong.row("rt_x").unwrap_err();
    let at: Vec<&str> = faults.iter().map(|fault| fault.at.as_str()).collect();
    assert_eq!(
        at,
        ["/name", "/max_cost_per_day", "/max_running", "/models"]
    );
}
