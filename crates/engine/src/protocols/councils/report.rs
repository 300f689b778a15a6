//! The report of a councils debate, at any point of its journal: the scorecard while it runs, everything behind the scores at
//! the end.

mod argument;
mod card;
mod findings;
mod scorecard;

use roundtable_core::councils::BiasFigures;
use roundtable_core::forensics::LIMITS;
use roundtable_core::format::grouped;
use serde::Deserialize;
use serde_json::Value;

use super::council_state::replay;
use super::judge_results::{AuthenticityResult, CouncilResult};
use super::rules::Rules;
use super::scorecard::scorecard;
use super::verdict::{Change, Verdict};
use crate::cast::councils::CouncilsSpec;
use crate::event::Entry;
use crate::protocols::record_header::DebateStatus;
use crate::protocols::scrutiny::Scrutiny;
use crate::report::{Argument, Block, Cell, Fact, Report, Section, Table, Tone};
use crate::totals::{compared_cost, shown_cost};

pub(super) fn report(entries: &[Entry]) -> Report {
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let rules = setup.and_then(|setup| Rules::deserialize(&setup.rules).ok());
    let Some(rules) = rules else {
        return Report::default();
    };
    let verdict: Option<Verdict> = DebateStatus::of(entries).verdict();
    let dimensions = if let Some(verdict) = &verdict {
        verdict.dimensions.clone()
    } else {
        let councils = replay(&rules.panel, entries);
        let results = councils
            .iter()
            .map(|council| scorecard(&rules.panel, council).0);
        results.flatten().collect()
    };
    let mut sections = scorecard::sections(&dimensions);
    let Some(verdict) = verdict else {
        return Report {
            verdict: Some(card::draft(entries, &rules, &dimensions)),
            argument: Argument {
                moves: argument::moves(&dimensions),
                ..Argument::default()
            },
            sections,
            ..Report::default()
        };
    };
    sections.extend(findings::disagreements(&verdict));
    sections.extend(findings::agreements(&verdict));
    sections.extend(findings::critic(&verdict));
    sections.extend(verdict.authenticity.as_ref().map(authenticity));
    sections.extend(verdict.councils.iter().filter_map(council));
    sections.extend(extras(&rules.panel, &verdict));
    sections.push(worth(&verdict));
    sections.push(bias(&verdict.bias));
    Report {
        verdict: Some(card::verdict(entries, &verdict)),
        facts: facts(&verdict),
        argument: argument::argument(&verdict),
        answer: verdict.final_answer,
        sections,
    }
}

fn facts(verdict: &Verdict) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(overall) = &verdict.overall {
        // With decimals: the tier depends on them.
        let score = format!("{:.2}", overall.overall.score.value());
        let score = score.trim_end_matches('0').trim_end_matches('.');
        let value = format!("{score} of 100, {}", overall.tier);
        facts.push(Fact::new(&overall.title, value));
    }
    if let Some(confidence) = &verdict.confidence {
        let fact = Fact::new("Confidence", format!("{:.2}", confidence.value.value()));
        let tone = if confidence.missing > 0 {
            Tone::Caution
        } else {
            Tone::Plain
        };
        facts.push(fact.toned(tone));
    }
    let severe = verdict
        .council_disagreements
        .iter()
        .filter(|disagreement| disagreement.is_severe())
        .count();
    let all = verdict.council_disagreements.len();
    if all > 0 {
        let value = if severe > 0 {
            format!("{all}, {severe} severe")
        } else {
            all.to_string()
        };
        facts.push(Fact::new("Disagreements", value).toned(Tone::Caution));
    }
    if let Some(critic) = &verdict.critic {
        facts.push(Fact::new(
            "Critic's findings",
            critic.findings.len().to_string(),
        ));
    }
    if let Some((blind, debated)) = verdict
        .worth
        .blind
        .as_ref()
        .zip(verdict.worth.debated.as_ref())
    {
        facts.push(compared_cost(
            (blind.cost, blind.tokens),
            (debated.cost, debated.tokens),
        ));
    }
    facts
}

/// The judge's opinion and the figures, after a note on what they cannot show: nothing here is proof (T-02).
fn authenticity(found: &AuthenticityResult) -> Section {
    let mut blocks = vec![Block::Note {
        text: LIMITS.to_owned(),
        tone: Tone::Caution,
    }];
    if let Some(judgement) = &found.judgement {
        let markdown = judgement.assessment.clone();
        blocks.push(Block::Text { markdown });
        let table = Table::new(
            "The judge's scores, not part of the overall score",
            &["", "#score", "#confidence"],
        );
        let table = judgement.scores.iter().fold(table, |table, unscored| {
            let score = unscored
                .score
                .last()
                .map_or_else(|| "–".into(), |score| score.shown().to_string());
            let confidence = unscored.score.confidence.map_or_else(
                || "not stated".into(),
                |confidence| format!("{:.2}", confidence.value()),
            );
            table.row(vec![
                Cell::new(unscored.title.clone()),
                Cell::new(score),
                Cell::new(confidence),
            ])
        });
        blocks.push(Block::Table(table));
    }
    let table = Table::new(
        "Statistics of the whole text",
        &["figure", "value", "meaning"],
    );
    let table = found
        .statistics
        .explained()
        .into_iter()
        .fold(table, |table, figure| {
            table.row(vec![
                Cell::new(figure.name),
                Cell::new(figure.value),
                Cell::new(figure.meaning).toned(Tone::Quiet),
            ])
        });
    blocks.push(Block::Table(table));
    Section::main("Authenticity", blocks)
}

fn council(council: &CouncilResult) -> Option<Section> {
    let mut blocks = Vec::new();
    let narrative = council.narrative.clone();
    blocks.extend(narrative.map(|markdown| Block::Text { markdown }));
    if let Some(exchange) = &council.exchange {
        let markdown = format!(
            "**Does the other council change our view?** {}\n\n**Tensions.** {}\n\n**What we missed.** {}",
            exchange.view, exchange.tensions, exchange.missed
        );
        blocks.push(Block::Text { markdown });
    }
    for judge in council
        .judges
        .iter()
        .filter(|judge| !judge.unexplained.is_empty())
    {
        blocks.push(Block::Note {
            text: format!("{}: {}", judge.title, judge.unexplained.join(" ")),
            tone: Tone::Caution,
        });
    }
    (!blocks.is_empty()).then(|| Section::main(&council.title, blocks))
}

fn extras(panel: &CouncilsSpec, verdict: &Verdict) -> Vec<Section> {
    let written = panel.extras.iter().filter_map(|extra| {
        let markdown = match verdict.extras.get(&extra.name)? {
            Value::String(text) if !text.is_empty() => text.clone(),
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().filter_map(Value::as_str);
                items
                    .map(|item| format!("- {item}"))
                    .collect::<Vec<_>>()
                    .join("\n")
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => return None,
        };
        Some(Section::main(&extra.title, vec![Block::Text { markdown }]))
    });
    written.collect()
}

/// The changes since the blind first round, and missing parts (C-17).
fn worth(verdict: &Verdict) -> Section {
    let note = |text: String, tone| Block::Note { text, tone };
    let mut blocks: Vec<Block> = verdict.scrutiny.iter().map(Scrutiny::note).collect();
    if let Some((blind, debated)) = verdict
        .worth
        .blind
        .as_ref()
        .zip(verdict.worth.debated.as_ref())
    {
        let changed = match verdict.worth.changed {
            Some(Change::Unchanged) => "The debate did not change the score.",
            Some(Change::Moved) => "The debate moved the score within its tier.",
            Some(Change::AnotherTier) => "The debate moved the score into another tier.",
            None => "",
        };
        blocks.push(note(changed.to_owned(), Tone::Plain));
        let table = [("blind first round", blind), ("debated", debated)]
            .into_iter()
            .fold(
                Table::new(
                    "Before and after the debate",
                    &["", "#score", "tier", "#tokens", "#cost"],
                ),
                |table, (name, side)| {
                    table.row(vec![
                        Cell::new(name),
                        Cell::new(format!("{:.1}", side.score.value())),
                        Cell::new(side.tier.clone()),
                        Cell::new(grouped(side.tokens)),
                        Cell::new(shown_cost(side.cost, side.tokens)),
                    ])
                },
            );
        blocks.push(Block::Table(table));
    }
    let left_out = verdict
        .overall
        .iter()
        .flat_map(|overall| &overall.overall.left_out);
    for component in left_out {
        blocks.push(note(
            format!(
                "'{component}' has no score: the overall score is the weighted mean of the others."
            ),
            Tone::Caution,
        ));
    }
    for sentence in &verdict.content.left_out {
        blocks.push(note(sentence.clone(), Tone::Caution));
    }
    for missing in &verdict.missing {
        blocks.push(note(missing.sentence(), Tone::Caution));
    }
    for refused in &verdict.refused {
        let text = format!(
            "{} asked to change '{}'; rejected: {}.",
            refused.by, refused.dimension, refused.why
        );
        blocks.push(note(text, Tone::Caution));
    }
    for remark in &verdict.remarks {
        blocks.push(note(remark.clone(), Tone::Caution));
    }
    Section::ending(blocks)
}

fn bias(figures: &BiasFigures) -> Section {
    let tone = |noteworthy: bool| {
        if noteworthy {
            Tone::Caution
        } else {
            Tone::Plain
        }
    };
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    let unmeasured = || Cell::new("not measured").toned(Tone::Quiet);
    let mut table = Table::new(
        "Signs of scores without reasons",
        &["pattern", "figure", "meaning"],
    );
    let mut row = |name: &str, figure: Cell, meaning: &str| {
        table.rows.push(vec![
            Cell::new(name),
            figure,
            Cell::new(meaning).toned(Tone::Quiet),
        ]);
    };
    row(
        "Groupthink",
        figures
            .convergence
            .as_ref()
            .map_or_else(unmeasured, |convergence| {
                Cell::new(format!(
                    "{} of {}",
                    percent(convergence.unexplained),
                    percent(convergence.vanished)
                ))
                .toned(tone(convergence.noteworthy))
            }),
        "differences that disappeared without a stated reason, of all that disappeared",
    );
    row(
        "Anchoring",
        figures
            .anchoring
            .as_ref()
            .map_or_else(unmeasured, |anchoring| {
                Cell::new(format!("{:+.1} points", anchoring.pull))
                    .toned(tone(anchoring.noteworthy))
            }),
        "how much closer scores moved to the score read first than to those read later",
    );
    row(
        "Politeness",
        figures
            .softening
            .as_ref()
            .map_or_else(unmeasured, |softening| {
                Cell::new(format!(
                    "{} of {}",
                    softening.without_argument, softening.disagreements
                ))
                .toned(tone(softening.noteworthy))
            }),
        "disagreements softened without argument",
    );
    row(
        "Inflation",
        figures
            .crowding
            .as_ref()
            .map_or_else(unmeasured, |crowding| {
                let text = format!(
                    "{} from {:.0} to {:.0}",
                    percent(crowding.share),
                    crowding.band_from,
                    crowding.band_to
                );
                Cell::new(text).toned(tone(crowding.noteworthy))
            }),
        "share of all scores in the most frequent ten-point band",
    );
    Section::side("Bias figures", vec![Block::Table(table)])
}
