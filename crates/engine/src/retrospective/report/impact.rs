//! Applied learning updates and their projected impact.

use roundtable_core::format::{counted, percent};
use roundtable_core::learning::Knowledge;

use crate::assessment::tracking::one_decimal;
use crate::report::{Block, Cell, Table, Tone, Unit};
use crate::retrospective::post_mortem::PostMortem;
use crate::retrospective::updates::LearningUpdates;

pub(super) fn applied(updates: Option<&LearningUpdates>) -> Vec<Block> {
    let Some(updates) = updates else {
        let text = "No learning updates were applied.";
        return vec![Block::note(text, Tone::Quiet)];
    };
    let questions = &updates.pm_agent_question_updates;
    let (weights, agents) = (
        &updates.evidence_weight_updates,
        &updates.agent_calibration_updates,
    );
    let counts = [
        (["evidence weight", "updated"], weights.len()),
        (
            ["required question", "added"],
            questions.new_required_questions.len(),
        ),
        (
            ["required question", "updated"],
            questions.updated_questions.len(),
        ),
        (
            ["skill", "recommended"],
            updates.skill_recommendations.len(),
        ),
        (["agent", "calibrated"], agents.len()),
    ];
    let mut blocks: Vec<Block> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|([thing, done], count)| {
            Block::note(format!("✓ {} {done}", counted(count, thing)), Tone::Good)
        })
        .collect();
    let columns = [
        "Agent",
        "#Debates",
        "#Accuracy",
        "95% interval",
        "#Brier score",
    ];
    let rows = agents.iter().map(|(agent, update)| {
        vec![
            Cell::new(agent.clone()),
            Cell::new(update.debates.to_string()),
            Cell::new(format!("{:.2}", update.accuracy)),
            Cell::new(format!("{:.2} to {:.2}", update.low, update.high)),
            Unit::Decimals(3).cell(update.brier),
        ]
    });
    if !agents.is_empty() {
        let table = Table::of("Agent calibration", &columns, rows);
        blocks.push(Block::Table(table));
    }
    let (entry, domain) = (updates.entry, &updates.domain);
    let text =
        format!("Audit entry {entry}, domain '{domain}'. Undo: `roundtable learning undo {entry}`");
    blocks.push(Block::note(text, Tone::Quiet));
    blocks
}

pub(super) fn projected(
    post_mortem: &PostMortem,
    learned: Option<(&LearningUpdates, &Knowledge)>,
) -> Vec<Block> {
    let Some((updates, knowledge)) = learned else {
        let text = "None, because no learning updates were applied.";
        return vec![Block::note(text, Tone::Quiet)];
    };
    let mut blocks = Vec::new();
    if let Some(accuracy) = knowledge.decision_accuracy {
        let text = format!(
            "Current accuracy ({}): {} (95% interval {} to {}, from {})",
            knowledge.domain,
            percent(accuracy.mean),
            percent(accuracy.low),
            percent(accuracy.high),
            counted(accuracy.cases, "project")
        );
        blocks.push(Block::note(text, Tone::Plain));
        let expected = expected(post_mortem, accuracy.mean);
        blocks.push(Block::note(expected, Tone::Plain));
    }
    blocks.push(Block::note(measured(knowledge), Tone::Quiet));
    let changes = changes(updates, knowledge).join("\n");
    if !changes.is_empty() {
        let markdown = format!("The next debate in this domain will:\n\n{changes}");
        blocks.push(Block::Text { markdown });
    }
    blocks
}

/// The differences in the next debate of the domain.
fn changes(updates: &LearningUpdates, knowledge: &Knowledge) -> Vec<String> {
    let mut changes = Vec::new();
    let questions = knowledge.questions.iter();
    let asked = questions.filter(|question| question.is_asked).count();
    if asked > 0 {
        let questions = counted(asked, "required question");
        changes.push(format!("- ask the panel {questions} before round 1"));
    }
    for (kind, update) in &updates.evidence_weight_updates {
        let direction = if update.new_weight >= update.old_weight {
            "higher"
        } else {
            "lower"
        };
        changes.push(format!(
            "- weight {kind} evidence {direction} ({:.2})",
            update.new_weight
        ));
    }
    for skill in &updates.skill_recommendations {
        changes.push(format!("- suggest a seat for {}", skill.skill_name));
    }
    changes
}

/// The assessor's estimates overlap, so the largest is used and not their sum.
fn expected(post_mortem: &PostMortem, now: f64) -> String {
    let lessons = post_mortem.assessment.lessons_learned.iter();
    let points = lessons.filter_map(|lesson| points_in(lesson.estimated_impact.as_ref()?));
    match points.max_by(f64::total_cmp) {
        None => "Expected accuracy with the updates: no estimate given".to_owned(),
        Some(points) => format!(
            "Expected accuracy with the updates: {} (+{} percentage points, the assessor's highest estimate)",
            percent((now + points / 100.0).min(1.0)),
            one_decimal(points)
        ),
    }
}

/// `+15% decision accuracy` → 15
fn points_in(text: &str) -> Option<f64> {
    let (number, _) = text.split_once('%')?;
    let start = number.rfind(|c: char| !c.is_ascii_digit() && c != '.');
    let number = &number[start.map_or(0, |index| index + 1)..];
    number.parse().ok()
}

fn measured(knowledge: &Knowledge) -> String {
    let with = knowledge.accuracy_with_learning;
    match (with, knowledge.accuracy_without_learning) {
        (Some(with), Some(without)) => format!(
            "Measured accuracy: {} with learning ({}), {} without ({})",
            percent(with.mean),
            counted(with.cases, "project"),
            percent(without.mean),
            counted(without.cases, "project")
        ),
        (None, _) => "Measured accuracy: no debate with learning was assessed yet".to_owned(),
        (Some(_), None) => "Measured accuracy: all assessed debates used learning".to_owned(),
    }
}
