//! Where a measured debate stands (E-11): the measures as bars with threshold, previous value and trend, and each seat's
//! position with its evidence. Without a terminal the same in plain lines.

use roundtable_engine::report::{Card, Gauge, Section};
use unicode_width::UnicodeWidthStr;

use super::super::output::{self, BOLD, QUIET, painted};
use super::blocks::{INDENT, Look, Titles, broken, style};

/// A bar at 80 columns, and where there is room for more.
const TRACK: usize = 10;
const LONG_TRACK: usize = 30;
const ROOMY: usize = 100;

pub(super) fn gauges(gauges: &[Gauge], look: Look) -> Vec<String> {
    let Some(width) = look.width else {
        return gauges.iter().map(plain).collect();
    };
    let track = if width >= ROOMY { LONG_TRACK } else { TRACK };
    let widest = gauges.iter().map(|it| it.label.width()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for gauge in gauges {
        let label = format!("{:<widest$}", output::harmless(&gauge.label));
        lines.push(format!("{INDENT}{label}  {}", bar(gauge, track)));
        lines.extend(details(gauge).map(|it| painted(QUIET, &format!("{INDENT}{INDENT}{it}"))));
    }
    lines
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

/// So that 0.79 never looks like 0.80: what is begun is not drawn.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between nothing and the length of the track"
)]
fn filled(value: f64, track: usize) -> usize {
    ((value.clamp(0.0, 1.0) * track as f64 + 1e-9).floor() as usize).min(track)
}

fn details(gauge: &Gauge) -> impl Iterator<Item = String> {
    let threshold = gauge
        .threshold
        .as_ref()
        .map(|it| format!("Threshold: {:.2} ({})", it.value, it.label));
    let before = gauge
        .previous
        .map(|previous| format!("Previous: {previous:.2}"));
    let trend = gauge.trend.as_ref().map(|trend| format!("Trend: {trend}"));
    let course: Vec<String> = before.into_iter().chain(trend).collect();
    let course = (!course.is_empty()).then(|| course.join(" · "));
    let status = format!("Status: {}", output::harmless(&gauge.status));
    threshold.into_iter().chain(course).chain([status])
}

/// One line for each measure.
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

pub(super) fn cards(cards: &[Card], titles: Titles<'_>, look: Look) -> Vec<String> {
    let mut lines = Vec::new();
    for card in cards {
        let title = output::harmless(&titles(&card.role));
        lines.push(format!(
            "{INDENT}{}",
            painted(output::role(&card.role), &title)
        ));
        let position = output::harmless(&card.position);
        lines.extend(labelled("Position: ", [position.as_str()], look));
        let pieces: Vec<String> = card
            .evidence
            .iter()
            .map(|(kind, source)| format!("[{kind}] {}", output::short(source, 200)))
            .collect();
        lines.extend(labelled(
            "Evidence: ",
            pieces.iter().map(String::as_str),
            look,
        ));
        let confidence = painted(style(card.confidence.tone), &card.confidence.text);
        lines.push(format!("{INDENT}{INDENT}Confidence: {confidence}"));
        for remark in &card.remarks {
            let text = output::harmless(&remark.text);
            lines.extend(
                labelled("", [text.as_str()], look)
                    .into_iter()
                    .map(|line| painted(style(remark.tone), &line)),
            );
        }
    }
    lines
}

/// The label before the first line, what follows below it.
fn labelled<'a>(label: &str, texts: impl IntoIterator<Item = &'a str>, look: Look) -> Vec<String> {
    let indent = format!("{INDENT}{INDENT}");
    let room = look
        .width
        .map(|width| width.saturating_sub(indent.len() + label.len()).max(20));
    let all = texts.into_iter().flat_map(|text| broken(text, room));
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

/// The measures alone, for what is redrawn in place while the seats think.
pub(super) fn in_short(section: &Section, width: usize) -> Vec<String> {
    use roundtable_engine::report::Block;
    let track = if width >= ROOMY { LONG_TRACK } else { TRACK };
    let mut lines = Vec::new();
    for block in &section.blocks {
        if let Block::Gauges { gauges } = block {
            let widest = gauges.iter().map(|it| it.label.width()).max().unwrap_or(0);
            for gauge in gauges {
                let label = format!("{:<widest$}", output::harmless(&gauge.label));
                lines.push(format!("  {label}  {}", bar(gauge, track)));
            }
        }
    }
    if !lines.is_empty() {
        lines.insert(
            0,
            format!("  {}", painted(QUIET, &output::harmless(&section.title))),
        );
    }
    lines
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
