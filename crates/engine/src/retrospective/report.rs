//! The post-mortem report, with the sections of the design (E-14).

mod impact;
mod lessons;
mod performance;

use roundtable_core::format::{counted, grouped, percent};
use roundtable_core::learning::Knowledge;

use super::follow_up::tone_of;
use super::post_mortem::PostMortem;
use super::updates::LearningUpdates;
use crate::report::{Block, Cell, Fact, Report, Section, Table, Tone};

/// A consensus within this many rounds is efficient.
const GOOD_ROUNDS: u32 = 3;
const CONSENSUS: f64 = 0.80;
const STRONG_EVIDENCE: f64 = 0.60;
const SOME_EVIDENCE: f64 = 0.30;

/// `learned` is what the post-mortem changed and the knowledge after it; `None` if nothing was learned.
pub fn report(post_mortem: &PostMortem, learned: Option<(&LearningUpdates, &Knowledge)>) -> Report {
    let updates = learned.map(|(updates, _)| updates);
    let mut sections = vec![Section::main("Debate metrics", metrics(post_mortem))];
    sections.extend(post_mortem.timeline.section());
    let evidence = performance::evidence(post_mortem, updates);
    let projected = impact::projected(post_mortem, learned);
    let rest = [
        ("Evidence performance", evidence),
        ("Agent performance", performance::agents(post_mortem)),
        ("What went right", lessons::right(post_mortem)),
        ("What went wrong", lessons::wrong(post_mortem)),
        ("Lessons learned", lessons::lessons(post_mortem, updates)),
        ("System updates applied", impact::applied(updates)),
        ("Projected impact on future debates", projected),
    ];
    sections.extend(rest.map(|(title, blocks)| Section::main(title, blocks)));
    Report {
        verdict: None,
        answer: None,
        facts: facts(post_mortem),
        sections,
        ..Report::default()
    }
}

const NO_DECISION: &str = "no decision was recorded";

fn facts(post_mortem: &PostMortem) -> Vec<Fact> {
    let record = &post_mortem.record;
    let accuracy = post_mortem.assessment.decision_accuracy.value();
    let consensus = record.final_consensus.as_ref();
    let decision = consensus.and_then(|consensus| consensus.decision.as_deref());
    let decision = decision.map_or(NO_DECISION, str::trim);
    let outcome = format!("{} accurate", percent(accuracy));
    vec![
        Fact::new("Project", record.project_name.clone()),
        Fact::new("Debate topic", record.topic.clone()),
        Fact::new("Decision", decision),
        Fact::new("Date", post_mortem.timeline.decided().to_string()),
        Fact::new("Outcome assessment", outcome).toned(tone_of(accuracy)),
    ]
}

fn metrics(post_mortem: &PostMortem) -> Vec<Block> {
    let tokens = &post_mortem.record.token_efficiency;
    let last = post_mortem.record.rounds.last().map(|round| round.metrics);
    let rounds = counted(tokens.rounds, "round");
    let (efficiency, tone) = match (tokens.consensus_reached, tokens.rounds) {
        (true, 0..=GOOD_ROUNDS) => (format!("good (consensus in {rounds})"), Tone::Good),
        (true, _) => (format!("fair (consensus in {rounds})"), Tone::Plain),
        (false, _) => (format!("poor (no consensus in {rounds})"), Tone::Caution),
    };
    let similarity = last.and_then(|metrics| metrics.semantic_similarity);
    let similarity = rated(similarity, |value| {
        if value >= CONSENSUS {
            "consensus reached"
        } else {
            "no consensus"
        }
    });
    let convergence = last.and_then(|metrics| metrics.evidence_convergence);
    let convergence = rated(convergence, |value| {
        if value >= STRONG_EVIDENCE {
            "strong"
        } else if value > SOME_EVIDENCE {
            "moderate"
        } else {
            "different evidence"
        }
    });
    let rows = [
        ("Rounds", Cell::new(tokens.rounds.to_string())),
        ("Final semantic similarity", Cell::new(similarity)),
        ("Final evidence convergence", Cell::new(convergence)),
        ("Total tokens", Cell::new(grouped(tokens.total_tokens))),
        ("Efficiency", Cell::new(efficiency).toned(tone)),
    ];
    let rows = rows.map(|(name, value)| vec![Cell::new(name), value]);
    vec![Block::Table(Table::of(
        "Debate metrics",
        &["", "Value"],
        rows,
    ))]
}

/// `0.85 (consensus reached)`
fn rated(value: Option<f64>, rating: impl Fn(f64) -> &'static str) -> String {
    value.map_or_else(
        || "not measured".to_owned(),
        |value| format!("{value:.2} ({})", rating(value)),
    )
}

fn text_or(lines: &[String], none: &str) -> Vec<Block> {
    if lines.is_empty() {
        return vec![Block::note(none, Tone::Quiet)];
    }
    let markdown = lines.join("\n");
    vec![Block::Text { markdown }]
}
