//! A debate of councils as a report, at any moment of its journal: while it sits the score card fills, in the end everything
//! that stands behind a number is beside it.

mod findings;
mod scorecard;

use roundtable_core::councils::BiasFigures;
use roundtable_core::forensics::LIMITS;
use serde::Deserialize;
use serde_json::Value;

use super::council_state::{CouncilState, Second};
use super::replies::{Evaluation, Narrative, Response, Revision};
use super::rules::Rules;
use super::scorecard::{DimensionResult, card};
use super::verdict::{AuthenticityResult, Change, CouncilResult, Verdict};
use crate::cast::councils::CouncilsSpec;
use crate::event::{Entry, Event, FinishedStep};
use crate::reply::Reply;
use crate::report::{Block, Cell, Fact, Report, Section, Table, Tone};
use crate::table::Turn;

pub(super) fn report(entries: &[Entry]) -> Report {
    let setup = entries.iter().find_map(|entry| entry.event.setup());
    let rules = setup.and_then(|it| Rules::deserialize(&it.rules).ok());
    let Some(rules) = rules else {
        return Report::default();
    };
    let verdict = verdict_in(entries);
    let heard = follow(&rules.panel, entries);
    let dimensions = verdict.as_ref().map_or(heard, |it| it.dimensions.clone());
    let mut sections = scorecard::sections(&dimensions);
    let Some(verdict) = verdict else {
        return Report {
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
        facts: facts(&verdict),
        answer: verdict.final_answer,
        sections,
    }
}

fn verdict_in(entries: &[Entry]) -> Option<Verdict> {
    let mut verdict = None;
    for entry in entries {
        match &entry.event {
            Event::Ended(end) => {
                let result = end.result.clone();
                verdict = result.and_then(|result| serde_json::from_value(result).ok());
            }
            Event::Reopened { .. } => verdict = None,
            Event::Opened(_)
            | Event::RoundStarted { .. }
            | Event::Noted { .. }
            | Event::StepStarted { .. }
            | Event::Chunk { .. }
            | Event::StepRestarted { .. }
            | Event::StepFinished(_)
            | Event::StepFailed(_)
            | Event::Rated { .. }
            | Event::Resolved { .. }
            | Event::Tracked { .. }
            | Event::Assessed { .. }
            | Event::Said(_)
            | Event::Asked(_)
            | Event::Decided(_) => {}
        }
    }
    verdict
}

/// The score cards as far as the journal goes.
fn follow(panel: &CouncilsSpec, entries: &[Entry]) -> Vec<DimensionResult> {
    let mut sittings: Vec<CouncilState<'_>> =
        panel.councils.iter().map(CouncilState::new).collect();
    for entry in entries {
        if let Event::StepFinished(step) = &entry.event {
            take_up(&mut sittings, step);
        }
    }
    let cards = sittings.iter().map(|sitting| card(panel, sitting).0);
    cards.flatten().collect()
}

fn take_up(sittings: &mut [CouncilState<'_>], step: &FinishedStep) {
    let seat = &step.call.seat;
    for sitting in sittings {
        if sitting.council.lead == *seat {
            match verb(step) {
                "narrate" => sitting.narrative = turn::<Narrative>(step),
                "respond" => sitting.response = turn::<Response>(step),
                _ => {}
            }
        }
        let bench = sitting.benches.iter_mut().find(|it| it.judge.seat == *seat);
        if let Some(bench) = bench {
            match verb(step) {
                "evaluate" => bench.first = turn::<Evaluation>(step),
                "revise" => {
                    if let Some(turn) = turn::<Revision>(step) {
                        bench.second = Second::Given(Box::new(turn));
                    }
                }
                _ => {}
            }
        }
    }
}

fn verb(step: &FinishedStep) -> &str {
    step.call.step.rsplit('/').next().unwrap_or_default()
}

fn turn<T: Reply>(step: &FinishedStep) -> Option<Turn<T>> {
    Some(Turn {
        reply: Deserialize::deserialize(&step.reply).ok()?,
        text: step.text.clone(),
        remarks: step.remarks.clone(),
        withheld: step.withheld.clone(),
        spent: step.call.spent,
    })
}

fn facts(verdict: &Verdict) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(overall) = &verdict.overall {
        let value = format!("{} of 100, {}", overall.overall.shown, overall.tier);
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
    let grave = verdict
        .council_disagreements
        .iter()
        .filter(|it| it.is_severe())
        .count();
    let all = verdict.council_disagreements.len();
    if all > 0 {
        let value = if grave > 0 {
            format!("{all}, {grave} of them grave")
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
    facts
}

/// The figures and the reading, under what they cannot show: nothing here is ever called proof (T-02).
fn authenticity(found: &AuthenticityResult) -> Section {
    let mut blocks = vec![Block::Note {
        text: LIMITS.to_owned(),
        tone: Tone::Caution,
    }];
    if let Some(judgement) = &found.judgement {
        let markdown = judgement.assessment.clone();
        blocks.push(Block::Text { markdown });
        let table = Table::new(
            "What the judge gave; it enters no score",
            &["", "#score", "#confidence"],
        );
        let table = judgement.scores.iter().fold(table, |table, it| {
            let score = it
                .score
                .last()
                .map_or_else(|| "–".into(), |score| score.shown().to_string());
            let confidence = it
                .score
                .confidence
                .map_or_else(|| "not stated".into(), |it| format!("{:.2}", it.value()));
            table.row(vec![
                Cell::new(it.title.clone()),
                Cell::new(score),
                Cell::new(confidence),
            ])
        });
        blocks.push(Block::Table(table));
    }
    let table = Table::new(
        "Figures of the whole text",
        &["figure", "value", "what it means"],
    );
    let table = found
        .statistics
        .explained()
        .into_iter()
        .fold(table, |table, it| {
            table.row(vec![
                Cell::new(it.name),
                Cell::new(it.value),
                Cell::new(it.meaning).toned(Tone::Quiet),
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
        .filter(|it| !it.unexplained.is_empty())
    {
        blocks.push(Block::Note {
            text: format!(
                "{} left unexplained: {}",
                judge.title,
                judge.unexplained.join(" ")
            ),
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

/// What was judged, what is missing, and what the rounds after the blind one were worth (C-17).
fn worth(verdict: &Verdict) -> Section {
    let note = |text: String, tone| Block::Note { text, tone };
    let mut blocks = Vec::new();
    if let Some((blind, debated)) = verdict
        .worth
        .blind
        .as_ref()
        .zip(verdict.worth.debated.as_ref())
    {
        let changed = match verdict.worth.changed {
            Some(Change::Unchanged) => "The debate left the score as it was.",
            Some(Change::Moved) => "The debate moved the score within its tier.",
            Some(Change::AnotherTier) => "The debate moved the score into another tier.",
            None => "",
        };
        blocks.push(note(changed.to_owned(), Tone::Plain));
        let price = |cost: Option<roundtable_core::usage::Money>| {
            cost.map_or_else(
                || "unknown".into(),
                |cost| format!("${:.4}", cost.dollars()),
            )
        };
        let table = [("blind first round", blind), ("debated", debated)]
            .into_iter()
            .fold(
                Table::new(
                    "Blind and debated",
                    &["", "#score", "tier", "#tokens", "#cost"],
                ),
                |table, (name, side)| {
                    table.row(vec![
                        Cell::new(name),
                        Cell::new(format!("{:.1}", side.score.value())),
                        Cell::new(side.tier.clone()),
                        Cell::new(side.tokens.to_string()),
                        Cell::new(price(side.cost)),
                    ])
                },
            );
        blocks.push(Block::Table(table));
    }
    let left_out = verdict.overall.iter().flat_map(|it| &it.overall.left_out);
    for component in left_out {
        blocks.push(note(
            format!("'{component}' has no score; it is left out of the overall score and the rest reweighted."),
            Tone::Caution,
        ));
    }
    for sentence in &verdict.content.left_out {
        blocks.push(note(sentence.clone(), Tone::Caution));
    }
    for missing in &verdict.missing {
        blocks.push(note(
            format!("{} is missing: {}", missing.step, missing.reason),
            Tone::Caution,
        ));
    }
    for refused in &verdict.refused {
        let text = format!(
            "{} wanted to change '{}': {}. It was not changed.",
            refused.by, refused.dimension, refused.why
        );
        blocks.push(note(text, Tone::Caution));
    }
    for remark in &verdict.remarks {
        blocks.push(note(remark.clone(), Tone::Caution));
    }
    Section::main("What the debate was worth", blocks)
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
        "Four ways in which scores come about without reasons",
        &["pattern", "figure", "what it is"],
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
        figures.convergence.as_ref().map_or_else(unmeasured, |it| {
            Cell::new(format!(
                "{} of {}",
                percent(it.unexplained),
                percent(it.vanished)
            ))
            .toned(tone(it.noteworthy))
        }),
        "differences that vanished without a stated reason, of those that vanished",
    );
    row(
        "Anchoring",
        figures.anchoring.as_ref().map_or_else(unmeasured, |it| {
            Cell::new(format!("{:+.1} points", it.pull)).toned(tone(it.noteworthy))
        }),
        "how much nearer scores came to the number read first than to those read later",
    );
    row(
        "Politeness",
        figures.softening.as_ref().map_or_else(unmeasured, |it| {
            Cell::new(format!("{} of {}", it.without_argument, it.disagreements))
                .toned(tone(it.noteworthy))
        }),
        "disagreements softened without argument",
    );
    row(
        "Inflation",
        figures.crowding.as_ref().map_or_else(unmeasured, |it| {
            let text = format!(
                "{} from {:.0} to {:.0}",
                percent(it.share),
                it.band_from,
                it.band_to
            );
            Cell::new(text).toned(tone(it.noteworthy))
        }),
        "share of all scores in the fullest band of ten points",
    );
    Section::side("Figures on bias", vec![Block::Table(table)])
}
