use roundtable_engine::report::{Block, Cell, Mark, Section, Threshold, Tone};

use super::super::blocks;
use super::*;

fn round() -> Section {
    let gauge =
        |label: &str, value, threshold: (&str, f64), previous, trend: &str, status: &str, mark| {
            Gauge {
                label: label.into(),
                value,
                threshold: Some(Threshold {
                    label: threshold.0.into(),
                    value: threshold.1,
                }),
                previous,
                trend: (!trend.is_empty()).then(|| trend.to_owned()),
                status: status.into(),
                mark,
            }
        };
    let card = |role: &str, evidence: &[(&str, &str)], remark: Option<&str>| {
        Card {
        role: role.into(),
        position: "A monolith in modules, with boundaries that could become services when the team grows beyond what one \
                   repository can hold."
            .into(),
        evidence: evidence
            .iter()
            .map(|(kind, source)| ((*kind).to_owned(), (*source).to_owned()))
            .collect(),
        confidence: Cell::new("MEDIUM-HIGH (0.82)"),
        remarks: remark
            .map(|text| Cell::new(text).toned(Tone::Caution))
            .into_iter()
            .collect(),
    }
    };
    Section::main(
        "Round 3",
        vec![
            Block::Cards {
                cards: vec![
                    card(
                        "sentinel",
                        &[
                            ("DOCUMENTED", "Domain-Driven Design (Evans, 2003)"),
                            (
                                "PRECEDENT",
                                "A shop whose monolith serves a million requests a minute and was split only where it had to be",
                            ),
                        ],
                        None,
                    ),
                    card(
                        "builder",
                        &[("LOGICAL", "Small teams gain from simple things.\u{1b}[31m")],
                        Some("too confident for its evidence: 0.82 stated, 0.40 to 0.54 supported"),
                    ),
                ],
            },
            Block::Gauges {
                gauges: vec![
                    gauge(
                        "Semantic similarity",
                        Some(0.84),
                        ("consensus", 0.80),
                        Some(0.67),
                        "rising",
                        "consensus, strong agreement",
                        Mark::Reached,
                    ),
                    gauge(
                        "Position shift (R2→R3)",
                        Some(0.12),
                        ("no progress below", 0.05),
                        Some(0.38),
                        "slowing",
                        "refinement",
                        Mark::OnTheWay,
                    ),
                    gauge(
                        "Evidence convergence",
                        None,
                        ("strong agreement", 0.60),
                        None,
                        "",
                        "not measured",
                        Mark::Short,
                    ),
                ],
            },
            Block::Note {
                text: "Status: CONSENSUS REACHED".into(),
                tone: Tone::Good,
            },
        ],
    )
}

fn draw(width: Option<usize>) -> String {
    let options = RenderOptions { width };
    let lines = blocks::section(&round(), &Roles::default(), options);
    anstream::adapter::strip_str(&lines.join("\n")).to_string()
}

/// E-11: a round at 80 and 120 columns, and plain without a terminal.
#[test]
fn e11_a_round_is_drawn_at_80_and_120_columns_and_plainly() {
    for width in [80, 120] {
        let text = draw(Some(width));
        assert!(text.lines().all(|line| line.width() <= width), "{text}");
        assert!(!text.contains('\u{1b}'));
        insta::assert_snapshot!(format!("round_at_{width}"), text);
    }
    let plain = draw(None);
    assert!(!plain.contains('█') && !plain.contains('░'), "{plain}");
    insta::assert_snapshot!("round_plain", plain);
}

#[test]
fn a_bar_is_rounded_down() {
    let bars = [
        (0.0, 0),
        (0.79, 7),
        (0.80, 8),
        (0.999, 9),
        (1.0, 10),
        (7.0, 10),
        (-1.0, 0),
    ];
    for (value, expected) in bars {
        assert_eq!(filled(value, 10), expected, "{value}");
    }
}
