use anstream::adapter::strip_str;

use super::*;
use crate::render::test_support::verdict;

fn drawn(seats: Vec<ActiveSeat<'_>>, width: usize) -> Vec<String> {
    let verdict = verdict();
    let roles = Roles::named(&["proposer", "skeptic"]);
    let view = LiveView {
        question: "REST or GraphQL for the dashboard?",
        verdict: Some(&verdict),
        seats,
        roles: &roles,
        input: None,
    };
    let lines = lines(&view, width).into_iter();
    lines.map(|line| strip_str(&line).to_string()).collect()
}

fn active<'a>(seat: &'a str, tail: &'a str, retry: Option<&'a str>) -> ActiveSeat<'a> {
    ActiveSeat { seat, tail, retry }
}

#[test]
fn the_block_has_the_draft_and_who_is_at_work() {
    let long = "Caching holds for four of eleven screens only, and nobody has measured the other seven of them so far.";
    let seats = vec![
        active("proposer", "", None),
        active("skeptic", long, None),
        active("proposer", "", Some("cannot reach the server")),
    ];
    insta::assert_snapshot!(drawn(seats, 79).join("\n"));
}

/// A line that is too long would be broken by the terminal, and could not be redrawn.
#[test]
fn no_line_is_wider_than_the_terminal_and_many_seats_are_counted() {
    let long = "wörter ohne ende ".repeat(40);
    for width in [40, 79] {
        let seats = (0..12).map(|_| active("skeptic", &long, None)).collect();
        let lines = drawn(seats, width);
        let widest = lines.iter().map(|line| line.width()).max();
        assert!(widest <= Some(width), "{widest:?}: {}", lines.join("\n"));
        assert!(lines.last().unwrap().contains("and 4 more"));
        assert!(lines.len() <= 15, "{}", lines.len());
    }
}
