//! The report of a dialectic, at any point of its journal.

mod argument;
mod card;

use roundtable_core::bounded::OutOfTen;
use roundtable_core::format::grouped;
use roundtable_core::issues::{Issue, Ledger, Severity, Status};
use serde::Deserialize;

use super::debate::Debate;
use super::replies::Change;
use super::rules::Rules;
use super::verdict::{Side, Verdict};
use crate::event::Entry;
use crate::protocols::record_header::DebateStatus;
use crate::protocols::scrutiny::Scrutiny;
use crate::report::{
    Block, Cell, Chart, Fact, Line, Report, Scale, Section, Table, Threshold, Tone, Unit,
};

pub(super) fn report(entries: &[Entry]) -> Report {
    let debate = Debate::replay(entries);
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let rules = setup.and_then(|setup| Rules::deserialize(&setup.rules).ok());
    let mut sections = Vec::new();
    if !debate.ledger().all().is_empty() {
        let table = issues(debate.ledger().all());
        sections.push(Section::side("Issues", vec![Block::Table(table)]));
    }
    let scores: Vec<_> = debate.quality_scores().collect();
    if !scores.is_empty() {
        let chart = quality(&scores, rules.as_ref());
        sections.push(Section::side("Quality by round", vec![Block::Chart(chart)]));
    }
    let open = open_issues(debate.ledger());
    let verdict: Option<Verdict> = DebateStatus::of(entries).verdict();
    let Some(verdict) = verdict else {
        return Report {
            verdict: Some(card::draft(entries, &debate)),
            facts: open.into_iter().collect(),
            argument: argument::argument(debate.ledger()),
            sections,
            ..Report::default()
        };
    };
    sections.splice(0..0, worth(&verdict, rules.as_ref()));
    Report {
        verdict: Some(card::verdict(
            entries,
            &verdict,
            &ending(&verdict, rules.as_ref()),
        )),
        facts: facts(&verdict).into_iter().chain(open).collect(),
        answer: verdict.final_answer,
        argument: argument::argument(debate.ledger()),
        sections,
    }
}

/// The open issues by severity: `1 critical, 2 minor`. `None` before the first issue is raised.
fn open_issues(ledger: &Ledger) -> Option<Fact> {
    if ledger.all().is_empty() {
        return None;
    }
    let open: Vec<_> = Severity::ALL
        .into_iter()
        .map(|severity| (severity, ledger.open_count(severity)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let tone = match open.first() {
        None => Tone::Good,
        Some((Severity::Critical, _)) => Tone::Critical,
        Some((Severity::Major, _)) => Tone::Caution,
        Some((Severity::Minor, _)) => Tone::Plain,
    };
    let counts: Vec<_> = open
        .into_iter()
        .map(|(severity, count)| format!("{count} {}", severity.name()))
        .collect();
    let value = if counts.is_empty() {
        "none".to_owned()
    } else {
        counts.join(", ")
    };
    Some(Fact::new("Open issues", value).toned(tone))
}

fn facts(verdict: &Verdict) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(confidence) = verdict.confidence {
        let fact = Fact::new("Confidence", format!("{confidence} of 10"));
        let is_lowered = verdict
            .confidence_stated
            .is_some_and(|stated| confidence < stated);
        let tone = if is_lowered {
            Tone::Caution
        } else {
            Tone::Plain
        };
        facts.push(fact.toned(tone));
    }
    if let Some(auto) = &verdict.auto_score {
        facts.push(Fact::new(
            "Judge's score",
            format!("{:.1} of 10", auto.score.value()),
        ));
    }
    facts.push(Fact::new("Rounds", verdict.total_rounds.to_string()));
    // The cost of each answer (C-17).
    let first = verdict.worth.first.as_ref();
    let debated = verdict.worth.debated.as_ref();
    facts.extend(first.map(|side| Fact::new("First answer cost", cost(side))));
    facts.extend(debated.map(|side| Fact::new("Debated answer cost", cost(side))));
    facts
}

/// `1,234 tokens, $0.0012`
fn cost(side: &Side) -> String {
    let tokens = counted_tokens(side.tokens);
    match side.cost {
        Some(cost) if cost.dollars() > 0.0 => format!("{tokens}, ${:.4}", cost.dollars()),
        Some(_) => format!("{tokens}, free"),
        None => format!("{tokens}, price unknown"),
    }
}

fn counted_tokens(tokens: u64) -> String {
    let plural = if tokens == 1 { "" } else { "s" };
    format!("{} token{plural}", grouped(tokens))
}

/// Why the rounds ended: `Stopped after round 3 of 5: the skeptic called it ready.`
fn ending(verdict: &Verdict, rules: Option<&Rules>) -> String {
    let Verdict {
        total_rounds,
        stop_explanation,
        ..
    } = verdict;
    let of = rules.filter(|rules| *total_rounds < rules.max_rounds);
    let of = of.map_or_else(String::new, |rules| format!(" of {}", rules.max_rounds));
    match total_rounds {
        0 => format!("Stopped without an answer: {stop_explanation}."),
        rounds => format!("Stopped after round {rounds}{of}: {stop_explanation}."),
    }
}

/// How the debate ended and what it changed (C-17).
fn worth(verdict: &Verdict, rules: Option<&Rules>) -> Vec<Section> {
    let note = |text: String, tone| Block::Note { text, tone };
    let mut blocks = vec![note(ending(verdict, rules), Tone::Plain)];
    blocks.extend(verdict.scrutiny.as_ref().map(Scrutiny::note));
    let changed = verdict.worth.changed.map(|change| match change {
        Change::Unchanged => "The debate did not change the first answer.",
        Change::Refined => "The debate refined the first answer.",
        Change::Reversed => "The debate reversed the first answer.",
    });
    blocks.extend(changed.map(|text| note(text.into(), Tone::Plain)));
    let why = verdict.worth.change_reason.clone();
    blocks.extend(why.map(|markdown| Block::Text { markdown }));
    // Without an answer, the reason of the failure names them.
    for missing in verdict.missing.iter().filter(|_| verdict.answer.is_some()) {
        blocks.push(note(missing.sentence(), Tone::Caution));
    }
    for remark in &verdict.remarks {
        blocks.push(note(remark.clone(), Tone::Caution));
    }
    let mut sections = vec![Section::ending(blocks)];
    if let Some(first) = &verdict.worth.first {
        let markdown = first.answer.clone();
        sections.push(Section::main(
            "First answer, before the debate",
            vec![Block::Text { markdown }],
        ));
    }
    sections
}

/// Open issues first, the most severe first.
fn issues(all: &[Issue]) -> Table {
    let mut all: Vec<&Issue> = all.iter().collect();
    all.sort_by_key(|issue| (issue.status == Status::Resolved, issue.finding.severity));
    let table = Table::new("Issues", &["id", "severity", "status", "problem"]);
    all.into_iter().fold(table, |table, issue| {
        let tone = match (issue.status, issue.finding.severity) {
            (Status::Resolved, _) => Tone::Good,
            (_, Severity::Critical) => Tone::Critical,
            (_, Severity::Major) => Tone::Caution,
            (_, Severity::Minor) => Tone::Quiet,
        };
        table.row(vec![
            Cell::new(issue.id.clone()),
            Cell::new(issue.finding.severity.name()).toned(tone),
            Cell::new(issue.status.name()).toned(tone),
            Cell::new(issue.finding.problem.clone()),
        ])
    })
}

fn quality(scores: &[(u32, OutOfTen)], rules: Option<&Rules>) -> Chart {
    Chart::Lines {
        title: "The skeptic's score by round".into(),
        scale: Scale {
            from: 0.0,
            to: 10.0,
            unit: Unit::Decimals(0),
        },
        rounds: scores
            .iter()
            .map(|(round, _)| format!("R{round}"))
            .collect(),
        lines: vec![Line {
            label: "score".into(),
            role: Some("skeptic".into()),
            values: scores
                .iter()
                .map(|(_, score)| Some(f64::from(score.value())))
                .collect(),
        }],
        thresholds: rules
            .map(|rules| Threshold {
                label: format!("ready at {}", rules.early_stop_score),
                value: f64::from(rules.early_stop_score.value()),
            })
            .into_iter()
            .collect(),
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
