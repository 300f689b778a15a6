//! Charts as SVG. Horizontal positions are percentages and everything else is in pixels, so that a chart fills its column
//! while its text keeps the size of the surrounding text.

mod bars;
mod dots;
mod lines;
mod points;

use askama::Template;
use roundtable_engine::report::{Chart, Scale};

use super::blocks;
use super::html::{Html, escape};
use super::roles::Roles;
use crate::format::short;

/// A chart with its title, a legend if colours identify roles, and its data as a table.
#[derive(Template)]
#[template(path = "figure.html")]
struct Figure {
    title: String,
    drawing: Html,
    legend: Vec<Key>,
    table: Html,
}

/// An entry of the legend.
struct Key {
    class: String,
    name: String,
}

pub(super) fn figure(chart: &Chart, roles: &Roles) -> Html {
    let drawing = match chart {
        Chart::Bars { title, unit, bars } => bars::draw(title, unit, bars, roles),
        Chart::Lines {
            title,
            scale,
            rounds,
            lines,
            thresholds,
        } => lines::draw(title, *scale, rounds, lines, thresholds, roles),
        Chart::Dots { title, scale, rows } => dots::draw(title, *scale, rows, roles),
        Chart::Points {
            title,
            amount,
            scale,
            points,
        } => points::draw(title, amount, *scale, points),
    };
    Html::of(&Figure {
        title: chart.title().to_owned(),
        drawing: Html::trusted(drawing),
        legend: legend(chart, roles),
        table: blocks::table(&chart.table(), true),
    })
}

/// Dots, and the thresholds of several lines. Bars and lines are labelled directly.
fn legend(chart: &Chart, roles: &Roles) -> Vec<Key> {
    let rows = match chart {
        Chart::Dots { rows, .. } => rows,
        Chart::Lines {
            lines, thresholds, ..
        } if lines.len() > 1 => {
            let keys = thresholds.iter().map(|threshold| Key {
                class: "limit".to_owned(),
                name: threshold.label.clone(),
            });
            return keys.collect();
        }
        Chart::Lines { .. } | Chart::Bars { .. } | Chart::Points { .. } => return Vec::new(),
    };
    let mut seen: Vec<&str> = Vec::new();
    for dot in rows.iter().flat_map(|row| &row.dots) {
        if !seen.contains(&dot.role.as_str()) {
            seen.push(&dot.role);
        }
    }
    seen.into_iter()
        .map(|role| Key {
            class: roles.class(role),
            name: roles.title(role),
        })
        .collect()
}

/// Position of a value on its scale, from 0 to 1; `None` if it is not finite.
fn position(scale: Scale, value: f64) -> Option<f64> {
    let position = (value - scale.from) / (scale.to - scale.from);
    position.is_finite().then(|| position.clamp(0.0, 1.0))
}

/// A horizontal coordinate: 0.46 → `46%`
fn percent(position: f64) -> String {
    let text = format!("{:.2}", position * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A vertical coordinate in pixels.
fn pixels(pixels: f64) -> String {
    let text = format!("{pixels:.1}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The opening `<svg>` tag, with an accessible name that summarises the data.
fn svg_start(title: &str, data: &[String], class: &str, height: f64) -> String {
    let label = short(&format!("{title}: {}", data.join(", ")), 400);
    format!(
        "<svg class=\"{class}\" role=\"img\" aria-label=\"{}\" width=\"100%\" height=\"{}\"><title>{}</title>",
        escape(&label),
        pixels(height),
        escape(title)
    )
}

/// A label short enough to fit above its row on a phone; the row's `<title>` has all of it.
fn row_label(text: &str) -> String {
    escape(&short(text, 44))
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod tests;
