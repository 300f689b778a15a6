//! The report of an enhanced debate (E-11): convergence, rounds with their evidence, cited sources, critiques, decisions of
//! people and token overhead.

use roundtable_core::convergence::{
    self, Basis, Explanation, Status, evidence_band, shift_band, similarity_band,
};
use roundtable_core::evidence::{Calibration, EvidenceType, Flagged, Level, Standing};
use roundtable_core::sources::Checked;
use roundtable_core::wording::one_line;

use super::overhead::Overhead;
use super::prompt_context::with_band;
use super::state::{EnhancedState, MeasuredRound, SeatPosition};
use super::verdict::cited_evidence;
use crate::algorithm::Count;
use crate::protocols::modes::{ANOTHER_ROUND, Debate, Verdict};
use crate::report::{
    Block, Card, Cell, Chart, Fact, Gauge, Line, Mark, Scale, Section, Table, Threshold, Tone, Unit,
};

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
            "Token overhead",
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

/// Empty for a plain debate.
pub fn sections(debate: &Debate, total_tokens: u64, is_over: bool) -> Vec<Section> {
    let Some(enhanced) = &debate.enhanced else {
        return Vec::new();
    };
    let mut sections = Vec::new();
    sections.extend(outcome(debate, enhanced, is_over));
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

fn note(text: impl Into<String>, tone: Tone) -> Block {
    Block::Note {
        text: text.into(),
        tone,
    }
}

/// Status, majority, security objections and decisions of people.
fn outcome(debate: &Debate, enhanced: &EnhancedState, is_over: bool) -> Option<Section> {
    let mut blocks = Vec::new();
    if let Some(last) = enhanced
        .rounds
        .last()
        .filter(|_| enhanced.rules.is_measured())
    {
        let status = last.decision.status;
        blocks.push(if is_over && status == Status::Continue {
            note("NO CONSENSUS", Tone::Caution)
        } else {
            note(status.shown(), status_tone(status))
        });
        if last.decision.status.is_consensus()
            && let Some(seat) = last.positions.first()
        {
            let majority = convergence::majority(&enhanced.answers());
            let speaker = majority.seats.first().unwrap_or(&seat.seat);
            let position = debate.last_position(speaker).unwrap_or_default();
            blocks.push(Block::Text {
                markdown: position.to_owned(),
            });
        }
    }
    if let Some((majority, count)) = enhanced.count() {
        let level = match count {
            Count::Carried(level) | Count::Open(level) => level,
        };
        blocks.push(note(
            format!(
                "{} of {} seats agree{}: {}.",
                majority.seats.len(),
                majority.seats.len() + majority.minority.len(),
                majority.option.map_or_else(String::new, |option| format!(
                    " on \"{}\"",
                    one_line(&option)
                )),
                level.name()
            ),
            tone_of(level),
        ));
        for (seat, answer) in &majority.minority {
            let answer = answer.as_deref().unwrap_or("no answer");
            blocks.push(note(
                format!("Dissent: {seat}, {}", one_line(answer)),
                Tone::Plain,
            ));
        }
    }
    for objection in &enhanced.objections {
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
    for decision in &enhanced.decisions {
        let who = decision.by.as_deref().unwrap_or("A person");
        let why = decision
            .note
            .as_deref()
            .map_or_else(String::new, |note| format!(" ({note})"));
        blocks.push(note(
            format!(
                "{who} decided after round {}, {}: {}{why}.",
                decision.round,
                decision.escalation.name().replace('-', " "),
                match decision.choice.as_str() {
                    ANOTHER_ROUND => "another round",
                    choice => choice,
                }
            ),
            Tone::Caution,
        ));
    }
    (!blocks.is_empty()).then(|| Section::main("Outcome", blocks))
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

fn round_section(debate: &Debate, enhanced: &EnhancedState, round: &MeasuredRound) -> Section {
    let cards = round
        .positions
        .iter()
        .map(|position| card(debate, enhanced, round, position));
    let mut blocks = vec![
        Block::Cards {
            cards: cards.collect(),
        },
        Block::Gauges {
            gauges: gauges(enhanced, round),
        },
    ];
    if round.decision.basis == Basis::TypedAnswersAlone {
        let why = round.measurement.failure.as_deref();
        let why = why.unwrap_or("fewer than two positions");
        blocks.push(note(
            format!("Similarity was not measured ({why}): the typed answers alone decide."),
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
            "The wording is similar, but the answers contradict each other: "
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

fn card(
    debate: &Debate,
    enhanced: &EnhancedState,
    round: &MeasuredRound,
    position: &SeatPosition,
) -> Card {
    let rounds = debate.rounds.iter().filter(|r| r.number == round.number);
    let turn = rounds
        .flat_map(|round| &round.turns)
        .find(|turn| turn.seat == position.seat);
    let text = turn.map_or_else(String::new, |turn| {
        if turn.is_hidden {
            "[withheld]".to_owned()
        } else {
            one_line(&turn.reply.position)
        }
    });
    let evidence = &position.evidence;
    let pieces = evidence.evidence.iter().map(|ground| {
        let source = ground.source.and_then(|id| enhanced.ledger.sources.get(id));
        let source = source.map_or_else(|| "no source".to_owned(), |s| s.cited.shown());
        (ground.kind.name().to_owned(), source)
    });
    let stated = evidence.stated.value();
    let mut remarks = Vec::new();
    let wants_evidence = enhanced.rules.wants_evidence();
    if wants_evidence && evidence.calibration != Calibration::Within {
        remarks.push(
            Cell::new(format!(
                "{}: its evidence allows {}",
                evidence.calibration.name(),
                with_band(evidence.grade.level)
            ))
            .toned(Tone::Caution),
        );
    }
    if position.movement.is_some_and(|movement| movement.turned) {
        remarks.push(Cell::new("changed its answer").toned(Tone::Caution));
    }
    match &position.explanation {
        Explanation::NotNeeded => {}
        Explanation::By(ids) => remarks.push(Cell::new(format!("moved by {}", ids.join(", ")))),
        Explanation::Unexplained => {
            let text = "changed its position without naming new evidence";
            remarks.push(Cell::new(text).toned(Tone::Caution));
        }
    }
    Card {
        role: position.seat.clone(),
        position: text,
        evidence: if wants_evidence {
            pieces.collect()
        } else {
            Vec::new()
        },
        confidence: Cell::new(format!("{} ({stated:.2})", Level::of(stated).name())),
        remarks,
    }
}

fn gauges(enhanced: &EnhancedState, round: &MeasuredRound) -> Vec<Gauge> {
    let thresholds = &enhanced.rules.thresholds;
    let before = enhanced
        .rounds
        .iter()
        .rev()
        .find(|r| r.number < round.number);
    let similarity = round.metrics.similarity.map(|s| s.scaled);
    let similarity_before = before.and_then(|before| Some(before.metrics.similarity?.scaled));
    let shift = round.metrics.shift;
    let shift_before = before.and_then(|before| before.metrics.shift);
    let evidence = round.metrics.evidence;
    let evidence_before = before.map(|before| before.metrics.evidence);
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
            status: similarity.map_or_else(unmeasured, |s| similarity_band(s).to_owned()),
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
                || "no earlier positions".to_owned(),
                |shift| shift_band(shift).to_owned(),
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
    /// Values are shown with two decimals.
    const MIN_CHANGE: f64 = 0.005;
    let change = now? - before?;
    let [up, level, down] = words;
    Some(match change {
        change if change >= MIN_CHANGE => up.to_owned(),
        change if change <= -MIN_CHANGE => down.to_owned(),
        _ => level.to_owned(),
    })
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
                Checked::Contradicted { passage, figure } => (
                    format!("contradicted: {passage} has {figure}"),
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
