use super::*;

const SET: &str = r#"{
  "forecast_due_date": "2026-05-10",
  "question_set": "2026-05-10-llm.json",
  "questions": [
    {"id": "m1", "source": "manifold", "question": "Will it rain?", "resolution_criteria": "By the gauge.", "background": "N/A",
     "freeze_datetime": "2026-04-30T00:00:00+00:00", "freeze_datetime_value": "0.27",
     "freeze_datetime_value_explanation": "The market value.", "resolution_dates": "N/A"},
    {"id": "d1", "source": "fred", "question": "Will the rate be higher on {resolution_date} than on {forecast_due_date}?",
     "resolution_criteria": "N/A", "background": "A rate.", "freeze_datetime": "2026-04-30T00:00:00+00:00",
     "freeze_datetime_value": "5.23", "freeze_datetime_value_explanation": "The latest value.",
     "resolution_dates": ["2026-05-17", "2026-06-09"]},
    {"id": ["m1", "m2"], "source": "manifold", "question": "Both?"},
    {"id": "m3", "source": "infer", "question": "Open?", "freeze_datetime_value": "0.5"}
  ]
}"#;

const RESOLUTIONS: &str = r#"{
  "forecast_due_date": "2026-05-10",
  "question_set": "2026-05-10-llm.json",
  "resolutions": [
    {"id": "m1", "source": "manifold", "direction": null, "resolution_date": "2026-06-01", "resolved_to": 1.0, "resolved": true},
    {"id": "d1", "source": "fred", "direction": null, "resolution_date": "2026-05-17", "resolved_to": 0.0, "resolved": true},
    {"id": "d1", "source": "fred", "direction": null, "resolution_date": "2026-06-09", "resolved_to": 1.0, "resolved": true},
    {"id": ["m1", "m2"], "source": "manifold", "direction": [1, 1], "resolution_date": "2026-06-01", "resolved_to": 1.0, "resolved": true},
    {"id": "m3", "source": "infer", "direction": null, "resolution_date": "2026-06-01", "resolved_to": 0.4, "resolved": false},
    {"id": "gone", "source": "infer", "direction": null, "resolution_date": "2026-06-01", "resolved_to": 1.0, "resolved": true}
  ]
}"#;

#[test]
fn b01_resolved_questions_of_a_forecast_bench_set_are_read() {
    assert!(is_set(SET));
    assert!(!is_set("{\"question\": \"How many?\", \"answer\": 3}"));
    let found = parse(SET, RESOLUTIONS).unwrap();
    let ids: Vec<&str> = found.iter().map(|one| one.question.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "manifold/m1/2026-06-01",
            "fred/d1/2026-05-17",
            "fred/d1/2026-06-09"
        ]
    );
    assert_eq!(found[0].price, Some(0.27));
    assert_eq!(found[0].key, Key::Probability { happened: true });
    assert!(
        found[0]
            .text
            .starts_with("Will it rain?\n\nToday is 2026-05-10.\n\nResolution: By the gauge.")
    );
    // The price is the baseline, so no arm is told it; the value of a series is part of the question.
    assert!(!found[0].text.contains("0.27"));
    assert_eq!(found[1].price, None);
    assert_eq!(found[1].key, Key::Probability { happened: false });
    assert!(
        found[1]
            .text
            .contains("higher on 2026-05-17 than on 2026-05-10?")
    );
    assert!(
        found[1]
            .text
            .contains("Value on 2026-04-30: 5.23 (The latest value.)")
    );
    assert_eq!(found[1].question.cluster, found[2].question.cluster);
    assert!(
        found[1]
            .text
            .ends_with("End the answer with a line such as \"Answer: 0.62\".")
    );
}

#[test]
fn b01_sets_that_do_not_belong_together_are_refused() {
    let refused =
        |set: &str, resolutions: &str| parse(set, resolutions).unwrap_err().message().to_owned();
    let other = RESOLUTIONS
        .replace("\"m1\"", "\"x1\"")
        .replace("\"d1\"", "\"x2\"");
    assert_eq!(
        refused(SET, &other),
        "none of the 4 questions is resolved in --resolutions, which is about the set 2026-05-10-llm.json"
    );
    assert!(refused(SET, "[]").starts_with("not a resolution set of ForecastBench"));
    let twice = SET.replace(
        "\"m3\", \"source\": \"infer\"",
        "\"m1\", \"source\": \"manifold\"",
    );
    assert_eq!(refused(&twice, RESOLUTIONS), "the id 'm1' is there twice");
}
