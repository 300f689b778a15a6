use super::*;

const HEADER: &str =
    "question_id,agent,probability,outcome,domain,group,forecast_date,resolved_date";

fn failure(rows: &str) -> String {
    parse(&format!("{HEADER}\n{rows}\n"))
        .unwrap_err()
        .message()
        .to_owned()
}

#[test]
fn b09_rows_become_questions() {
    let rows = "q1,a,0.7,1,law,judge,2026-01-01,2026-01-10\nq2,a,1,no,,,2026-01-02,2026-01-03T10:00:00Z\n\
                q1,b,0.2,1,law,,2026-01-04,2026-01-10";
    let table = parse(&format!("{HEADER}\n{rows}")).unwrap();
    assert!(table.has_dates);
    let [first, second] = table.questions.as_slice() else {
        panic!("{table:?}");
    };
    assert_eq!((first.forecasts.len(), first.outcome), (2, 1));
    assert_eq!(first.domain.as_deref(), Some("law"));
    assert_eq!(first.forecasts[0].0.group.as_deref(), Some("judge"));
    assert_eq!(first.forecasts[1].0.group, None);
    // The last forecast counts.
    assert_eq!(first.forecast_at, 1_767_484_800_000);
    assert_eq!((second.outcome, second.cluster.as_str()), (0, "q2"));
}

#[test]
fn b09_only_four_columns_are_required() {
    let table = parse("Outcome,probability,agent,question_id\n1,0.5,a,q1\n").unwrap();
    assert!(!table.has_dates);
    assert_eq!(table.questions.len(), 1);
    let missing = parse("question_id,p\nq1,0.5\n").unwrap_err();
    let text = missing.message();
    assert!(
        text.starts_with("the first line has no column agent, probability, outcome."),
        "{text}"
    );
}

#[test]
fn b09_an_error_names_row_and_column() {
    let good = "q1,a,0.7,1,law,,2026-01-01,2026-01-10";
    for (row, expected) in [
        (
            "q1,b,1.5,1,law,,2026-01-01,2026-01-10",
            "row 3, column probability: '1.5' is not a number from 0 to 1",
        ),
        (
            "q1,b,NaN,1,law,,2026-01-01,2026-01-10",
            "row 3, column probability: 'NaN' is not a number from 0 to 1",
        ),
        (
            "q1,b,0.5,2,law,,2026-01-01,2026-01-10",
            "row 3, column outcome: '2' is not 0 or 1",
        ),
        (
            "q1,b,0.5,0,law,,2026-01-01,2026-01-10",
            "row 3, column outcome: question q1 has another one above",
        ),
        (
            "q1,b,0.5,1,art,,2026-01-01,2026-01-10",
            "row 3, column domain: question q1 has another one above",
        ),
        (
            "q1,b,0.5,1,law,,2026-01-01,2026-01-11",
            "row 3, column resolved_date: question q1 has another one above",
        ),
        (
            "q1,a,0.5,1,law,,2026-01-01,2026-01-10",
            "row 3, column agent: a has two forecasts of question q1",
        ),
        (
            "q2,b,0.5,1,law,,2026-01-11,2026-01-10",
            "row 3, column resolved_date: it is before the forecast",
        ),
        (
            "q2,b,0.5,1,law,,soon,2026-01-10",
            "row 3, column forecast_date: 'soon' is not a date such as 2026-11-16",
        ),
        (
            "q2,,0.5,1,law,,2026-01-01,2026-01-10",
            "row 3, column agent: it is empty",
        ),
        (
            "q2,b,0.5,1,law,,,",
            "row 3 has no forecast_date and resolved_date, while other rows have them: add them, or leave them out everywhere",
        ),
    ] {
        assert_eq!(failure(&format!("{good}\n{row}")), expected);
    }
    assert_eq!(failure(""), "the table has no forecasts");
    assert!(failure("q1").starts_with("row 2, column outcome: it is empty"));
}
