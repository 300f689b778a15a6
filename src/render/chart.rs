//! Charts as SVG. Positions across are shares of the width and everything else is in pixels, so that a chart fills whatever
//! column it stands in while its words stay as large as the words around it.

mod bars;
mod dots;
mod lines;

use askama::Template;
use roundtable_engine::report::{Chart, Scale};

use super::blocks;
use super::html::{Html, escape};
use super::roles::Roles;
use crate::format::short;

/// A chart with its title, its legend where colours stand for roles, and its figures as a table.
#[derive(Template)]
#[template(path = "figure.html")]
struct Figure {
    title: String,
    drawing: Html,
    legend: Vec<Key>,
    table: Html,
}

/// A colour and what it stands for.
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
    };
    Html::of(&Figure {
        title: chart.title().to_owned(),
        drawing: Html::trusted(drawing),
        legend: legend(chart, roles),
        table: blocks::table(&chart.table(), true),
    })
}

/// Only dots need one: bars and lines carry their names themselves.
fn legend(chart: &Chart, roles: &Roles) -> Vec<Key> {
    let Chart::Dots { rows, .. } = chart else {
        return Vec::new();
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

/// Where a value stands between the ends of its scale, from 0 to 1; `None` for what is no number.
fn share(scale: Scale, value: f64) -> Option<f64> {
    let share = (value - scale.from) / (scale.to - scale.from);
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

/// `46%` across.
fn across(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Pixels down.
fn down(pixels: f64) -> String {
    let text = format!("{pixels:.1}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The opening of a picture: its name for those who do not see it, its words in short.
fn opening(title: &str, said: &[String], class: &str, height: f64) -> String {
    let label = short(&format!("{title}: {}", said.join(", ")), 400);
    format!(
        "<svg class=\"{class}\" role=\"img\" aria-label=\"{}\" width=\"100%\" height=\"{}\"><title>{}</title>",
        escape(&label),
        down(height),
        escape(title)
    )
}

/// A name that fits above its row even on a phone; the whole of it is the row's title.
fn name(text: &str) -> String {
    escape(&short(text, 44))
}

#[cfg(test)]
#[path = "chart_tests.rs"]
mod tests;
