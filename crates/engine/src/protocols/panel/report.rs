//! The report of a panel, at any point of its journal.

mod argument;
mod card;

use roundtable_core::format::counted;
use roundtable_core::wording::one_line;

use super::replies::Point;
use super::state::PanelState;
use super::verdict::{PanelAnswer, PanelRanking, Verdict};
use crate::event::Entry;
use crate::protocols::record_header::DebateStatus;
use crate::protocols::scrutiny::Scrutiny;
use crate::report::{Block, Cell, Fact, Place, Position, Report, Section, Table, Tone};
use crate::totals::compared_cost;

pub(super) fn report(entries: &[Entry]) -> Report {
    let verdict: Option<Verdict> = DebateStatus::of(entries).verdict();
    match verdict {
        Some(verdict) => finished(entries, verdict),
        None => running(entries),
    }
}

/// While the panel runs: the answers that are in.
fn running(entries: &[Entry]) -> Report {
    let Some(setup) = entries.iter().find_map(|entry| entry.event.setup()) else {
        return Report::default();
    };
    let mut state = PanelState::new(setup);
    for step in entries.iter().filter_map(|entry| entry.event.finished()) {
        state.apply(step);
    }
    let count = format!("{} of {}", state.answers().len(), state.expected());
    Report {
        verdict: Some(card::draft(entries, &state)),
        facts: vec![Fact::new("Answers", count)],
        ..Report::default()
    }
}

fn finished(entries: &[Entry], verdict: Verdict) -> Report {
    let mut sections = vec![how_it_ended(&verdict)];
    let lists = [
        ("Consensus", &verdict.consensus),
        ("Contradictions", &verdict.contradictions),
        ("Partial coverage", &verdict.partial_coverage),
        ("Unique insights", &verdict.unique_insights),
        ("Blind spots", &verdict.blind_spots),
    ];
    let lists = lists.into_iter().filter(|(_, points)| !points.is_empty());
    sections.extend(lists.map(|(title, points)| Section::main(title, bullets(points))));
    if !verdict.answers.is_empty() {
        let positions = verdict.answers.iter().map(side_by_side).collect();
        sections.push(Section::main("Answers", vec![Block::Opposed { positions }]));
    }
    if let Some(ranking) = &verdict.ranking {
        let remarks = &verdict.remarks;
        sections.push(ranking_section(&verdict.answers, ranking, remarks));
    }
    let stopped = sentence(&verdict.stop_explanation);
    Report {
        verdict: Some(card::verdict(entries, &verdict, &stopped)),
        facts: facts(&verdict),
        argument: argument::argument(&verdict),
        answer: verdict.final_answer,
        sections,
    }
}

fn facts(verdict: &Verdict) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(position) = &verdict.position {
        facts.push(Fact::new("Position", one_line(position)));
    }
    if let Some(confidence) = verdict.confidence {
        let is_lowered = verdict
            .confidence_stated
            .is_some_and(|stated| confidence < stated);
        let tone = if is_lowered {
            Tone::Caution
        } else {
            Tone::Plain
        };
        facts.push(Fact::new("Confidence", format!("{:.2}", confidence.value())).toned(tone));
    }
    facts.push(Fact::new("Answers", verdict.answers.len().to_string()));
    if let Some(agreement) = verdict
        .ranking
        .as_ref()
        .and_then(|ranking| ranking.agreement)
    {
        facts.push(Fact::new("Agreement of ranks", format!("{agreement:.2}")));
    }
    let worth = &verdict.worth;
    facts.push(compared_cost(
        (worth.blind_cost, worth.blind_tokens),
        (worth.total_cost, worth.total_tokens),
    ));
    facts
}

fn how_it_ended(verdict: &Verdict) -> Section {
    let note = |text: String, tone: Tone| Block::Note { text, tone };
    let mut blocks = vec![note(sentence(&verdict.stop_explanation), Tone::Plain)];
    blocks.extend(verdict.scrutiny.as_ref().map(Scrutiny::note));
    if verdict.saved_calls > 0 {
        blocks.push(note(
            format!(
                "Stopping early saved {}: the answers were not ranked. A full panel (--full) ranks them.",
                counted(verdict.saved_calls, "call")
            ),
            Tone::Quiet,
        ));
    }
    let worth = &verdict.worth;
    if let Some(blind) = &worth.blind_position {
        let changed = match worth.changed {
            Some(true) => "; the panel changed it",
            Some(false) => "; the panel kept it",
            None => "",
        };
        blocks.push(note(
            format!(
                "Blind vote: {} ({} of {}){changed}. Tokens: {} for the blind answers, {} in all.",
                one_line(blind),
                worth.blind_votes,
                verdict.answers.len(),
                worth.blind_tokens,
                worth.total_tokens
            ),
            Tone::Plain,
        ));
    }
    let mut models: Vec<&str> = verdict.answers.iter().map(|a| a.model.as_str()).collect();
    models.dedup();
    if let ([model], true) = (models.as_slice(), verdict.answers.len() > 1) {
        blocks.push(note(
            format!(
                "All answers come from {model}: their agreement says less than that of different models."
            ),
            Tone::Caution,
        ));
    }
    Section {
        place: Place::Side,
        ..Section::ending(blocks)
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

/// One block per point: a brief view shortens each block to one line.
fn bullets(points: &[Point]) -> Vec<Block> {
    let bullets = points.iter().map(|point| Block::Text {
        markdown: format!("- {}", point.line()),
    });
    bullets.collect()
}

fn side_by_side(answer: &PanelAnswer) -> Position {
    let place = answer
        .place
        .map_or_else(String::new, |place| format!("place {place}, "));
    Position {
        role: answer.seat.clone(),
        stand: format!(
            "{} · {place}confidence {:.2} · {}",
            answer.label,
            answer.confidence.value(),
            one_line(&answer.position)
        ),
        markdown: answer.answer.clone(),
    }
}

fn ranking_section(answers: &[PanelAnswer], ranking: &PanelRanking, remarks: &[String]) -> Section {
    let columns = ["#place", "answer", "seat", "model", "#score", "#readers"];
    let table = answers
        .iter()
        .fold(Table::new("Ranking", &columns), |table, answer| {
            table.row(vec![
                Cell::new(
                    answer
                        .place
                        .map_or_else(|| "–".into(), |place| place.to_string()),
                ),
                Cell::new(answer.label.clone()),
                Cell::new(answer.seat.clone()),
                Cell::new(answer.model.clone()),
                Cell::new(
                    answer
                        .score
                        .map_or_else(|| "–".into(), |score| format!("{score:.2}")),
                ),
                Cell::new(answer.readers.to_string()),
            ])
        });
    let mut notes = vec![format!(
        "Pooled by {}: the share of the other answers that readers placed below it. Nobody ranked its own answer.",
        ranking.rule
    )];
    notes.push(match ranking.agreement {
        Some(agreement) => format!("Agreement of the readers (Kendall's tau): {agreement:.2}."),
        None => "Too few answers in common to measure the agreement of the readers.".into(),
    });
    if let Some(bias) = ranking.positional_bias {
        let weight = if bias.is_noteworthy() {
            "more than chance explains"
        } else {
            "within chance"
        };
        notes.push(format!(
            "Positional bias, shown first against shown last: {:+.2} ± {:.2}, {weight}.",
            bias.difference, bias.standard_error
        ));
    }
    let notes = notes.into_iter().map(|text| Block::note(text, Tone::Quiet));
    let remarks = remarks.iter();
    let remarks = remarks.map(|remark| Block::note(sentence(remark), Tone::Caution));
    let blocks = std::iter::once(Block::Table(table))
        .chain(notes)
        .chain(remarks);
    Section::side("Ranking", blocks.collect())
}
