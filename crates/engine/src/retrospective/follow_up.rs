//! The follow-up of a decision, read from the journal: tracked events, the assessment, and lessons the debate started with.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use roundtable_core::format::percent;

use crate::assessment::Assessment;
use crate::assessment::tracking::Timeline;
use crate::event::{Entry, Millis};
use crate::report::{Block, Fact, Report, Section, Tone};
use crate::rules::LearningInput;

/// The events since the decision.
pub fn timeline_of(entries: &[Entry]) -> Timeline {
    let events = entries.iter().filter_map(|entry| entry.event.tracked());
    Timeline::new(decision_date(entries), events.cloned().collect())
}

/// The last assessment.
pub fn assessment_of(entries: &[Entry]) -> Option<&Assessment> {
    let mut events = entries.iter().rev().map(|entry| &entry.event);
    events.find_map(|event| event.assessed())
}

/// Whether the debate was started with lessons from earlier post-mortems.
pub fn used_learning(entries: &[Entry]) -> bool {
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    setup.is_some_and(|setup| !LearningInput::of(setup).is_empty())
}

/// In UTC.
fn decision_date(entries: &[Entry]) -> Date {
    let end = entries.iter().rfind(|entry| entry.event.ended().is_some());
    date_of(end.or(entries.first()).map_or(0, |entry| entry.at))
}

pub(super) fn date_of(at: Millis) -> Date {
    timestamp_of(at).to_zoned(TimeZone::UTC).date()
}

pub(super) fn timestamp_of(at: Millis) -> Timestamp {
    let at = i64::try_from(at).ok();
    at.and_then(|at| Timestamp::from_millisecond(at).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Adds the follow-up to a debate's report.
pub fn add_follow_up(report: &mut Report, entries: &[Entry]) {
    report.sections.extend(learned_section(entries));
    report.sections.extend(timeline_of(entries).section());
    let Some(assessment) = assessment_of(entries) else {
        return;
    };
    let accuracy = assessment.decision_accuracy.value();
    let fact = Fact::new("Decision accuracy", percent(accuracy));
    report.facts.push(fact.toned(tone_of(accuracy)));
    let lists = [
        ("Right", &assessment.what_went_right),
        ("Wrong", &assessment.what_went_wrong),
    ];
    let lines = lists.into_iter().flat_map(|(label, findings)| {
        findings.iter().map(move |finding| match &finding.note {
            Some(note) => format!("- {label}: {}. {note}", finding.aspect),
            None => format!("- {label}: {}", finding.aspect),
        })
    });
    let markdown = lines.collect::<Vec<_>>().join("\n");
    if !markdown.is_empty() {
        let blocks = vec![Block::Text { markdown }];
        report.sections.push(Section::main("Assessment", blocks));
    }
}

/// The lessons the debate was started with.
fn learned_section(entries: &[Entry]) -> Option<Section> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let learned = LearningInput::of(setup).learned()?;
    let lines = learned.summary().into_iter();
    let notes = lines.map(|line| Block::note(line, Tone::Plain));
    Some(Section::side("Lessons applied", notes.collect()))
}

pub(super) fn tone_of(accuracy: f64) -> Tone {
    if accuracy >= 0.8 {
        Tone::Good
    } else if accuracy >= 0.6 {
        Tone::Plain
    } else {
        Tone::Caution
    }
}

#[cfg(test)]
#[path = "follow_up_tests.rs"]
mod tests;
