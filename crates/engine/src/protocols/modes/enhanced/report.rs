//! An enhanced debate as a report (E-11): the three measures with their thresholds, each round with what the positions rest
//! on, sources by how many cite them, what was conceded and left out, who decided, and what it cost.

use roundtable_core::convergence::{
    self, Basis, Explanation, Status, evidence_band, shift_band, similarity_band,
};
use roundtable_core::evidence::{Calibration, Flagged, Level, Standing};
use roundtable_core::sources::Checked;
use roundtable_core::wording::one_line;

use super::super::ANOTHER_ROUND;
use super::super::debate::{Debate, Hidden};
use super::super::verdict::Verdict;
use super::overhead::Overhead;
use super::play::{MeasuredRound, Play, SeatPosition};
use super::prompt_context::banded;
use super::verdict::evidence;
use crate::report::{
    Block, Card, Cell, Chart, Fact, Gauge, Line, Mark, Scale, Section, Table, Threshold, Tone, Unit,
};

/// `None` before the first round of an enhanced debate was measured.
pub fn progress(debate: &Debate) -> Option<Section> {
    let play = debate
        .enhanced
        .as_ref()
        .filter(|it| it.rules.is_measured())?;
    let last = play.rounds.last()?;
    Some(round_section(debate, play, last))
}

pub fn facts(verdict: &Verdict) -> Vec<Fact> {
    let Some(enhanced) = &verdict.enhanced else {
        return Vec::new();
    };
    let mut facts = vec![Fact::new("Algorithm", enhanced.algorithm.replace('_', " "))];
    if let Some(level) = enhanced.level {
        let value = match enhanced.similarity {
            Some(similarity) => format!("{} ({similarity:.2})", level.name()),
            None => level.name().to_owned(),
        };
        facts.push(Fact::new("Consensus", value).toned(tone_of(level)));
    }
    if enhanced.human_override {
        facts.push(Fact::new("Decided by", "a person").toned(Tone::Caution));
    }
    if let Some(share) = enhanced.overhead.share() {
        facts.push(Fact::new(
            "Over a plain debate",
            format!("+{:.0}%", share * 100.0),
        ));
    }
    facts
}

fn tone_of(level: Level) -> Tone {
    match level {
        Level::High | Level::MediumHigh => Tone::Good,
        Level::Medium | Level::MediumLow => Tone::Plain,
        Level::Low | Level::VeryLow => Tone::Caution,
    }
}

/// Whether anything is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Under,
    Over,
}

/// Nothing for a plain debate.
pub fn sections(debate: &Debate, total_tokens: u64, stage: Stage) -> Vec<Section> {
    let Some(play) = &debate.enhanced else {
        return Vec::new();
    };
    let mut sections = Vec::new();
    sections.extend(outcome(debate, play, stage));
    sections.extend(convergence_section(play));
    if play.rules.is_measured() {
        let rounds = play.rounds.iter();
        sections.extend(rounds.map(|round| round_section(debate, play, round)));
    }
    sections.extend(cited(debate, play));
    sections.extend(claims(debate, play));
    sections.extend(held_against_sources(play));
    sections.extend(critiques(play));
    sections.extend(left_out(play));
    sections.push(cost(&Overhead::of(debate, total_tokens)));
    sections
}

fn note(text: impl Into<String>, tone: Tone) -> Block {
    Block::Note {
        text: text.into(),
        tone,
    }
}

/// What most stand for, what became of it, and who said so.
fn outcome(debate: &Debate, play: &Play, stage: Stage) -> Option<Section> {
    let mut blocks = Vec::new();
    if let Some(last) = play.rounds.last().filter(|_| play.rules.is_measured()) {
        // Nothing goes on any more where it is over.
        blocks.push(match (last.decision.status, stage) {
            (Status::Continue, Stage::Over) => note("NO CONSENSUS", Tone::Caution),
            (
                status @ (Status::Continue
                | Status::ConsensusReached
                | Status::ConsensusWithDiverseEvidence
                | Status::DiminishingReturns),
                _,
            ) => note(status.shown(), status_tone(status)),
        });
        if last.decision.status.is_consensus()
            && let Some(seat) = last.positions.first()
        {
            let majority = convergence::majority(&play.answers());
            let spokesman = majority.seats.first().unwrap_or(&seat.seat);
            let position = debate.last_position(spokesman).unwrap_or_default();
            blocks.push(Block::Text {
                markdown: position.to_owned(),
            });
        }
    }
    if let Some((majority, count)) = play.count() {
        let level = match count {
            crate::algorithm::Count::Carried(level) | crate::algorithm::Count::Open(level) => level,
        };
        blocks.push(note(
            format!(
                "{} of {} stand together{}: {}.",
                majority.seats.len(),
                majority.seats.len() + majority.minority.len(),
                majority.option.map_or_else(String::new, |option| format!(
                    " for \"{}\"",
                    one_line(&option)
                )),
                level.name()
            ),
            tone_of(level),
        ));
        for (seat, answer) in &majority.minority {
            let answer = answer.as_deref().unwrap_or("no answer of its own");
            blocks.push(note(
                format!("Apart: {seat}, {}", one_line(answer)),
                Tone::Plain,
            ));
        }
    }
    for objection in &play.objections {
        let (what, tone) = match (objection.withdrawn_round, objection.overridden_round) {
            (_, Some(round)) => (
                format!("overridden by a person after round {round}"),
                Tone::Caution,
            ),
            (Some(round), None) => (format!("withdrawn in round {round}"), Tone::Quiet),
            (None, None) => ("open".to_owned(), Tone::Critical),
        };
        blocks.push(note(
            format!(
                "Security objection of {} ({what}): {}",
                objection.seat, objection.text
            ),
            tone,
        ));
    }
    for decision in &play.decisions {
        let who = decision.by.as_deref().unwrap_or("A person");
        let why = decision
            .note
            .as_deref()
            .map_or_else(String::new, |note| format!(" ({note})"));
        blocks.push(note(
            format!(
                "{who} decided after round {}, {}: {}{why}.",
                decision.round,
                decision.matter.name().replace('-', " "),
                match decision.choice.as_str() {
                    ANOTHER_ROUND => "another round",
                    choice => choice,
                }
            ),
            Tone::Caution,
        ));
    }
    (!blocks.is_empty()).then(|| Section::main("Where it stands", blocks))
}

fn status_tone(status: Status) -> Tone {
    match status {
        Status::ConsensusReached | Status::ConsensusWithDiverseEvidence => Tone::Good,
        Status::DiminishingReturns => Tone::Caution,
        Status::Continue => Tone::Plain,
    }
}

/// The three measures over the rounds, with their thresholds drawn in.
fn convergence_section(play: &Play) -> Option<Section> {
    if !play.rules.is_measured() || play.rounds.is_empty() {
        return None;
    }
    let line = |label: &str, value: &dyn Fn(&MeasuredRound) -> Option<f64>| Line {
        label: label.to_owned(),
        role: None,
        values: play.rounds.iter().map(value).collect(),
    };
    let thresholds = &play.rules.thresholds;
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
        rounds: play
            .rounds
            .iter()
            .map(|it| format!("R{}", it.number))
            .collect(),
        lines: vec![
            line("similarity", &|it| {
                it.metrics.similarity.map(|it| it.scaled)
            }),
            line("shift", &|it| it.metrics.shift),
            line("evidence", &|it| Some(it.metrics.evidence)),
        ],
        thresholds: vec![
            threshold("consensus at", thresholds.similarity),
            threshold("strong evidence at", thresholds.evidence),
            threshold("no progress below", thresholds.stalled),
        ],
    };
    Some(Section::main("Convergence", vec![Block::Chart(chart)]))
}

fn round_section(debate: &Debate, play: &Play, round: &MeasuredRound) -> Section {
    let cards = round
        .positions
        .iter()
        .map(|it| card(debate, play, round, it));
    let mut blocks = vec![
        Block::Cards {
            cards: cards.collect(),
        },
        Block::Gauges {
            gauges: gauges(play, round),
        },
    ];
    if round.decision.basis == Basis::TypedAnswersAlone {
        let why = round.measurement.failure.as_deref();
        let why = why.unwrap_or("there were not two positions to compare");
        blocks.push(note(
            format!("Nothing was measured ({why}): the typed answers decide alone."),
            Tone::Caution,
        ));
    }
    let agreement = &round.metrics.agreement;
    if let Some(lowest) = agreement.lowest() {
        let tone = if agreement.contradictions.is_empty() {
            Tone::Plain
        } else {
            Tone::Caution
        };
        blocks.push(note(
            format!("Agreement of the typed answers: {:.0}%.", lowest * 100.0),
            tone,
        ));
    }
    for contradiction in &agreement.contradictions {
        let lead = if round.decision.vetoed {
            "The words are alike, but the answers contradict each other: "
        } else {
            "The answers contradict each other: "
        };
        blocks.push(note(
            format!("{lead}{}.", contradiction.shown()),
            Tone::Caution,
        ));
    }
    for warning in &round.decision.warnings {
        blocks.push(note(warning.shown(), Tone::Caution));
    }
    blocks.push(note(
        format!("Status: {}", round.decision.status.shown()),
        status_tone(round.decision.status),
    ));
    Section::main(&format!("Round {}", round.number), blocks)
}

fn card(debate: &Debate, play: &Play, round: &MeasuredRound, it: &SeatPosition) -> Card {
    let turns = debate.rounds.iter().filter(|it| it.number == round.number);
    let turn = turns
        .flat_map(|it| &it.turns)
        .find(|turn| turn.seat == it.seat);
    let position = turn.map_or_else(String::new, |turn| match turn.hidden {
        Hidden::Yes => "[withheld]".to_owned(),
        Hidden::No => one_line(&turn.reply.position),
    });
    let pieces = it.evidence.evidence.iter().map(|ground| {
        let source = ground.source.and_then(|id| play.ledger.sources.get(id));
        let words = source.map_or_else(|| "nothing backs it".to_owned(), |it| it.cited.shown());
        (ground.kind.name().to_owned(), words)
    });
    let stated = it.evidence.stated.value();
    let mut remarks = Vec::new();
    let wants_evidence = play.rules.wants_evidence();
    if wants_evidence && it.evidence.calibration != Calibration::Within {
        remarks.push(
            Cell::new(format!(
                "{}: its evidence allows {}",
                it.evidence.calibration.name(),
                banded(it.evidence.grade.level)
            ))
            .toned(Tone::Caution),
        );
    }
    if it.movement.is_some_and(|movement| movement.turned) {
        remarks.push(Cell::new("turned: another answer than before").toned(Tone::Caution));
    }
    match &it.explanation {
        Explanation::NotNeeded => {}
        Explanation::By(ids) => remarks.push(Cell::new(format!("moved by {}", ids.join(", ")))),
        Explanation::Unexplained => {
            remarks
                .push(Cell::new("moved, and names nothing new that moved it").toned(Tone::Caution));
        }
    }
    Card {
        role: it.seat.clone(),
        position,
        evidence: if wants_evidence {
            pieces.collect()
        } else {
            Vec::new()
        },
        confidence: Cell::new(format!("{} ({stated:.2})", Level::of(stated).name())),
        remarks,
    }
}

fn gauges(play: &Play, round: &MeasuredRound) -> Vec<Gauge> {
    let thresholds = &play.rules.thresholds;
    let before = play.rounds.iter().rev().find(|it| it.number < round.number);
    let similarity = round.metrics.similarity.map(|it| it.scaled);
    let similarity_before = before
        .and_then(|it| it.metrics.similarity)
        .map(|it| it.scaled);
    let shift = round.metrics.shift;
    let shift_before = before.and_then(|it| it.metrics.shift);
    let evidence = round.metrics.evidence;
    let evidence_before = before.map(|it| it.metrics.evidence);
    let unmeasured = || "not measured".to_owned();
    let label = match before {
        Some(before) => format!("Position shift (R{}→R{})", before.number, round.number),
        None => "Position shift".to_owned(),
    };
    vec![
        Gauge {
            label: "Semantic similarity".into(),
            value: similarity,
            threshold: Some(Threshold {
                label: "consensus".into(),
                value: thresholds.similarity,
            }),
            previous: similarity_before,
            trend: trend(
                similarity,
                similarity_before,
                ["rising", "steady", "falling"],
            ),
            status: similarity.map_or_else(unmeasured, |it| similarity_band(it).to_owned()),
            mark: mark(similarity, thresholds.similarity),
        },
        Gauge {
            label,
            value: shift,
            threshold: Some(Threshold {
                label: "no progress below".into(),
                value: thresholds.stalled,
            }),
            previous: shift_before,
            trend: trend(shift, shift_before, ["moving more", "steady", "slowing"]),
            status: shift.map_or_else(
                || "nobody has spoken before".to_owned(),
                |it| shift_band(it).to_owned(),
            ),
            mark: match shift {
                Some(shift) if shift < thresholds.stalled => Mark::Short,
                Some(_) | None => Mark::OnTheWay,
            },
        },
        Gauge {
            label: "Evidence convergence".into(),
            value: Some(evidence),
            threshold: Some(Threshold {
                label: "strong agreement".into(),
                value: thresholds.evidence,
            }),
            previous: evidence_before,
            trend: trend(
                Some(evidence),
                evidence_before,
                ["rising", "steady", "falling"],
            ),
            status: evidence_band(evidence).to_owned(),
            mark: match mark(Some(evidence), thresholds.evidence) {
                Mark::Reached => Mark::Reached,
                Mark::OnTheWay | Mark::Short => Mark::Short,
            },
        },
    ]
}

fn mark(value: Option<f64>, threshold: f64) -> Mark {
    match value {
        Some(value) if value >= threshold => Mark::Reached,
        Some(_) => Mark::OnTheWay,
        None => Mark::Short,
    }
}

fn trend(now: Option<f64>, before: Option<f64>, words: [&str; 3]) -> Option<String> {
    /// Less than what is shown is no movement.
    const SHOWN: f64 = 0.005;
    let change = now? - before?;
    let [up, level, down] = words;
    Some(match change {
        it if it >= SHOWN => up.to_owned(),
        it if it <= -SHOWN => down.to_owned(),
        _ => level.to_owned(),
    })
}

/// Sources by how many agents cite them.
fn cited(debate: &Debate, play: &Play) -> Option<Section> {
    let agents = debate.panel.seats.len();
    let all = evidence(play, agents);
    if all.is_empty() {
        return None;
    }
    let table = all.into_iter().fold(
        Table::new(
            "Evidence by how many cite it",
            &["#cited by", "type", "#weight", "who", "source"],
        ),
        |table, it| {
            let tone = if it.cited_by.len() == agents {
                Tone::Good
            } else {
                Tone::Plain
            };
            table.row(vec![
                Cell::new(format!("{}/{agents}", it.cited_by.len())).toned(tone),
                Cell::new(it.kind.name()),
                Cell::new(format!("{:.2}", it.weight)),
                Cell::new(it.cited_by.join(", ")),
                Cell::new(it.source),
            ])
        },
    );
    Some(Section::main(
        "Evidence by how many cite it",
        vec![Block::Table(table)],
    ))
}

/// What every claim rests on, and whether those who made it were as sure as that allows.
fn claims(debate: &Debate, play: &Play) -> Option<Section> {
    let columns = ["id", "type", "allows", "stated", "status", "claim"];
    let mut table = Table::new("What the claims rest on", &columns);
    for claim in &debate.state.claims {
        let Some(seats) = play.ledger.claims.get(&claim.id) else {
            continue;
        };
        let kinds: Vec<&str> = play
            .ledger
            .kinds_of(&claim.id)
            .into_iter()
            .map(roundtable_core::evidence::EvidenceType::name)
            .collect();
        let level = play.ledger.grade_of(&claim.id).map(|it| it.level);
        let stated: Vec<String> = seats
            .iter()
            .map(|(seat, it)| match (it.stated, it.calibration) {
                (Some(stated), Some(Calibration::Within)) => {
                    format!("{seat} {:.2}", stated.value())
                }
                (Some(stated), Some(off)) => format!("{seat} {:.2} {}", stated.value(), off.name()),
                (Some(_) | None, _) => format!("{seat} –"),
            })
            .collect();
        let is_off = seats
            .values()
            .any(|it| it.calibration.is_some_and(|it| it != Calibration::Within));
        table = table.row(vec![
            Cell::new(claim.id.clone()),
            Cell::new(kinds.join(", ")),
            Cell::new(level.map_or_else(|| "–".into(), banded)),
            Cell::new(stated.join(", ")).toned(if is_off { Tone::Caution } else { Tone::Plain }),
            Cell::new(claim.status.name()),
            Cell::new(claim.text.clone()),
        ]);
    }
    (!table.rows.is_empty())
        .then(|| Section::side("What the claims rest on", vec![Block::Table(table)]))
}

/// What the user's own sources say to the claims that cite them (E-18).
fn held_against_sources(play: &Play) -> Option<Section> {
    let columns = ["claim", "type", "cited", "agent", "result", "passage"];
    let table = play.checks.iter().fold(
        Table::new("Claims held against your sources", &columns),
        |table, it| {
            let (result, tone) = match &it.result {
                Checked::Supported { passage } => (format!("supported by {passage}"), Tone::Good),
                Checked::NotFound => ("not found".to_owned(), Tone::Caution),
                Checked::Contradicted { passage, figure } => (
                    format!("contradicted: {passage} has {figure}"),
                    Tone::Critical,
                ),
            };
            table.row(vec![
                Cell::new(it.claim.clone()),
                Cell::new(it.kind.name()),
                Cell::new(it.cited.clone()),
                Cell::new(it.seat.clone()),
                Cell::new(result).toned(tone),
                Cell::new(it.passage.clone().unwrap_or_else(|| "–".into())),
            ])
        },
    );
    (!table.rows.is_empty()).then(|| {
        Section::main(
            "Claims held against your sources",
            vec![Block::Table(table)],
        )
    })
}

fn critiques(play: &Play) -> Option<Section> {
    let columns = ["#round", "agent", "claim", "grade", "what became of it"];
    let table = play.ledger.critiques.iter().fold(
        Table::new("Critiques and concessions", &columns),
        |table, it| {
            let (what, tone) = match it.standing {
                Standing::Concedes => ("conceded".to_owned(), Tone::Good),
                Standing::Contests => ("contested with counter-evidence".to_owned(), Tone::Plain),
                Standing::TooWeak { needed } => {
                    (format!("too weak against {}", needed.name()), Tone::Caution)
                }
                Standing::NoCounterEvidence => ("brought nothing".to_owned(), Tone::Caution),
                Standing::Unfinished => ("left unfinished".to_owned(), Tone::Caution),
            };
            let grade = it.critique.grade.value();
            table.row(vec![
                Cell::new(it.round.to_string()),
                Cell::new(it.seat.clone()),
                Cell::new(it.critique.claim.clone()),
                Cell::new(grade.map_or("–", |it| it.name())),
                Cell::new(what).toned(tone),
            ])
        },
    );
    (!table.rows.is_empty())
        .then(|| Section::side("Critiques and concessions", vec![Block::Table(table)]))
}

fn left_out(play: &Play) -> Option<Section> {
    let each = play
        .ledger
        .flags
        .iter()
        .map(|Flagged { round, seat, flag }| {
            note(format!("Round {round}, {seat}: {flag}."), Tone::Caution)
        });
    let blocks: Vec<Block> = each.collect();
    (!blocks.is_empty()).then(|| Section::side("Evidence that was left out", blocks))
}

/// What the enhanced debate cost over a plain one (E-17).
fn cost(overhead: &Overhead) -> Section {
    let row = |name: &str, tokens: u64| vec![Cell::new(name), Cell::new(tokens.to_string())];
    let share = overhead
        .share()
        .map_or_else(|| "–".to_owned(), |share| format!("+{:.0}%", share * 100.0));
    let table = Table::new("Tokens over a plain debate", &["", "#tokens"])
        .row(row("this debate", overhead.total_tokens))
        .row(row(
            "a plain one with the same replies",
            overhead.plain_tokens,
        ))
        .row(row("more in prompts", overhead.prompt_tokens))
        .row(row("more in replies", overhead.reply_tokens))
        .row(row("more rounds", overhead.round_tokens))
        .row(vec![Cell::new("overhead"), Cell::new(share)])
        .row(row("read by the embedder", overhead.embedded_tokens));
    Section::side("Tokens over a plain debate", vec![Block::Table(table)])
}
