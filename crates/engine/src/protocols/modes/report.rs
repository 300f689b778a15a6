//! The report of a debate, at any point of its journal: positions by round, claims, evidence, confidence and agreement over the
//! rounds, and the exit criterion.

mod argument;
mod card;

use roundtable_core::citations::EvidenceKind;
use roundtable_core::format::grouped;
use roundtable_core::groupthink::HIGH_CONFIDENCE;
use roundtable_core::state::{Claim, ClaimStatus, DebateState, Evidence};
use roundtable_core::votes::{MIN_CONFIDENCE, Vote};
use roundtable_core::wording::one_line;

use super::checks::count_by_rule;
use super::debate::{Debate, Round, RoundKind, SeatTurn};
use super::enhanced;
use super::record::{JournalSummary, tool_calls};
use super::verdict::{Poll, Safety, Verdict, Worth};
use crate::event::Entry;
use crate::protocols::scrutiny::Scrutiny;
use crate::remarks::for_people;
use crate::report::{
    Block, Cell, Chart, Fact, Line, Position, Report, Scale, Section, Table, Threshold, Tone, Unit,
};
use crate::tokens;
use crate::totals::{Totals, compared_cost, shown_cost};

/// The last measured round of an enhanced debate.
pub(super) fn progress(entries: &[Entry]) -> Option<Section> {
    enhanced::progress(&Debate::from_journal(entries)?)
}

pub(super) fn report(entries: &[Entry]) -> Report {
    let Some(debate) = Debate::from_journal(entries) else {
        return Report::default();
    };
    let verdict = JournalSummary::of(entries).result;
    let mut sections = Vec::new();
    if let Some(verdict) = &verdict {
        let mut section = worth(verdict);
        section.blocks.extend(unused_focus(&debate));
        sections.push(section);
    }
    let total = Totals::of(entries).debate.usage.total();
    let enhanced = verdict
        .as_ref()
        .and_then(|verdict| verdict.enhanced.as_ref());
    sections.extend(enhanced::sections(&debate, total, enhanced));
    sections.extend(open_points(&debate.state));
    for round in debate.rounds.iter().filter(|round| !round.turns.is_empty()) {
        let focus = debate.rules.focus.get(&round.number);
        let focus = focus.map(|text| note(format!("Focus: {}", one_line(text)), Tone::Plain));
        let table = positions(round, enhanced::has_cards(&debate, round.number));
        let title = table.caption.clone();
        let blocks = focus.into_iter().chain([Block::Table(table)]).collect();
        sections.push(Section::main(&title, blocks));
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
    let finished = debate.rounds.iter().filter(|round| round.figures.is_some());
    // A chart needs at least two points.
    if finished.count() > 1 {
        let chart = confidence_chart(&debate);
        sections.push(Section::side(
            "Confidence and agreement",
            vec![Block::Chart(chart)],
        ));
    }
    sections.extend(violations(&debate));
    sections.extend(withheld(&Safety::of(&debate)));
    Report {
        verdict: Some(match &verdict {
            Some(verdict) => card::verdict(entries, verdict),
            None => card::draft(entries, &debate),
        }),
        answer: verdict
            .as_ref()
            .and_then(|verdict| verdict.final_answer.clone()),
        facts: verdict.as_ref().map_or_else(Vec::new, |verdict| {
            let mut all = facts(verdict);
            all.extend(enhanced::facts(verdict));
            all
        }),
        argument: argument::argument(&debate),
        sections,
    }
}

fn title(what: &str, round: &Round) -> String {
    match round.kind {
        RoundKind::Ordinary => format!("{what} in round {}", round.number),
        RoundKind::Objection => format!("{what} in round {}, critical objections", round.number),
    }
}

pub(crate) fn note(text: impl Into<String>, tone: Tone) -> Block {
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
    if verdict.agreement.is_some() {
        facts.push(Fact::new("Votes", accepting(&verdict.worth.debated)));
    }
    if let Some(spread) = &verdict.estimates {
        facts.push(Fact::new(
            "Estimate",
            format!(
                "{} (quartiles {} and {})",
                significant(spread.median),
                significant(spread.lower_quartile),
                significant(spread.upper_quartile)
            ),
        ));
    }
    if let Some(resolution) = &verdict.resolution {
        let by = if resolution.by_person {
            ", by a person"
        } else {
            ""
        };
        let decision = resolution.decision.as_deref();
        let decision = decision.map_or_else(|| "none".to_owned(), |d| format!("{d}{by}"));
        facts.push(Fact::new("Decision", decision));
    }
    let Worth { blind, debated, .. } = &verdict.worth;
    facts.push(compared_cost(
        (blind.cost, blind.tokens),
        (debated.cost, debated.tokens),
    ));
    facts.push(Fact::new("Rounds", verdict.total_rounds.to_string()));
    facts.push(Fact::new(
        "Stop reason",
        verdict.stop_reason.replace('_', " "),
    ));
    facts
}

/// `4 of 4 accept, 3 with small changes`
fn accepting(poll: &Poll) -> String {
    let votes = |vote: Vote| poll.votes.get(vote.name()).copied().unwrap_or(0);
    let (minor, blockers) = (votes(Vote::Minor), votes(Vote::Blocker));
    let accept = votes(Vote::Accept) + minor;
    let changes = match minor {
        0 => String::new(),
        minor => format!(", {minor} with small changes"),
    };
    format!("{accept} of {} accept{changes}", accept + blockers)
}

/// An estimate with four significant digits.
fn significant(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let decimals = (3.0 - magnitude).clamp(0.0, 12.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is between 0 and 12"
    )]
    let text = format!("{value:.*}", decimals as usize);
    if text.contains('.') {
        let whole = text.trim_end_matches('0').trim_end_matches('.');
        return whole.to_owned();
    }
    text
}

/// The ending, and the blind votes compared with the votes after the debate (C-17).
fn worth(verdict: &Verdict) -> Section {
    let mut blocks = vec![note(card::ending(verdict), Tone::Plain)];
    blocks.extend(verdict.scrutiny.as_ref().map(Scrutiny::note));
    blocks.extend(verdict.worth.changed.map(|changed| {
        let text = if changed {
            "The debate changed the answer."
        } else {
            "The debate did not change the answer of the blind votes."
        };
        note(text, Tone::Plain)
    }));
    let columns = [
        "",
        "majority answer",
        "#accept",
        "#with small changes",
        "#block",
        "#confidence",
        "#tokens",
        "#cost",
    ];
    let table = Table::new("Before and after the debate", &columns)
        .row(poll("blind votes", &verdict.worth.blind))
        .row(poll("after the debate", &verdict.worth.debated));
    blocks.push(Block::Table(table));
    for alarm in &verdict.groupthink {
        let text = format!(
            "Groupthink was suspected after round {}: {}. Round {} was a critical-objection round.",
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
    for remark in &verdict.remarks {
        blocks.push(note(remark.clone(), Tone::Caution));
    }
    for missing in &verdict.missing {
        blocks.push(note(missing.sentence(), Tone::Caution));
    }
    Section::ending(blocks)
}

/// Questions for rounds that were not played.
fn unused_focus(debate: &Debate) -> Vec<Block> {
    let last = debate.rounds.last().map_or(0, |round| round.number);
    let unused = debate.rules.focus.range(last + 1..);
    unused
        .map(|(round, text)| {
            let text = one_line(text);
            note(
                format!("Round {round} was not played; its focus was: {text}"),
                Tone::Caution,
            )
        })
        .collect()
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
        Cell::new(grouped(poll.tokens)),
        Cell::new(shown_cost(poll.cost, poll.tokens)),
    ]
}

/// Open blockers and contested claims, each side with its reasons.
fn open_points(state: &DebateState) -> Option<Section> {
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
        let supporting = Position {
            role: supporters.join(", "),
            stand: "for".into(),
            markdown: if claim.support.is_empty() {
                claim.tag().to_owned()
            } else {
                claim.support.join(", ")
            },
        };
        blocks.push(Block::Opposed {
            positions: std::iter::once(supporting).chain(against).collect(),
        });
    }
    (!blocks.is_empty()).then(|| Section::main("Blockers and contested claims", blocks))
}

/// One row for each seat. `has_cards`: the positions themselves are shown as cards, and not again here.
fn positions(round: &Round, has_cards: bool) -> Table {
    let columns = ["agent", "#confidence", "#change", "vote", "key point"];
    let (what, shown) = if has_cards {
        ("Votes", columns.len() - 1)
    } else {
        ("Positions", columns.len())
    };
    let table = Table::new(&title(what, round), &columns[..shown]);
    round.turns.iter().fold(table, |table, turn| {
        let mut row = position(round, turn);
        row.truncate(shown);
        table.row(row)
    })
}

fn position(round: &Round, turn: &SeatTurn) -> Vec<Cell> {
    let row = round
        .summary
        .as_ref()
        .and_then(|summary| summary.positions.iter().find(|row| row.agent == turn.seat));
    let change = row.map_or(0.0, |row| row.confidence_delta);
    let vote = turn.reply.vote;
    let tone = match vote {
        Vote::Accept => Tone::Good,
        Vote::Minor => Tone::Plain,
        Vote::Blocker => Tone::Critical,
    };
    let point = if turn.is_hidden {
        "[withheld]".to_owned()
    } else {
        one_line(&turn.heard.position)
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

/// Contested claims first, then by id.
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
            let opponents: Vec<&str> = claim.opponents.iter().map(|o| o.seat.as_str()).collect();
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

/// The user's sources and the cited passages in full.
fn sources(debate: &Debate) -> Option<Section> {
    let list = debate.rules.sources.list();
    if list.is_empty() {
        return None;
    }
    let cited: Vec<&Evidence> = debate
        .state
        .evidence
        .iter()
        .filter(|evidence| evidence.kind == EvidenceKind::ToolOutput)
        .collect();
    let given = list.iter().fold(
        Table::new("Sources", &["source", "#passages", "#cited", "sha256"]),
        |table, source| {
            let is_of_source =
                |cited: &&&Evidence| source.passages.iter().any(|p| p.id == cited.title);
            let of_source = cited.iter().filter(is_of_source);
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
        .filter_map(|evidence| Some((evidence, debate.rules.sources.passage(&evidence.title)?)));
    let passages = found.fold(
        Table::new("Cited passages", &["id", "source", "location", "passage"]),
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

fn tools(entries: &[Entry]) -> Option<Section> {
    let by_step = tool_calls(entries);
    if by_step.is_empty() {
        return None;
    }
    let calls = by_step
        .iter()
        .flat_map(|(step, calls)| calls.iter().map(move |answered| (step, answered)));
    let table = calls.fold(
        Table::new("Tool calls", &["step", "tool", "arguments", "result"]),
        |table, (step, answered)| {
            let answer = if answered.passages.is_empty() {
                one_line(&answered.answer)
            } else {
                answered.passages.join(", ")
            };
            table.row(vec![
                Cell::new(step.clone()),
                Cell::new(answered.call.name.clone()),
                Cell::new(tokens::shorten(&one_line(&answered.call.arguments), 40)),
                Cell::new(tokens::shorten(&answer, 60)),
            ])
        },
    );
    Some(Section::side("Tool calls", vec![Block::Table(table)]))
}

fn evidence(debate: &Debate) -> Table {
    let columns = ["id", "kind", "reference", "summary", "supports", "cited by"];
    debate
        .state
        .evidence
        .iter()
        .fold(Table::new("Evidence", &columns), |table, evidence| {
            let passage = debate.rules.sources.passage(&evidence.title);
            let reference = match (&evidence.url, passage) {
                (_, Some(passage)) => format!("{}, {}", passage.source, passage.place),
                (Some(url), None) => format!("{} {url}", evidence.title),
                (None, None) => evidence.title.clone(),
            };
            let cited_by: Vec<&str> = evidence.cited_by.iter().map(String::as_str).collect();
            table.row(vec![
                Cell::new(evidence.id.clone()),
                Cell::new(evidence.kind.name()),
                Cell::new(reference),
                Cell::new(evidence.gist.clone()),
                Cell::new(evidence.supports.join(", ")),
                Cell::new(cited_by.join(", ")),
            ])
        })
}

/// Each seat's confidence and the share of agreeing votes, by round.
fn confidence_chart(debate: &Debate) -> Chart {
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
                    .find(|speaker| speaker.seat == seat.name)
                    .map(|speaker| speaker.confidence.value())
            })
            .collect(),
    });
    let agreement = Line {
        label: "accepting seats".into(),
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
                label: "required for consensus: 0.70".into(),
                value: MIN_CONFIDENCE,
            },
            Threshold {
                label: "groupthink check: 0.85".into(),
                value: HIGH_CONFIDENCE,
            },
        ],
    }
}

fn violations(debate: &Debate) -> Option<Section> {
    let turns = debate
        .rounds
        .iter()
        .flat_map(|round| round.turns.iter().map(move |turn| (round.number, turn)));
    let rows: Vec<(u32, &SeatTurn)> = turns
        .filter(|(_, turn)| !turn.shown_remarks().is_empty() || turn.spent.was_sent_back())
        .collect();
    if rows.is_empty() {
        return None;
    }
    let table = rows.into_iter().fold(
        Table::new(
            "Replies sent back",
            &["#round", "agent", "#remaining violations", "details"],
        ),
        |table, (round, turn)| {
            let tone = if turn.shown_remarks().is_empty() {
                Tone::Quiet
            } else {
                Tone::Caution
            };
            let details = if turn.shown_remarks().is_empty() {
                "corrected".to_owned()
            } else {
                turn.shown_remarks()
                    .iter()
                    .map(|remark| for_people(remark))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            table.row(vec![
                Cell::new(round.to_string()),
                Cell::new(turn.seat.clone()),
                Cell::new(
                    count_by_rule(turn.shown_remarks())
                        .values()
                        .sum::<usize>()
                        .to_string(),
                ),
                Cell::new(details).toned(tone),
            ])
        },
    );
    Some(Section::side("Rule violations", vec![Block::Table(table)]))
}

fn withheld(safety: &Safety) -> Option<Section> {
    if safety.withheld.is_empty() {
        return None;
    }
    let blocks = safety.withheld.iter().map(|turn| {
        note(
            format!(
                "Round {}, {}: text withheld ({}).",
                turn.round, turn.seat, turn.what.why
            ),
            Tone::Caution,
        )
    });
    Some(Section::side("Withheld", blocks.collect()))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
