use super::*;

fn cells(row: &[Cell]) -> Vec<&str> {
    row.iter().map(|cell| cell.text.as_str()).collect()
}

/// C-14: the table of a chart has the same figures, gaps included.
#[test]
fn c14_a_chart_of_dots_is_also_a_table() {
    let dot = |role: &str, value| Dot {
        role: role.into(),
        value,
    };
    let chart = Chart::Dots {
        title: "Forecast".into(),
        scale: Scale {
            from: 0.0,
            to: 1.0,
            unit: Unit::Percent,
        },
        rows: vec![
            DotRow {
                label: "Above 3%".into(),
                line: Some(0.46),
                dots: vec![dot("optimist", 0.62), dot("judge", 0.47)],
                remark: None,
            },
            DotRow {
                label: "Below 2%".into(),
                line: None,
                dots: vec![dot("judge", 0.14)],
                remark: Some(Cell::new("36 apart").toned(Tone::Critical)),
            },
        ],
    };
    let table = chart.table();
    let names: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names, ["", "result", "optimist", "judge", ""]);
    assert_eq!(cells(&table.rows[0]), ["Above 3%", "46%", "62%", "47%", ""]);
    assert_eq!(
        cells(&table.rows[1]),
        ["Below 2%", "–", "–", "14%", "36 apart"]
    );
}

#[test]
fn c14_a_chart_of_lines_is_also_a_table() {
    let chart = Chart::Lines {
        title: "Quality".into(),
        scale: Scale {
            from: 0.0,
            to: 10.0,
            unit: Unit::Decimals(1),
        },
        rounds: vec!["R1".into(), "R2".into()],
        lines: vec![Line {
            label: "score".into(),
            role: None,
            values: vec![Some(5.0), None],
        }],
        thresholds: vec![Threshold {
            label: "ready".into(),
            value: 8.0,
        }],
    };
    let table = chart.table();
    assert_eq!(table.columns[1].align, Align::Number);
    assert_eq!(cells(&table.rows[0]), ["R1", "5.0"]);
    assert_eq!(cells(&table.rows[1]), ["R2", "–"]);
}
