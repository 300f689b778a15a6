//! Line charts: values over rounds. A single line has its values at the points; several have their names at the ends.

use std::fmt::Write;

use roundtable_engine::report::{Line, Scale, Threshold};

use super::{escape, percent, pixels, position, svg_start};
use crate::format::short;
use crate::render::roles::Roles;

const TOP: f64 = 22.0;
const PLOT_HEIGHT: f64 = 120.0;
const BASE: f64 = TOP + PLOT_HEIGHT;
const HEIGHT: f64 = BASE + 24.0;
/// Minimum vertical distance between two labels.
const LABEL_DISTANCE: f64 = 15.0;

pub(super) fn draw(
    title: &str,
    scale: Scale,
    rounds: &[String],
    lines: &[Line],
    thresholds: &[Threshold],
    roles: &Roles,
) -> String {
    let data: Vec<String> = lines.iter().map(|line| summary(line, scale)).collect();
    let mut svg = svg_start(title, &data, "plot", HEIGHT);
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{BASE}\" y2=\"{BASE}\"/>"
    );
    for (_, y, _) in place_thresholds(scale, thresholds) {
        let y = pixels(y);
        let _ = write!(
            svg,
            "<line class=\"threshold\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>"
        );
    }
    for (index, round) in rounds.iter().enumerate() {
        let _ = write!(
            svg,
            "<text class=\"quiet middle\" x=\"{}\" y=\"{}\">{}</text>",
            percent(column(index, rounds.len())),
            pixels(HEIGHT - 6.0),
            escape(&short(round, 12))
        );
    }
    for (index, line) in lines.iter().enumerate() {
        let class = roles.class_or(line.role.as_deref(), index);
        draw_line(&mut svg, line, scale, rounds, &class, lines.len() == 1);
    }
    // The names of several lines leave no room: the legend has those of the thresholds.
    if lines.len() == 1 {
        label_thresholds(&mut svg, scale, thresholds);
    }
    svg.push_str("</svg>");
    if lines.len() > 1 {
        svg.push_str(&line_labels(lines, scale, roles));
    }
    svg
}

/// The drawable thresholds with their heights and the side of their label. If two are close to each other, their labels
/// are on different sides.
fn place_thresholds(scale: Scale, thresholds: &[Threshold]) -> Vec<(&Threshold, f64, Side)> {
    let mut out: Vec<(&Threshold, f64, Side)> = Vec::new();
    for threshold in thresholds {
        let Some(y) = height_of(scale, threshold.value) else {
            continue;
        };
        let is_close = out.last().is_some_and(|(_, last, side)| {
            *side == Side::Left && (last - y).abs() < LABEL_DISTANCE
        });
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

/// Drawn after the lines, so that no line crosses a label.
fn label_thresholds(svg: &mut String, scale: Scale, thresholds: &[Threshold]) {
    for (threshold, y, side) in place_thresholds(scale, thresholds) {
        let (x, class) = match side {
            Side::Left => ("0", "quiet"),
            Side::Right => ("100%", "quiet end"),
        };
        let _ = write!(
            svg,
            "<text class=\"{class}\" x=\"{x}\" y=\"{}\">{}</text>",
            pixels(y - 5.0),
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
                percent(*x1),
                pixels(*y1),
                percent(*x2),
                pixels(*y2)
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
            x = percent(*x),
            y = pixels(*y),
            label = escape(&line.label),
            round = escape(round),
        );
        if with_values {
            let _ = write!(
                svg,
                "<text class=\"value middle {class}\" x=\"{}\" y=\"{}\">{written}</text>",
                percent(*x),
                pixels(if *y > BASE - 26.0 { y - 10.0 } else { y + 18.0 }),
            );
        }
    }
}

/// The names of the lines at the height of their last values, without overlaps.
fn line_labels(lines: &[Line], scale: Scale, roles: &Roles) -> String {
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
        free_from = *y + LABEL_DISTANCE;
    }
    // Labels pushed below the plot move up again, and push those above them.
    let mut free_to = BASE;
    for (y, _, _) in labels.iter_mut().rev() {
        *y = y.min(free_to);
        free_to = *y - LABEL_DISTANCE;
    }
    let longest = labels.iter().map(|(_, _, text)| text.chars().count());
    let width = longest.max().unwrap_or(0) * 7 + 10;
    let mut svg = format!(
        "<svg class=\"line-labels\" aria-hidden=\"true\" width=\"{width}\" height=\"{}\">",
        pixels(HEIGHT)
    );
    for (y, class, text) in &labels {
        let _ = write!(
            svg,
            "<text class=\"value {class}\" x=\"8\" y=\"{}\">{}</text>",
            pixels(y + 4.0),
            escape(text)
        );
    }
    svg.push_str("</svg>");
    svg
}

fn summary(line: &Line, scale: Scale) -> String {
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
    Some(TOP + (1.0 - position(scale, value)?) * PLOT_HEIGHT)
}
