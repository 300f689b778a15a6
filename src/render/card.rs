//! The verdict of a debate as HTML: the card at the top of the page and of the exported file.

use roundtable_core::excerpt::excerpt;
use roundtable_engine::report::{Tone, Verdict};

use super::blocks::tone_class;
use super::html::Html;
use super::markdown;
use crate::format::{cost, counted, duration, grouped};

/// Entries of a row that are always shown.
const MAX_ENTRIES: usize = 2;
/// Length of the answer in the bar that stays on the screen, in characters.
const MAX_GIST: usize = 120;

pub(crate) struct CardView {
    /// `Answer`, `Unchallenged answer`, `Draft` …
    pub title: &'static str,
    pub badge: String,
    /// The tone as a sign, for readers who see no colour.
    pub sign: char,
    pub tone: &'static str,
    pub headline: Option<String>,
    pub short: Option<String>,
    /// The answer in one line.
    pub gist: Option<String>,
    /// The whole answer, if the short form is only a part of it.
    pub full: Option<Html>,
    /// Key figures, next to the answer.
    pub figures: Vec<CardEntry>,
    pub rows: Vec<CardRow>,
    /// Nothing is final yet.
    pub is_draft: bool,
    /// Marks the card of an answer that no seat attacked.
    pub is_unchallenged: bool,
    pub usage: String,
}

pub(crate) struct CardRow {
    pub label: &'static str,
    pub tone: &'static str,
    pub entries: Vec<CardEntry>,
    /// Further entries, on demand.
    pub more: Vec<CardEntry>,
}

pub(crate) struct CardEntry {
    /// The seat or claim that it is about.
    pub name: Option<String>,
    pub text: String,
    pub reason: Option<String>,
}

impl CardView {
    pub(crate) fn new(verdict: &Verdict) -> Self {
        let answer = verdict.answer.as_ref();
        let is_part = answer.is_some_and(|answer| {
            let plain = excerpt(&answer.full, usize::MAX);
            plain != answer.short || answer.full.contains(['\n', '*', '`', '['])
        });
        let gist = answer.map(|answer| {
            let first = answer.headline.as_ref();
            excerpt(first.unwrap_or(&answer.short), MAX_GIST)
        });
        Self {
            title: verdict.title(),
            badge: verdict.badge.text.clone(),
            sign: sign(verdict.badge.tone),
            tone: tone_class(verdict.badge.tone),
            headline: answer.and_then(|answer| answer.headline.clone()),
            short: answer.map(|answer| answer.short.clone()),
            gist,
            full: answer
                .filter(|_| is_part)
                .map(|answer| markdown::html(&answer.full)),
            figures: figures(verdict),
            rows: rows(verdict),
            is_draft: answer.is_none_or(|answer| answer.is_draft),
            is_unchallenged: verdict.is_unchallenged(),
            usage: usage(verdict),
        }
    }
}

pub(super) const fn sign(tone: Tone) -> char {
    match tone {
        Tone::Good => '✓',
        Tone::Caution => '!',
        Tone::Critical => '✗',
        Tone::Plain | Tone::Quiet => '·',
    }
}

fn rows(verdict: &Verdict) -> Vec<CardRow> {
    let row = |label, tone, mut entries: Vec<CardEntry>| CardRow {
        label,
        tone: tone_class(tone),
        more: entries.split_off(MAX_ENTRIES.min(entries.len())),
        entries,
    };
    let plain = |text: &String| CardEntry {
        name: None,
        text: text.clone(),
        reason: None,
    };
    let failures = verdict.failures.iter().map(|failure| CardEntry {
        name: None,
        text: failure.text.clone(),
        reason: Some(failure.reason.clone()),
    });
    let confidence = verdict.confidence.iter().map(|confidence| CardEntry {
        name: None,
        text: confidence.shown.clone(),
        reason: confidence.reason.clone(),
    });
    let is_lowered = verdict
        .confidence
        .as_ref()
        .is_some_and(|confidence| confidence.is_lowered);
    let lowered = if is_lowered {
        Tone::Caution
    } else {
        Tone::Plain
    };
    let changed = verdict.changed.iter().map(|changed| plain(&changed.text));
    let dissent = verdict.dissent.iter().map(|dissent| CardEntry {
        name: Some(dissent.title.clone()),
        text: dissent.position.clone(),
        reason: dissent.reason.clone(),
    });
    let rows = [
        row("Failed", Tone::Caution, failures.collect()),
        row("Confidence", lowered, confidence.collect()),
        row("Change", Tone::Plain, changed.collect()),
        row("Dissent", Tone::Plain, dissent.collect()),
        row(
            "Caveats",
            Tone::Plain,
            verdict.caveats.iter().map(plain).collect(),
        ),
        row(
            "Ending",
            Tone::Quiet,
            verdict.ending.iter().map(plain).collect(),
        ),
    ];
    rows.into_iter()
        .filter(|row| !row.entries.is_empty())
        .collect()
}

fn figures(verdict: &Verdict) -> Vec<CardEntry> {
    let figures = verdict.figures.iter().map(|fact| CardEntry {
        name: Some(fact.name.clone()),
        text: fact.value.clone(),
        reason: None,
    });
    figures.collect()
}

fn usage(verdict: &Verdict) -> String {
    let usage = &verdict.usage;
    let calls = usize::try_from(usage.calls).unwrap_or(usize::MAX);
    let mut parts = vec![counted(calls, "call")];
    if usage.tokens() > 0 {
        parts.push(format!("{} tokens", grouped(usage.tokens())));
    }
    parts.extend(cost(usage.cost, usage.tokens()));
    parts.push(duration(usage.duration_ms));
    parts.join(" · ")
}
