use super::super::{Cell, Question, Record, Seat};
use super::*;

fn record(rows: &[Vec<u32>]) -> Record {
    let questions = (0..rows.len()).map(|index| {
        let question = Question {
            id: index.to_string(),
            cluster: index.to_string(),
            domain: None,
        };
        (question, 0)
    });
    let seats = (0..rows[0].len()).map(|index| Seat {
        name: index.to_string(),
        family: None,
    });
    let mut record = Record::new(questions.collect(), seats.collect(), 1, false);
    for (question, answers) in rows.iter().enumerate() {
        for (seat, answer) in answers.iter().enumerate() {
            let cell = Cell {
                answer: Some(*answer),
                ..Cell::default()
            };
            record.set(question, 0, seat, cell);
        }
    }
    record
}

#[test]
fn b01_agreement_is_compared_with_accuracy() {
    let rows = agreement(&record(&[
        vec![0, 0, 0],
        vec![1, 1, 1],
        vec![0, 0, 1],
        vec![0, 1, 2],
    ]));
    let found: Vec<(&str, usize, f64)> = rows
        .iter()
        .map(|row| (row.agreement.as_str(), row.questions, row.accuracy))
        .collect();
    assert_eq!(
        found,
        [
            ("1 of 3", 1, 1.0 / 3.0),
            ("2 of 3", 1, 1.0),
            ("3 of 3", 2, 0.5)
        ]
    );
}

#[test]
fn b01_large_panels_are_grouped_by_share() {
    let mut divided = vec![1; 10];
    divided[..6].fill(0);
    let rows = agreement(&record(&[vec![0; 10], divided]));
    let names: Vec<&str> = rows.iter().map(|row| row.agreement.as_str()).collect();
    assert_eq!(names, ["up to 60%", "unanimous"]);
}
