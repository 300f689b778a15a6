use serde_json::json;

use super::*;

fn read(text: &str) -> Parsed {
    parse(text, None).unwrap().finish().unwrap()
}

fn refused(text: &str) -> String {
    let parsed = parse(text, None).and_then(Parsed::finish);
    parsed.err().unwrap().message().to_owned()
}

fn crowd(question: &Question) -> Vec<f64> {
    let crowd = question.crowd.as_ref().unwrap().iter();
    crowd
        .map(|share| (share * 1000.0).round() / 1000.0)
        .collect()
}

/// B-09: every kind of question in our own format.
#[test]
fn b09_csv_has_all_kinds_of_questions() {
    let parsed = read(
        "id,question,outcomes,edges,unit,crowd,resolves,domain,base_rate,criteria\n\
         q1,Will it rain?,,,,30%,2027-06-30,weather,4 of 12,Met office\n\
         q2,Who wins?,A|B|C,,,50|30|20,,,,\n\
         q3,How much?,,0|1|2!,%,5%:0|50%:1|95%:2,,,,\n\
         q4,When?,,!2027-01-01|2027-07-01,,,,,,\n",
    );
    let found: Vec<_> = parsed.questions.iter().map(Question::labels).collect();
    assert_eq!(
        found,
        [
            vec!["Yes", "No"],
            vec!["A", "B", "C"],
            vec!["Below 0%", "0% to below 1%", "1% to 2%"],
            vec![
                "From 2027-01-01, before 2027-07-01",
                "On 2027-07-01 or later"
            ],
        ]
    );
    assert_eq!(crowd(&parsed.questions[0]), [0.3, 0.7]);
    assert_eq!(crowd(&parsed.questions[1]), [0.5, 0.3, 0.2]);
    assert_eq!(crowd(&parsed.questions[2]), [0.05, 0.45, 0.5]);
    let first = &parsed.questions[0];
    assert_eq!(first.resolves_on.unwrap().to_string(), "2027-06-30");
    assert_eq!(first.base_rates, ["4 of 12"]);
    assert_eq!(first.criteria.as_deref(), Some("Met office"));
}

/// B-09: every fault has its row, and all are reported at once.
#[test]
fn b09_every_wrong_row_is_named() {
    let faults = refused(
        "id,question,outcomes,edges,crowd,resolves\n\
         a,,,,,\n\
         b,Two?,A|a,,,\n\
         c,Three?,,,NaN,\n\
         d,Four?,,,-0.1,\n\
         e,Five?,,,,soon\n\
         f,Six?,,2|1,,\n\
         g,Seven?,A|B,1|2,,\n\
         h,Eight?,A|B|C,,0.5,\n\
         i,Nine?,,x|2,,\n\
         j,Ten?,One,,,\n\
         k,Good?,,,,\n\
         k,Again?,,,,\n\
         l,Too many,fields,,,,,,\n",
    );
    let lines: Vec<&str> = faults.lines().collect();
    let expected = [
        "row 2: the question is empty",
        "row 3: the outcome 'a' is given twice",
        "row 4: crowd: 'NaN' is not a probability",
        "row 5: the crowd's forecast: probability 1 is -0.1",
        "row 6: resolves: 'soon' is not a date such as 2027-06-30",
        "row 7: edge 2 is 1, but edges must rise",
        "row 8: it has outcomes and edges; give only one of them",
        "row 9: the crowd's forecast: 1 number for 3 outcomes",
        "row 10: edges: 'x' is not a number or a date",
        "row 11: 1 outcomes: expected 2 to 20",
        "row 14: ",
        "question 2: the id 'k' is that of question 1 too",
    ];
    assert_eq!(lines.len(), expected.len(), "{faults}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "'{line}' is not '{expected}'");
    }
    assert!(refused("question\n").contains("no questions"));
    assert!(refused("").contains("no column 'question'"));
    assert!(refused("a,b\n1,2\n").contains("no column 'question'"));
    assert!(refused("question,colour\nWhy?,red\n").contains("colour"));
    assert!(refused("[1, 2]").contains("unknown JSON"));
    assert!(refused("{").contains("not valid JSON"));
}

#[test]
fn b09_faulty_rows_can_be_left_out() {
    let parsed = parse("id,question\na,\nb,Good?\nb,Again?\n", None).unwrap();
    let parsed = parsed.without_faults().finish().unwrap();
    assert_eq!(parsed.questions.len(), 1);
    assert_eq!(parsed.notes(), ["1 left out: row 2: the question is empty"]);
}

#[test]
fn b09_a_condition_makes_a_pair() {
    let parsed = read("id,question,condition\nq,Will prices rise?,The tax is cut\n");
    let [yes, no] = &parsed.questions[..] else {
        panic!("{parsed:?}");
    };
    assert_eq!((yes.id.as_str(), no.id.as_str()), ("q/if", "q/if-not"));
    assert_eq!(
        yes.text(),
        "Given that this happens: \"The tax is cut\". Will prices rise?"
    );
    assert_eq!(
        no.text(),
        "Given that this does not happen: \"The tax is cut\". Will prices rise?"
    );
    assert_eq!(yes.condition.as_ref().unwrap().other, "q/if-not");
}

#[test]
fn b09_questions_without_an_id_keep_theirs() {
    let id = |text: &str| read(text).questions[0].id.clone();
    assert_eq!(id("question\nWhy?\n"), id("question,domain\nWhy?,law\n"));
    assert_ne!(id("question\nWhy?\n"), id("question\nWhy not?\n"));
}

#[test]
fn b09_forecastbench_sets_are_read() {
    let market = json!({
        "id": "m1", "source": "manifold", "question": "Will it?", "resolution_criteria": "The market.", "background": "N/A",
        "market_info_close_datetime": "2026-12-31T23:59:00+00:00", "market_info_resolution_criteria": "N/A", "url": "https://m",
        "freeze_datetime": "2026-02-19T00:00:00+00:00", "freeze_datetime_value": "0.25",
        "freeze_datetime_value_explanation": "The market value.", "resolution_dates": "N/A",
    });
    let series = json!({
        "id": "s1", "source": "fred", "question": "Will it rise from {forecast_due_date} to {resolution_date}?",
        "freeze_datetime": "2026-02-19T00:00:00+00:00", "freeze_datetime_value": "3.5",
        "freeze_datetime_value_explanation": "The rate.", "resolution_dates": ["2026-03-08", "2026-03-31"],
    });
    let combination = json!({ "id": ["a", "b"], "source": "fred" });
    let set = json!({
        "forecast_due_date": "2026-03-01", "question_set": "2026-03-01-llm.json", "questions": [market, series, combination],
    });
    let parsed = read(&set.to_string());
    let ids: Vec<_> = parsed.questions.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(ids, ["m1", "s1@2026-03-08", "s1@2026-03-31"]);
    assert_eq!(
        parsed.notes(),
        ["1 left out: combinations of two questions"]
    );
    assert_eq!(crowd(&parsed.questions[0]), [0.25, 0.75]);
    assert_eq!(parsed.questions[0].background, None);
    let second = &parsed.questions[1];
    assert_eq!(second.crowd, None);
    assert_eq!(
        second.question,
        "Will it rise from 2026-03-01 to 2026-03-08?"
    );
    assert_eq!(second.base_rates, ["Value on 2026-02-19: 3.5 (The rate.)"]);
    assert_eq!(
        second
            .submission
            .as_ref()
            .unwrap()
            .resolution_date
            .as_deref(),
        Some("2026-03-08")
    );
    let resolutions = json!({ "resolutions": [
        { "id": "m1", "source": "manifold", "resolution_date": "2026-03-08", "resolved_to": 1.0, "resolved": true },
        { "id": "s1", "source": "fred", "resolution_date": "2026-03-08", "resolved_to": 0.0, "resolved": true },
        { "id": "m2", "resolution_date": "2026-03-08", "resolved_to": 0.4, "resolved": false },
        { "id": ["a", "b"], "resolved_to": 1.0, "resolved": true },
    ]});
    let outcomes = outcomes::parse(&resolutions.to_string()).unwrap();
    assert!(
        outcomes
            .outcomes
            .contains(&(vec!["m1@2026-03-08".into(), "m1".into()], "Yes".into()))
    );
    assert!(
        outcomes
            .outcomes
            .contains(&(vec!["s1@2026-03-08".into(), "s1".into()], "No".into()))
    );
    assert_eq!(outcomes.notes, ["1 not resolved yet"]);
    let share = json!({ "resolutions": [{ "id": "m1", "resolved_to": 0.4, "resolved": true }] });
    let share = outcomes::parse(&share.to_string()).unwrap();
    assert_eq!(share.outcomes, []);
    assert_eq!(share.notes, ["1 without an outcome: neither 0 nor 1"]);
}

#[test]
fn b09_manifold_markets_are_read() {
    let markets = json!([
        { "id": "b", "question": "Will it?", "outcomeType": "BINARY", "probability": 0.62, "closeTime": 1_798_761_540_000_i64,
          "textDescription": "As I see it.", "url": "https://m/b" },
        { "id": "c", "question": "Who?", "outcomeType": "MULTIPLE_CHOICE", "answers": [
            { "id": "x", "text": "Ann", "probability": 0.7 }, { "id": "y", "text": "Bob", "probability": 0.32 }],
          "isResolved": true, "resolution": "y" },
        { "id": "i", "question": "Which?", "outcomeType": "MULTIPLE_CHOICE", "shouldAnswersSumToOne": false, "answers": [
            { "id": "x", "text": "Ann", "probability": 0.7 }, { "id": "y", "text": "Bob", "probability": 0.6 }] },
        { "id": "n", "question": "How many?", "outcomeType": "PSEUDO_NUMERIC", "min": 0, "max": 100, "value": 12.5 },
        { "id": "p", "question": "Poll?", "outcomeType": "POLL" },
    ]);
    let parsed = read(&markets.to_string());
    let ids: Vec<_> = parsed.questions.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(ids, ["b", "c", "i/x", "i/y", "n"]);
    assert_eq!(
        parsed.questions[0].resolves_on.unwrap().to_string(),
        "2026-12-31"
    );
    assert_eq!(crowd(&parsed.questions[1]), [0.686, 0.314]);
    assert_eq!(parsed.questions[2].question, "Which? — Ann");
    assert_eq!(parsed.questions[4].labels().len(), 10);
    assert_eq!(parsed.notes(), ["1 left out: markets of the type POLL"]);
    let outcomes = outcomes::parse(&markets.to_string()).unwrap();
    assert_eq!(
        outcomes.outcomes,
        [(vec!["c".to_owned()], "Bob".to_owned())]
    );
}

#[test]
fn b09_polymarket_markets_and_events_are_read() {
    let market = json!({
        "id": "7", "question": "Will it?", "slug": "will-it", "conditionId": "0x1", "endDate": "2026-12-31T12:00:00Z",
        "description": "Resolves yes if.", "outcomes": "[\"Yes\", \"No\"]", "outcomePrices": "[\"0.425\", \"0.575\"]",
    });
    let closed = json!({
        "id": "8", "question": "Who?", "outcomes": "[\"Ann\", \"Bob\"]", "outcomePrices": "[\"0\", \"1\"]", "closed": true,
    });
    let event =
        json!([{ "id": "e", "title": "All", "category": "Politics", "markets": [market, closed] }]);
    let parsed = read(&event.to_string());
    assert_eq!(crowd(&parsed.questions[0]), [0.425, 0.575]);
    assert_eq!(parsed.questions[0].domain.as_deref(), Some("Politics"));
    assert_eq!(parsed.questions[1].labels(), ["Ann", "Bob"]);
    assert_eq!(parsed.questions[1].crowd, None, "the price is the outcome");
    let outcomes = outcomes::parse(&event.to_string()).unwrap();
    assert_eq!(
        outcomes.outcomes,
        [(vec!["8".to_owned()], "Bob".to_owned())]
    );
    let broken =
        json!([{ "id": "9", "question": "Will it?", "conditionId": "0x1", "outcomes": "Yes" }]);
    assert_eq!(
        refused(&broken.to_string()),
        "item 1: its outcomes are not a list"
    );
}

#[test]
fn b09_metaculus_posts_are_read() {
    let cdf: Vec<f64> = (0..=200).map(|step| f64::from(step) / 200.0).collect();
    let binary = json!({
        "id": 11, "title": "Will it?", "type": "binary", "resolution_criteria": "If so.", "fine_print": "Really.",
        "scheduled_resolve_time": "2027-01-01T00:00:00Z",
        "aggregations": { "recency_weighted": { "latest": { "centers": [0.3], "forecast_values": [0.7, 0.3] } } },
    });
    let numeric = json!({
        "id": 12, "title": "How many?", "type": "numeric", "unit": "people", "open_upper_bound": true,
        "open_lower_bound": false, "scaling": { "range_min": 0.0, "range_max": 80.0, "zero_point": null },
        "aggregations": { "recency_weighted": { "latest": { "forecast_values": cdf } } },
        "resolution": "above_upper_bound",
    });
    let date = json!({
        "id": 13, "title": "When?", "type": "date",
        "scaling": { "range_min": 1_767_225_600.0, "range_max": 1_798_761_600.0 },
    });
    let choice = json!({
        "id": 14, "title": "Who?", "type": "multiple_choice", "options": ["Ann", "Bob", "Cy"],
        "aggregations": { "recency_weighted": { "latest": { "forecast_values": [0.5, 0.3, 0.2] } } },
    });
    let side = |id: u64, title: &str| json!({ "id": id, "title": title, "type": "binary" });
    let conditional = json!({
        "condition": side(20, "The tax is cut"), "condition_child": side(21, "Will prices rise?"),
        "question_yes": side(22, "The tax is cut (Yes) → Will prices rise?"),
        "question_no": side(23, "The tax is cut (No) → Will prices rise?"),
    });
    let posts = json!({ "results": [
        { "id": 1, "title": "Post", "question": binary },
        { "id": 2, "title": "Group", "group_of_questions": { "questions": [numeric, date] } },
        { "id": 3, "title": "Choice", "question": choice },
        { "id": 4, "title": "Pair", "conditional": conditional },
        { "id": 5, "title": "Notebook", "notebook": {} },
    ]});
    let parsed = read(&posts.to_string());
    let ids: Vec<_> = parsed.questions.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(ids, ["11", "12", "13", "14", "22", "23"]);
    assert_eq!(crowd(&parsed.questions[0]), [0.3, 0.7]);
    assert_eq!(
        parsed.questions[0].criteria.as_deref(),
        Some("If so.\nReally.")
    );
    // Eight equal bins and an empty one above.
    assert_eq!(
        crowd(&parsed.questions[1]),
        [0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.0]
    );
    assert_eq!(parsed.questions[1].labels()[8], "80 people or more");
    assert_eq!(
        parsed.questions[2].labels()[0],
        "From 2026-01-01, before 2026-02-15"
    );
    assert_eq!(crowd(&parsed.questions[3]), [0.5, 0.3, 0.2]);
    assert_eq!(
        parsed.questions[4].text(),
        "Given that this happens: \"The tax is cut\". Will prices rise?"
    );
    assert_eq!(parsed.questions[5].condition.as_ref().unwrap().other, "22");
    assert_eq!(parsed.notes(), ["1 left out: posts without a question"]);
    let outcomes = outcomes::parse(&posts.to_string()).unwrap();
    assert_eq!(
        outcomes.outcomes,
        [(vec!["12".to_owned()], "80 people or more".to_owned())]
    );
    let older = json!([{ "id": 9, "title": "Old?", "possibilities": { "type": "binary" }, "community_prediction": { "full": { "q2": 0.9 } } }]);
    assert_eq!(crowd(&read(&older.to_string()).questions[0]), [0.9, 0.1]);
}

/// A stored question is read back as it was, and its outcome is not stored.
#[test]
fn b09_a_stored_question_is_read_back() {
    let parsed = read("question,edges,outcome,crowd\nHow much?,0.1|0.2|0.3,0.25,5%:0.1|95%:0.3\n");
    let question = &parsed.questions[0];
    assert_eq!(question.resolution.as_deref(), Some("0.25"));
    let body = serde_json::to_string(question).unwrap();
    let stored = crate::store::StoredQuestion {
        id: question.id.clone(),
        place: 1,
        body: body.clone(),
    };
    let back = Question::read(&stored).unwrap();
    assert_eq!(back.resolution, None);
    assert_eq!(serde_json::to_string(&back).unwrap(), body);
    assert_eq!(back.labels(), question.labels());
}
