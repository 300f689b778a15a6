//! Charts as SVG with titles; the same figures stand in a table beside them.

use std::fmt::Write;

/// A bar for each value, its label below and its value above, in one colour per bar.
pub(super) struct Bar {
    pub label: String,
    pub value: u64,
    pub class: &'static str,
}

pub(super) fn bars(title: &str, unit: &str, bars: &[Bar]) -> String {
    const WIDTH: u64 = 640;
    const HEIGHT: u64 = 200;
    const BASE: u64 = 160;
    let highest = bars.iter().map(|bar| bar.value).max().unwrap_or(0).max(1);
    let step = WIDTH / (bars.len() as u64).max(1);
    let mut svg = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\"><title>{}</title>",
        escape(title),
        escape(title)
    );
    for (index, bar) in (0_u64..).zip(bars) {
        let height = (bar.value * 120).div_ceil(highest);
        let (x, y) = (index * step + step / 6, BASE - height);
        let middle = index * step + step / 2;
        let _ = write!(
            svg,
            "<g><title>{label}: {value} {unit}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" \
             height=\"{height}\" rx=\"3\"/><text x=\"{middle}\" y=\"{above}\">{value}</text>\
             <text class=\"quiet\" x=\"{middle}\" y=\"180\">{label}</text></g>",
            label = escape(&bar.label),
            value = bar.value,
            class = bar.class,
            width = step * 2 / 3,
            above = y.saturating_sub(6),
        );
    }
    svg.push_str("</svg>");
    svg
}

pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}
