//! Point charts: a value with its interval against an amount on a logarithmic axis.

use std::fmt::Write;

use roundtable_engine::report::{Point, Scale, significant};

use super::{escape, percent, pixels, position, row_label, svg_start};

const TOP: f64 = 16.0;
const PLOT_HEIGHT: f64 = 220.0;
const BASE: f64 = TOP + PLOT_HEIGHT;
const HEIGHT: f64 = BASE + 36.0;
const TICKS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Part of the width that is left free on both sides for labels.
const SIDE: f64 = 0.12;

pub(super) fn draw(title: &str, amount: &str, scale: Scale, points: &[Point]) -> String {
    let data: Vec<String> = points.iter().map(|point| summary(point, scale)).collect();
    let mut svg = svg_start(title, &data, "plot", HEIGHT);
    for tick in TICKS {
        let value = scale.from + (scale.to - scale.from) * tick;
        let y = BASE - tick * PLOT_HEIGHT;
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{line}\" y2=\"{line}\"/>\
             <text class=\"quiet\" x=\"0\" y=\"{text}\">{written}</text>",
            line = pixels(y),
            text = pixels(y - 3.0),
            written = escape(&scale.unit.write(value)),
        );
    }
    let _ = write!(
        svg,
        "<text class=\"quiet end\" x=\"100%\" y=\"{}\">{} (logarithmic)</text>",
        pixels(HEIGHT - 4.0),
        escape(amount)
    );
    let range = Range::of(points);
    for point in points {
        draw_point(&mut svg, point, scale, &range);
    }
    svg.push_str("</svg>");
    svg
}

fn draw_point(svg: &mut String, point: &Point, scale: Scale, range: &Range) {
    let height = |value: f64| position(scale, value).map(|share| BASE - share * PLOT_HEIGHT);
    let (Some(y), Some(low), Some(high)) =
        (height(point.value), height(point.low), height(point.high))
    else {
        return;
    };
    let place = range.place(point.amount);
    let x = percent(place);
    let (anchor, shift) = if place > 0.6 { (" end", -9) } else { ("", 9) };
    let class = if point.is_front { "s1" } else { "r0" };
    let _ = write!(
        svg,
        "<g><title>{}</title><line class=\"spread\" x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{}\"/>\
         <circle class=\"point {class}\" cx=\"{x}\" cy=\"{}\" r=\"5\"/>\
         <text class=\"name{anchor}\" x=\"{x}\" dx=\"{shift}\" y=\"{}\">{}</text>\
         <text class=\"quiet middle\" x=\"{x}\" y=\"{}\">{}</text></g>",
        escape(&summary(point, scale)),
        pixels(low),
        pixels(high),
        pixels(y),
        pixels(y + 4.0),
        row_label(&point.label),
        pixels(BASE + 14.0),
        escape(&significant(point.amount)),
    );
}

/// The amounts that are shown, as logarithms.
struct Range {
    from: f64,
    to: f64,
}

impl Range {
    fn of(points: &[Point]) -> Self {
        let logs = points.iter().map(|point| point.amount.ln());
        let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
        Self {
            from: logs.iter().copied().fold(f64::INFINITY, f64::min),
            to: logs.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn place(&self, amount: f64) -> f64 {
        let share = (amount.ln() - self.from) / (self.to - self.from);
        let share = if share.is_finite() {
            share.clamp(0.0, 1.0)
        } else {
            0.5
        };
        SIDE + share * (1.0 - 2.0 * SIDE)
    }
}

fn summary(point: &Point, scale: Scale) -> String {
    format!(
        "{}: {} ({} to {}) at {}",
        point.label,
        scale.unit.write(point.value),
        scale.unit.write(point.low),
        scale.unit.write(point.high),
        significant(point.amount)
    )
}
