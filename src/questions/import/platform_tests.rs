//! Files in the shape that the APIs return, with everything that the readers do not use, and with texts of our own (B-09).

use serde_json::json;

use super::*;

fn read(json: &Value) -> Parsed {
    parse(&json.to_string(), None).unwrap().finish().unwrap()
}

/// The object with these fields, which replace its own.
fn with(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
    object
}

fn crowd(question: &Question) -> Vec<f64> {
    let crowd = question.crowd.as_ref().unwrap().iter();
    crowd
        .map(|share| (share * 1000.0).round() / 1000.0)
        .collect()
}

/// A question of a Metaculus post.
fn metaculus(id: u64, title: &str, kind: &str, more: Value) -> Value {
    let question = json!({
        "id": id, "title": title, "description": "", "type": kind, "status": "open", "options": null, "group_rank": null,
        "possibilities": { "type": kind }, "resolution": null, "resolution_criteria": "", "fine_print": "", "label": "", "unit": "",
        "created_at": "2026-10-02T09:12:44.120000Z", "open_time": "2026-10-05T16:00:00Z", "cp_reveal_time": "2026-10-08T16:00:00Z",
        "spot_scoring_time": null, "scheduled_close_time": "2026-12-01T00:00:00Z", "actual_close_time": null,
        "scheduled_resolve_time": "2027-01-02T00:00:00Z", "actual_resolve_time": null, "resolution_set_time": null,
        "open_lower_bound": null, "open_upper_bound": null, "inbound_outcome_count": null, "include_bots_in_aggregates": false,
        "question_weight": 1.0, "default_score_type": "peer", "post_id": 900,
        "scaling": { "range_min": null, "range_max": null, "nominal_min": null, "nominal_max": null, "zero_point": null,
            "open_upper_bound": null, "open_lower_bound": null, "inbound_outcome_count": null, "continuous_range": null },
        "aggregations": {
            "unweighted": { "history": [], "latest": null, "score_data": {} },
            "recency_weighted": { "history": [], "latest": null, "score_data": {} },
        },
        "my_forecasts": { "history": [], "latest": null, "score_data": {} },
    });
    with(question, more)
}

fn latest(forecast: &Value, centers: &Value) -> Value {
    json!({ "recency_weighted": { "history": [], "score_data": {}, "latest": {
        "start_time": 1_793_800_000.5, "end_time": null, "method": "recency_weighted", "forecaster_count": 61,
        "forecast_values": forecast, "interval_lower_bounds": [0.1], "centers": centers, "interval_upper_bounds": [0.4],
        "means": [0.36], "histogram": null,
    } } })
}

fn post(id: u64, title: &str, more: Value) -> Value {
    let post = json!({
        "id": id, "title": title, "short_title": "", "url_title": "", "slug": "a-slug", "author_id": 3, "coauthors": [],
        "projects": { "site_main": [{ "id": 144, "type": "site_main" }],
            "category": [{ "id": 3690, "name": "Economy & Business", "slug": "economy-business", "type": "category" }],
            "default_project": { "id": 144, "type": "site_main" } },
        "published_at": "2026-10-05T16:00:00Z", "curation_status": "approved", "comment_count": 4, "status": "open", "resolved": false,
        "nr_forecasters": 61, "vote": { "score": 9, "user_vote": null }, "forecasts_count": 140,
    });
    with(post, more)
}

/// A page of a list: every kind of post.
fn metaculus_posts() -> Value {
    let binary = metaculus(
        501,
        "Does the ferry run by May?",
        "binary",
        json!({
            "aggregations": latest(&Value::Null, &json!([0.31])), "resolution_criteria": "The timetable says so.", "fine_print": "In print.",
        }),
    );
    // The crowd is hidden at first.
    let hidden = metaculus(502, "Does the tunnel open by May?", "binary", json!({}));
    let choice = metaculus(
        503,
        "Which town hosts the fair?",
        "multiple_choice",
        json!({
            "options": ["Arden", "Brook", "Crest"], "aggregations": latest(&json!([0.5, 0.2, 0.3]), &json!([0.5, 0.2, 0.3])), "resolution": "Brook",
        }),
    );
    let counted = metaculus(
        504,
        "How many goals are scored?",
        "discrete",
        json!({
            "open_lower_bound": false, "open_upper_bound": true, "inbound_outcome_count": 4,
            "scaling": { "range_min": -0.5, "range_max": 3.5, "nominal_min": 0.0, "nominal_max": 3.0, "zero_point": null,
                "open_upper_bound": true, "open_lower_bound": false, "inbound_outcome_count": 4, "continuous_range": [-0.5, 0.5, 1.5, 2.5, 3.5] },
            "aggregations": latest(&json!([0.0, 0.1, 0.4, 0.7, 0.9]), &json!([0.5])), "resolution": "2.0",
        }),
    );
    let dated = metaculus(
        505,
        "When does the museum reopen?",
        "date",
        json!({
            "open_lower_bound": false, "open_upper_bound": true, "resolution": "2026-11-20T00:00:00Z",
            "scaling": { "range_min": 1_767_225_600.0, "range_max": 1_798_761_600.0, "nominal_min": 1_767_225_600.0, "nominal_max": 1_798_761_600.0,
                "zero_point": null, "open_upper_bound": true, "open_lower_bound": false, "inbound_outcome_count": 200,
                "continuous_range": ["2026-01-01T00:00:00Z", "2026-07-02T00:00:00Z", "2027-01-01T00:00:00Z"] },
            "aggregations": latest(&json!([0.0, 0.5, 0.8]), &json!([0.5])),
        }),
    );
    let side = |id, title: &str| metaculus(id, title, "binary", json!({}));
    let group = json!({ "id": 77, "description": "Storms get names.", "resolution_criteria": "By the weather service.", "fine_print": "",
        "group_variable": "Month", "graph_type": "multiple_choice_graph", "subquestions_order": "MANUAL",
        "questions": [side(506, "By September?"), side(507, "Is a fifth storm named by October? (October)")] });
    let conditional = json!({ "id": 78, "condition": side(510, "Does the toll rise?"), "condition_child": side(511, "Do cars avoid the bridge?"),
        "question_yes": side(508, "Does the toll rise? (Yes) → Do cars avoid the bridge?"),
        "question_no": side(509, "Does the toll rise? (No) → Do cars avoid the bridge?") });
    json!({ "count": null, "next": "https://www.metaculus.com/api/posts/?limit=20&offset=20", "previous": null, "results": [
        post(901, "Does the ferry run by May?", json!({ "question": binary })),
        post(902, "Does the tunnel open by May?", json!({ "question": hidden })),
        post(903, "Which town hosts the fair?", json!({ "question": choice })),
        post(904, "How many goals are scored?", json!({ "question": counted })),
        post(905, "When does the museum reopen?", json!({ "question": dated })),
        post(906, "Is a fifth storm named?", json!({ "group_of_questions": group })),
        post(907, "Toll and traffic", json!({ "conditional": conditional })),
        post(908, "About this tournament", json!({ "notebook": { "id": 5, "markdown": "Hello" } })),
    ] })
}

#[test]
fn b09_a_list_of_metaculus_posts_is_read() {
    let file = metaculus_posts();
    let parsed = read(&file);
    let ids: Vec<_> = parsed.questions.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "501", "502", "503", "504", "505", "506", "507", "508", "509"
        ]
    );
    let [
        binary,
        hidden,
        choice,
        counted,
        dated,
        first,
        second,
        yes,
        _,
    ] = &parsed.questions[..]
    else {
        panic!("{parsed:?}");
    };
    assert_eq!(crowd(binary), [0.31, 0.69]);
    assert_eq!(
        binary.criteria.as_deref(),
        Some("The timetable says so.\nIn print.")
    );
    assert_eq!(binary.domain.as_deref(), Some("Economy & Business"));
    assert_eq!(binary.resolves_on.unwrap().to_string(), "2027-01-02");
    assert_eq!(hidden.crowd, None);
    assert_eq!(crowd(choice), [0.5, 0.2, 0.3]);
    // Each count has a bin of its own.
    assert_eq!(counted.labels().len(), 5);
    assert_eq!(crowd(counted), [0.1, 0.3, 0.3, 0.2, 0.1]);
    assert_eq!(dated.labels()[0], "From 2026-01-01, before 2026-02-15");
    // Half of the probability is before the middle of the year.
    let early: f64 = crowd(dated)[..4].iter().sum();
    assert!((early - 0.5).abs() < 1e-9, "{early}");
    assert_eq!(first.question, "Is a fifth storm named? — By September?");
    assert_eq!(
        second.question,
        "Is a fifth storm named by October? (October)"
    );
    for one in [first, second] {
        assert_eq!(one.background.as_deref(), Some("Storms get names."));
        assert_eq!(one.criteria.as_deref(), Some("By the weather service."));
    }
    assert_eq!(
        yes.text(),
        "Given that this happens: \"Does the toll rise?\". Do cars avoid the bridge?"
    );
    assert_eq!(yes.condition.as_ref().unwrap().other, "509");
    let outcomes = outcomes::parse(&file.to_string()).unwrap();
    let outcomes: Vec<_> = outcomes
        .outcomes
        .iter()
        .map(|(ids, outcome)| (ids[0].as_str(), outcome.as_str()))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("503", "Brook"),
            ("504", "2.0"),
            ("505", "2026-11-20T00:00:00Z")
        ]
    );
}

/// A market as the API of Manifold lists it.
fn manifold(id: &str, kind: &str, more: Value) -> Value {
    let market = json!({
        "id": id, "creatorId": "c1", "creatorUsername": "ann", "creatorName": "Ann", "creatorAvatarUrl": "https://a.example/x.png",
        "createdTime": 1_790_000_000_000_i64, "closeTime": 1_798_761_540_000_i64, "question": format!("Question {id}?"), "slug": id,
        "url": format!("https://manifold.markets/ann/{id}"), "totalLiquidity": 1000, "outcomeType": kind, "mechanism": "cpmm-1",
        "volume": 812.5, "volume24Hours": 0, "isResolved": false, "uniqueBettorCount": 12, "lastUpdatedTime": 1_790_000_900_000_i64,
        "lastBetTime": 1_790_000_800_000_i64, "token": "MANA", "marketTier": "play", "coverImageUrl": null, "groupSlugs": ["transport", "local"],
        "textDescription": "As the council reports.",
        "description": { "type": "doc", "content": [{ "type": "paragraph", "content": [{ "type": "text", "text": "As the council reports." }] }] },
    });
    with(market, more)
}

fn manifold_markets() -> Value {
    let answer = |id: &str, text: &str, more: Value| {
        let answer = json!({ "id": id, "index": 0, "contractId": "m", "userId": "c1", "text": text, "createdTime": 1_790_000_000_000_i64,
            "poolYes": 120.1, "poolNo": 80.2, "totalLiquidity": 100, "subsidyPool": 0, "isOther": false });
        with(answer, more)
    };
    let ends = |more: Value| {
        let ends = json!({ "min": 0, "max": 99, "isLogScale": true, "p": 0.5, "probability": 0.5, "value": 9 });
        with(ends, more)
    };
    let resolved = |more: Value| {
        let resolved = json!({ "isResolved": true, "resolutionTime": 1_798_800_000_000_i64 });
        with(resolved, more)
    };
    json!([
        manifold(
            "bin",
            "BINARY",
            json!({ "probability": 0.31, "p": 0.48, "pool": { "NO": 58.5, "YES": 130.4 }, "min": null, "max": null })
        ),
        manifold(
            "no",
            "BINARY",
            resolved(
                json!({ "probability": 0.02, "resolution": "NO", "resolutionProbability": 0.02 })
            )
        ),
        manifold(
            "part",
            "BINARY",
            resolved(
                json!({ "probability": 0.4, "resolution": "MKT", "resolutionProbability": 0.4 })
            )
        ),
        // A list has no answers.
        manifold(
            "listed",
            "MULTIPLE_CHOICE",
            json!({ "mechanism": "cpmm-multi-1" })
        ),
        manifold(
            "one",
            "MULTIPLE_CHOICE",
            resolved(
                json!({ "mechanism": "cpmm-multi-1", "shouldAnswersSumToOne": true, "addAnswersMode": "DISABLED",
            "resolution": "a2", "answers": [
                answer("a1", "North", json!({ "probability": 0.6 })), answer("a2", "South", json!({ "probability": 0.4 }))] })
            )
        ),
        manifold(
            "split",
            "MULTIPLE_CHOICE",
            resolved(
                json!({ "shouldAnswersSumToOne": true, "resolution": "CHOOSE_MULTIPLE", "resolutions": { "b1": 50, "b2": 50 },
            "answers": [answer("b1", "East", json!({ "probability": 0.5 })), answer("b2", "West", json!({ "probability": 0.5 }))] })
            )
        ),
        manifold(
            "any",
            "MULTIPLE_CHOICE",
            json!({ "shouldAnswersSumToOne": false, "answers": [
            answer("c1", "Trams", json!({ "probability": 0.9, "resolution": "YES", "resolutionTime": 1_798_800_000_000_i64 })),
            answer("c2", "Buses", json!({ "probability": 0.7 }))] })
        ),
        manifold(
            "num",
            "PSEUDO_NUMERIC",
            resolved(ends(
                json!({ "resolution": "MKT", "resolutionProbability": 0.5 })
            ))
        ),
        manifold(
            "off",
            "PSEUDO_NUMERIC",
            resolved(ends(
                json!({ "resolution": "CANCEL", "resolutionProbability": 0.5 })
            ))
        ),
        manifold("poll", "POLL", json!({})),
    ])
}

#[test]
fn b09_markets_of_manifold_are_read() {
    let file = manifold_markets();
    let parsed = read(&file);
    let ids: Vec<_> = parsed.questions.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "bin", "no", "part", "one", "split", "any/c1", "any/c2", "num", "off"
        ]
    );
    assert_eq!(parsed.notes().len(), 2, "{:?}", parsed.notes());
    let first = &parsed.questions[0];
    assert_eq!(crowd(first), [0.31, 0.69]);
    assert_eq!(first.criteria.as_deref(), Some("As the council reports."));
    assert_eq!(first.domain.as_deref(), Some("transport"));
    assert_eq!(first.resolves_on.unwrap().to_string(), "2026-12-31");
    let outcomes = outcomes::parse(&file.to_string()).unwrap();
    let found: Vec<_> = outcomes
        .outcomes
        .iter()
        .map(|(ids, outcome)| (ids[0].as_str(), outcome.as_str()))
        .collect();
    // Half of a logarithmic scale from 0 to 99 is 9.
    assert_eq!(
        found,
        [
            ("no", "NO"),
            ("one", "South"),
            ("any/c1", "YES"),
            ("num", "9")
        ]
    );
    assert!(
        outcomes
            .notes
            .contains(&"3 without an outcome: annulled or ambiguous".to_owned()),
        "{:?}",
        outcomes.notes
    );
}

/// A market as the Gamma API of Polymarket returns it: lists are texts that contain JSON.
fn polymarket(id: &str, question: &str, outcomes: &[&str], prices: &[&str], more: Value) -> Value {
    let market = json!({
        "id": id, "question": question, "conditionId": format!("0x{id}"), "slug": format!("market-{id}"), "resolutionSource": "",
        "endDate": "2026-12-31T12:00:00Z", "endDateIso": "2026-12-31", "startDate": "2026-05-02T15:03:10.397014Z", "liquidity": "1043.2",
        "image": "https://i.example/x.png", "description": "Resolves by the official count.", "volume": "25171.9", "active": true, "closed": false,
        "outcomes": json!(outcomes).to_string(), "outcomePrices": json!(prices).to_string(), "clobTokenIds": "[\"71\", \"72\"]",
        "groupItemTitle": "", "volumeNum": 25171.9, "liquidityNum": 1043.2, "negRisk": false, "umaResolutionStatuses": "[]", "enableOrderBook": true,
        "bestBid": 0.24, "bestAsk": 0.26, "lastTradePrice": 0.25, "archived": false, "restricted": true,
    });
    with(market, more)
}

#[test]
fn b09_events_of_polymarket_are_read() {
    let closed = json!({ "closed": true, "closedTime": "2026-07-07 21:25:17+00", "umaResolutionStatus": "resolved" });
    let mut placeholder = polymarket("6", "Will another town win?", &[], &[], json!({}));
    for name in ["outcomes", "outcomePrices", "endDate"] {
        placeholder.as_object_mut().unwrap().remove(name);
    }
    let events = json!([{
        "id": "30829", "ticker": "town", "slug": "which-town-wins", "title": "Which town wins?", "description": "The county prize.",
        "endDate": "2026-12-31T12:00:00Z", "active": true, "closed": false, "negRisk": true, "liquidity": 7755.3, "volume": 90210.0,
        "tags": [{ "id": "2", "label": "Politics", "slug": "politics" }, { "id": "5", "label": "Local", "slug": "local" }],
        "markets": [
            polymarket("1", "Will Arden win?", &["Yes", "No"], &["0.25", "0.75"], json!({ "groupItemTitle": "Arden" })),
            polymarket("2", "Will Brook win?", &["Yes", "No"], &["0", "1"], closed.clone()),
            polymarket("3", "Arden or Brook first?", &["Arden", "Brook"], &["1", "0"], closed.clone()),
            // A draw, and a market without trades.
            polymarket("4", "Arden or Crest first?", &["Arden", "Crest"], &["0.5", "0.5"], closed),
            polymarket("5", "Will Crest win?", &["Yes", "No"], &["0", "0"], json!({ "endDate": null })),
            placeholder,
        ],
    }]);
    let parsed = read(&events);
    let ids: Vec<_> = parsed.questions.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    assert_eq!(parsed.notes(), ["1 left out: markets without outcomes"]);
    assert_eq!(crowd(&parsed.questions[0]), [0.25, 0.75]);
    assert!(parsed.questions[1..].iter().all(|own| own.crowd.is_none()));
    assert!(
        parsed
            .questions
            .iter()
            .all(|own| own.domain.as_deref() == Some("Politics"))
    );
    assert_eq!(
        parsed.questions[4].resolves_on.unwrap().to_string(),
        "2026-12-31"
    );
    let outcomes = outcomes::parse(&events.to_string()).unwrap();
    let found: Vec<_> = outcomes
        .outcomes
        .iter()
        .map(|(ids, outcome)| (ids[0].as_str(), outcome.as_str()))
        .collect();
    assert_eq!(found, [("2", "No"), ("3", "Arden")]);
}

#[test]
fn b09_a_set_of_forecastbench_in_its_published_shape_is_read() {
    let question = |id: Value, source: &str, more: Value| {
        let question = json!({
            "id": id, "source": source, "question": "Will the ferry run?", "resolution_criteria": "Resolves to the outcome of the question.",
            "background": "N/A", "market_info_open_datetime": "2026-04-24T21:42:23+00:00", "market_info_close_datetime": "2026-12-31T23:59:00+00:00",
            "market_info_resolution_criteria": "N/A", "url": "https://m.example/ferry", "freeze_datetime": "2026-04-30T00:00:00+00:00",
            "freeze_datetime_value": "0.27473198688792805", "freeze_datetime_value_explanation": "The market value.",
            "source_intro": "We would like you to predict.", "combination_of": "N/A", "resolution_dates": "N/A",
        });
        with(question, more)
    };
    let series = json!({ "question": "Will the rate have increased by {resolution_date} as compared to its value on {forecast_due_date}?",
        "market_info_open_datetime": "N/A", "market_info_close_datetime": "N/A", "freeze_datetime_value": "5.11",
        "freeze_datetime_value_explanation": "The latest value released.", "resolution_dates": ["2026-05-17", "2026-06-09"] });
    let set = json!({ "forecast_due_date": "2026-05-10", "question_set": "2026-05-10-llm.json", "questions": [
        question(json!("p5usQPdOgZ"), "manifold", json!({})),
        question(json!("DAAA"), "fred", series),
        question(json!(["p5usQPdOgZ", "DAAA"]), "manifold", json!({ "combination_of": [{}, {}] })),
    ] });
    let parsed = read(&set);
    let ids: Vec<_> = parsed.questions.iter().map(|own| own.id.as_str()).collect();
    assert_eq!(ids, ["p5usQPdOgZ", "DAAA@2026-05-17", "DAAA@2026-06-09"]);
    assert_eq!(crowd(&parsed.questions[0]), [0.275, 0.725]);
    assert_eq!(
        parsed.questions[0].resolves_on.unwrap().to_string(),
        "2026-12-31"
    );
    assert_eq!(
        parsed.questions[1].question,
        "Will the rate have increased by 2026-05-17 as compared to its value on 2026-05-10?"
    );
    let row = |id: &str, date: &str, to: f64, resolved: bool| json!({ "id": id, "source": "x", "direction": null, "resolution_date": date, "resolved_to": to, "resolved": resolved });
    let resolutions = json!({ "forecast_due_date": "2026-05-10", "question_set": "2026-05-10-llm.json", "resolutions": [
        row("DAAA", "2026-05-17", 1.0, true), row("DAAA", "2026-06-09", 0.0, true), row("p5usQPdOgZ", "2026-05-17", 0.31, false) ] });
    let outcomes = outcomes::parse(&resolutions.to_string()).unwrap();
    let found: Vec<_> = outcomes
        .outcomes
        .iter()
        .map(|(ids, outcome)| (ids[0].as_str(), outcome.as_str()))
        .collect();
    assert_eq!(
        found,
        [("DAAA@2026-05-17", "Yes"), ("DAAA@2026-06-09", "No")]
    );
    assert_eq!(outcomes.notes, ["1 not resolved yet"]);
}
