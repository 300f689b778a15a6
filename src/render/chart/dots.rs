//! One row for each thing judged: a dot for each who judged it, a line for what came out. A disagreement is seen.

use std::fmt::Write;

use roundtable_engine::report::{DotRow, Scale, Tone, Unit};

use super::{across, down, escape, name, opening, share};
use crate::render::blocks::tone_class;
use crate::render::roles::Roles;

/// Dots nearer to each other than this share of the width move into another lane.
const NEAR: f64 = 0.03;
const LANE: f64 = 10.0;
const LANES: usize = 5;
const HEAD: f64 = 24.0;
const GAP: f64 = 16.0;
const TICKS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

pub(super) fn draw(title: &str, scale: Scale, rows: &[DotRow], roles: &Roles) -> String {
    let placed: Vec<Vec<(f64, usize)>> = rows.iter().map(|row| lanes(row, scale)).collect();
    let bottom: f64 = placed.iter().map(|dots| row_height(dots)).sum();
    let said: Vec<String> = rows.iter().map(|row| spoken(row, scale)).collect();
    let mut svg = opening(title, &said, "plot", bottom + 20.0);
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
            x = across(tick),
            bottom = down(bottom),
            label = down(bottom + 15.0),
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
    let middle = top + HEAD + half;
    let _ = write!(
        svg,
        "<g><title>{}</title><text class=\"name\" x=\"0\" y=\"{}\">{}</text>",
        escape(&spoken(row, scale)),
        down(top + 14.0),
        name(&row.label)
    );
    head(svg, row, scale, top);
    let line = row.line.and_then(|line| share(scale, line));
    match (scale.unit, line) {
        // A probability is an amount: it has a length.
        (Unit::Percent, Some(line)) => drop(write!(
            svg,
            "<rect class=\"share\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\"/>",
            down(middle - half - 1.0),
            across(line),
            down(half * 2.0 + 2.0)
        )),
        // A score is a place: what counts is how far the judges are apart.
        (Unit::Percent | Unit::Decimals(_), _) => spread(svg, row, dots, middle),
    }
    for ((x, lane), dot) in dots.iter().zip(&row.dots) {
        let _ = write!(
            svg,
            "<circle class=\"dot {class}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"><title>{role}: {value}</title></circle>",
            class = roles.class(&dot.role),
            x = across(*x),
            y = down(middle + offset(*lane)),
            role = escape(&roles.title(&dot.role)),
            value = escape(&scale.unit.write(dot.value)),
        );
    }
    if let Some(line) = line {
        let _ = write!(
            svg,
            "<line class=\"result\" x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{}\"/>",
            down(middle - half - 4.0),
            down(middle + half + 4.0),
            x = across(line)
        );
    }
    svg.push_str("</g>");
}

/// What came out, and what is said about it, at the right end above the row.
fn head(svg: &mut String, row: &DotRow, scale: Scale, top: f64) {
    let _ = write!(
        svg,
        "<text class=\"end\" x=\"100%\" y=\"{}\">",
        down(top + 14.0)
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

fn spread(svg: &mut String, row: &DotRow, dots: &[(f64, usize)], middle: f64) {
    let places = || dots.iter().map(|(x, _)| *x);
    let (low, high) = (
        places().fold(f64::INFINITY, f64::min),
        places().fold(0.0, f64::max),
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
            across(low),
            across(high),
            y = down(middle)
        );
    }
}

/// For each dot its place across and its lane, so that equal values lie beside and not over each other.
fn lanes(row: &DotRow, scale: Scale) -> Vec<(f64, usize)> {
    let mut taken: Vec<(f64, usize)> = Vec::new();
    for dot in &row.dots {
        let x = share(scale, dot.value).unwrap_or(0.0);
        let is_free = |lane: &usize| {
            taken
                .iter()
                .all(|(other, used)| used != lane || (other - x).abs() >= NEAR)
        };
        let lane = (0..LANES).find(is_free).unwrap_or(0);
        taken.push((x, lane));
    }
    taken
}

/// The lanes lie on both sides of the middle: 0, −1, +1, −2, +2.
fn offset(lane: usize) -> f64 {
    match lane {
        1 => -LANE,
        2 => LANE,
        3 => -2.0 * LANE,
        4 => 2.0 * LANE,
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
    HEAD + lanes_height(dots) + GAP
}

fn spoken(row: &DotRow, scale: Scale) -> String {
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
