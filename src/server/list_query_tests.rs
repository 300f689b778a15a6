use uuid::Uuid;

use super::*;

#[test]
fn times_and_cursors_are_parsed() {
    assert_eq!(parse_time("1970-01-02"), Some(86_400_000));
    assert_eq!(parse_time("1970-01-01T00:00:01Z"), Some(1000));
    for wrong in ["", "yesterday", "1969-01-01", "2026-13-01"] {
        assert_eq!(parse_time(wrong), None, "{wrong}");
    }
    assert_eq!(parse_cursor("12.x"), None);
    let id = Uuid::new_v4();
    let place = ListPosition { created_at: 12, id };
    assert_eq!(parse_cursor(&format!("12.{id}")), Some(place));
}
