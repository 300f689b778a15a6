//! The report of an enhanced debate (E-11): convergence, rounds with their evidence, cited sources, critiques, decisions of
//! people and token overhead.

mod outcome;
mod rounds;

use roundtable_core::convergence::Status;
use roundtable_core::evidence::{Calibration, EvidenceType, Flagged, Level, Standing};
use roundtable_core::sources::Checked;

use super::overhead::Overhead;
use super::prompt_context::with_band;
use super::state::{EnhancedState, MeasuredRound};
use super::verdict::{EnhancedVerdict, cited_evidence};
use crate::protocols::modes::report::note;
use crate::protocols::modes::{Debate, Verdict};
use crate::report::{Block, Cell, Chart, Fact, Line, Scale, Section, Table, Threshold, Tone, Unit};
use outcome::outcome;
use rounds::round_section;

/// The last measured round; `None` in debates without measures.
pub fn progress(debate: &Debate) -> Option<Section> {
    let enhanced = debate
        .enhanced
        .as_ref()
        .filter(|enhanced| enhanced.rules.is_measured())?;
    let last = enhanced.rounds.last()?;
    Some(round_section(debate, enhanced, last))
}

pub fn facts(verdict: &Verdict) -> Vec<Fact> {
    let Some(enhanced) = &verdict.enhanced else {
        return Vec::new();
    };
    let mut facts = vec![Fact::new("Algorithm", enhanced.algorithm.replace('_', " "))];
    let by_person = verdict
        .resolution
        .as_ref()
        .map_or(enhanced.human_override, |resolution| resolution.by_person);
    if by_person {
        let decided = enhanced.answer.as_deref();
        let decided = decided.map_or_else(|| "a person".to_owned(), |d| format!("a person: {d}"));
        facts.push(Fact::new("Decided by", decided).toned(Tone::Caution));
    } else if let Some(level) = enhanced.level {
        let value = match enhanced.similarity {
            Some(similarity) => format!("{} (similarity {similarity:.2})", strength(level)),
            None => strength(level).to_owned(),
        };
        facts.push(Fact::new("Consensus", value).toned(tone_of(level)));
    }
    if enhanced.human_override && !by_person {
        facts.push(Fact::new("Security objection", "overridden by a person").toned(Tone::Caution));
    }
    if let Some(share) = enhanced.overhead.share() {
        // Rounds that votes would have spared are not the price of evidence.
        let rounds = if enhanced.overhead.round_tokens > 0 {
            ", with rounds that votes would have spared"
        } else {
            ""
        };
        facts.push(Fact::new(
            "Token overhead",
            format!("+{:.0}% over a plain debate{rounds}", share * 100.0),
        ));
    }
    facts
}

/// The level of a consensus in words.
const fn strength(level: Level) -> &'static str {
    match level {
        Level::High => "strong",
        Level::MediumHigh => "fairly strong",
        Level::Medium => "moderate",
        Level::MediumLow => "fairly weak",
        Level::Low => "weak",
        Level::VeryLow => "very weak",
    }
}

fn tone_of(level: Level) -> Tone {
    match level {
        Level::High | Level::MediumHigh => Tone::Good,
        Level::Medium | Level::MediumLow => Tone::Plain,
        Level::Low | Level::VeryLow => Tone::Caution,
    }
}

/// Whether the positions of a round are shown as cards.
pub fn has_cards(debate: &Debate, round: u32) -> bool {
    let enhanced = debate.enhanced.as_ref();
    let measured = enhanced.filter(|enhanced| enhanced.rules.is_measured());
    measured.is_some_and(|enhanced| enhanced.measured(round).is_some())
}

/// Empty for a plain debate.
pub fn sections(
    debate: &Debate,
    total_tokens: u64,
    verdict: Option<&EnhancedVerdict>,
) -> Vec<Section> {
    let Some(enhanced) = &debate.enhanced else {
        return Vec::new();
    };
    let mut sections = Vec::new();
    sections.extend(outcome(enhanced, verdict));
    sections.extend(convergence_section(enhanced));
    if enhanced.rules.is_measured() {
        let rounds = enhanced.rounds.iter();
        sections.extend(rounds.map(|round| round_section(debate, enhanced, round)));
    }
    sections.extend(cited_sources(debate, enhanced));
    sections.extend(claims(debate, enhanced));
    sections.extend(source_checks(enhanced));
    sections.extend(critiques(enhanced));
    sections.extend(rejected_evidence(enhanced));
    sections.push(overhead(&Overhead::of(debate, total_tokens)));
    sections
}

fn status_tone(status: Status) -> Tone {
    match status {
        Status::ConsensusReached | Status::ConsensusWithDiverseEvidence => Tone::Good,
        Status::DiminishingReturns => Tone::Caution,
        Status::Continue => Tone::Plain,
    }
}

/// A chart of the three measures by round, with their thresholds.
fn convergence_section(enhanced: &EnhancedState) -> Option<Section> {
    if !enhanced.rules.is_measured() || enhanced.rounds.is_empty() {
        return None;
    }
    let line = |label: &str, value: &dyn Fn(&MeasuredRound) -> Option<f64>| Line {
        label: label.to_owned(),
        role: None,
        values: enhanced.rounds.iter().map(value).collect(),
    };
    let thresholds = &enhanced.rules.thresholds;
    let threshold = |label: &str, value: f64| Threshold {
        label: format!("{label} {value:.2}"),
        value,
    };
    let chart = Chart::Lines {
        title: "Convergence by round".into(),
        scale: Scale {
            from: 0.0,
            to: 1.0,
            unit: Unit::Decimals(2),
        },
        rounds: enhanced
            .rounds
            .iter()
            .map(|round| format!("R{}", round.number))
            .collect(),
        lines: vec![
            line("similarity", &|round| {
                Some(round.metrics.similarity?.scaled)
            }),
            line("shift", &|round| round.metrics.shift),
            line("evidence", &|round| Some(round.metrics.evidence)),
        ],
        thresholds: vec![
            threshold("consensus at", thresholds.similarity),
            threshold("strong evidence at", thresholds.evidence),
            threshold("no progress below", thresholds.stalled),
        ],
    };
    Some(Section::main("Convergence", vec![Block::Chart(chart)]))
}

fn cited_sources(debate: &Debate, enhanced: &EnhancedState) -> Option<Section> {
    let agents = debate.panel.seats.len();
    let all = cited_evidence(enhanced, agents);
    if all.is_empty() {
        return None;
    }
    let table = all.into_iter().fold(
        Table::new(
            "Evidence by number of citations",
            &["#cited by", "type", "#weight", "agents", "source"],
        ),
        |table, cited| {
            let tone = if cited.cited_by.len() == agents {
                Tone::Good
            } else {
                Tone::Plain
            };
            table.row(vec![
                Cell::new(format!("{}/{agents}", cited.cited_by.len())).toned(tone),
                Cell::new(cited.kind.name()),
                Cell::new(format!("{:.2}", cited.weight)),
                Cell::new(cited.cited_by.join(", ")),
                Cell::new(cited.source),
            ])
        },
    );
    Some(Section::main(
        "Evidence by number of citations",
        vec![Block::Table(table)],
    ))
}

/// The evidence for each claim, and whether the stated confidence is within what it allows.
fn claims(debate: &Debate, enhanced: &EnhancedState) -> Option<Section> {
    let columns = ["id", "type", "allows", "stated", "status", "claim"];
    let mut table = Table::new("Evidence for each claim", &columns);
    for claim in &debate.state.claims {
        let Some(seats) = enhanced.ledger.claims.get(&claim.id) else {
            continue;
        };
        let kinds: Vec<&str> = enhanced
            .ledger
            .kinds_of(&claim.id)
            .into_iter()
            .map(EvidenceType::name)
            .collect();
        let level = enhanced.ledger.grade_of(&claim.id).map(|grade| grade.level);
        let stated: Vec<String> = seats
            .iter()
            .map(
                |(seat, grounding)| match (grounding.stated, grounding.calibration) {
                    (Some(stated), Some(Calibration::Within)) => {
                        format!("{seat} {:.2}", stated.value())
                    }
                    (Some(stated), Some(off)) => {
                        format!("{seat} {:.2} {}", stated.value(), off.name())
                    }
                    (Some(_) | None, _) => format!("{seat} –"),
                },
            )
            .collect();
        let is_off = seats
            .values()
            .filter_map(|grounding| grounding.calibration)
            .any(|calibration| calibration != Calibration::Within);
        table = table.row(vec![
            Cell::new(claim.id.clone()),
            Cell::new(kinds.join(", ")),
            Cell::new(level.map_or_else(|| "–".into(), with_band)),
            Cell::new(stated.join(", ")).toned(if is_off { Tone::Caution } else { Tone::Plain }),
            Cell::new(claim.status.name()),
            Cell::new(claim.text.clone()),
        ]);
    }
    (!table.rows.is_empty())
        .then(|| Section::side("Evidence for each claim", vec![Block::Table(table)]))
}

/// Claims checked against the user's sources (E-18).
fn source_checks(enhanced: &EnhancedState) -> Option<Section> {
    let columns = ["claim", "type", "cited", "agent", "result", "passage"];
    let table = enhanced.checks.iter().fold(
        Table::new("Claims checked against your sources", &columns),
        |table, check| {
            let (result, tone) = match &check.result {
                Checked::Supported { passage } => (format!("supported by {passage}"), Tone::Good),
                Checked::NotFound => ("not found".to_owned(), Tone::Caution),
                Checked::Contradicted { .. } => (
                    format!("contradicted by {}", check.contradicting()),
                    Tone::Critical,
                ),
            };
            table.row(vec![
                Cell::new(check.claim.clone()),
                Cell::new(check.kind.name()),
                Cell::new(check.cited.clone()),
                Cell::new(check.seat.clone()),
                Cell::new(result).toned(tone),
                Cell::new(check.passage.clone().unwrap_or_else(|| "–".into())),
            ])
        },
    );
    (!table.rows.is_empty()).then(|| {
        Section::main(
            "Claims checked against your sources",
            vec![Block::Table(table)],
        )
    })
}

fn critiques(enhanced: &EnhancedState) -> Option<Section> {
    let columns = ["#round", "agent", "claim", "grade", "result"];
    let table = enhanced.ledger.critiques.iter().fold(
        Table::new("Critiques and concessions", &columns),
        |table, entry| {
            let (result, tone) = match entry.standing {
                Standing::Concedes => ("conceded".to_owned(), Tone::Good),
                Standing::Contests => ("contested with counter-evidence".to_owned(), Tone::Plain),
                Standing::TooWeak { needed } => {
                    (format!("too weak against {}", needed.name()), Tone::Caution)
                }
                Standing::NoCounterEvidence => ("no counter-evidence".to_owned(), Tone::Caution),
                Standing::Unfinished => {
                    ("neither synthesis nor concession".to_owned(), Tone::Caution)
                }
            };
            let grade = entry.critique.grade.value();
            table.row(vec![
                Cell::new(entry.round.to_string()),
                Cell::new(entry.seat.clone()),
                Cell::new(entry.critique.claim.clone()),
                Cell::new(grade.map_or("–", |grade| grade.name())),
                Cell::new(result).toned(tone),
            ])
        },
    );
    (!table.rows.is_empty())
        .then(|| Section::side("Critiques and concessions", vec![Block::Table(table)]))
}

fn rejected_evidence(enhanced: &EnhancedState) -> Option<Section> {
    let notes = enhanced
        .ledger
        .flags
        .iter()
        .map(|Flagged { round, seat, flag }| {
            note(format!("Round {round}, {seat}: {flag}."), Tone::Caution)
        });
    let blocks: Vec<Block> = notes.collect();
    (!blocks.is_empty()).then(|| Section::side("Rejected evidence", blocks))
}

/// Tokens compared with a plain debate (E-17).
fn overhead(overhead: &Overhead) -> Section {
    let row = |name: &str, tokens: u64| vec![Cell::new(name), Cell::new(tokens.to_string())];
    let share = overhead
        .share()
        .map_or_else(|| "–".to_owned(), |share| format!("+{:.0}%", share * 100.0));
    let table = Table::new("Token overhead", &["", "#tokens"])
        .row(row("this debate", overhead.total_tokens))
        .row(row(
            "plain debate with the same replies",
            overhead.plain_tokens,
        ))
        .row(row("added to prompts", overhead.prompt_tokens))
        .row(row("added to replies", overhead.reply_tokens))
        .row(row("additional rounds", overhead.round_tokens))
        .row(vec![Cell::new("overhead"), Cell::new(share)])
        .row(row("read by the embedder", overhead.embedded_tokens));
    Section::side("Token overhead", vec![Block::Table(table)])
}
