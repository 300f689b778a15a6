//! A debate of the modes as a report, at any moment of its journal: positions round by round, claims, evidence, how
//! confidence and agreement went, and by which criterion it ended.

use roundtable_core::citations::EvidenceKind;
use roundtable_core::groupthink::HIGH_CONFIDENCE;
use roundtable_core::state::{Claim, ClaimStatus, DebateState, Evidence};
use roundtable_core::votes::{MIN_CONFIDENCE, Vote};
use roundtable_core::wording::one_line;

use super::Kind;
use super::debate::{Debate, Hidden, Round, Spoken};
use super::enhanced;
use super::follow::followed;
use super::record::{Course, used};
use super::verdict::{Poll, Safety, Verdict};
use crate::event::Entry;
use crate::report::{
    Block, Cell, Chart, Fact, Line, Position, Report, Scale, Section, Table, Threshold, Tone, Unit,
};
use crate::tokens;
use crate::totals::Totals;

/// Where an enhanced debate stands after its last round.
pub(super) fn progress(entries: &[Entry]) -> Option<Section> {
    enhanced::progress(&followed(entries)?)
}

pub(super) fn report(entries: &[Entry]) -> Report {
    let Some(debate) = followed(entries) else {
        return Report::default();
    };
    let verdict = Course::of(entries).result;
    let mut sections = Vec::new();
    if let Some(verdict) = &verdict {
        sections.push(worth(verdict));
    }
    let total = Totals::of(entries).debate.usage.total();
    let stage = match &verdict {
        Some(_) => enhanced::Stage::Over,
        None => enhanced::Stage::Under,
    };
    sections.extend(enhanced::sections(&debate, total, stage));
    sections.extend(open(&debate.state));
    for round in debate.rounds.iter().filter(|round| !round.turns.is_empty()) {
        sections.push(Section::main(
            &title(round),
            vec![Block::Table(positions(round))],
        ));
    }
    if !debate.state.claims.is_empty() {
        sections.push(Section::main(
            "Claims",
            vec![Block::Table(claims(&debate.state))],
        ));
    }
    if !debate.state.evidence.is_empty() {
        sections.push(Section::main(
            "Evidence",
            vec![Block::Table(evidence(&debate))],
        ));
    }
    sections.extend(sources(&debate));
    sections.extend(tools(entries));
    let measured = debate.rounds.iter().filter(|it| it.figures.is_some());
    // One round is no course, and its table says it all.
    if measured.count() > 1 {
        let chart = course(&debate);
        sections.push(Section::side(
            "Confidence and agreement",
            vec![Block::Chart(chart)],
        ));
    }
    sections.extend(rules_broken(&debate));
    sections.extend(withheld(&Safety::of(&debate)));
    Report {
        answer: verdict
            .as_ref()
            .and_then(|verdict| verdict.final_answer.clone()),
        facts: verdict.as_ref().map_or_else(Vec::new, |verdict| {
            let mut all = facts(verdict);
            all.extend(enhanced::facts(verdict));
            all
        }),
        sections,
    }
}

fn title(round: &Round) -> String {
    match round.kind {
        Kind::Ordinary => format!("Positions in round {}", round.number),
        Kind::Objection => format!("Positions in round {}, critical objections", round.number),
    }
}

fn note(text: impl Into<String>, tone: Tone) -> Block {
    Block::Note {
        text: text.into(),
        tone,
    }
}

fn facts(verdict: &Verdict) -> Vec<Fact> {
    let percent = |value: f64| Unit::Percent.write(value);
    let mut facts = vec![Fact::new("Mode", verdict.mode.clone())];
    if let Some(confidence) = verdict.confidence {
        let is_lowered = verdict
            .confidence_stated
            .is_some_and(|stated| confidence < stated);
        let tone = if is_lowered {
            Tone::Caution
        } else {
            Tone::Plain
        };
        facts.push(Fact::new("Confidence", percent(confidence)).toned(tone));
    }
    facts.extend(
        verdict
            .agreement
            .map(|share| Fact::new("ACCEPT or MINOR", percent(share))),
    );
    if let Some(spread) = &verdict.estimates {
        facts.push(Fact::new(
            "Estimate",
            format!(
                "{} (middle half {} to {})",
                figure(spread.median),
                figure(spread.lower_quartile),
                figure(spread.upper_quartile)
            ),
        ));
    }
    facts.push(Fact::new("Rounds", verdict.total_rounds.to_string()));
    facts.push(Fact::new("Exit", verdict.stop_reason.replace('_', " ")));
    facts
}

/// An estimate with four digits that count: what comes after them is noise of the mean.
fn figure(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let decimals = (3.0 - magnitude).clamp(0.0, 12.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and 12"
    )]
    let text = format!("{value:.*}", decimals as usize);
    if text.contains('.') {
        let whole = text.trim_end_matches('0').trim_end_matches('.');
        return whole.to_owned();
    }
    text
}

/// How it ended and what the debate was worth (C-17).
fn worth(verdict: &Verdict) -> Section {
    let mut blocks = vec![note(
        format!(
            "Ended after round {}: {}.",
            verdict.total_rounds, verdict.stop_explanation
        ),
        Tone::Plain,
    )];
    blocks.extend(verdict.worth.changed.map(|changed| {
        let text = if changed {
            "The debate changed the answer."
        } else {
            "The debate left the blind answer as it was."
        };
        note(text, Tone::Plain)
    }));
    let columns = [
        "",
        "answer of most",
        "#ACCEPT",
        "#MINOR",
        "#BLOCKER",
        "#confidence",
        "#tokens",
    ];
    let table = Table::new("Before and after the debate", &columns)
        .row(poll("blind", &verdict.worth.blind))
        .row(poll("debated", &verdict.worth.debated));
    blocks.push(Block::Table(table));
    for alarm in &verdict.groupthink {
        let text = format!(
            "After round {} the panel agreed too easily ({}); round {} was for critical objections.",
            alarm.round,
            alarm.trigger.reason(),
            alarm.objection_round
        );
        blocks.push(note(text, Tone::Caution));
        blocks.extend(
            alarm
                .decision
                .as_ref()
                .map(|choice| note(format!("A person decided: {choice}."), Tone::Plain)),
        );
    }
    for missing in &verdict.missing {
        blocks.push(note(
            format!("{} is missing: {}", missing.step, missing.reason),
            Tone::Caution,
        ));
    }
    Section::main("What the debate was worth", blocks)
}

fn poll(name: &str, poll: &Poll) -> Vec<Cell> {
    let votes = |vote: Vote| {
        poll.votes
            .get(vote.name())
            .copied()
            .unwrap_or(0)
            .to_string()
    };
    let confidence = poll
        .confidence
        .map_or_else(|| "–".to_owned(), |value| Unit::Percent.write(value));
    vec![
        Cell::new(name),
        Cell::new(poll.answer.clone().unwrap_or_else(|| "–".into())),
        Cell::new(votes(Vote::Accept)),
        Cell::new(votes(Vote::Minor)),
        Cell::new(votes(Vote::Blocker)),
        Cell::new(confidence),
        Cell::new(poll.tokens.to_string()),
    ]
}

/// What stands against each other and what blocks: shown side by side, never averaged.
fn open(state: &DebateState) -> Option<Section> {
    let mut blocks: Vec<Block> = state
        .open_blockers()
        .map(|blocker| {
            note(
                format!("{} {} blocks: {}", blocker.id, blocker.seat, blocker.text),
                Tone::Critical,
            )
        })
        .collect();
    for claim in state.contested() {
        blocks.push(note(
            format!("{} {} {}", claim.id, claim.tag(), claim.text),
            Tone::Caution,
        ));
        let against = claim.opponents.iter().map(|opponent| Position {
            role: opponent.seat.clone(),
            stand: format!("against, {}", opponent.ground.name()),
            markdown: opponent.because.clone(),
        });
        let supporters: Vec<&str> = claim.supporters.iter().map(String::as_str).collect();
        let stands_for = Position {
            role: supporters.join(", "),
            stand: "for".into(),
            markdown: if claim.support.is_empty() {
                claim.tag().to_owned()
            } else {
                claim.support.join(", ")
            },
        };
        blocks.push(Block::Opposed {
            positions: std::iter::once(stands_for).chain(against).collect(),
        });
    }
    (!blocks.is_empty()).then(|| Section::main("Still open", blocks))
}

fn positions(round: &Round) -> Table {
    let caption = format!("Round {}", round.number);
    let table = Table::new(
        &caption,
        &["agent", "#confidence", "#change", "vote", "key point"],
    );
    round
        .turns
        .iter()
        .fold(table, |table, turn| table.row(position(round, turn)))
}

fn position(round: &Round, turn: &Spoken) -> Vec<Cell> {
    let row = round
        .summary
        .as_ref()
        .and_then(|summary| summary.positions.iter().find(|it| it.agent == turn.seat));
    let change = row.map_or(0.0, |row| row.confidence_delta);
    let vote = turn.reply.vote;
    let tone = match vote {
        Vote::Accept => Tone::Good,
        Vote::Minor => Tone::Plain,
        Vote::Blocker => Tone::Critical,
    };
    let point = match turn.hidden {
        Hidden::Yes => "[withheld]".to_owned(),
        Hidden::No => roundtable_core::wording::one_line(&turn.reply.position),
    };
    vec![
        Cell::new(turn.seat.clone()),
        Cell::new(Unit::Percent.write(turn.reply.confidence.value())),
        Cell::new(if change.abs() < 0.005 {
            "–".to_owned()
        } else {
            format!("{:+.0}", change * 100.0)
        }),
        Cell::new(vote.name()).toned(tone),
        Cell::new(point),
    ]
}

/// Contested ones first, then in the order of their ids.
fn claims(state: &DebateState) -> Table {
    let mut all: Vec<&Claim> = state.claims.iter().collect();
    all.sort_by_key(|claim| claim.status != ClaimStatus::Contested);
    let columns = [
        "id", "label", "claim", "status", "for", "against", "evidence",
    ];
    all.into_iter()
        .fold(Table::new("Claims", &columns), |table, claim| {
            let tone = match claim.status {
                ClaimStatus::Accepted => Tone::Good,
                ClaimStatus::Contested => Tone::Caution,
                ClaimStatus::Retracted => Tone::Quiet,
                ClaimStatus::Open => Tone::Plain,
            };
            let supporters: Vec<&str> = claim.supporters.iter().map(String::as_str).collect();
            let opponents: Vec<&str> = claim.opponents.iter().map(|it| it.seat.as_str()).collect();
            table.row(vec![
                Cell::new(claim.id.clone()),
                Cell::new(claim.tag()),
                Cell::new(claim.text.clone()),
                Cell::new(claim.status.name()).toned(tone),
                Cell::new(supporters.join(", ")),
                Cell::new(opponents.join(", ")),
                Cell::new(claim.support.join(", ")),
            ])
        })
}

/// The passages that were cited, in full, and what they come from.
fn sources(debate: &Debate) -> Option<Section> {
    let list = debate.rules.sources.list();
    if list.is_empty() {
        return None;
    }
    let cited: Vec<&Evidence> = debate
        .state
        .evidence
        .iter()
        .filter(|it| it.kind == EvidenceKind::ToolOutput)
        .collect();
    let given = list.iter().fold(
        Table::new("Given", &["source", "#passages", "#cited", "sha256"]),
        |table, source| {
            let of_source = cited
                .iter()
                .filter(|it| source.passages.iter().any(|passage| passage.id == it.title));
            table.row(vec![
                Cell::new(source.name.clone()),
                Cell::new(source.passages.len().to_string()),
                Cell::new(of_source.count().to_string()),
                Cell::new(source.sha256.chars().take(12).collect::<String>()),
            ])
        },
    );
    let mut blocks = vec![Block::Table(given)];
    let found = cited
        .iter()
        .filter_map(|it| Some((it, debate.rules.sources.passage(&it.title)?)));
    let passages = found.fold(
        Table::new("Cited passages", &["id", "source", "place", "passage"]),
        |table, (evidence, passage)| {
            table.row(vec![
                Cell::new(evidence.id.clone()),
                Cell::new(passage.source.clone()),
                Cell::new(passage.place.to_string()),
                Cell::new(one_line(&passage.text)),
            ])
        },
    );
    if !passages.rows.is_empty() {
        blocks.push(Block::Table(passages));
    }
    Some(Section::main("Sources", blocks))
}

/// What seats asked of tools.
fn tools(entries: &[Entry]) -> Option<Section> {
    let used = used(entries);
    if used.is_empty() {
        return None;
    }
    let calls = used
        .iter()
        .flat_map(|(step, calls)| calls.iter().map(move |it| (step, it)));
    let table = calls.fold(
        Table::new("Calls", &["step", "tool", "asked", "answered"]),
        |table, (step, it)| {
            let answer = if it.passages.is_empty() {
                one_line(&it.answer)
            } else {
                it.passages.join(", ")
            };
            table.row(vec![
                Cell::new(step.clone()),
                Cell::new(it.call.name.clone()),
                Cell::new(tokens::shorten(&one_line(&it.call.arguments), 40)),
                Cell::new(tokens::shorten(&answer, 60)),
            ])
        },
    );
    Some(Section::side("Tools", vec![Block::Table(table)]))
}

fn evidence(debate: &Debate) -> Table {
    let columns = [
        "id",
        "kind",
        "reference",
        "what it shows",
        "supports",
        "cited by",
    ];
    debate
        .state
        .evidence
        .iter()
        .fold(Table::new("Evidence", &columns), |table, it| {
            let passage = debate.rules.sources.passage(&it.title);
            let reference = match (&it.url, passage) {
                (_, Some(passage)) => format!("{}, {}", passage.source, passage.place),
                (Some(url), None) => format!("{} {url}", it.title),
                (None, None) => it.title.clone(),
            };
            let cited_by: Vec<&str> = it.cited_by.iter().map(String::as_str).collect();
            table.row(vec![
                Cell::new(it.id.clone()),
                Cell::new(it.kind.name()),
                Cell::new(reference),
                Cell::new(it.gist.clone()),
                Cell::new(it.supports.join(", ")),
                Cell::new(cited_by.join(", ")),
            ])
        })
}

/// Confidence of each seat, the mean, and the share that agrees, round by round.
fn course(debate: &Debate) -> Chart {
    let rounds: Vec<_> = debate
        .rounds
        .iter()
        .filter_map(|round| round.figures.as_ref())
        .collect();
    let seats = debate.panel.seats.iter().map(|seat| Line {
        label: seat.name.clone(),
        role: Some(seat.name.clone()),
        values: rounds
            .iter()
            .map(|figures| {
                let mut speakers = figures.speakers();
                speakers
                    .find(|it| it.seat == seat.name)
                    .map(|it| it.confidence.value())
            })
            .collect(),
    });
    let agreement = Line {
        label: "ACCEPT or MINOR".into(),
        role: None,
        values: rounds.iter().map(|figures| figures.agreement()).collect(),
    };
    Chart::Lines {
        title: "Confidence and agreement by round".into(),
        scale: Scale {
            from: 0.0,
            to: 1.0,
            unit: Unit::Percent,
        },
        rounds: rounds
            .iter()
            .map(|figures| format!("R{}", figures.round))
            .collect(),
        lines: seats.chain([agreement]).collect(),
        thresholds: vec![
            Threshold {
                label: "sure enough at 0.70".into(),
                value: MIN_CONFIDENCE,
            },
            Threshold {
                label: "very sure at 0.85".into(),
                value: HIGH_CONFIDENCE,
            },
        ],
    }
}

fn rules_broken(debate: &Debate) -> Option<Section> {
    let turns = debate
        .rounds
        .iter()
        .flat_map(|round| round.turns.iter().map(move |turn| (round.number, turn)));
    let rows: Vec<(u32, &Spoken)> = turns
        .filter(|(_, turn)| !turn.remarks.is_empty() || turn.spent.was_sent_back())
        .collect();
    if rows.is_empty() {
        return None;
    }
    let table = rows.into_iter().fold(
        Table::new(
            "Replies that were sent back",
            &["#round", "agent", "#rules still broken", "which"],
        ),
        |table, (round, turn)| {
            let tone = if turn.remarks.is_empty() {
                Tone::Quiet
            } else {
                Tone::Caution
            };
            let which = if turn.remarks.is_empty() {
                "mended".to_owned()
            } else {
                turn.remarks.join(" ")
            };
            table.row(vec![
                Cell::new(round.to_string()),
                Cell::new(turn.seat.clone()),
                Cell::new(turn.remarks.len().to_string()),
                Cell::new(which).toned(tone),
            ])
        },
    );
    Some(Section::side("Rules", vec![Block::Table(table)]))
}

fn withheld(safety: &Safety) -> Option<Section> {
    if safety.withheld.is_empty() {
        return None;
    }
    let blocks = safety.withheld.iter().map(|it| {
        note(
            format!(
                "Round {}, {}: something was withheld ({}).",
                it.round, it.seat, it.what.why
            ),
            Tone::Caution,
        )
    });
    Some(Section::side("Withheld", blocks.collect()))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
