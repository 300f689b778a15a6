//! Values over rounds. One line carries its values at its points; several carry their names at their ends.

use std::fmt::Write;

use roundtable_engine::report::{Line, Scale, Threshold};

use super::{across, down, escape, opening, share};
use crate::format::short;
use crate::render::roles::Roles;

const TOP: f64 = 22.0;
const FIELD: f64 = 120.0;
const BASE: f64 = TOP + FIELD;
const HEIGHT: f64 = BASE + 24.0;
/// Names at the ends stand at least this far from each other.
const APART: f64 = 15.0;

pub(super) fn draw(
    title: &str,
    scale: Scale,
    rounds: &[String],
    lines: &[Line],
    thresholds: &[Threshold],
    roles: &Roles,
) -> String {
    let said: Vec<String> = lines.iter().map(|line| spoken(line, scale)).collect();
    let mut svg = opening(title, &said, "plot", HEIGHT);
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{BASE}\" y2=\"{BASE}\"/>"
    );
    for (_, y, _) in placed(scale, thresholds) {
        let y = down(y);
        let _ = write!(
            svg,
            "<line class=\"threshold\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>"
        );
    }
    for (index, round) in rounds.iter().enumerate() {
        let _ = write!(
            svg,
            "<text class=\"quiet middle\" x=\"{}\" y=\"{}\">{}</text>",
            across(column(index, rounds.len())),
            down(HEIGHT - 6.0),
            escape(&short(round, 12))
        );
    }
    for (index, line) in lines.iter().enumerate() {
        let class = roles.class_or(line.role.as_deref(), index);
        draw_line(&mut svg, line, scale, rounds, &class, lines.len() == 1);
    }
    name_thresholds(&mut svg, scale, thresholds);
    svg.push_str("</svg>");
    if lines.len() > 1 {
        svg.push_str(&ends(lines, scale, roles));
    }
    svg
}

/// The thresholds that can be drawn, their heights, and at which side their names stand: two that lie close to each other
/// are written on two sides.
fn placed(scale: Scale, thresholds: &[Threshold]) -> Vec<(&Threshold, f64, Side)> {
    let mut out: Vec<(&Threshold, f64, Side)> = Vec::new();
    for threshold in thresholds {
        let Some(y) = height_of(scale, threshold.value) else {
            continue;
        };
        let is_close = out
            .last()
            .is_some_and(|(_, last, side)| *side == Side::Left && (last - y).abs() < APART);
        let side = if is_close { Side::Right } else { Side::Left };
        out.push((threshold, y, side));
    }
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Over the lines, so that no line runs through a word.
fn name_thresholds(svg: &mut String, scale: Scale, thresholds: &[Threshold]) {
    for (threshold, y, side) in placed(scale, thresholds) {
        let (x, class) = match side {
            Side::Left => ("0", "quiet"),
            Side::Right => ("100%", "quiet end"),
        };
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{x}\" y=\"{}\">{}</text>",
            down(y - 5.0),
            escape(&threshold.label),
        );
    }
}

fn draw_line(
    svg: &mut String,
    line: &Line,
    scale: Scale,
    rounds: &[String],
    class: &str,
    with_values: bool,
) {
    let points: Vec<Option<(f64, f64, f64)>> = (0..rounds.len())
        .map(|index| {
            let value = line.values.get(index).copied().flatten()?;
            Some((column(index, rounds.len()), height_of(scale, value)?, value))
        })
        .collect();
    for pair in points.windows(2) {
        if let [Some((x1, y1, _)), Some((x2, y2, _))] = pair {
            let _ = write!(
                svg,
                "<line class=\"line {class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                across(*x1),
                down(*y1),
                across(*x2),
                down(*y2)
            );
        }
    }
    for (point, round) in points.iter().zip(rounds) {
        let Some((x, y, value)) = point else {
            continue;
        };
        let written = escape(&scale.unit.write(*value));
        let _ = write!(
            svg,
            "<circle class=\"point {class}\" cx=\"{x}\" cy=\"{y}\" r=\"4\"><title>{label}, {round}: {written}</title></circle>",
            x = across(*x),
            y = down(*y),
            label = escape(&line.label),
            round = escape(round),
        );
        if with_values {
            let _ = write!(
                svg,
                "<text class=\"value middle {class}\" x=\"{}\" y=\"{}\">{written}</text>",
                across(*x),
                down(if *y > BASE - 26.0 { y - 10.0 } else { y + 18.0 }),
            );
        }
    }
}

/// The names of the lines at the height of their last values, none over another.
fn ends(lines: &[Line], scale: Scale, roles: &Roles) -> String {
    let mut labels: Vec<(f64, String, String)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| {
            let last = line.values.iter().rev().find_map(|value| *value)?;
            let text = format!("{} {}", short(&line.label, 18), scale.unit.write(last));
            let class = roles.class_or(line.role.as_deref(), index);
            Some((height_of(scale, last)?, class, text))
        })
        .collect();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free_from = 0.0_f64;
    for (y, _, _) in &mut labels {
        *y = y.max(free_from);
        free_from = *y + APART;
    }
    // What was pushed below the field moves up again, and pushes what is above it.
    let mut free_to = BASE;
    for (y, _, _) in labels.iter_mut().rev() {
        *y = y.min(free_to);
        free_to = *y - APART;
    }
    let longest = labels.iter().map(|(_, _, text)| text.chars().count());
    let width = longest.max().unwrap_or(0) * 7 + 10;
    let mut svg = format!(
        "<svg class=\"ends\" aria-hidden=\"true\" width=\"{width}\" height=\"{}\">",
        down(HEIGHT)
    );
    for (y, class, text) in &labels {
        let _ = write!(
            svg,
            "<text class=\"value {class}\" x=\"8\" y=\"{}\">{}</text>",
            down(y + 4.0),
            escape(text)
        );
    }
    svg.push_str("</svg>");
    svg
}

fn spoken(line: &Line, scale: Scale) -> String {
    let values: Vec<String> = line
        .values
        .iter()
        .map(|value| value.map_or_else(|| "none".into(), |value| scale.unit.write(value)))
        .collect();
    format!("{} {}", line.label, values.join(" then "))
}

#[expect(clippy::cast_precision_loss, reason = "rounds of one debate")]
fn column(index: usize, count: usize) -> f64 {
    match count {
        0 | 1 => 0.5,
        _ => 0.06 + 0.88 * index as f64 / (count - 1) as f64,
    }
}

fn height_of(scale: Scale, value: f64) -> Option<f64> {
    Some(TOP + (1.0 - share(scale, value)?) * FIELD)
}
