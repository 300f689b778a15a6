use roundtable_engine::report::{Dot, DotRow, Line, Unit};

use super::*;
use crate::render::test_support;

fn roles() -> Roles {
    Roles::named(&["proposer", "skeptic", "synthesizer", "judge"])
}

/// C-14: titles, direct labels, thresholds, one colour per role, and the data as a table.
#[test]
fn c14_lines_are_labelled_and_have_thresholds() {
    insta::assert_snapshot!(figure(&test_support::convergence(), &roles()).as_str());
}

/// C-14: the names of several lines leave no room for those of thresholds: they are in the legend.
#[test]
fn c14_thresholds_of_several_lines_are_in_the_legend() {
    let drawn = figure(&test_support::convergence(), &roles());
    let (drawing, legend) = drawn.as_str().split_once("<ul class=\"legend\">").unwrap();
    let Chart::Lines { thresholds, .. } = test_support::convergence() else {
        panic!("lines");
    };
    for threshold in thresholds {
        let name = escape(&threshold.label);
        assert!(
            legend.contains(&*name) && !drawing.contains(&*name),
            "{name}"
        );
    }
}

#[test]
fn c14_dots_show_each_role_and_the_spread() {
    insta::assert_snapshot!(figure(&test_support::scores(), &roles()).as_str());
}

#[test]
fn c14_bars_are_labelled_with_values() {
    insta::assert_snapshot!(figure(&test_support::bars(), &roles()).as_str());
}

/// Equal values are drawn in different lanes.
#[test]
fn c14_dots_do_not_overlap() {
    let drawn = figure(&test_support::forecast(), &roles());
    let mut positions: Vec<&str> = drawn
        .as_str()
        .split("<circle class=\"dot ")
        .skip(1)
        .filter_map(|rest| rest.split_once(' ')?.1.split(" r=").next())
        .collect();
    assert_eq!(positions.len(), 15);
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(positions.len(), 15);
}

/// Values come from models: out-of-range and non-finite numbers stay within the chart.
#[test]
fn c12_invalid_values_produce_valid_attributes() {
    let wild = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5.0, 1e300, 0.5];
    let scales = [
        Scale {
            from: 0.0,
            to: 1.0,
            unit: Unit::Percent,
        },
        Scale {
            from: 1.0,
            to: 1.0,
            unit: Unit::Decimals(1),
        },
        Scale {
            from: f64::NAN,
            to: 0.0,
            unit: Unit::Decimals(0),
        },
    ];
    for scale in scales {
        let dots = Chart::Dots {
            title: "<wild>".into(),
            scale,
            rows: vec![DotRow {
                label: "\"quoted\" & <b>".into(),
                line: Some(f64::NAN),
                dots: wild
                    .iter()
                    .map(|value| Dot {
                        role: "x".into(),
                        value: *value,
                    })
                    .collect(),
                remark: None,
            }],
        };
        let lines = Chart::Lines {
            title: "wild".into(),
            scale,
            rounds: vec!["R1".into()],
            lines: vec![
                Line {
                    label: "a".into(),
                    role: None,
                    values: wild.iter().copied().map(Some).collect(),
                },
                Line {
                    label: "b".into(),
                    role: None,
                    values: Vec::new(),
                },
            ],
            thresholds: Vec::new(),
        };
        for chart in [dots, lines] {
            let drawn = figure(&chart, &roles()).to_string();
            let svg = drawn.split("<details").next().unwrap_or_default();
            for attribute in [
                "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height",
            ] {
                for part in svg.split(&format!(" {attribute}=\"")).skip(1) {
                    let value = part.split('"').next().unwrap_or_default();
                    let number: f64 = value.trim_end_matches('%').parse().unwrap_or(f64::NAN);
                    assert!((0.0..=2000.0).contains(&number), "{attribute}={value}");
                }
            }
            assert!(!svg.contains("<b>") && !svg.contains("<wild>"));
        }
    }
}
