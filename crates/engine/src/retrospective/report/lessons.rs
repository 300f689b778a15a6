//! Successes, failures and lessons.

use std::fmt::Write;

use roundtable_core::bounded::Probability;
use roundtable_core::format::counted;

use super::{GOOD_ROUNDS, text_or};
use crate::assessment::Finding;
use crate::assessment::tracking::{SURPRISING, Tracked};
use crate::report::{Block, Tone};
use crate::retrospective::post_mortem::PostMortem;
use crate::retrospective::updates::LearningUpdates;

pub(super) fn right(post_mortem: &PostMortem) -> Vec<Block> {
    let mut lines = findings("✓", &post_mortem.assessment.what_went_right);
    let tokens = &post_mortem.record.token_efficiency;
    if tokens.consensus_reached && tokens.rounds <= GOOD_ROUNDS {
        let rounds = counted(tokens.rounds, "round");
        lines.push(format!("- ✓ Consensus within {rounds}"));
    }
    text_or(&lines, "None named.")
}

pub(super) fn wrong(post_mortem: &PostMortem) -> Vec<Block> {
    let mut lines = findings("✗", &post_mortem.assessment.what_went_wrong);
    let is_surprise = |event: &&Tracked| {
        let surprise = event.surprise_factor.map(Probability::value);
        surprise.is_some_and(|factor| factor >= SURPRISING)
    };
    let surprises = post_mortem.timeline.events().iter().filter(is_surprise);
    lines.extend(
        surprises.map(|event| format!("- ✗ {} ({}, unexpected)", event.event, event.when())),
    );
    let mut blocks = text_or(&lines, "None named.");
    blocks.extend(post_mortem.timeline.cost());
    blocks
}

fn findings(sign: &str, findings: &[Finding]) -> Vec<String> {
    let lines = findings.iter().map(|finding| {
        let details = [&finding.note, &finding.validation].into_iter().flatten();
        let details: Vec<&str> = details.map(String::as_str).collect();
        if details.is_empty() {
            format!("- {sign} {}", finding.aspect)
        } else {
            format!("- {sign} {}: {}", finding.aspect, details.join("; "))
        }
    });
    lines.collect()
}

pub(super) fn lessons(post_mortem: &PostMortem, updates: Option<&LearningUpdates>) -> Vec<Block> {
    // Writing to a String cannot fail.
    let mut items: Vec<String> = Vec::new();
    for lesson in &post_mortem.assessment.lessons_learned {
        let mut item = lesson.lesson.clone();
        if let Some(action) = &lesson.actionable {
            let _ = write!(item, "\n   - Action: {action}");
        }
        if let Some(impact) = &lesson.estimated_impact {
            let _ = write!(item, "\n   - Expected impact: {impact}");
        }
        items.push(item);
    }
    for question in &post_mortem.assessment.required_questions {
        items.push(format!(
            "Add required question: {}\n   - Reason: {}",
            question.question, question.reason
        ));
    }
    let skills = updates.into_iter();
    for skill in skills.flat_map(|updates| &updates.skill_recommendations) {
        let mut item = format!(
            "Add skill to panel: {} ({})\n   - Reason: {}",
            skill.skill_name,
            skill.priority.name(),
            skill.reason
        );
        for evidence in &skill.evidence {
            let _ = write!(item, "\n   - Evidence: {evidence}");
        }
        items.push(item);
    }
    let numbered = (1..)
        .zip(items)
        .map(|(number, item)| format!("{number}. {item}"));
    let mut blocks = text_or(&numbered.collect::<Vec<_>>(), "None named.");
    if let Some(updates) = updates {
        let analysis = &updates.debate_efficiency_analysis;
        let text = format!(
            "Rounds: {} {}",
            analysis.observation, analysis.recommendation
        );
        blocks.push(Block::note(text, Tone::Plain));
    }
    blocks
}
