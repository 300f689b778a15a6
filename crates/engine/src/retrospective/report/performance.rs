//! Performance of evidence and agents.

use roundtable_core::evidence::EvidenceType;
use roundtable_core::format::{counted, truncated};
use roundtable_core::learning::{AgentScore, Mark};
use roundtable_core::wording::one_line;

use crate::report::{Block, Cell, Table, Tone, Unit};
use crate::retrospective::evidence::EvidenceItem;
use crate::retrospective::follow_up::tone_of;
use crate::retrospective::post_mortem::PostMortem;
use crate::retrospective::record::AgentPosition;
use crate::retrospective::updates::LearningUpdates;

const MAX_POSITION: usize = 120;

pub(super) fn evidence(post_mortem: &PostMortem, updates: Option<&LearningUpdates>) -> Vec<Block> {
    let mut types = Table::new(
        "By type",
        &["Type", "#Cases", "#Followed rightly", "", "Weight"],
    );
    for kind in EvidenceType::ALL {
        let cases = post_mortem.of_type(kind).count();
        let heeded = post_mortem.heeded(kind);
        if cases == 0 && heeded.is_none() {
            continue;
        }
        let (sign, tone) = heeded.map_or(("not assessed", Tone::Quiet), share_sign);
        let update = updates.and_then(|updates| updates.evidence_weight_updates.get(&kind));
        types = types.row(vec![
            Cell::new(kind.name()),
            Cell::new(cases.to_string()),
            Unit::Percent.cell(heeded),
            Cell::new(sign).toned(tone),
            Cell::new(update.map_or_else(String::new, |update| {
                format!("{:.2} → {:.2}", update.old_weight, update.new_weight)
            })),
        ]);
    }
    if types.rows.is_empty() {
        let text = "No evidence was recorded or assessed.";
        return vec![Block::note(text, Tone::Quiet)];
    }
    let mut blocks = vec![Block::Table(types)];
    if !post_mortem.evidence.is_empty() {
        blocks.push(Block::Table(items_table(&post_mortem.evidence)));
    }
    blocks.extend(updates.into_iter().flat_map(weight_notes));
    blocks
}

fn items_table(items: &[EvidenceItem]) -> Table {
    let mut items: Vec<&EvidenceItem> = items.iter().collect();
    items.sort_by_key(|item| item.kind);
    let rows = items.into_iter().map(|item| {
        let (sign, tone) = item.mark.map_or(("·", Tone::Quiet), mark_sign);
        let outcome = item.mark.map_or("not assessed", Mark::name);
        let outcome = match &item.note {
            Some(note) => format!("{outcome}: {note}"),
            None => outcome.to_owned(),
        };
        let citation = if item.claims.is_empty() {
            item.citation.clone()
        } else {
            format!("{} ({})", item.citation, item.claims.join(", "))
        };
        vec![
            Cell::new(sign).toned(tone),
            Cell::new(item.kind.name()),
            Cell::new(citation),
            Cell::new(outcome),
        ]
    });
    Table::of(
        "Evidence in detail",
        &["", "Type", "Evidence", "Outcome"],
        rows,
    )
}

fn weight_notes(updates: &LearningUpdates) -> impl Iterator<Item = Block> {
    updates
        .evidence_weight_updates
        .iter()
        .map(|(kind, update)| {
            let direction = if update.new_weight >= update.old_weight {
                "rises"
            } else {
                "falls"
            };
            let text = format!(
                "{kind} {direction} from {:.2} to {:.2} (95% interval {:.2} to {:.2}, from {}): {}",
                update.old_weight,
                update.new_weight,
                update.low,
                update.high,
                counted(update.projects_analyzed, "project"),
                update.reason
            );
            Block::note(text, Tone::Plain)
        })
}

fn share_sign(share: f64) -> (&'static str, Tone) {
    if share >= 0.95 {
        ("✓✓", Tone::Good)
    } else if share >= 0.80 {
        ("✓", Tone::Good)
    } else if share >= 0.60 {
        ("~", Tone::Plain)
    } else {
        ("⚠", Tone::Caution)
    }
}

const fn mark_sign(mark: Mark) -> (&'static str, Tone) {
    match mark {
        Mark::Validated => ("✓", Tone::Good),
        Mark::Refuted | Mark::DismissedButRelevant => ("✗", Tone::Caution),
        Mark::Incomplete => ("~", Tone::Plain),
    }
}

pub(super) fn agents(post_mortem: &PostMortem) -> Vec<Block> {
    let record = &post_mortem.record;
    let names = record.agents();
    if names.is_empty() {
        return vec![Block::note("No positions were recorded.", Tone::Quiet)];
    }
    let columns = [
        "Agent",
        "Panel",
        "Initial",
        "Final",
        "#Accuracy",
        "Judged by",
        "Note",
    ];
    let rows = names.into_iter().map(|agent| {
        let rounds = record.rounds.iter();
        let mut positions = rounds.flat_map(|round| &round.agent_positions);
        let first = positions.find(|position| position.agent == agent);
        let last = record.last_position(agent);
        let score = post_mortem.score(agent);
        let accuracy = score.map(AgentScore::right);
        let verdict = post_mortem.verdict_on(agent);
        let note = verdict.and_then(|verdict| verdict.note.clone());
        vec![
            Cell::new(agent),
            Cell::new(first.map_or("", |position| position.panel.as_str())),
            Cell::new(first.map_or_else(String::new, shortened)),
            Cell::new(last.map_or_else(String::new, shortened)),
            Unit::Percent
                .cell(accuracy)
                .toned(accuracy.map_or(Tone::Quiet, tone_of)),
            Cell::new(score.map_or_else(String::new, basis)),
            Cell::new(note.unwrap_or_default()),
        ]
    });
    vec![Block::Table(Table::of("Agent performance", &columns, rows))]
}

fn shortened(position: &AgentPosition) -> String {
    truncated(&one_line(&position.position), MAX_POSITION)
}

fn basis(score: AgentScore) -> String {
    match score {
        AgentScore::Probability { confidence, right } => format!(
            "confidence {confidence:.2}, Brier score {:.3}",
            (confidence.value() - right.value()).powi(2)
        ),
        AgentScore::Verdict { .. } => "assessor".to_owned(),
        AgentScore::Evidence { pieces: 1, .. } => "1 piece of evidence".to_owned(),
        AgentScore::Evidence { pieces, .. } => format!("{pieces} pieces of evidence"),
    }
}
