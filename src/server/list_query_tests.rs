use uuid::Uuid;

use super::*;

#[test]
fn times_and_cursors_are_parsed() {
    assert_eq!(clock::time("1970-01-02"), Some(86_400_000));
    assert_eq!(clock::time("1970-01-01T00:00:01Z"), Some(1000));
    for wrong in ["", "yesterday", "1969-01-01", "2026-13-01"] {
        assert_eq!(clock::time(wrong), None, "{wrong}");
    }
    assert_eq!(parse_cursor("12.x"), None);
    let id = Uuid::new_v4();
    let place = ListPosition { created_at: 12, id };
    assert_eq!(parse_cursor(&format!("12.{id}")), Some(place));
}

/// An empty filter is a mistake of the client, and is not taken for no filter.
#[test]
fn empty_states_and_times_are_refused() {
    let query = |state: Option<&str>, since: Option<&str>, until: Option<&str>| ListQuery {
        state: state.map(str::to_owned),
        since: since.map(str::to_owned),
        until: until.map(str::to_owned),
        ..ListQuery::default()
    };
    let problem = query(Some(""), Some(""), Some("")).filter().unwrap_err();
    let at: Vec<&str> = problem.faults().iter().map(|fault| &*fault.at).collect();
    assert_eq!(at, ["state", "since", "until"]);
    assert!(
        query(Some("complete"), Some("2026-03-01"), None)
            .filter()
            .is_ok()
    );
    assert!(query(None, None, None).filter().is_ok());
}
