use super::*;
use crate::retrospective::{AssessmentFile, TimeCost, TimeCostError};

fn dashboard() -> Course {
    let file = include_str!("../../fixtures/dashboard/assessment.yaml");
    let file: AssessmentFile = serde_saphyr::from_str(file).unwrap();
    Course::new("2024-10-21".parse().unwrap(), file.timeline().to_vec())
}

fn event(text: &str) -> Tracked {
    serde_saphyr::from_str(text).unwrap()
}

/// E-13: the design's eight weeks cost five days, 12.5% of the timeline.
#[test]
fn e13_the_designs_eight_weeks_cost_12_5_percent() {
    let course = dashboard();
    assert_eq!((course.weeks(), course.events().len()), (8, 6));
    assert_eq!(
        (course.days_lost(), course.share_lost()),
        (5.0, Some(0.125))
    );
    insta::assert_json_snapshot!(course.section());
}

/// E-13: events told out of order, by week or by day, stand in the order in which they happened.
#[test]
fn e13_events_stand_in_the_order_in_which_they_happened() {
    let course = Course::new(
        "2024-10-21".parse().unwrap(),
        vec![
            event("{week: 3, event: c, status: on_track}"),
            event("{date: 2024-10-29, event: b, status: on_track}"),
            event("{date: 2024-10-21, event: a, status: on_track}"),
            event("{week: 3, event: d, status: on_track}"),
        ],
    );
    let names: Vec<_> = course.events().iter().map(|it| it.event.as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let week = |date: &str| {
        let events = vec![event(&format!(
            "{{date: {date}, event: x, status: delayed}}"
        ))];
        Course::new("2024-10-21".parse().unwrap(), events).weeks()
    };
    // The seventh day is still of the first week; what happened before the decision is too.
    assert_eq!(
        [week("2024-10-27"), week("2024-10-28"), week("2024-10-01")],
        [1, 2, 1]
    );
}

#[test]
fn e13_without_events_there_is_nothing_to_show() {
    let course = Course::new("2024-10-21".parse().unwrap(), Vec::new());
    assert_eq!((course.section(), course.share_lost()), (None, None));
    assert_eq!(course.cost(), None);
}

#[test]
fn e13_time_is_read_in_hours_days_and_weeks() {
    let days = |text: &str| TimeCost::new(text).map(|it| it.days());
    assert_eq!(days("3 additional days"), Ok(3.0));
    assert_eq!(days("about 1.5 weeks"), Ok(7.5));
    assert_eq!(days("4h"), Ok(0.5));
    assert_eq!(days("1 day"), Ok(1.0));
    for wrong in ["soon", "3", "-2 days", "three days", "5 euros", ""] {
        assert!(days(wrong).is_err(), "{wrong}");
    }
    let error: TimeCostError = TimeCost::new("soon").unwrap_err();
    assert_eq!(
        error.to_string(),
        "'soon' is no time: write a number and hours, days or weeks, such as '3 days'"
    );
}

#[test]
fn e13_a_status_can_be_written_as_people_do() {
    for status in Status::ALL {
        assert_eq!(Status::named(status.name()), Some(status));
    }
    assert_eq!(Status::named("On-Track"), Some(Status::OnTrack));
    assert_eq!(Status::named("fine"), None);
}
