use roundtable_engine::report::Report;

use super::*;
use crate::render::test_support;

fn draw(report: &Report, options: RenderOptions) -> String {
    let roles = Roles::of(&test_support::transcript(&test_support::running()));
    let mut lines = Vec::new();
    for part in &report.sections {
        lines.push(format!("# {}", part.title));
        lines.extend(section(part, &roles, options));
    }
    anstream::adapter::strip_str(&lines.join("\n")).to_string()
}

/// E-11: bars, tables and dots are drawn with plain characters on a terminal.
#[test]
fn c14_a_report_is_drawn_on_a_terminal() {
    let options = RenderOptions { width: Some(80) };
    let text = draw(&test_support::report(), options);
    assert!(text.lines().all(|line| line.width() <= 84), "{text}");
    insta::assert_snapshot!(text);
}

/// Charts are tables of numbers in a pipe.
#[test]
fn c14_a_report_is_plain_in_a_pipe() {
    let options = RenderOptions { width: None };
    let text = draw(&test_support::report(), options);
    assert!(!text.contains(['█', '░', '┃', '·']), "{text}");
    insta::assert_snapshot!(text);
}

/// C-12: odd numbers and control characters break neither the table nor the terminal.
#[test]
fn c12_no_control_character_of_a_report_reaches_the_terminal() {
    let mut table = Table::new("a\u{1b}[2J", &["x", "y"]);
    table = table.row(vec![Cell::new("\u{1b}]0;owned\u{7}")]);
    let dots = Chart::Dots {
        title: "t".into(),
        scale: Scale {
            from: 0.0,
            to: 0.0,
            unit: roundtable_engine::report::Unit::Percent,
        },
        rows: vec![DotRow {
            label: "r\u{1b}".into(),
            line: Some(f64::NAN),
            dots: Vec::new(),
            remark: None,
        }],
    };
    let report = Report {
        sections: vec![Section::main(
            "T",
            vec![Block::Table(table), Block::Chart(dots)],
        )],
        ..Report::default()
    };
    let roles = Roles::of(&test_support::transcript(&test_support::running()));
    let options = RenderOptions { width: Some(40) };
    for line in section(&report.sections[0], &roles, options) {
        let bare = anstream::adapter::strip_str(&line).to_string();
        assert!(!bare.contains(['\u{1b}', '\u{7}']) && !bare.contains("owned\u{7}"));
        assert!(!line.contains("\u{1b}]") && !line.contains("\u{1b}[2J"));
    }
}

/// E-11: a table never exceeds the terminal's width, however long its texts; long words are broken, numbers never.
#[test]
fn e11_a_table_with_long_texts_fits_the_terminal() {
    let long = "The sentinel's own handbook of operations, chapter 1 https://example.org/handbook";
    let rows = [
        ["E1", long, "C7, C9, C11, C13, C15, C17, C19", "12345678"],
        ["E2", "x".repeat(90).as_str(), "", "1"],
    ]
    .map(|row| row.map(Cell::new).to_vec());
    let table = Table::new("t", &["id", "reference", "supports", "#tokens"]);
    let table = rows.into_iter().fold(table, Table::row);
    for width in [40, 80, 100] {
        let options = RenderOptions { width: Some(width) };
        let lines: Vec<String> = super::table(&table, options)
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect();
        assert!(
            lines.iter().all(|line| line.width() <= width),
            "{}",
            lines.join("\n")
        );
        assert!(lines.iter().all(|line| !line.trim().is_empty()));
        let all = lines.concat();
        assert_eq!(all.matches('x').count(), 90 + 1);
        assert!(all.contains("12345678"), "{all}");
        if width == 80 {
            insta::assert_snapshot!("table_at_80", lines.join("\n"));
        }
    }
}
