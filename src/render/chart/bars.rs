//! Bar charts: one row per bar, with its label and value above it.

use std::fmt::Write;

use roundtable_engine::report::Bar;

use super::{escape, percent, pixels, row_label, svg_start};
use crate::format::grouped;
use crate::render::roles::Roles;

const ROW_HEIGHT: f64 = 38.0;

pub(super) fn draw(title: &str, unit: &str, bars: &[Bar], roles: &Roles) -> String {
    let largest = bars
        .iter()
        .map(|bar| bar.value)
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    let data: Vec<String> = bars
        .iter()
        .map(|bar| format!("{} {}", bar.label, format_value(bar.value)))
        .collect();
    let mut svg = svg_start(title, &data, "plot", height(bars.len()));
    let mut top = 0.0;
    for bar in bars {
        let length = if largest > 0.0 && bar.value.is_finite() {
            (bar.value / largest).clamp(0.0, 1.0)
        } else {
            0.0
        };
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            "<g><title>{label}: {value} {unit}</title><text class=\"name\" x=\"0\" y=\"{text}\">{short}</text>\
             <text class=\"value end ink\" x=\"100%\" y=\"{text}\">{value}</text>\
             <rect class=\"track\" x=\"0\" y=\"{track}\" width=\"100%\" height=\"7\" rx=\"3.5\"/>\
             <rect class=\"bar {class}\" x=\"0\" y=\"{track}\" width=\"{width}\" height=\"7\" rx=\"3.5\"/></g>",
            label = escape(&bar.label),
            short = row_label(&bar.label),
            value = escape(&format_value(bar.value)),
            unit = escape(unit),
            text = pixels(top + 13.0),
            track = pixels(top + 19.0),
            class = roles.class_or(bar.role.as_deref(), 0),
            width = percent(length),
        );
        top += ROW_HEIGHT;
    }
    svg.push_str("</svg>");
    svg
}

#[expect(clippy::cast_precision_loss, reason = "rows of one chart")]
fn height(rows: usize) -> f64 {
    rows as f64 * ROW_HEIGHT
}

/// `12,345` or `0.46`
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole and within range, as checked before"
)]
fn format_value(value: f64) -> String {
    if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        grouped(value as u64)
    } else {
        format!("{value:.2}")
    }
}
