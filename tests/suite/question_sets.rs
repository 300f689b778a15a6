//! Sets of questions: import, durable runs, results, outcomes, updates and files for others (B-09).

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::forecast::{replies, said};
use crate::harness::{Answer, Home, Server, Serving, schema_name};

/// Yes-or-no questions whose deadline has passed, with a crowd's number.
fn questions(count: usize) -> String {
    let mut text = String::from("id,question,resolves,crowd,domain\n");
    for number in 0..count {
        let domain = if number % 2 == 0 { "roads" } else { "rails" };
        writeln!(
            text,
            "q{number},Does bridge {number} open?,2020-01-31,40%,{domain}"
        )
        .unwrap();
    }
    text
}

/// Replies for any outcomes: all equally likely.
fn reply(request: &Value) -> Value {
    let mut reply = replies(request);
    if schema_name(request) == "argument" {
        let schema = &request["response_format"]["json_schema"]["schema"]["properties"];
        let shares = schema["probabilities"]["properties"].as_object().unwrap();
        if !shares.contains_key("yes") {
            let share = 1.0 / f64::from(u32::try_from(shares.len()).unwrap());
            reply["probabilities"] = shares.keys().map(|id| (id.clone(), json!(share))).collect();
            reply["supports"] = json!(shares.keys().next().unwrap());
        }
    }
    reply
}

fn server() -> Server {
    Server::start(|request, _| Answer::Late(Duration::from_millis(5), reply(request).to_string()))
}

fn import(home: &Home, text: &str) -> Value {
    home.write("bridges.csv", text);
    home.run(&["questions", "import", "bridges.csv", "--json"])
        .expect(0, &[])
        .json()
}

/// Six calls for each question.
const RUN: [&str; 8] = [
    "forecast",
    "--set",
    "bridges",
    "--depth",
    "quick",
    "--concurrency",
    "8",
    "--quiet",
];

fn start(home: &Home) -> Child {
    let mut command = home.command(&RUN);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn wait_for_calls(server: &Server, calls: usize) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while server.count() < calls {
        assert!(Instant::now() < deadline, "only {} calls", server.count());
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// B-09, C-08: a set of 200 questions is killed twice and interrupted once; then it is complete, no finished call was repeated, and it is
/// resolved in bulk, scored, compared with the crowd and charted.
#[test]
fn b09_200_questions_survive_kills_and_are_resolved_and_scored() {
    const QUESTIONS: usize = 200;
    let server = server();
    let home = Home::with_model(&server);
    assert_eq!(import(&home, &questions(QUESTIONS))["added"], QUESTIONS);
    let again = import(&home, &questions(QUESTIONS));
    assert_eq!(
        (&again["added"], &again["unchanged"]),
        (&json!(0), &json!(QUESTIONS))
    );
    for calls in [250, 500] {
        let mut child = start(&home);
        wait_for_calls(&server, calls);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut child = start(&home);
    wait_for_calls(&server, 750);
    let stopped = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));

    let all = home
        .run(&[&RUN[..], &["--json"]].concat())
        .expect(0, &[])
        .json();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), QUESTIONS);
    for own in all {
        assert_eq!(own["forecast"]["state"], "complete", "{own}");
        assert_eq!(own["forecast"]["crowd"][0], 0.4);
        assert_eq!(own["forecasts"], 1);
    }
    // At each of the three stops at most eight debates had at most four calls in flight.
    let repeated = server.count() - QUESTIONS * 6;
    assert!(repeated <= 3 * 8 * 4, "{repeated} calls were repeated");
    let before = server.count();
    let again = home.run(&RUN);
    let table = &again.expect(0, &[]).out;
    assert!(
        table.contains("200 of 200 questions") && table.contains("40%"),
        "{table}"
    );
    assert_eq!(server.count(), before, "a complete set makes no calls");
    home.run(&["questions", "due"]).expect(3, &[]);

    let mut outcomes = String::from("question,outcome\n");
    for number in 0..QUESTIONS {
        let outcome = if number % 4 == 0 { "No" } else { "Yes" };
        writeln!(outcomes, "q{number},{outcome}").unwrap();
    }
    home.write("outcomes.csv", &outcomes);
    let resolved = home.run(&["questions", "resolve", "outcomes.csv"]);
    assert!(
        resolved
            .expect(0, &[])
            .out
            .contains("Recorded 200 outcomes"),
        "{}",
        resolved.out
    );
    home.run(&["questions", "due"]).expect(0, &[]);
    let calibration = home.run(&["calibration", "--json", "--html", "calibration.html"]);
    let calibration = calibration.expect(0, &[]).json();
    assert_eq!(calibration["questions"], QUESTIONS);
    let records = calibration["records"].as_array().unwrap();
    let crowd = records
        .iter()
        .find(|record| record["source"] == "crowd")
        .unwrap();
    assert_eq!(crowd["questions"], QUESTIONS);
    assert!(
        crowd["skill"].as_f64().unwrap() > 0.0 && crowd["interval"]["high"].as_f64().unwrap() < 0.0,
        "{crowd}"
    );
    let domains = calibration["groups"].as_array().unwrap().iter();
    let domains = domains.filter(|group| group["by"] == "domain");
    assert_eq!(
        domains
            .map(|group| group["questions"].as_u64().unwrap())
            .sum::<u64>(),
        200
    );
    let page = std::fs::read_to_string(home.path().join("calibration.html")).unwrap();
    for text in [
        "<svg",
        "Value of deliberation",
        "half the sum of the squared errors",
        "domain: rails",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let csv = home
        .run(&["questions", "export", "--set", "bridges"])
        .expect(0, &[])
        .out
        .clone();
    assert_eq!(csv.lines().count(), 1 + 2 * QUESTIONS);
}

/// B-09: one budget for the whole set, which debates that run together never exceed; a higher one continues.
#[test]
fn b09_a_set_stops_at_its_budget_and_continues_with_a_higher_one() {
    let server = server();
    let home = Home::with_model(&server);
    // 500 tokens in, 100 out: $0.0007 a call, $0.0042 a question.
    home.write(
        ".config/roundtable/prices.toml",
        "[prices.lab]\nx = { input = 1.0, output = 2.0 }\n",
    );
    import(&home, &questions(8));
    let with = |cost: &'static str| {
        let run = home.run(&[&RUN[..], &["--max-cost", cost, "--json"]].concat());
        let cost: f64 = run
            .json()
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|own| own["cost_usd"].as_f64())
            .sum();
        (run.code, cost)
    };
    let (code, cost) = with("0.02");
    assert_eq!(code, 5);
    assert!(cost > 0.0 && cost <= 0.02, "{cost}");
    let (code, cost) = with("5");
    assert_eq!(code, 0);
    assert!((cost - 8.0 * 6.0 * 0.0007).abs() < 0.002, "{cost}");
}

/// B-09: numbers and dates are bins in the debate and quantiles in the result; outcomes are recorded as values.
#[test]
fn b09_numbers_and_dates_are_forecast_and_resolved_by_their_value() {
    let server = server();
    let home = Home::with_model(&server);
    import(
        &home,
        "id,question,edges,unit,crowd,resolves\nn,How much?,0|10|20,%,5%:1|50%:10|95%:19,2020-01-31\nd,When?,!2027-01-01|2027-07-01,,,2020-01-31\n",
    );
    let all = home
        .run(&[&RUN[..], &["--json"]].concat())
        .expect(0, &[])
        .json();
    let quantiles = &all[0]["forecast"]["quantiles"];
    assert_eq!(
        quantiles[0],
        json!({ "quantile": 0.05, "value": 0.0, "bound": "below" })
    );
    assert_eq!(
        quantiles[2],
        json!({ "quantile": 0.5, "value": 10.0, "bound": "at" })
    );
    assert_eq!(all[0]["forecast"]["crowd"].as_array().unwrap().len(), 4);
    assert_eq!(
        all[1]["forecast"]["outcomes"][1]["label"],
        "On 2027-07-01 or later"
    );
    home.write("outcomes.csv", "question,outcome\nn,12.5%\nd,2026-12-31\n");
    home.run(&["questions", "resolve", "outcomes.csv"])
        .expect(2, &["row 3", "unknown outcome '2026-12-31'"]);
    home.write("outcomes.csv", "question,outcome\nn,12.5%\nd,2027-03-01\n");
    home.run(&["questions", "resolve", "outcomes.csv"])
        .expect(0, &[]);
    let listed = home
        .run(&["questions", "list", "--set", "bridges", "--json"])
        .json();
    assert_eq!(
        listed[0]["forecast"]["resolution"]["outcome"],
        "10-to-below-20"
    );
    assert_eq!(listed[0]["forecast"]["resolution"]["value"], "12.5");
    // By hand: F rises from 0.25 at 0 over 0.5625 at 12.5 to 0.75 at 20.
    let crps = listed[0]["forecast"]["scores"]["debate"]["crps"].as_f64();
    let squares =
        |width: f64, from: f64, to: f64| width * (from * from + from * to + to * to) / 3.0;
    let expected = squares(12.5, 0.25, 0.5625) + squares(7.5, 0.4375, 0.25);
    assert!((crps.unwrap() - expected).abs() < 1e-6, "{crps:?}");
    let calibration = home.run(&["calibration", "--json"]).json();
    assert_eq!(calibration["records"][0]["crps"]["questions"], 2);
    let listed = home.run(&["questions", "list", "--set", "bridges"]);
    let shown = &listed.expect(0, &[]).out;
    assert!(
        shown.contains("CRPS ") && shown.contains("% of the range over 2"),
        "{shown}"
    );
    // One forecast on the command line, without a set.
    let forecast = home.run(&[
        "forecast",
        "How much?",
        "--bins=-1,0,1",
        "--unit",
        "%",
        "--depth",
        "quick",
        "--quiet",
        "--json",
    ]);
    let forecast = forecast.expect(0, &[]).json();
    assert_eq!(
        forecast["probability_distribution"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    assert_eq!(
        forecast["roundtable"]["quantiles"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    home.run(&["forecast", "How much?", "--bins", "2,1"])
        .expect(2, &["--bins", "must rise"]);
    home.run(&["forecast", "How much?", "--bins", "2,x"])
        .expect(2, &["--bins 'x'"]);
    home.run(&[
        "forecast",
        "Yes?",
        "--outcome",
        "A",
        "--outcome",
        "B",
        "--crowd",
        "NaN",
    ])
    .expect(2, &["--crowd"]);
}

/// B-09: the number itself is recorded on the page and decides the outcome; nonsense is refused there.
#[test]
fn b09_a_number_is_recorded_on_the_page() {
    let server = server();
    let home = Home::with_model(&server);
    let forecast = "forecast Rate? --bins 0,10,20 --unit % --depth quick --quiet".split(' ');
    home.run(&forecast.collect::<Vec<_>>()).expect(0, &[]);
    let id = home.list()[0]["id"].as_str().unwrap().to_owned();
    let serving = Serving::start(&home, &[]);
    let page = serving.get(&format!("/debates/{id}/outcome")).text();
    assert!(page.contains("id=\"outcome-value\""), "{page}");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let send = |body: &str| {
        let path = format!("/debates/{id}/resolution");
        serving.send("POST", &path, &form, body.as_bytes())
    };
    let refused = send("value=much");
    assert_eq!(refused.status, 422);
    assert!(
        refused.text().contains("unknown outcome"),
        "{}",
        refused.text()
    );
    assert_eq!(send("outcome=below-0&value=12.5%25").status, 303);
    let page = serving.get("/calibration").text();
    assert!(page.contains("CRPS of numbers and dates"), "{page}");
    let history = home.run(&["questions", "history", &id, "--json"]).json();
    let resolution = &history["forecasts"][0]["forecast"]["resolution"];
    assert_eq!(resolution["value"], "12.5");
    assert_eq!(resolution["outcome"], "10-to-below-20");
}

/// B-09: a question is forecast again on new evidence, and its history is a line, a chart and a page.
#[test]
fn b09_a_question_is_forecast_again_on_new_evidence() {
    let server = server();
    let home = Home::with_model(&server);
    import(
        &home,
        "id,question,resolves\nq,Does the bridge open?,2099-01-31\n",
    );
    let first = home
        .run(&[&RUN[..], &["--json"]].concat())
        .expect(0, &[])
        .json();
    let id = first[0]["debate_id"].as_str().unwrap();
    home.write("news.md", "The steel has arrived.");
    let args = [
        "forecast",
        "--update",
        id,
        "--context",
        "news.md",
        "--depth",
        "quick",
        "--quiet",
    ];
    home.run(&args).expect(0, &[]);
    let told = server
        .heard()
        .iter()
        .filter(|request| said(request).contains("The steel has arrived."))
        .count();
    assert_eq!(told, 6, "every call of the update has the evidence");
    let request = server.heard().pop().unwrap();
    assert!(
        said(&request).contains("Earlier forecast of this question"),
        "{}",
        said(&request)
    );
    let listed = home
        .run(&["questions", "list", "--set", "bridges", "--json"])
        .json();
    assert_eq!(listed[0]["forecasts"], 2);
    assert_ne!(listed[0]["debate_id"], *id);
    let history = home
        .run(&["questions", "history", id, "--json"])
        .expect(0, &[])
        .json();
    assert_eq!(history["forecasts"].as_array().unwrap().len(), 2);
    let shown = home
        .run(&["questions", "history", id])
        .expect(0, &[])
        .out
        .clone();
    assert!(
        shown.contains("→") && shown.contains("in 2 forecasts"),
        "{shown}"
    );
    home.run(&["questions", "history", id, "--html", "history.html"])
        .expect(0, &[]);
    let page = std::fs::read_to_string(home.path().join("history.html")).unwrap();
    assert!(page.contains("<svg"), "{page}");
    home.run(&["resolve", id, "yes"]).expect(0, &[]);
    home.run(&args).expect(2, &["has an outcome"]);
}

/// B-09: an update keeps what the earlier forecast was asked with: criteria and their weights, roles, the seats of its
/// cast; another cast brings its own roles.
#[test]
fn b09_an_update_keeps_the_request_and_the_seats() {
    let server = server();
    let home = Home::with_model(&server);
    let cast = include_str!("../../crates/engine/casts/forecast.toml");
    let engineer = "[[seats]]\nname = \"engineer\"\ntitle = \"Engineer\"\ntier = \"fast\"\ntemperature = 0.1\n\
                    max_output_tokens = 900\npersona = \"You are the Engineer. You ask what is physically possible.\"\n";
    home.write("builders.toml", &format!("{cast}\n{engineer}"));
    let request = json!({
        "task_id": "bridge",
        "prediction_context": {
            "task": { "raw_query": "Does the bridge open?" },
            "outcomes": [{ "id": "yes", "label": "Yes" }, { "id": "no", "label": "No" }],
        },
        "config": {
            "rounds": 1,
            "roles": ["optimist", "engineer", "judge"],
            "judge_weight": 0.25,
            "scoring_criteria": ["novelty", "logical_strength"],
            "scoring_weights": { "novelty": 3, "logical_strength": 1 },
        },
    });
    home.write("request.json", &request.to_string());
    let asked = ["forecast", "--request", "request.json", "--json"];
    let with = ["--cast", "./builders.toml"];
    let first = home.run(&[&asked[..], &with].concat());
    std::fs::remove_file(home.path().join("builders.toml")).unwrap();
    let first = first.expect(0, &[]).json();
    let id = first["debate_id"].as_str().unwrap();
    let update = ["forecast", "--update", id, "--json"];
    let second = home.run(&update).expect(0, &[]).json();
    let shape = |result: &Value| {
        let arguments = result["debate_log"]["rounds"][0]["arguments"].as_array();
        let arguments = arguments.unwrap().iter();
        let scored = arguments.map(|own| (own["role"].clone(), own["scores"].clone()));
        (
            scored.collect::<Vec<_>>(),
            result["probability_distribution"].clone(),
        )
    };
    assert_eq!(shape(&first), shape(&second));
    let scores = &second["debate_log"]["rounds"][0]["arguments"][1]["scores"];
    assert_eq!(scores["composite"], 0.75 * 0.5 + 0.25 * 0.7, "{scores}");
    let limits: Vec<_> = server
        .heard()
        .iter()
        .filter(|request| said(request).contains("You are the Engineer."))
        .map(|request| request["max_tokens"].clone())
        .collect();
    assert_eq!(limits, [900, 900]);
    let other = [&update[..], &["--cast", "forecast"]].concat();
    let other = home.run(&other).expect(0, &[]).json();
    let roles = shape(&other).0.into_iter().map(|(role, _)| role);
    assert_eq!(
        roles.collect::<Vec<_>>(),
        ["optimist", "pessimist", "contrarian", "historian", "judge"]
    );
}

/// B-09: a set of `ForecastBench` from import to submission and resolution.
#[test]
fn b09_a_forecastbench_set_becomes_a_submission() {
    let server = server();
    let home = Home::with_model(&server);
    let question = |id: &str, source: &str, dates: Value| {
        json!({ "id": id, "source": source, "question": "Will it rise by {resolution_date}?", "freeze_datetime_value": "0.25",
                "market_info_close_datetime": "2020-12-31T00:00:00+00:00", "resolution_dates": dates })
    };
    let set = json!({
        "forecast_due_date": "2020-03-01", "question_set": "2020-03-01-llm.json",
        "questions": [question("m", "manifold", json!("N/A")), question("s", "fred", json!(["2020-03-08", "2020-03-31"]))],
    });
    home.write("bridges.json", &set.to_string());
    home.run(&["questions", "import", "bridges.json"])
        .expect(0, &[]);
    let missing = [
        "questions",
        "export",
        "--set",
        "bridges",
        "--format",
        "forecastbench",
    ];
    home.run(&missing)
        .expect(3, &["3 questions without a forecast"]);
    home.run(&RUN).expect(0, &[]);
    let file = home
        .run(&[&missing[..], &["--organization", "Lab"]].concat())
        .expect(0, &[])
        .json();
    assert_eq!(
        (&file["organization"], &file["question_set"]),
        (&json!("Lab"), &json!("2020-03-01-llm.json"))
    );
    let forecasts = file["forecasts"].as_array().unwrap();
    assert_eq!(forecasts.len(), 3);
    assert_eq!(
        (&forecasts[0]["id"], &forecasts[0]["resolution_date"]),
        (&json!("m"), &Value::Null)
    );
    assert_eq!(
        (&forecasts[2]["id"], &forecasts[2]["resolution_date"]),
        (&json!("s"), &json!("2020-03-31"))
    );
    assert!((0.0..=1.0).contains(&forecasts[0]["forecast"].as_f64().unwrap()));
    let csv = ["questions", "export", "--set", "bridges", "--format", "csv"];
    let csv = home.run(&csv).expect(0, &[]).out.clone();
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[0].starts_with("question_id,question,outcome,probability,crowd"));
    // Yes and no of three questions.
    assert_eq!(rows.len(), 1 + 2 * 3, "{csv}");
    assert!(
        rows[1].starts_with("m,") && rows[1].contains(",Yes,"),
        "{csv}"
    );
    let resolution = |id: &str, date: &str, to: f64| json!({ "id": id, "resolution_date": date, "resolved_to": to, "resolved": true });
    let resolutions = json!({ "resolutions": [
        resolution("m", "2020-03-08", 1.0), resolution("s", "2020-03-08", 0.0), resolution("other", "2020-03-08", 0.0)] });
    home.write("resolutions.json", &resolutions.to_string());
    let resolve = ["questions", "resolve", "resolutions.json"];
    home.run(&resolve)
        .expect(0, &["of questions without a forecast"]);
    assert_eq!(home.run(&["calibration", "--json"]).json()["questions"], 2);
    // Again it changes nothing.
    home.run(&resolve)
        .expect(0, &["2 outcomes recorded before"]);
}

/// B-09: faults of files and of the command line are told, and nothing is imported.
#[test]
fn b09_wrong_files_and_unknown_sets_are_refused() {
    let server = server();
    let home = Home::with_model(&server);
    home.write("bad.csv", "id,question,outcomes\na,,\nb,Who?,A|a\n");
    home.run(&["questions", "import", "bad.csv"]).expect(
        2,
        &[
            "bad.csv",
            "row 2: the question is empty",
            "row 3: the outcome 'a' is given twice",
        ],
    );
    home.run(&["questions", "list"])
        .expect(0, &["no sets of questions"]);
    home.run(&["questions", "list", "--set", "x"])
        .expect(2, &["'x'", "there are none yet"]);
    home.run(&["forecast", "--set", "x"])
        .expect(2, &["no set of questions is called 'x'"]);
    home.run(&["questions", "import", "absent.csv"])
        .expect(2, &["absent.csv"]);
    import(&home, &questions(1));
    home.run(&["forecast", "--set", "y"])
        .expect(2, &["there are bridges"]);
    home.run(&["questions", "remove", "bridges"]).expect(0, &[]);
    home.run(&["questions", "remove", "bridges"])
        .expect(2, &["'bridges'"]);
    let huge = "x".repeat(21_000_000);
    home.write("huge.csv", &format!("question\n{huge}\n"));
    home.run(&["questions", "import", "huge.csv"])
        .expect(2, &["huge.csv"]);
    assert_eq!(server.count(), 0);
}

/// B-09, B-04: on PostgreSQL, workers run the forecasts of a set.
#[test]
fn b09_workers_forecast_a_set() {
    use crate::workers::Worker;
    let server = server();
    let home = Home::on_postgres(&server);
    import(&home, &questions(6));
    let _worker = Worker::start(&home, "worker", &["--concurrency", "3"]);
    let all = home
        .run(&[&RUN[..], &["--on-workers", "--json"]].concat())
        .expect(0, &[])
        .json();
    let states = all
        .as_array()
        .unwrap()
        .iter()
        .map(|own| own["forecast"]["state"].as_str().unwrap());
    assert_eq!(states.collect::<Vec<_>>(), ["complete"; 6]);
    assert_eq!(server.count(), 36);
}
