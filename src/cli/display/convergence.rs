//! Convergence of a measured debate (E-11): measures as bars with threshold, previous value and trend, and each seat's
//! position with its evidence. Plain lines without a terminal.

use roundtable_engine::report::{Card, Gauge};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, painted};
use super::blocks::{INDENT, RenderOptions, style};
use super::wrap::wrap_line;
use crate::render::Roles;

/// Length of a bar, in columns.
const TRACK: usize = 10;
/// Length of a bar on a terminal of at least `WIDE` columns.
const LONG_TRACK: usize = 30;
const WIDE: usize = 100;

pub(super) fn gauges(gauges: &[Gauge], options: RenderOptions) -> Vec<String> {
    let Some(width) = options.width else {
        return gauges.iter().map(plain).collect();
    };
    let mut lines = Vec::new();
    for (gauge, bar) in gauges.iter().zip(labelled_bars(gauges, width)) {
        lines.push(bar);
        let details = details(gauge);
        lines.extend(details.map(|text| painted(QUIET, &format!("{INDENT}{INDENT}{text}"))));
    }
    lines
}

fn labelled_bars(gauges: &[Gauge], width: usize) -> impl Iterator<Item = String> {
    let track = if width >= WIDE { LONG_TRACK } else { TRACK };
    let widths = gauges.iter().map(|gauge| gauge.label.width());
    let widest = widths.max().unwrap_or(0);
    gauges.iter().map(move |gauge| {
        let label = format!("{:<widest$}", output::harmless(&gauge.label));
        format!("{INDENT}{label}  {}", bar(gauge, track))
    })
}

/// `0.84  ████████░░  84%  ✓`
fn bar(gauge: &Gauge, track: usize) -> String {
    let paint = |text: &str| painted(style(gauge.mark.tone()), text);
    let Some(value) = gauge.value else {
        return paint(&format!("   –  {}", "░".repeat(track)));
    };
    let filled = filled(value, track);
    format!(
        "{}  {}{}  {:>3.0}%  {}",
        painted(BOLD, &format!("{value:.2}")),
        paint(&"█".repeat(filled)),
        painted(QUIET, &"░".repeat(track - filled)),
        value * 100.0,
        paint(&gauge.mark.sign().to_string())
    )
}

/// Rounded down, so that 0.79 never looks like 0.80.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between 0 and the length of the track"
)]
fn filled(value: f64, track: usize) -> usize {
    ((value.clamp(0.0, 1.0) * track as f64 + 1e-9).floor() as usize).min(track)
}

fn details(gauge: &Gauge) -> impl Iterator<Item = String> {
    let threshold = gauge
        .threshold
        .as_ref()
        .map(|threshold| format!("Threshold: {:.2} ({})", threshold.value, threshold.label));
    let previous = gauge
        .previous
        .map(|previous| format!("Previous: {previous:.2}"));
    let trend = gauge.trend.as_ref().map(|trend| format!("Trend: {trend}"));
    let change: Vec<String> = previous.into_iter().chain(trend).collect();
    let change = (!change.is_empty()).then(|| change.join(" · "));
    let status = format!("Status: {}", output::harmless(&gauge.status));
    threshold.into_iter().chain(change).chain([status])
}

fn plain(gauge: &Gauge) -> String {
    let value = gauge
        .value
        .map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    let details: Vec<String> = details(gauge).collect();
    format!(
        "{INDENT}{}: {value} ({})",
        output::harmless(&gauge.label),
        details.join("; ")
    )
}

pub(super) fn cards(cards: &[Card], roles: &Roles, options: RenderOptions) -> Vec<String> {
    let mut lines = Vec::new();
    for card in cards {
        lines.push(format!("{INDENT}{}", output::seat(roles, &card.role)));
        let position = output::harmless(&card.position);
        lines.extend(labelled("Position: ", [position.as_str()], options));
        let pieces: Vec<String> = card
            .evidence
            .iter()
            .map(|(kind, source)| format!("[{kind}] {}", output::short(source, 200)))
            .collect();
        lines.extend(labelled(
            "Evidence: ",
            pieces.iter().map(String::as_str),
            options,
        ));
        let confidence = painted(style(card.confidence.tone), &card.confidence.text);
        lines.push(format!("{INDENT}{INDENT}Confidence: {confidence}"));
        for remark in &card.remarks {
            let text = output::harmless(&remark.text);
            lines.extend(
                labelled("", [text.as_str()], options)
                    .into_iter()
                    .map(|line| painted(style(remark.tone), &line)),
            );
        }
    }
    lines
}

/// The label before the first line; further lines are aligned below it.
fn labelled<'a>(
    label: &str,
    texts: impl IntoIterator<Item = &'a str>,
    options: RenderOptions,
) -> Vec<String> {
    let indent = format!("{INDENT}{INDENT}");
    let width = options
        .width
        .map(|width| width.saturating_sub(indent.len() + label.len()).max(20));
    let all = texts.into_iter().flat_map(|text| wrap_line(text, width));
    all.enumerate()
        .map(|(index, line)| {
            let lead = if index == 0 {
                label.to_owned()
            } else {
                " ".repeat(label.len())
            };
            format!("{indent}{lead}{line}")
        })
        .collect()
}

#[cfg(test)]
#[path = "convergence_tests.rs"]
mod tests;
