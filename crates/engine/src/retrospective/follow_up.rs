//! What a debate's journal says of the time after its decision, whatever its protocol.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use roundtable_core::learning::Learned;
use serde_json::Value;

use super::record::{
    AgentPosition, DebateRecord, FinalConsensus, RoundMetrics, RoundRecord, TokenEfficiency,
};
use crate::assessment::Assessment;
use crate::assessment::tracking::{Course, Tracked};
use crate::event::{Entry, Event, Millis, State};
use crate::report::{Block, Fact, Report, Section, Tone};
use crate::transcript::{Round, Transcript};

/// The events since, in the order in which they happened.
pub fn course_of(entries: &[Entry]) -> Course {
    let events = entries.iter().filter_map(|entry| {
        if let Event::Tracked { tracked, .. } = &entry.event {
            Some(Tracked::clone(tracked))
        } else {
            None
        }
    });
    Course::new(decided(entries), events.collect())
}

/// The last one counts.
pub fn assessment_of(entries: &[Entry]) -> Option<&Assessment> {
    let mut assessments = entries.iter().rev().filter_map(|entry| {
        if let Event::Assessed { assessment, .. } = &entry.event {
            Some(assessment.as_ref())
        } else {
            None
        }
    });
    assessments.next()
}

/// Whether it was played with what had been learned before.
pub fn is_with_learning(entries: &[Entry]) -> bool {
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let Some(rules) = setup.map(|setup| rules_of(&setup.rules)) else {
        return false;
    };
    rules.get("learned").is_some_and(|it| !it.is_null()) || !questions_of(rules).is_empty()
}

/// The part of a debate's rules that says what was learned before it: of an enhanced debate it is a part of its own.
fn rules_of(rules: &Value) -> &Value {
    rules
        .get("enhanced")
        .filter(|it| it.is_object())
        .unwrap_or(rules)
}

/// The questions that were put to the seats before round 1.
fn questions_of(rules: &Value) -> Vec<String> {
    let listed = [&rules["required_questions"], &rules["learned"]["questions"]];
    let listed = listed.into_iter().find_map(Value::as_array);
    let questions = listed.into_iter().flatten().filter_map(|it| {
        let text = it.as_str().or_else(|| it["question"].as_str())?;
        Some(text.to_owned())
    });
    questions.collect()
}

/// The day of the decision, in UTC.
fn decided(entries: &[Entry]) -> Date {
    let ends = entries.iter().rev();
    let mut ends = ends.filter(|entry| matches!(entry.event, Event::Ended(_)));
    let end = ends.next().or(entries.first());
    day_of(end.map_or(0, |entry| entry.at))
}

pub(super) fn day_of(at: Millis) -> Date {
    stamp_of(at).to_zoned(TimeZone::UTC).date()
}

fn stamp_of(at: Millis) -> Timestamp {
    i64::try_from(at)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Adds to a debate's report what happened after it.
pub fn after(report: &mut Report, entries: &[Entry]) {
    report.sections.extend(before(entries));
    report.sections.extend(course_of(entries).section());
    let Some(assessment) = assessment_of(entries) else {
        return;
    };
    let accuracy = assessment.decision_accuracy.value();
    report.facts.push(
        Fact::new("Came out", format!("{:.0}% right", accuracy * 100.0)).toned(tone_of(accuracy)),
    );
    let lists = [
        ("Right", &assessment.what_went_right),
        ("Wrong", &assessment.what_went_wrong),
    ];
    let lines = lists.into_iter().flat_map(|(what, findings)| {
        findings.iter().map(move |it| match &it.note {
            Some(note) => format!("- {what}: {}. {note}", it.aspect),
            None => format!("- {what}: {}", it.aspect),
        })
    });
    let markdown = lines.collect::<Vec<_>>().join("\n");
    if !markdown.is_empty() {
        let blocks = vec![Block::Text { markdown }];
        report
            .sections
            .push(Section::main("How it came out", blocks));
    }
}

/// What it was played with of what earlier decisions had taught.
fn before(entries: &[Entry]) -> Option<Section> {
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let learned = rules_of(&setup.rules).get("learned")?.clone();
    let learned: Learned = serde_json::from_value(learned).ok()?;
    let lines = learned.summary().into_iter().map(|text| Block::Note {
        text,
        tone: Tone::Plain,
    });
    Some(Section::side("Learned before", lines.collect()))
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

/// The record of a debate that was not enhanced: positions without evidence. `None` before the first entry.
pub fn plain_record(id: &str, entries: &[Entry], answer: Option<String>) -> Option<DebateRecord> {
    let transcript = Transcript::of(id, entries)?;
    let setup = entries.iter().find_map(|entry| entry.event.setup())?;
    let rules = rules_of(&setup.rules);
    let domain = [&rules["learned"]["domain"], &rules["domain"]];
    let domain = domain.into_iter().find_map(Value::as_str);
    let rounds: Vec<RoundRecord> = transcript.rounds.iter().filter_map(round_of).collect();
    let is_decided = match transcript.state {
        State::Complete | State::Partial => true,
        State::Queued | State::Running | State::Waiting | State::Failed | State::Cancelled => false,
    };
    let total = transcript.totals.debate.usage;
    let count = u32::try_from(rounds.len()).unwrap_or(u32::MAX);
    let total_tokens = total.input + total.output;
    Some(DebateRecord {
        session_id: id.to_owned(),
        project_name: headline(&transcript.question),
        topic: transcript.question.clone(),
        timestamp_start: stamp_of(transcript.opened_at),
        timestamp_end: transcript.ended_at.map(stamp_of),
        domain: domain.map(str::to_owned),
        required_questions: questions_of(rules),
        rounds,
        claims: Vec::new(),
        final_consensus: answer
            .filter(|_| is_decided)
            .map(|decision| FinalConsensus {
                decision,
                rationale: transcript.reason.clone().unwrap_or_default(),
                confidence: None,
                supporting_evidence: Vec::new(),
                dissenting_opinions: Vec::new(),
                escalation: false,
                human_override: false,
            }),
        token_efficiency: TokenEfficiency {
            total_tokens,
            rounds: count,
            avg_tokens_per_round: total_tokens / u64::from(count.max(1)),
            consensus_reached: transcript.state == State::Complete,
        },
    })
}

fn round_of(round: &Round) -> Option<RoundRecord> {
    let started = round.turns.iter().map(|turn| turn.started_at).min();
    let positions = round.turns.iter().filter_map(|turn| {
        Some(AgentPosition {
            agent: turn.seat.clone(),
            panel: turn.title.clone(),
            position: turn.text()?.to_owned(),
            evidence_types: Vec::new(),
            evidence_citations: Vec::new(),
            confidence: None,
            tokens_used: turn.spent.usage.input + turn.spent.usage.output,
        })
    });
    Some(RoundRecord {
        round_number: round.number?,
        timestamp: stamp_of(started?),
        duration_seconds: round.busy_ms / 1_000,
        agent_positions: positions.collect(),
        metrics: RoundMetrics::default(),
        user_input: round.voices.first().map(|voice| voice.text.clone()),
    })
}

/// The beginning of a question, as a title.
fn headline(question: &str) -> String {
    const MOST: usize = 80;
    let line = roundtable_core::wording::one_line(question);
    if line.chars().count() <= MOST {
        return line;
    }
    let head: String = line.chars().take(MOST - 1).collect();
    format!("{}…", head.trim_end())
}

#[cfg(test)]
#[path = "journaled_tests.rs"]
mod tests;
