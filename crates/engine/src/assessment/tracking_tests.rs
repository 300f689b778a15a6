use super::*;
use crate::retrospective::{AssessmentFile, TimeCost, TimeCostError};

fn dashboard() -> Timeline {
    let file = include_str!("../../fixtures/dashboard/assessment.yaml");
    let file: AssessmentFile = serde_saphyr::from_str(file).unwrap();
    Timeline::new("2024-10-21".parse().unwrap(), file.timeline().to_vec())
}

fn event(text: &str) -> Tracked {
    serde_saphyr::from_str(text).unwrap()
}

/// E-13: in the design's example, 5 working days of 8 weeks are lost.
#[test]
fn e13_the_designs_eight_weeks_cost_12_5_percent() {
    let timeline = dashboard();
    assert_eq!((timeline.weeks(), timeline.events().len()), (8, 6));
    assert_eq!(
        (timeline.days_lost(), timeline.share_lost()),
        (5.0, Some(0.125))
    );
    insta::assert_json_snapshot!(timeline.section());
}

/// E-13: events reported by week and by date, in any order.
#[test]
fn e13_events_are_in_chronological_order() {
    let timeline = Timeline::new(
        "2024-10-21".parse().unwrap(),
        vec![
            event("{week: 3, event: c, status: on_track}"),
            event("{date: 2024-10-29, event: b, status: on_track}"),
            event("{date: 2024-10-21, event: a, status: on_track}"),
            event("{week: 3, event: d, status: on_track}"),
        ],
    );
    let names: Vec<_> = timeline
        .events()
        .iter()
        .map(|it| it.event.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let week = |date: &str| {
        let events = vec![event(&format!(
            "{{date: {date}, event: x, status: delayed}}"
        ))];
        Timeline::new("2024-10-21".parse().unwrap(), events).weeks()
    };
    // The seventh day is in week 1, and so are days before the decision.
    assert_eq!(
        [week("2024-10-27"), week("2024-10-28"), week("2024-10-01")],
        [1, 2, 1]
    );
}

#[test]
fn e13_without_events_there_is_no_section() {
    let timeline = Timeline::new("2024-10-21".parse().unwrap(), Vec::new());
    assert_eq!((timeline.section(), timeline.share_lost()), (None, None));
    assert_eq!(timeline.cost(), None);
}

#[test]
fn e13_lost_time_is_read_in_hours_days_and_weeks() {
    let days = |text: &str| TimeCost::new(text).map(|cost| cost.days());
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
        "invalid time 'soon': expected a number of hours, days or weeks, such as '3 days'"
    );
}

#[test]
fn e13_a_status_is_read_in_any_case_and_with_hyphens() {
    for status in Status::ALL {
        assert_eq!(Status::named(status.name()), Some(status));
    }
    assert_eq!(Status::named("On-Track"), Some(Status::OnTrack));
    assert_eq!(Status::named("fine"), None);
}
