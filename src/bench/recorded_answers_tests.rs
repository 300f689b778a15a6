use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use roundtable_core::bench::{Measure, Ties, figures};

use super::*;

const HEADER: &str = "question,agent,round,answer,probability,tokens,correct,cluster";

fn layout(columns: &[&str]) -> Layout {
    Layout {
        columns: columns.iter().map(|text| (*text).to_owned()).collect(),
        ..Layout::default()
    }
}

fn failure(text: &str, layout: &Layout) -> String {
    parse(text, layout).unwrap_err().message().to_owned()
}

fn accuracy(record: &Record, arm: &str) -> f64 {
    let rows = figures(
        &record.questions,
        &record.arms(Ties::Shared),
        Measure::Accuracy,
    );
    rows.iter().find(|row| row.arm == arm).unwrap().accuracy
}

#[test]
fn b01_rows_become_answers() {
    let rows =
        "q1,a,1,B,0.9,10,b,x\nq1,b,1,(B),0.8,20,B,x\nq1,a,2,C,,5,B,x\nq2,a,1,\"1,200\",,,1200.0,x";
    let record = parse(&format!("{HEADER}\n{rows}\n"), &Layout::default()).unwrap();
    assert_eq!((record.questions.len(), record.rounds), (2, 2));
    assert_eq!(record.questions[1].cluster, "x");
    let seats: Vec<&str> = record.seats.iter().map(|seat| seat.name.as_str()).collect();
    assert_eq!(seats, ["a", "b"]);
    let first = record.row(0, 0);
    assert_eq!(first[0].unwrap().answer, Some(record.truth(0)));
    assert_eq!(first[1].unwrap().answer, Some(record.truth(0)));
    assert_eq!(first[1].unwrap().spent.tokens, Some(20.0));
    assert_eq!(record.row(1, 0)[0].unwrap().answer, Some(record.truth(1)));
    assert_eq!(record.row(1, 0)[1], None);
    assert!(!record.is_forecast());
}

#[test]
fn b01_one_column_may_hold_each_seat_and_each_round() {
    let wide = "id,key,field,m1,m2\n1,A,law,A,B\n2,B,art,B,\n";
    let with_seats = Layout {
        is_wide: true,
        filters: vec!["field=*a*".into()],
        ..layout(&["question=id", "correct=key", "ignore=field"])
    };
    let record = parse(wide, &with_seats).unwrap();
    assert_eq!((record.seats.len(), record.questions.len()), (2, 2));
    assert_eq!(record.row(1, 0)[1].unwrap().answer, None);
    let by_round = "q,who,p1,p2,y\n1,a,0.5,0.75,yes\n1,b,0.25,1,yes\n";
    let columns = ["question=q", "agent=who", "probability=p1,p2", "correct=y"];
    let record = parse(by_round, &layout(&columns)).unwrap();
    assert!(record.is_forecast());
    assert_eq!(record.rounds, 2);
    assert_eq!(record.row(0, 1)[1].unwrap().probability, Some(1.0));
    let joined = "a,b,m,answer,correct\n1,x,s,A,A\n1,y,s,A,A\n";
    let record = parse(joined, &layout(&["question=a+b", "agent=m"])).unwrap();
    assert_eq!(record.questions[1].id, "1/y");
}

#[test]
fn b01_json_lines_and_compressed_files_are_read() {
    let lines = "{\"question\": 1, \"agent\": \"a\", \"answer\": 3, \"correct\": 3.0}\n\n\
                 {\"question\": 2, \"agent\": \"a\", \"answer\": null, \"correct\": \"x\"}\n";
    let record = parse(lines, &Layout::default()).unwrap();
    assert!((accuracy(&record, "one seat") - 0.5).abs() < 1e-12);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(lines.as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    assert_eq!(text_of(bytes.clone(), "x.gz").unwrap(), lines);
    let cut = text_of(bytes[..20].to_vec(), "x.gz").unwrap_err();
    assert!(cut.message().starts_with("cannot decompress x.gz"));
    let broken = failure("{\"question\": 1}\n{oops\n", &Layout::default());
    assert!(
        broken.starts_with("line 2 is not a JSON object"),
        "{broken}"
    );
}

#[test]
fn b01_everything_wrong_with_a_record_is_reported_at_once() {
    let rows = "q1,a,1,B,0.9,10,B,\nq1,b,1,B,1.5,10,B,\nq1,c,0,B,,,B,\nq1,d,1,B,,,C,\nq1,a,1,C,,,B,\n,e,1,B,,,B,\nq2,f,1,B,,x,,\nq3,g,1,B,,x,B,";
    let found = failure(&format!("{HEADER}\n{rows}\n"), &Layout::default());
    let expected = [
        "row 3: column probability: '1.5' is not a number from 0 to 1",
        "row 4: column round: '0' is not a whole number from 1 to 100",
        "row 5: column correct: question q1 has another right answer above",
        "row 7: column question: it is empty",
        "row 8: column correct: it is empty",
        "row 9: column tokens: 'x' is not a number of at least 0",
        "row 6: a answered question q1 twice in round 1",
    ];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    let many = (0..30).map(|_| ",a,1,B,,,B,\n").collect::<String>();
    let found = failure(&format!("{HEADER}\n{many}"), &Layout::default());
    assert!(found.ends_with("and 10 more"), "{found}");
}

#[test]
fn b01_a_file_that_is_no_record_is_an_error() {
    let empty = failure(&format!("{HEADER}\n"), &Layout::default());
    assert_eq!(empty, "the file has no answers to read");
    let columns = failure("question,model\n1,a\n", &Layout::default());
    assert_eq!(
        columns,
        "there is no column agent, correct, answer or probability. The file has: question, model. Name columns with --column, such as --column question=id"
    );
    let options = Layout {
        filters: vec!["subset=x".into(), "y".into()],
        ..layout(&["seat=model", "agent=nobody"])
    };
    let found = failure("question,agent,answer,correct\n", &options);
    assert!(
        found.contains("invalid --column 'seat=model': expected NAME=COLUMN"),
        "{found}"
    );
    assert!(
        found.contains("there is no column 'nobody'; columns: question, agent, answer, correct")
    );
    let found = failure(
        "question,agent,answer,correct\n",
        &Layout {
            filters: vec!["subset=x".into(), "y".into()],
            ..Layout::default()
        },
    );
    assert_eq!(found.lines().count(), 2, "{found}");
    let not_binary = failure(
        "question,agent,probability,correct\n1,a,0.5,B\n",
        &Layout::default(),
    );
    assert!(
        not_binary.starts_with("row 2: column correct: 'B' is not 0 or 1"),
        "{not_binary}"
    );
}
