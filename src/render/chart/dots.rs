//! Dot charts: one row per item, a dot for each role's value and a line for the result.

use std::fmt::Write;

use roundtable_engine::report::{DotRow, Scale, Tone, Unit};

use super::{escape, percent, pixels, position, row_label, svg_start};
use crate::render::blocks::tone_class;
use crate::render::roles::Roles;

/// Dots closer than this fraction of the width are drawn in different lanes.
const MIN_DISTANCE: f64 = 0.03;
const LANE_HEIGHT: f64 = 10.0;
const LANES: usize = 5;
const LABEL_HEIGHT: f64 = 24.0;
const ROW_GAP: f64 = 16.0;
const TICKS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

pub(super) fn draw(title: &str, scale: Scale, rows: &[DotRow], roles: &Roles) -> String {
    let placed: Vec<Vec<(f64, usize)>> = rows.iter().map(|row| lanes(row, scale)).collect();
    let bottom: f64 = placed.iter().map(|dots| row_height(dots)).sum();
    let data: Vec<String> = rows.iter().map(|row| summary(row, scale)).collect();
    let mut svg = svg_start(title, &data, "plot", bottom + 20.0);
    for tick in TICKS {
        let anchor = match tick {
            0.0 => "",
            1.0 => " end",
            _ => " middle",
        };
        let value = scale.from + (scale.to - scale.from) * tick;
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"{bottom}\"/>\
             <text class=\"quiet{anchor}\" x=\"{x}\" y=\"{label}\">{written}</text>",
            x = percent(tick),
            bottom = pixels(bottom),
            label = pixels(bottom + 15.0),
            written = escape(&scale.unit.write(value)),
        );
    }
    let mut top = 0.0;
    for (row, dots) in rows.iter().zip(&placed) {
        draw_row(&mut svg, row, dots, scale, top, roles);
        top += row_height(dots);
    }
    svg.push_str("</svg>");
    svg
}

fn draw_row(
    svg: &mut String,
    row: &DotRow,
    dots: &[(f64, usize)],
    scale: Scale,
    top: f64,
    roles: &Roles,
) {
    let half = lanes_height(dots) / 2.0;
    let middle = top + LABEL_HEIGHT + half;
    let _ = write!(
        svg,
        "<g><title>{}</title><text class=\"name\" x=\"0\" y=\"{}\">{}</text>",
        escape(&summary(row, scale)),
        pixels(top + 14.0),
        row_label(&row.label)
    );
    draw_result(svg, row, scale, top);
    let line = row.line.and_then(|line| position(scale, line));
    match (scale.unit, line) {
        // A probability is an amount and is drawn as a bar.
        (Unit::Percent, Some(line)) => drop(write!(
            svg,
            "<rect class=\"share\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>",
            pixels(middle - half - 1.0),
            percent(line),
            pixels(half * 2.0 + 2.0)
        )),
        // A score is a position; the line shows how far the judges are apart.
        (Unit::Percent | Unit::Decimals(_), _) => draw_spread(svg, row, dots, middle),
    }
    for ((x, lane), dot) in dots.iter().zip(&row.dots) {
        let _ = write!(
            svg,
            "<circle class=\"dot {class}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"><title>{role}: {value}</title></circle>",
            class = roles.class(&dot.role),
            x = percent(*x),
            y = pixels(middle + offset(*lane)),
            role = escape(&roles.title(&dot.role)),
            value = escape(&scale.unit.write(dot.value)),
        );
    }
    if let Some(line) = line {
        let _ = write!(
            svg,
            "<line class=\"result\" x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{}\"/>",
            pixels(middle - half - 4.0),
            pixels(middle + half + 4.0),
            x = percent(line)
        );
    }
    svg.push_str("</g>");
}

/// The result and the remark, right-aligned above the row.
fn draw_result(svg: &mut String, row: &DotRow, scale: Scale, top: f64) {
    let _ = write!(
        svg,
        "<text class=\"end\" x=\"100%\" y=\"{}\">",
        pixels(top + 14.0)
    );
    if let Some(remark) = row.remark.as_ref().filter(|remark| !remark.text.is_empty()) {
        let _ = write!(
            svg,
            "<tspan class=\"remark {}\">{}</tspan>",
            tone_class(remark.tone),
            escape(&remark.text)
        );
    }
    if let Some(line) = row.line {
        let _ = write!(
            svg,
            "<tspan class=\"value\" dx=\"10\">{}</tspan>",
            escape(&scale.unit.write(line))
        );
    }
    svg.push_str("</text>");
}

fn draw_spread(svg: &mut String, row: &DotRow, dots: &[(f64, usize)], middle: f64) {
    let positions = || dots.iter().map(|(x, _)| *x);
    let (low, high) = (
        positions().fold(f64::INFINITY, f64::min),
        positions().fold(0.0, f64::max),
    );
    if low < high {
        let is_critical = row
            .remark
            .as_ref()
            .is_some_and(|remark| remark.tone == Tone::Critical);
        let class = if is_critical {
            "spread apart"
        } else {
            "spread"
        };
        let _ = write!(
            svg,
            "<line class=\"{class}\" x1=\"{}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\"/>",
            percent(low),
            percent(high),
            y = pixels(middle)
        );
    }
}

/// Position and lane of each dot, so that equal values do not overlap.
fn lanes(row: &DotRow, scale: Scale) -> Vec<(f64, usize)> {
    let mut placed: Vec<(f64, usize)> = Vec::new();
    for dot in &row.dots {
        let x = position(scale, dot.value).unwrap_or(0.0);
        let is_free = |lane: &usize| {
            placed
                .iter()
                .all(|(other, used)| used != lane || (other - x).abs() >= MIN_DISTANCE)
        };
        let lane = (0..LANES).find(is_free).unwrap_or(0);
        placed.push((x, lane));
    }
    placed
}

/// Lanes alternate around the middle: 0, −1, +1, −2, +2.
fn offset(lane: usize) -> f64 {
    match lane {
        1 => -LANE_HEIGHT,
        2 => LANE_HEIGHT,
        3 => -2.0 * LANE_HEIGHT,
        4 => 2.0 * LANE_HEIGHT,
        _ => 0.0,
    }
}

fn lanes_height(dots: &[(f64, usize)]) -> f64 {
    let widest = dots
        .iter()
        .map(|(_, lane)| offset(*lane).abs())
        .fold(0.0, f64::max);
    16.0 + 2.0 * widest
}

fn row_height(dots: &[(f64, usize)]) -> f64 {
    LABEL_HEIGHT + lanes_height(dots) + ROW_GAP
}

fn summary(row: &DotRow, scale: Scale) -> String {
    let mut text = row.label.clone();
    if let Some(line) = row.line {
        text.push(' ');
        text.push_str(&scale.unit.write(line));
    }
    if let Some(remark) = row.remark.as_ref().filter(|remark| !remark.text.is_empty()) {
        text.push_str(" (");
        text.push_str(&remark.text);
        text.push(')');
    }
    text
}
