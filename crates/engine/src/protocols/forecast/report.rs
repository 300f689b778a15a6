//! The report of a forecast, at any point of its journal.

mod argument;
mod card;

use roundtable_core::format::percent;

use super::contract::{
    Disagreement, KeyInsight, OutcomeForecast, OutcomeProbability, Precedent, Round,
};
use super::extras::{ArgumentNote, Extras, JudgePart};
use super::resolution::{Scored, resolution_of, scored};
use super::result::ForecastSnapshot;
use super::rules::Rules;
use super::scale::QuantileValue;
use super::verdict::{Ending, Verdict};
use crate::event::{Entry, State};
use crate::protocols::scrutiny::Scrutiny;
use crate::remarks::for_people;
use crate::report::{
    Block, Cell, Chart, Dot, DotRow, Fact, Line, Report, Scale, Section, Table, Tone, Unit,
};
use crate::totals::compared_cost;

pub(super) fn report(entries: &[Entry]) -> Report {
    let Some(snapshot) = ForecastSnapshot::of(entries) else {
        return Report::default();
    };
    let (verdict, rules) = (&snapshot.verdict, &snapshot.rules);
    let is_over = !matches!(snapshot.state, State::Running | State::Waiting);
    let mut sections = Vec::new();
    if !verdict.probability_distribution.is_empty() {
        let chart = Block::Chart(outcomes(rules, &verdict.probability_distribution));
        let quantiles = quantiles(rules, &verdict.roundtable.quantiles);
        let blocks = std::iter::once(chart).chain(quantiles).collect();
        sections.push(Section::main("Forecast", blocks));
    }
    if is_over {
        sections.push(Section::ending(worth(verdict, rules)));
    }
    let now = entries.last().map_or(0, |entry| entry.at);
    if let Some(resolution) = resolution_of(entries) {
        let blocks = resolved(rules, &resolution.outcome, scored("", entries, now));
        sections.push(Section::main("What happened", blocks));
    }
    sections.extend(movement(rules, verdict));
    let tables = [
        ("Disagreements", disagreements(&verdict.disagreement_map)),
        ("Key insights", insights(&verdict.key_insights)),
        ("Precedents", precedents(&verdict.historical_precedents)),
    ];
    let tables = tables
        .into_iter()
        .filter(|(_, table)| !table.rows.is_empty());
    sections.extend(tables.map(|(title, table)| Section::main(title, vec![Block::Table(table)])));
    if !verdict.debate_log.rounds.is_empty() {
        let table = Block::Table(arguments(rules, &verdict.debate_log.rounds));
        let blocks = [Some(table), rewrites(&verdict.roundtable.arguments)];
        let blocks = blocks.into_iter().flatten().collect();
        sections.push(Section::side("Arguments and their scores", blocks));
    }
    Report {
        verdict: Some(card::verdict(entries, &snapshot)),
        answer: verdict.final_answer.clone(),
        facts: if is_over {
            facts(rules, verdict)
        } else {
            Vec::new()
        },
        argument: argument::argument(rules, verdict),
        sections,
    }
}

fn label<'r>(rules: &'r Rules, id: &'r str) -> &'r str {
    let outcomes = &rules.request.prediction_context.outcomes;
    let found = outcomes.iter().find(|outcome| outcome.id == id);
    found.map_or(id, |outcome| &outcome.label)
}

fn outcomes(rules: &Rules, forecasts: &[OutcomeForecast]) -> Chart {
    let rows = forecasts.iter().map(|forecast| DotRow {
        label: label(rules, &forecast.outcome_id).to_owned(),
        line: Some(forecast.probability),
        dots: forecast
            .role_assessments
            .iter()
            .map(|assessment| Dot {
                role: assessment.role.clone(),
                value: assessment.probability,
            })
            .collect(),
        remark: None,
    });
    Chart::Dots {
        title: "Probability of each outcome".into(),
        scale: Scale::PERCENT,
        rows: rows.collect(),
    }
}

fn likeliest(verdict: &Verdict) -> Option<&OutcomeForecast> {
    let forecasts = verdict.probability_distribution.iter();
    forecasts.max_by(|a, b| a.probability.total_cmp(&b.probability))
}

/// Each role's probability of the likeliest outcome by round.
fn movement(rules: &Rules, verdict: &Verdict) -> Option<Section> {
    let rounds = u32::try_from(verdict.debate_log.rounds.len()).ok()?;
    let likeliest = likeliest(verdict)?;
    let notes = &verdict.roundtable.arguments;
    let roles = rules.request.config.roles.iter();
    let lines: Vec<Line> = roles
        .map(|role| Line {
            label: role.clone(),
            role: Some(role.clone()),
            values: (1..=rounds)
                .map(|round| {
                    let mut notes = notes.iter();
                    let note = notes.find(|note| note.role == *role && note.round == round)?;
                    probability_of(&note.probabilities, &likeliest.outcome_id)
                })
                .collect(),
        })
        .collect();
    let chart = Chart::Lines {
        title: format!("'{}' by round", label(rules, &likeliest.outcome_id)),
        scale: Scale::PERCENT,
        rounds: (1..=rounds).map(|round| format!("R{round}")).collect(),
        lines,
        thresholds: Vec::new(),
    };
    let mut blocks = vec![Block::Chart(chart)];
    let unexplained = verdict.roundtable.movement.iter().flat_map(|movement| {
        let steps = movement.steps.iter().filter(|step| !step.explained);
        steps.map(|step| {
            format!(
                "The {} moved by {} in round {} without naming a point of another role.",
                movement.role,
                percent(step.distance),
                step.to_round
            )
        })
    });
    blocks.extend(unexplained.map(|text| Block::note(text, Tone::Caution)));
    Some(Section::side("Movement", blocks))
}

fn facts(rules: &Rules, verdict: &Verdict) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(best) = likeliest(verdict) {
        let label = label(rules, &best.outcome_id);
        let text = format!("{label} {}", percent(best.probability));
        facts.push(Fact::new("Likeliest", text));
    }
    if let Some(score) = verdict.consensus_score {
        facts.push(Fact::new("Agreement", percent(score)));
    }
    let extras = &verdict.roundtable;
    if let Some(confidence) = extras.confidence {
        let tone = match extras.confidence_stated {
            Some(stated) if confidence < stated => Tone::Caution,
            Some(_) | None => Tone::Plain,
        };
        facts.push(Fact::new("Confidence", percent(confidence.value())).toned(tone));
    }
    let rounds = verdict.debate_log.rounds.len();
    facts.push(Fact::new("Rounds", rounds.to_string()));
    facts.extend(extras.worth.as_ref().map(|worth| {
        compared_cost(
            (worth.blind.cost, worth.blind.tokens),
            (worth.debated.cost, worth.debated.tokens),
        )
    }));
    facts
}

/// The changes by the debate, missing parts, and the comparison of forecasts (C-17, F-18).
fn worth(verdict: &Verdict, rules: &Rules) -> Vec<Block> {
    let extras = &verdict.roundtable;
    let mut blocks = Vec::new();
    if let Some(worth) = &extras.worth {
        let text = if worth.changed_the_likeliest {
            format!(
                "The debate changed the likeliest outcome from '{}' to '{}'.",
                label(rules, &worth.blind.likeliest),
                label(rules, &worth.debated.likeliest)
            )
        } else {
            format!(
                "The debate kept the likeliest outcome of the blind first round and shifted probabilities by {:.0} points.",
                100.0 * worth.moved
            )
        };
        blocks.push(Block::note(text, Tone::Plain));
        blocks.push(Block::Table(comparison(verdict, rules)));
    }
    blocks.extend(extras.scrutiny.as_ref().map(Scrutiny::note));
    blocks.extend(notes_on_roles(extras));
    for missing in &extras.missing {
        blocks.push(Block::note(missing.sentence(), Tone::Caution));
    }
    for remark in &extras.remarks {
        blocks.push(Block::note(for_people(remark), Tone::Quiet));
    }
    blocks
}

/// Missing parts of the arguments.
fn notes_on_roles(extras: &Extras) -> Vec<Block> {
    let mut blocks: Vec<Block> = judge_note(extras).into_iter().collect();
    if !extras.absent_roles.is_empty() {
        let text = format!("Without any argument: {}.", extras.absent_roles.join(", "));
        blocks.push(Block::note(text, Tone::Caution));
    }
    if let Some(share_above) = extras.quality.share
        && extras.quality.met == Some(false)
    {
        let text = format!(
            "{} of the arguments score above 0.4; the target is {}.",
            percent(share_above),
            percent(extras.quality.bar)
        );
        blocks.push(Block::note(text, Tone::Caution));
    }
    if extras.precedents_dated < extras.precedents_required && !extras.arguments.is_empty() {
        let text = format!(
            "Only {} precedent(s) with a date; {} are required.",
            extras.precedents_dated, extras.precedents_required
        );
        blocks.push(Block::note(text, Tone::Caution));
    }
    blocks
}

fn judge_note(extras: &Extras) -> Option<Block> {
    let was_stopped = extras.ending != Ending::Played;
    let (text, tone) = match (extras.judge, extras.judge_round) {
        (JudgePart::Spoke, _) => return None,
        (JudgePart::Absent, _) if was_stopped => (
            "The debate stopped before the judge spoke: the probabilities are the mean of the roles so far.".into(),
            Tone::Caution,
        ),
        (JudgePart::Absent, _) => (
            "The judge did not answer: the forecast is the roles' consensus alone.".into(),
            Tone::Caution,
        ),
        (JudgePart::NoClosing, round) => {
            let round = round.unwrap_or_default();
            let why = if was_stopped {
                "the debate stopped before its closing argument"
            } else {
                "gave no closing argument"
            };
            let joint = if was_stopped { ", and " } else { " and " };
            (
                format!("The judge spoke until round {round}{joint}{why}: its probabilities of round {round} count."),
                Tone::Caution,
            )
        }
        (JudgePart::NotAsked, _) => (
            "The request has no judge: the forecast is the roles' consensus alone.".into(),
            Tone::Quiet,
        ),
    };
    Some(Block::note(text, tone))
}

/// The debate's forecast next to that of the first round, the accuracy pool and the baselines.
fn comparison(verdict: &Verdict, rules: &Rules) -> Table {
    let extras = &verdict.roundtable;
    let (worth, pool) = (extras.worth.as_ref(), extras.accuracy_pool.as_ref());
    let mut others = vec![
        worth.map(|worth| &worth.blind.probabilities),
        pool.map(|pool| &pool.probabilities),
        extras.baselines.simulation.as_ref(),
        Some(&extras.baselines.uniform),
    ];
    let mut columns = vec![
        "",
        "#debate",
        "#blind first round",
        "#accuracy pool",
        "#simulation",
        "#uniform",
    ];
    if extras.crowd.is_some() {
        others.insert(0, extras.crowd.as_ref());
        columns.insert(2, "#crowd");
    }
    let rows = verdict.probability_distribution.iter().map(|forecast| {
        let id = &forecast.outcome_id;
        let probabilities = others.iter().map(|other| probability_of((*other)?, id));
        let probabilities = std::iter::once(Some(forecast.probability)).chain(probabilities);
        let cells = probabilities.map(|value| Unit::Percent.cell(value));
        std::iter::once(Cell::new(label(rules, id)))
            .chain(cells)
            .collect()
    });
    Table::of("Forecasts", &columns, rows)
}

fn probability_of(forecast: &[OutcomeProbability], outcome: &str) -> Option<f64> {
    let found = forecast.iter().find(|other| other.outcome_id == outcome)?;
    Some(found.probability.value())
}

fn resolved(rules: &Rules, outcome: &str, scores: Option<Scored>) -> Vec<Block> {
    let outcome = Block::note(format!("Outcome: {}", label(rules, outcome)), Tone::Plain);
    let Some(scores) = scores else {
        let text = "The forecast is scored after its resolution date.";
        return vec![outcome, Block::note(text, Tone::Quiet)];
    };
    let fixed = [
        ("debate", Some(scores.debate)),
        ("blind first round", scores.blind_first_round),
        ("accuracy pool", scores.accuracy_pool),
        ("crowd", scores.crowd),
        ("uniform", Some(scores.uniform)),
        ("simulation", scores.simulation),
    ];
    let roles = scores
        .roles
        .iter()
        .map(|(role, score)| (role.as_str(), Some(*score)));
    let rows = fixed.into_iter().chain(roles).filter_map(|(name, score)| {
        let score = score?;
        Some(vec![
            Cell::new(name),
            Cell::new(format!("{:.3}", score.brier)),
            Cell::new(format!("{:.3}", score.log)),
        ])
    });
    let table = Table::of(SCORES, &["", "#Brier", "#log"], rows);
    vec![outcome, Block::Table(table)]
}

const SCORES: &str =
    "Scores, lower is better. Brier is half the sum of the squared errors over all outcomes";

/// The quantiles of a number or date.
fn quantiles(rules: &Rules, quantiles: &[QuantileValue]) -> Option<Block> {
    let scale = rules.scale.as_ref().filter(|_| !quantiles.is_empty())?;
    let rows = quantiles.iter().map(|own| {
        let value = Cell::new(scale.shown(own));
        vec![Cell::new(percent(own.quantile)), value]
    });
    let caption = "Quantiles: the value is at most this with the probability";
    Some(Block::Table(Table::of(
        caption,
        &["#probability", "#value"],
        rows,
    )))
}

fn disagreements(all: &[Disagreement]) -> Table {
    let columns = ["topic", "role", "stance", "#strength", "state"];
    let rows = all.iter().flat_map(|disagreement| {
        let (state, tone) = if disagreement.resolved {
            ("resolved", Tone::Good)
        } else {
            ("open", Tone::Caution)
        };
        disagreement.positions.iter().map(move |position| {
            vec![
                Cell::new(disagreement.topic.clone()),
                Cell::new(position.role.clone()),
                Cell::new(position.stance.clone()),
                Cell::new(format!("{:.1}", position.strength.value())),
                Cell::new(state).toned(tone),
            ]
        })
    });
    Table::of("Disagreement map", &columns, rows)
}

fn insights(all: &[KeyInsight]) -> Table {
    let columns = ["impact", "insight", "from", "#round"];
    let rows = all.iter().map(|noted| {
        vec![
            Cell::new(noted.impact.name()),
            Cell::new(noted.insight.clone()),
            Cell::new(noted.source_role.clone()),
            Cell::new(noted.round.to_string()),
        ]
    });
    Table::of("Insights by impact", &columns, rows)
}

fn precedents(all: &[Precedent]) -> Table {
    let columns = ["date", "event", "outcome", "#similarity", "relevance"];
    let rows = all.iter().map(|precedent| {
        let date = if precedent.is_dated() {
            Cell::new(precedent.date.clone())
        } else {
            Cell::new("undated").toned(Tone::Caution)
        };
        vec![
            date,
            Cell::new(precedent.event.clone()),
            Cell::new(precedent.outcome.clone()),
            Cell::new(format!("{:.2}", precedent.similarity_score.value())),
            Cell::new(precedent.relevance.clone()),
        ]
    });
    Table::of("Precedents", &columns, rows)
}

/// Roles of a round speak at the same time as weak arguments of the round before are rewritten.
fn rewrites(arguments: &[ArgumentNote]) -> Option<Block> {
    let rewritten = arguments.iter().filter(|argument| argument.rewritten);
    let names: Vec<String> = rewritten
        .map(|argument| format!("{} in round {}", argument.role, argument.round))
        .collect();
    (!names.is_empty()).then(|| Block::Note {
        text: format!(
            "Rewritten after a low score: {}. Other roles answered the first version.",
            names.join(", ")
        ),
        tone: Tone::Plain,
    })
}

fn arguments(rules: &Rules, rounds: &[Round]) -> Table {
    let criteria = rules.criteria.names();
    let names: Vec<String> = criteria
        .iter()
        .map(|name| format!("#{}", name.replace('_', " ")))
        .collect();
    let columns: Vec<&str> = ["#round", "role", "supports"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain(["#composite"])
        .collect();
    let all = rounds.iter().flat_map(|round| {
        let arguments = round.arguments.iter();
        arguments.map(|argument| (round.round_number, argument))
    });
    let rows = all.map(|(round, argument)| {
        let mut cells = vec![
            Cell::new(round.to_string()),
            Cell::new(argument.role.clone()),
            Cell::new(label(rules, &argument.outcome_supported)),
        ];
        let names = criteria.iter().map(String::as_str).chain(["composite"]);
        cells.extend(names.map(|name| {
            let scores = argument.scores.as_ref();
            Unit::Decimals(2).cell(scores.and_then(|scores| scores.get(name)?.as_f64()))
        }));
        cells
    });
    Table::of("Arguments", &columns, rows)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
