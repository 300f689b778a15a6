//! The post-mortem as a report with all the sections of the design (E-14).

use std::fmt::Write;

use roundtable_core::bounded::Probability;
use roundtable_core::evidence::EvidenceType;
use roundtable_core::learning::{AgentScore, Knowledge, Mark};
use roundtable_core::wording::normal;

use super::journaled::tone_of;
use super::pieces::Piece;
use super::post_mortem::PostMortem;
use super::updates::LearningUpdates;
use crate::assessment::Finding;
use crate::report::{Block, Cell, Fact, Report, Section, Table, Tone};

/// `learned` is what it changed and what is known since; `None` where nothing was to be learned.
pub fn report(post_mortem: &PostMortem, learned: Option<(&LearningUpdates, &Knowledge)>) -> Report {
    let updates = learned.map(|(updates, _)| updates);
    let mut sections = vec![Section::main("Debate metrics", metrics(post_mortem))];
    sections.extend(post_mortem.course.section());
    sections.push(Section::main(
        "Evidence performance",
        evidence(post_mortem, updates),
    ));
    sections.push(Section::main("Agent performance", agents(post_mortem)));
    sections.push(Section::main("What went right", right(post_mortem)));
    sections.push(Section::main("What went wrong", wrong(post_mortem)));
    sections.push(Section::main(
        "Lessons learned",
        lessons(post_mortem, updates),
    ));
    sections.push(Section::main("System updates applied", applied(updates)));
    sections.push(Section::main(
        "Projected impact on future debates",
        projected(post_mortem, learned),
    ));
    Report {
        answer: None,
        facts: facts(post_mortem),
        sections,
    }
}

fn facts(it: &PostMortem) -> Vec<Fact> {
    let accuracy = it.assessment.decision_accuracy.value();
    let decision = it.record.final_consensus.as_ref();
    vec![
        Fact::new("Project", it.record.project_name.clone()),
        Fact::new("Debate topic", it.record.topic.clone()),
        Fact::new(
            "Decision",
            decision.map_or_else(String::new, |it| it.decision.trim().to_owned()),
        ),
        Fact::new("Date", it.course.decided().to_string()),
        Fact::new(
            "Outcome assessment",
            format!("{} accurate", percent(accuracy)),
        )
        .toned(tone_of(accuracy)),
    ]
}

/// A consensus within as many rounds is good going.
const GOOD_ROUNDS: u32 = 3;
const CONSENSUS: f64 = 0.80;
const STRONG_EVIDENCE: f64 = 0.60;
const SOME_EVIDENCE: f64 = 0.30;

fn metrics(it: &PostMortem) -> Vec<Block> {
    let tokens = &it.record.token_efficiency;
    let last = it.record.rounds.last().map(|round| round.metrics);
    let similarity = last.and_then(|it| it.semantic_similarity);
    let convergence = last.and_then(|it| it.evidence_convergence);
    let rounds = tokens.rounds;
    let (efficiency, tone) = match (tokens.consensus_reached, rounds) {
        (true, 0..=GOOD_ROUNDS) => (
            format!("good (reached consensus in {})", counted(rounds)),
            Tone::Good,
        ),
        (true, _) => (
            format!("fair (consensus took {})", counted(rounds)),
            Tone::Plain,
        ),
        (false, _) => (
            format!("poor (no consensus in {})", counted(rounds)),
            Tone::Caution,
        ),
    };
    let row =
        |name: &str, value: String, tone: Tone| vec![Cell::new(name), Cell::new(value).toned(tone)];
    let read = |value: Option<f64>, word: &dyn Fn(f64) -> &'static str| {
        value.map_or_else(
            || "not measured".to_owned(),
            |value| format!("{value:.2} ({})", word(value)),
        )
    };
    let alike = |value: f64| {
        if value >= CONSENSUS {
            "consensus reached"
        } else {
            "no consensus"
        }
    };
    let shared = |value: f64| {
        if value >= STRONG_EVIDENCE {
            "strong"
        } else if value > SOME_EVIDENCE {
            "moderate"
        } else {
            "different evidence"
        }
    };
    let table = Table::new("Debate metrics", &["", "Value"])
        .row(row("Rounds", rounds.to_string(), Tone::Plain))
        .row(row(
            "Final semantic similarity",
            read(similarity, &alike),
            Tone::Plain,
        ))
        .row(row(
            "Final evidence convergence",
            read(convergence, &shared),
            Tone::Plain,
        ))
        .row(row(
            "Total tokens",
            grouped(tokens.total_tokens),
            Tone::Plain,
        ))
        .row(row("Efficiency", efficiency, tone));
    vec![Block::Table(table)]
}

fn evidence(it: &PostMortem, updates: Option<&LearningUpdates>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut types = Table::new("By type", &["Type", "#Cases", "#Accuracy", "", "Weight"]);
    for kind in EvidenceType::ALL {
        let cases = it.of_type(kind).len();
        let heeded = it.heeded(kind);
        if cases == 0 && heeded.is_none() {
            continue;
        }
        let (sign, tone) = heeded.map_or(("not assessed", Tone::Quiet), sign);
        let update = updates.and_then(|it| it.evidence_weight_updates.get(&kind));
        types = types.row(vec![
            Cell::new(kind.name()),
            Cell::new(cases.to_string()),
            Cell::new(heeded.map_or_else(|| "–".to_owned(), percent)),
            Cell::new(sign).toned(tone),
            Cell::new(update.map_or_else(String::new, |it| {
                format!("{:.2} → {:.2}", it.old_weight, it.new_weight)
            })),
        ]);
    }
    if types.rows.is_empty() {
        return vec![note("No evidence was recorded or assessed.", Tone::Quiet)];
    }
    blocks.push(Block::Table(types));
    if !it.pieces.is_empty() {
        let table = Table::new("Piece by piece", &["", "Type", "Evidence", "Outcome"]);
        let mut pieces: Vec<&Piece> = it.pieces.iter().collect();
        pieces.sort_by_key(|piece| piece.kind);
        let table = pieces.into_iter().fold(table, |table, piece| {
            let (sign, tone) = piece.mark.map_or(("·", Tone::Quiet), mark_sign);
            let outcome = piece.mark.map_or("not assessed", Mark::name);
            let outcome = match &piece.note {
                Some(note) => format!("{outcome}: {note}"),
                None => outcome.to_owned(),
            };
            table.row(vec![
                Cell::new(sign).toned(tone),
                Cell::new(piece.kind.name()),
                Cell::new(cited(piece)),
                Cell::new(outcome),
            ])
        });
        blocks.push(Block::Table(table));
    }
    let updates = updates
        .into_iter()
        .flat_map(|it| &it.evidence_weight_updates);
    for (kind, update) in updates {
        let direction = if update.new_weight >= update.old_weight {
            "rises"
        } else {
            "falls"
        };
        blocks.push(note(
            &format!(
                "{kind} {direction} from {:.2} to {:.2} (95%: {:.2} to {:.2}, from {}): {}",
                update.old_weight,
                update.new_weight,
                update.low,
                update.high,
                projects(update.projects_analyzed),
                update.reason
            ),
            Tone::Plain,
        ));
    }
    blocks
}

/// With the claims that rest on it, as an assessment names them.
fn cited(piece: &Piece) -> String {
    if piece.claims.is_empty() {
        return piece.citation.clone();
    }
    format!("{} ({})", piece.citation, piece.claims.join(", "))
}

/// Full marks, well, so-so, badly.
fn sign(share: f64) -> (&'static str, Tone) {
    if share >= 0.95 {
        ("✓✓", Tone::Good)
    } else if share >= 0.80 {
        ("✓", Tone::Good)
    } else if share >= 0.60 {
        ("~", Tone::Plain)
    } else {
        ("⚠", Tone::Caution)
    }
}

const fn mark_sign(mark: Mark) -> (&'static str, Tone) {
    match mark {
        Mark::Validated => ("✓", Tone::Good),
        Mark::Refuted | Mark::DismissedButRelevant => ("✗", Tone::Caution),
        Mark::Incomplete => ("~", Tone::Plain),
    }
}

fn agents(it: &PostMortem) -> Vec<Block> {
    let names = it.record.agents();
    if names.is_empty() {
        return vec![note("Nobody's positions were recorded.", Tone::Quiet)];
    }
    let table = Table::new(
        "Agent performance",
        &[
            "Agent",
            "Panel",
            "Initial",
            "Final",
            "#Accuracy",
            "Judged by",
            "Note",
        ],
    );
    let table = names.into_iter().fold(table, |table, agent| {
        let mut all = it.record.rounds.iter().flat_map(|it| &it.agent_positions);
        let first = all.find(|it| it.agent == agent);
        let last = it.record.last_position(agent);
        let score = it.score(agent);
        let right = score.map(right_of);
        let verdict = it.assessment.agents.iter();
        let mut verdict = verdict.filter(|it| normal(&it.agent) == normal(agent));
        let note = verdict.next().and_then(|it| it.note.clone());
        table.row(vec![
            Cell::new(agent),
            Cell::new(first.map_or("", |it| it.panel.as_str())),
            Cell::new(first.map_or_else(String::new, |it| shortened(&it.position))),
            Cell::new(last.map_or_else(String::new, |it| shortened(&it.position))),
            Cell::new(right.map_or_else(|| "–".to_owned(), percent))
                .toned(right.map_or(Tone::Quiet, tone_of)),
            Cell::new(score.map_or_else(String::new, basis)),
            Cell::new(note.unwrap_or_default()),
        ])
    });
    vec![Block::Table(table)]
}

fn right_of(score: AgentScore) -> f64 {
    match score {
        AgentScore::Probability { right, .. } | AgentScore::Verdict { right } => right.value(),
        AgentScore::Evidence { held, .. } => held.value(),
    }
}

fn basis(score: AgentScore) -> String {
    match score {
        AgentScore::Probability { confidence, right } => format!(
            "confidence {confidence:.2}, quadratic score {:.3}",
            (confidence.value() - right.value()).powi(2)
        ),
        AgentScore::Verdict { .. } => "the assessor's word".to_owned(),
        AgentScore::Evidence { pieces, .. } => match pieces {
            1 => "its one piece of evidence".to_owned(),
            pieces => format!("its {pieces} pieces of evidence"),
        },
    }
}

fn right(it: &PostMortem) -> Vec<Block> {
    let mut lines = findings("✓", &it.assessment.what_went_right);
    let tokens = &it.record.token_efficiency;
    if tokens.consensus_reached && tokens.rounds <= GOOD_ROUNDS {
        lines.push(format!(
            "- ✓ The debate agreed within {}",
            counted(tokens.rounds)
        ));
    }
    text_or(&lines, "Nothing was named.")
}

fn wrong(it: &PostMortem) -> Vec<Block> {
    let mut lines = findings("✗", &it.assessment.what_went_wrong);
    let surprises = it.course.events().iter().filter(|it| {
        let surprise = it.surprise_factor.map(Probability::value);
        surprise.is_some_and(|it| it >= crate::assessment::tracking::SURPRISING)
    });
    lines.extend(surprises.map(|it| format!("- ✗ {} ({}, a surprise)", it.event, it.when())));
    let mut blocks = text_or(&lines, "Nothing was named.");
    blocks.extend(it.course.cost());
    blocks
}

fn findings(sign: &str, findings: &[Finding]) -> Vec<String> {
    let lines = findings.iter().map(|it| {
        let more = [&it.note, &it.validation].into_iter().flatten();
        let more: Vec<&str> = more.map(String::as_str).collect();
        if more.is_empty() {
            format!("- {sign} {}", it.aspect)
        } else {
            format!("- {sign} {}: {}", it.aspect, more.join(" — "))
        }
    });
    lines.collect()
}

fn lessons(it: &PostMortem, updates: Option<&LearningUpdates>) -> Vec<Block> {
    // Writing to a String cannot fail.
    let mut items: Vec<String> = Vec::new();
    for lesson in &it.assessment.lessons_learned {
        let mut item = lesson.lesson.clone();
        if let Some(todo) = &lesson.actionable {
            let _ = write!(item, "\n   - To do: {todo}");
        }
        if let Some(impact) = &lesson.estimated_impact {
            let _ = write!(item, "\n   - Expected by the assessor: {impact}");
        }
        items.push(item);
    }
    for question in &it.assessment.required_questions {
        items.push(format!(
            "Add required question: {}\n   - Reason: {}",
            question.question, question.reason
        ));
    }
    for skill in updates.into_iter().flat_map(|it| &it.skill_recommendations) {
        let mut item = format!(
            "Add skill to panel: {} ({})\n   - Reason: {}",
            skill.skill_name,
            skill.priority.name(),
            skill.reason
        );
        for evidence in &skill.evidence {
            let _ = write!(item, "\n   - Evidence: {evidence}");
        }
        items.push(item);
    }
    let numbered = (1..)
        .zip(items)
        .map(|(number, item)| format!("{number}. {item}"));
    let mut blocks = text_or(&numbered.collect::<Vec<_>>(), "None were named.");
    if let Some(updates) = updates {
        let analysis = &updates.debate_efficiency_analysis;
        blocks.push(note(
            &format!(
                "Rounds: {} {}",
                analysis.observation, analysis.recommendation
            ),
            Tone::Plain,
        ));
    }
    blocks
}

fn applied(updates: Option<&LearningUpdates>) -> Vec<Block> {
    let Some(updates) = updates else {
        return vec![note("Nothing was learned from it.", Tone::Quiet)];
    };
    let questions = &updates.pm_agent_question_updates;
    let counts = [
        (
            "weights of evidence updated",
            updates.evidence_weight_updates.len(),
        ),
        (
            "required questions added",
            questions.new_required_questions.len(),
        ),
        (
            "required questions updated",
            questions.updated_questions.len(),
        ),
        ("skills recommended", updates.skill_recommendations.len()),
        ("agents calibrated", updates.agent_calibration_updates.len()),
    ];
    let done = counts.into_iter().filter(|(_, count)| *count > 0);
    let mut blocks: Vec<Block> = done
        .map(|(what, count)| note(&format!("✓ {count} {what}"), Tone::Good))
        .collect();
    let mut table = Table::new(
        "Agent calibration",
        &["Agent", "#Debates", "#Accuracy", "95%", "#Quadratic score"],
    );
    for (agent, update) in &updates.agent_calibration_updates {
        table = table.row(vec![
            Cell::new(agent.clone()),
            Cell::new(update.debates.to_string()),
            Cell::new(format!("{:.2}", update.accuracy)),
            Cell::new(format!("{:.2} to {:.2}", update.low, update.high)),
            Cell::new(
                update
                    .brier
                    .map_or_else(|| "–".to_owned(), |it| format!("{it:.3}")),
            ),
        ]);
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.push(note(
        &format!(
            "Entry {} of the audit, domain '{}'; `roundtable learning undo {}` takes it back.",
            updates.entry, updates.domain, updates.entry
        ),
        Tone::Quiet,
    ));
    blocks
}

fn projected(it: &PostMortem, learned: Option<(&LearningUpdates, &Knowledge)>) -> Vec<Block> {
    let Some((updates, knowledge)) = learned else {
        return vec![note("None: nothing was learned from it.", Tone::Quiet)];
    };
    let mut blocks = Vec::new();
    if let Some(accuracy) = knowledge.decision_accuracy {
        blocks.push(note(
            &format!(
                "Current accuracy ({}): {} (95%: {} to {}, from {})",
                knowledge.domain,
                percent(accuracy.mean),
                percent(accuracy.low),
                percent(accuracy.high),
                projects(accuracy.cases)
            ),
            Tone::Plain,
        ));
        blocks.push(note(&expected(it, accuracy.mean), Tone::Plain));
    }
    blocks.push(note(&measured(knowledge), Tone::Quiet));
    let mut next = Vec::new();
    let asked = knowledge.questions.iter().filter(|it| it.is_asked).count();
    if asked > 0 {
        next.push(format!(
            "- put {asked} required question{} to the panel before round 1",
            if asked == 1 { "" } else { "s" }
        ));
    }
    for (kind, update) in &updates.evidence_weight_updates {
        let direction = if update.new_weight >= update.old_weight {
            "higher"
        } else {
            "lower"
        };
        next.push(format!(
            "- weigh {kind} evidence {direction} ({:.2})",
            update.new_weight
        ));
    }
    for skill in &updates.skill_recommendations {
        next.push(format!("- suggest a seat for {}", skill.skill_name));
    }
    if !next.is_empty() {
        let markdown = format!(
            "The next debate of this domain will:\n\n{}",
            next.join("\n")
        );
        blocks.push(Block::Text { markdown });
    }
    blocks
}

/// Expectations overlap, so the largest counts and not their sum; and it is said that it is one.
fn expected(it: &PostMortem, now: f64) -> String {
    let lessons = it.assessment.lessons_learned.iter();
    let points = lessons.filter_map(|it| points_in(it.estimated_impact.as_ref()?));
    match points.max_by(f64::total_cmp) {
        None => "Expected accuracy with the updates: nobody ventured a figure.".to_owned(),
        Some(points) => format!(
            "Expected accuracy with the updates: {}, {} percentage points more, if the assessor's best expectation holds.",
            percent((now + points / 100.0).min(1.0)),
            crate::assessment::tracking::short(points)
        ),
    }
}

/// `+15% decision accuracy` → 15
fn points_in(text: &str) -> Option<f64> {
    let (number, _) = text.split_once('%')?;
    let start = number.rfind(|c: char| !c.is_ascii_digit() && c != '.');
    let number = &number[start.map_or(0, |it| it + 1)..];
    number.parse().ok()
}

fn measured(knowledge: &Knowledge) -> String {
    match (
        knowledge.accuracy_with_learning,
        knowledge.accuracy_without_learning,
    ) {
        (Some(with), Some(without)) => format!(
            "Measured: {} with what was learned ({}), {} without ({}).",
            percent(with.mean),
            projects(with.cases),
            percent(without.mean),
            projects(without.cases)
        ),
        (None, _) => {
            "Measured: no debate that used what was learned has been assessed yet.".to_owned()
        }
        (Some(_), None) => {
            "Measured: every debate that was assessed used what was learned.".to_owned()
        }
    }
}

fn text_or(lines: &[String], none: &str) -> Vec<Block> {
    if lines.is_empty() {
        return vec![note(none, Tone::Quiet)];
    }
    vec![Block::Text {
        markdown: lines.join("\n"),
    }]
}

fn note(text: &str, tone: Tone) -> Block {
    Block::Note {
        text: text.to_owned(),
        tone,
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

fn counted(rounds: u32) -> String {
    match rounds {
        1 => "1 round".to_owned(),
        rounds => format!("{rounds} rounds"),
    }
}

pub(super) fn projects(count: usize) -> String {
    match count {
        1 => "1 project".to_owned(),
        count => format!("{count} projects"),
    }
}

/// 3840 → 3,840
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A position in a cell: its beginning, on one line.
fn shortened(text: &str) -> String {
    const MOST: usize = 120;
    let line = roundtable_core::wording::one_line(text);
    if line.chars().count() <= MOST {
        return line;
    }
    let head: String = line.chars().take(MOST - 1).collect();
    format!("{}…", head.trim_end())
}
